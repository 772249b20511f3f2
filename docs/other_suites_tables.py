"""The parts of docs/benchmarks.md about tables beside the open suite; called by docs/make_tables.py."""

from __future__ import annotations

from collections.abc import Callable
from statistics import geometric_mean
from typing import Any

Table = Callable[..., str]


SECOND = """were looked at while defaults were chosen, {kept} that were kept back: nothing was
chosen on them; directions were written down before any fit (`benchmarks/second_suite.json`), and
`benchmarks/second_suite.py` (with `--kept-back` for the others) makes them."""
THIRD = """are of the kind that machine learning is taught and judged by (UCI, KEEL; `benchmarks/third_suite.json`, made
by `benchmarks/third_suite.py`), with directions written down before any fit, and {kept} more of them that are kept
back. They came when everything else had been chosen; the first were then looked at while the default was chosen.
Four more that had been kept back (adult, computer_activity, defects_flight, maternal_risk) were lost, and looked at for
why; they stand with the first here. Nothing was chosen on the others."""


def second_suite(
    looked_at: dict[str, Any], kept_back: dict[str, Any], times: dict[str, dict[str, Any]], table: Table
) -> str:
    """times: fit times of the tables looked at and of those kept back."""
    return _suite("A second suite", SECOND, looked_at, kept_back, times, table)


def third_suite(
    looked_at: dict[str, Any], kept_back: dict[str, Any], large: dict[str, Any], times: dict[str, dict[str, Any]],
    table: Table,
) -> str:  # fmt: skip
    """large: two tables that few contestants get through."""
    return f"{_suite('A third suite', THIRD, looked_at, kept_back, times, table)}\n\n{_large(large)}"


def _suite(
    title: str, words: str, looked_at: dict[str, Any], kept_back: dict[str, Any], times: dict[str, dict[str, Any]],
    table: Table,
) -> str:  # fmt: skip
    parts = {"looked at": looked_at["results"], "kept back": kept_back["results"]}
    every = looked_at["results"]["contestants"] | kept_back["results"]["contestants"]
    peers = [name for name in every if name != "monolip" and any(name in part["overall"] for part in parts.values())]
    head = ["against", *(f"{label}: {what}" for label in parts for what in ("error", "better on", "worst"))]
    rows = [(every[peer]["label"], *(cell for part in parts.values() for cell in _cells(part, peer))) for peer in peers]
    sets = [
        _row(name, entry, label, peers) for label, part in parts.items() for name, entry in part["data_sets"].items()
    ]
    return f"""## {title}

`{kept_back["command"]}`, and the same for the tables looked at: {len(looked_at["results"]["data_sets"])} tables that
{words.format(kept=len(kept_back["results"]["data_sets"]))} One round of
{kept_back["settings"]["folds"]} folds, contestants as above{_kept(parts)}.
To run all of them again, name them in `--contestants` and leave out `--update`.
Ratios are our error / theirs, geometric means over the tables (in brackets: without our best one).

{table(head, rows)}

{_verdict(parts)}

{_hindsight(parts)}

{_times(times)}

{table(["table", "rows", "", "monolip", *(f"/ {every[peer]['label']}" for peer in peers)], sorted(sets))}"""


def _large(large: dict[str, Any]) -> str:
    """What few contestants get through, in words."""
    who, said = large["results"]["contestants"], []
    for name, entry in large["results"]["data_sets"].items():
        each = [
            f"{who[peer]['label']} {found[entry['metric']]['mean']:.4g} in {found['fit_s']:.0f} s"
            for peer, found in entry["contestants"].items()
        ]
        said.append(f"{name} ({entry['rows']:,} rows x {entry['columns']}, {entry['metric']}): {', '.join(each)}")
    return f"Two tables are larger (`{large['command']}`; search included, one thread): {'; '.join(said)}."


def _kept(parts: dict[str, dict[str, Any]]) -> str:
    """Who was not run again."""
    names = {part["contestants"][name]["label"]: None for part in parts.values() for name in part.get("kept", ())}
    said = "of an earlier run on the same folds, seconds included, most of which a slower machine took"
    return f" ({'; '.join(names)}: {said})" if names else ""


def _cells(part: dict[str, Any], peer: str) -> tuple[str, str, str]:
    if peer not in part["overall"]:
        return "-", "-", "-"
    found = part["overall"][peer]
    worst = f"{found['our_worst_ratio']:.3f}, {found['our_worst_set']}"
    error = f"{found['ours_over_it']:.3f} ({found['ours_over_it_without_our_best_set']:.3f})"
    return error, f"{found['ours_better_on']} of {len(part['data_sets'])}", worst


def _row(name: str, entry: dict[str, Any], label: str, peers: list[str]) -> tuple[str, ...]:
    ours = f"{entry['contestants']['monolip'][entry['metric']]['mean']:.4g}"
    ratios = (f"{entry['contestants'][p]['ours_over_it']:.3f}" if p in entry["contestants"] else "-" for p in peers)
    return name, f"{entry['rows']:,}", label, ours, *ratios


def _verdict(parts: dict[str, dict[str, Any]]) -> str:
    """In words, from the numbers: how often the strongest trees win, and by how much at most."""
    said = []
    for label, part in parts.items():
        trees = [peer for peer in part["overall"] if peer in ("lightgbm", "xgboost", "catboost", "hist")]
        best = max(trees, key=lambda peer: part["overall"][peer]["ours_over_it"])
        ratios = [entry["contestants"][best]["ours_over_it"] for entry in part["data_sets"].values()]
        found, name = part["overall"][best], part["contestants"][best]["label"]
        ours = part["overall"]["monolip"]
        lost, won = sum(ratio > 1.02 for ratio in ratios), sum(ratio < 0.98 for ratio in ratios)
        said.append(
            f"Tables {label}, against the searched trees of {name}: mean rank {ours['mean_rank']:.2f} against "
            f"{found['mean_rank']:.2f} (of {found['ranked_among']} models), a median of {ours['median_fit_s']:.2f} s "
            f"instead of {found['median_fit_s']:.2f} s of search and fit; {lost} of {len(ratios)} tables are lost by "
            f"more than 2 %, {won} won by more than that."
        )
    return "\n".join(said)


def _hindsight(parts: dict[str, dict[str, Any]]) -> str:
    """What there is to gain by choosing among them: the best contestant of each table, picked by its test error."""
    said = []
    for label, part in parts.items():
        ratios = []
        for entry in part["data_sets"].values():
            errors = {name: found[entry["metric"]]["mean"] for name, found in entry["contestants"].items()}
            ratios.append(min(errors.values()) / errors["xgboost"])
        said.append(f"{geometric_mean(ratios):.3f} ({label})")
    return (
        "Who picked for each table the best of all these contestants, ours included, by its error on the test rows, "
        f"would have {' and '.join(said)} of XGBoost's error: that is what choosing among them could gain."
    )


def _times(times: dict[str, dict[str, Any]]) -> str:
    """A default fit against one LightGBM fit, by number of threads."""
    said = []
    for label, found in times.items():
        results = found["results"]
        ratios = [entry["time_ratio"]["1"] for entry in results["data_sets"].values()]
        one, two = (results["median_time_ratio"][count] for count in ("1", "2"))
        said.append(
            f"{label}: {one:.2f} on one thread ({geometric_mean(ratios):.2f} in the geometric mean, "
            f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)} tables faster, "
            f"{sum(ratio > 2 for ratio in ratios)} more than twice as slow), {two:.2f} on two"
        )
    command = next(iter(times.values()))["command"]
    return f"A default fit takes, in the median and in times of one LightGBM fit (`{command}`): {'; '.join(said)}."
