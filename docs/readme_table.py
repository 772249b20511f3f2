"""The one table of README.md, made from the committed results: accuracy and time beside boosted trees.

Run: python docs/readme_table.py          (tests/test_docs.py fails when it is out of date)
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import geometric_mean
from textwrap import fill
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
MARKS = "<!-- results: made by docs/readme_table.py -->", "<!-- end of results -->"
ROWS = (
    "monolip", "monolip_fast", "monolip_accurate",
    "catboost", "xgboost", "lightgbm", "hist", "lmn", "lightgbm_plain", "linear",
)  # fmt: skip
OTHERS = ("second_suite", "kept_back", "third_suite", "third_kept_back")


def result(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / "benchmarks/results" / f"{name}.json").read_text())
    found: dict[str, Any] = content.get("results", content)
    return found


def table() -> str:
    """Return the table and the lines under it."""
    found = result("accuracy")
    overall, who = found["overall"], found["contestants"]
    lines = [
        "| model, same constraints | mean rank | our error / its | seconds, search included | proof for others |",
        "|---|---|---|---|---|",
    ]
    for name in ROWS:
        if name not in overall:
            continue
        entry = overall[name]
        ours = name.startswith("monolip")
        less = entry["ours_over_it_without_our_best_set"]
        ratio = "-" if name == "monolip" else f"{entry['ours_over_it']:.3f}" + ("" if ours else f" ({less:.3f})")
        lines.append(
            f"| {who[name]['label']} | {entry['mean_rank']:.2f} | {ratio} | {entry['median_fit_s']:.2f} | "
            f"{'certificate' if ours else 'none'} |"
        )
    settings = json.loads((ROOT / "benchmarks/results/accuracy.json").read_text())["settings"]
    words = (
        f"{len(found['data_sets'])} open data sets, {settings['repeats']} x {settings['folds']} folds, one thread. Our "
        "error / its: the default's error over that of each, geometric mean (in brackets without the set where we do "
        "best). Trees choose among eight settings and refit; their rows, seconds too, are of an earlier run on the "
        "same folds. Each row of ours is ranked among the other libraries only."
    )
    return "\n".join([*lines, "", _filled(words), "", _filled(_other_tables()), "", _filled(_against_old())])


def _filled(words: str) -> str:
    return fill(words, 120, break_long_words=False, break_on_hyphens=False)


def _other_tables() -> str:
    """Return what the same contest says on other tables."""
    parts = [result(name) for name in OTHERS]
    trees = [name for name in ("lightgbm", "xgboost") if all(name in part["overall"] for part in parts)]
    ratios = {name: _ratios(parts, name) for name in trees}
    back = {name: _ratios([parts[1], parts[3]], name) for name in trees}
    labels = {name: parts[0]["contestants"][name]["label"] for name in trees}
    every = " and ".join(f"{geometric_mean(ratios[name]):.3f} of {labels[name]}'s" for name in trees)
    kept = " and ".join(f"{geometric_mean(back[name]):.3f} of {labels[name]}'s" for name in trees)
    return (
        f"On {len(ratios[trees[0]])} other tables, our error is {every} (both searched); on the "
        f"{len(back[trees[0]])} of them that nothing was chosen on, {kept}."
    )


def _ratios(parts: list[dict[str, Any]], peer: str) -> list[float]:
    """Return our error over its, table by table."""
    return [entry["contestants"][peer]["ours_over_it"] for part in parts for entry in part["data_sets"].values()]


def _against_old() -> str:
    """Return how the default compares with the one before it, and its fit time."""
    if not (ROOT / "benchmarks/results/old_and_new.json").exists():
        return "All results, with the data sets that were lost: [benchmarks](docs/benchmarks.md)."
    new = result("old_and_new")["candidates"]["new"]["suites"]["all"]
    error, time = new["error"], new["time_over_lightgbm"]
    low, high = error["interval"]
    return (
        f"Over all {error['tables']} tables, the error is {error['mean']:.3f} of that of commit b8f3b08's default, "
        f"which could add boosted trees (95 % interval {low:.3f} to {high:.3f}). A fit takes "
        f"{time['plain_time']['mean']:.2f} times one LightGBM fit with early stopping (geometric mean), "
        f"{time['mean']:.2f} times where a fit of less than 50 ms counts as 50 ms. All results, with "
        "the data sets that were lost: [benchmarks](docs/benchmarks.md)."
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
