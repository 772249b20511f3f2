"""The one table of README.md, made from the committed results: accuracy and time beside boosted trees.

Run: python docs/readme_table.py          (tests/test_docs.py fails when it is out of date)
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
MARKS = "<!-- results: made by docs/readme_table.py -->", "<!-- end of results -->"
ROWS = ("monolip", "monolip_8", "monolip_accurate", "catboost", "xgboost", "lightgbm", "hist", "lmn", "linear")


def result(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / "benchmarks/results" / f"{name}.json").read_text())
    found: dict[str, Any] = content.get("results", content)
    return found


def table() -> str:
    """Our error relative to each, mean rank, seconds, and what each can prove."""
    found, times = result("accuracy"), result("fit_time")
    overall, who = found["overall"], found["contestants"]
    lines = [
        "| model, same directions | mean rank | our error / its | seconds, search included | proof for others |",
        "|---|---|---|---|---|",
    ]
    for name in ROWS:
        if name not in overall:
            continue
        entry = overall[name]
        ours = name.startswith("monolip")
        ratio = "-" if name == "monolip" else f"{entry['ours_over_it']:.3f}"
        label = who[name]["label"]
        lines.append(
            f"| {label} | {entry['mean_rank']:.2f} | {ratio} | {entry['median_fit_s']:.2f} | "
            f"{'certificate' if ours else 'none'} |"
        )
    ratios = [entry["time_ratio"]["1"] for entry in times["data_sets"].values()]
    sets, repeats = len(found["data_sets"]), json.loads((ROOT / "benchmarks/results/accuracy.json").read_text())
    folds = f"{repeats['settings']['repeats']} x {repeats['settings']['folds']} folds"
    return "\n".join(
        [
            *lines,
            "",
            f"{sets} open data sets, {folds}; the default's error over that of each (geometric mean); median seconds,",
            "one thread. Trees choose among eight settings and refit; monolip runs with its defaults. A fit takes "
            f"{median(ratios):.2f}",
            "times one LightGBM fit without search (median). All of it, with the data sets that were lost:",
            "[benchmarks](docs/benchmarks.md).",
        ]
    )


def updated(text: str) -> str:
    """README.md with the table between its marks made again."""
    return re.sub(
        rf"{re.escape(MARKS[0])}.*?{re.escape(MARKS[1])}",
        lambda _: f"{MARKS[0]}\n\n{table()}\n\n{MARKS[1]}",
        text,
        flags=re.S,
    )


if __name__ == "__main__":
    README.write_text(updated(README.read_text()))
