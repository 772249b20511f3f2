"""The one table of README.md, made from the committed results: accuracy and time beside boosted trees.

Run: python docs/readme_table.py          (tests/test_docs.py fails when it is out of date)
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import geometric_mean, median
from textwrap import fill
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
        less = entry["ours_over_it_without_our_best_set"]
        ratio = "-" if name == "monolip" else f"{entry['ours_over_it']:.3f}" + ("" if ours else f" ({less:.3f})")
        label = who[name]["label"]
        lines.append(
            f"| {label} | {entry['mean_rank']:.2f} | {ratio} | {entry['median_fit_s']:.2f} | "
            f"{'certificate' if ours else 'none'} |"
        )
    sets, repeats = len(found["data_sets"]), json.loads((ROOT / "benchmarks/results/accuracy.json").read_text())
    folds = f"{repeats['settings']['repeats']} x {repeats['settings']['folds']} folds"
    return "\n".join(
        [
            *lines,
            "",
            fill(
                f"{sets} open data sets, {folds}; the default's error over that of each (geometric mean; in brackets "
                f"without the set where we do best against it, {_best_sets(found)}); median seconds, one thread. Trees "
                f"choose among eight settings and refit{_when(found)}; monolip runs with its defaults. Each row of "
                "ours is ranked without the others. "
                f"{_fit_times({name: entry['time_ratio']['1'] for name, entry in times['data_sets'].items()})} "
                f"{_other_tables()} All of it, with the data sets that were lost: [benchmarks](docs/benchmarks.md).",
                120,
                break_long_words=False,
                break_on_hyphens=False,
            ),
        ]
    )


def _when(found: dict[str, Any]) -> str:
    return " (in an earlier run on the same folds, seconds too)" if found.get("kept") else ""


def _best_sets(found: dict[str, Any]) -> str:
    """Where our error is smallest against a rival of the table: the sets the brackets leave out."""
    rivals = [name for name in ROWS if name in found["overall"] and not name.startswith("monolip")]
    best = [
        min(found["data_sets"], key=lambda key: found["data_sets"][key]["contestants"][name]["ours_over_it"])
        for name in rivals
    ]
    return " or ".join(sorted(set(best), key=lambda key: -best.count(key)))


def _kept_back() -> str:
    """Of the tables that nothing was chosen by, which flatter least."""
    found = result("kept_back")
    ratios = sorted(entry["contestants"]["xgboost"]["ours_over_it"] for entry in found["data_sets"].values())
    ranks = {name: found["overall"][name]["mean_rank"] for name in ("monolip", "lightgbm", "xgboost")}
    return (
        f"On those kept back alone our error is {geometric_mean(ratios):.3f} of the searched XGBoost's "
        f"({geometric_mean(ratios[1:]):.3f} without our best one), and the mean rank {ranks['monolip']:.2f} (searched "
        f"LightGBM {ranks['lightgbm']:.2f}, XGBoost {ranks['xgboost']:.2f})."
    )


def _other_tables() -> str:
    """What the fifteen sets flatter by: the same contest with searched XGBoost and one LightGBM fit on other tables."""
    parts = [result(name)["data_sets"].values() for name in ("second_suite", "kept_back")]
    ratios = {
        peer: [entry["contestants"][peer]["ours_over_it"] for part in parts for entry in part]
        for peer in ("xgboost", "lightgbm_plain")
    }
    searched, plain = (sorted(each) for each in ratios.values())
    times = [
        entry["time_ratio"]["1"]
        for name in ("fit_time_second", "fit_time_kept_back")
        for entry in result(name)["data_sets"].values()
    ]
    return (
        f"On {len(searched)} other tables, of which {len(parts[1])} were kept back from every choice, our error is "
        f"{geometric_mean(searched):.3f} of a searched XGBoost's ({geometric_mean(searched[1:]):.3f} without our best "
        f"one; lower on {sum(ratio < 1 for ratio in searched)} of them) "
        f"and {geometric_mean(plain):.3f} ({geometric_mean(plain[1:]):.3f}) of one LightGBM fit's, in "
        f"{median(times):.2f} times its time in the median. {_kept_back()}"
    )


def _fit_times(ratios: dict[str, float]) -> str:
    """Our fit over one LightGBM fit: the middle, the mean, and the tail that the middle hides."""
    slow, worst = [ratio for ratio in ratios.values() if ratio > 1.5], max(ratios, key=ratios.__getitem__)
    return (
        f"Set by set, a fit takes {median(ratios.values()):.2f} times one LightGBM fit without search in the median, "
        f"{geometric_mean(ratios.values()):.2f} times in the geometric mean: on {len(slow)} of {len(ratios)} sets more "
        f"than 1.5 times, on {worst} {ratios[worst]:.1f} times."
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
