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
ROWS = (
    "monolip", "monolip_bounded", "monolip_8", "monolip_accurate",
    "catboost", "xgboost", "lightgbm", "hist", "lmn", "lightgbm_plain", "linear",
)  # fmt: skip


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
                f"choose among eight settings and refit{_when(found)}; monolip, default, runs as it is, 8 members is "
                "`n_estimators=8`, accurate that with `hidden_layer_sizes=(64, 64)`. Each row of ours is ranked "
                "without the others. All of it was measured at commit b8f3b08 or before, whose default fit could add "
                'trees; the row "no trees" is what a fit does now, and all of it will be measured again. '
                f"{_fit_times({name: entry['time_ratio']['1'] for name, entry in times['data_sets'].items()})} "
                f"{_other_tables()} All of it, with the data sets that were lost: [benchmarks](docs/benchmarks.md).",
                120,
                break_long_words=False,
                break_on_hyphens=False,
            ),
        ]
    )


def _when(found: dict[str, Any]) -> str:
    return (
        " (in an earlier run on the same folds, seconds too, which a slower machine took)" if found.get("kept") else ""
    )


def _best_sets(found: dict[str, Any]) -> str:
    """Where our error is smallest against a rival of the table: the sets the brackets leave out."""
    rivals = [name for name in ROWS if name in found["overall"] and not name.startswith("monolip")]
    best = [
        min(found["data_sets"], key=lambda key: found["data_sets"][key]["contestants"][name]["ours_over_it"])
        for name in rivals
    ]
    return " or ".join(sorted(set(best), key=lambda key: -best.count(key)))


def _other_tables() -> str:
    """What the fifteen sets flatter by: the same contest on other tables."""
    second = _others(
        "75 tables out of R packages", ("second_suite", "kept_back"), "fit_time_{}", ("second", "kept_back")
    )
    third = ("third_suite", "third_kept_back")
    needed = (*third, "fit_time_third", "fit_time_third_kept_back")
    if not all((ROOT / "benchmarks/results" / f"{name}.json").exists() for name in needed):
        return second
    return f"{second} {_others('35 of the UCI kind', third, 'fit_time_{}', ('third', 'third_kept_back'))}"


def _others(words: str, names: tuple[str, str], times: str, timed: tuple[str, str]) -> str:
    """Against the best searched trees there, by error, and one LightGBM fit; and of the tables kept back alone."""
    parts = [result(name) for name in names]
    trees = [name for name in ("lightgbm", "xgboost", "catboost") if all(name in part["overall"] for part in parts)]
    ratios = {peer: _ratios(parts, peer) for peer in (*trees, "lightgbm_plain")}
    best = max(trees, key=lambda peer: geometric_mean(ratios[peer]))
    searched, plain, back = ratios[best], ratios["lightgbm_plain"], _ratios(parts[1:], best)
    each = [[e["time_ratio"]["1"] for e in result(times.format(name))["data_sets"].values()] for name in timed]
    label, overall = parts[0]["contestants"][best]["label"], parts[1]["overall"]
    ranks = ", ".join(f"{parts[1]['contestants'][name]['label']} {overall[name]['mean_rank']:.2f}" for name in trees)
    return (
        f"On {words}, of which {len(back)} were kept back from every choice, our error is "
        f"{geometric_mean(searched):.3f} of a searched {label}'s ({geometric_mean(searched[1:]):.3f} without our best "
        f"one; lower on {sum(ratio < 1 for ratio in searched)} of {len(searched)}) and {geometric_mean(plain):.3f} "
        f"({geometric_mean(plain[1:]):.3f}) of one LightGBM fit's, in {median(each[0] + each[1]):.2f} times its time "
        f"in the median; on those kept back alone {geometric_mean(back):.3f} ({geometric_mean(back[1:]):.3f}) in "
        f"{median(each[1]):.2f} times its time, {sum(ratio > 1.02 for ratio in back)} of {len(back)} lost by more than "
        f"2 %, with a mean rank of {overall['monolip']['mean_rank']:.2f} (searched {ranks})."
    )


def _ratios(parts: list[dict[str, Any]], peer: str) -> list[float]:
    """Our error over its, table by table, our best ones first."""
    return sorted(entry["contestants"][peer]["ours_over_it"] for part in parts for entry in part["data_sets"].values())


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
