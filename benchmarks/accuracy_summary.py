"""From the rows of benchmarks/accuracy.py to what is claimed: means, standard errors, ranks, ratios. Pure functions.

A data set counts the folds that every contestant finished. Ratios are geometric means over folds of ours / theirs.
Folds share training rows, so the standard error of a ratio uses Nadeau and Bengio's factor sqrt(1/J + test/train).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["MAIN", "add_kept", "summarise"]

MAIN = {"regression": "rmse", "binary": "log_loss"}
METRICS = {"regression": ("rmse", "mae"), "binary": ("log_loss", "auc", "accuracy")}
Rows = list[dict[str, Any]]


def summarise(
    rows: Rows,
    sets: dict[str, dict[str, Any]],
    names: Iterable[str],
    ours: str,
    monotone: Iterable[str],
    variants: Iterable[str] = (),
) -> dict[str, Any]:
    """names: who took part. ours: the one ratios are made of. monotone: those ranked. variants: more of ours."""
    names, monotone = list(names), list(monotone)
    table = {}
    for name, facts in sets.items():
        mine = [row for row in rows if row["data_set"] == name and "failed" not in row]
        folds = _common_folds(mine, names)
        if folds:
            table[name] = _one_set(mine, folds, names, facts, ours)
    failed = [{k: r[k] for k in ("data_set", "repeat", "fold", "contestant", "failed")} for r in rows if "failed" in r]
    result: dict[str, Any] = {"data_sets": table, "failed": failed}
    if table:
        _compare(result, names, ours, monotone, variants)
    return result


def add_kept(
    result: dict[str, Any], before: dict[str, Any], names: Iterable[str], ours: str, monotone: Iterable[str],
    variants: Iterable[str] = (),
) -> None:  # fmt: skip
    """Contestants that did not run again keep what an earlier result says of them, and are compared with ours of now.

    names: who takes part, in their order; those that are not in `result` must be in `before`, on the same folds.
    """
    names = list(names)
    if missing := set(before["data_sets"]) - set(result["data_sets"]):
        raise SystemExit(f"what is kept is of all data sets; {sorted(missing)} did not run; leave out --sets")
    for key, entry in result["data_sets"].items():
        old, new = before["data_sets"].get(key), entry["contestants"]
        if old is None or [tuple(fold) for fold in old["folds"]] != [tuple(fold) for fold in entry["folds"]]:
            raise SystemExit(f"what is kept must be of the same folds; {key} has others; run all contestants on it")
        if old["rows"] != entry["rows"] or set(names) - set(new) - set(old["contestants"]):
            raise SystemExit(f"what is kept must be of the same rows and of everybody; {key} is not; run all of them")
        n_folds = 1 + max(fold for _, fold in entry["folds"])
        base, every = np.log(new[ours]["values"]), {**old["contestants"], **new}
        entry["contestants"] = {name: every[name] for name in names}
        for name in set(names) - set(new):
            every[name].update(_ratio(base - np.log(every[name]["values"]), n_folds))
    _compare(result, names, ours, list(monotone), variants)


def _compare(result: dict[str, Any], names: list[str], ours: str, monotone: list[str], variants: Iterable[str]) -> None:
    """Over all data sets."""
    table = result["data_sets"]
    rivals = [name for name in monotone if name != ours and name not in set(variants)]
    result["overall"] = {name: _overall(table, name, ours, name in monotone, rivals) for name in names}
    result["seed_spread"] = _seed_spread(table, ours)


def _common_folds(rows: Rows, names: list[str]) -> list[tuple[int, int]]:
    done = {name: {(r["repeat"], r["fold"]) for r in rows if r["contestant"] == name} for name in names}
    return sorted(set.intersection(*done.values())) if done else []


def _one_set(rows: Rows, folds: list[tuple[int, int]], names: list[str], facts: dict, ours: str) -> dict[str, Any]:
    task = facts["task"]
    found = {(r["contestant"], r["repeat"], r["fold"]): r for r in rows}
    values = {n: {m: np.array([found[n, *f][m] for f in folds]) for m in METRICS[task]} for n in names}
    entry: dict[str, Any] = {
        "task": task, "rows": facts["rows"], "columns": facts["features"], "metric": MAIN[task], "folds": folds,
        "contestants": {},
    }  # fmt: skip
    base = np.log(values[ours][MAIN[task]])
    for n in names:
        mine = [found[n, *f] for f in folds]
        entry["contestants"][n] = {
            **{m: _mean(v) for m, v in values[n].items()},
            "values": [float(f"{v:.8g}") for v in values[n][MAIN[task]]],
            "fit_s": float(np.median([r["fit_s"] for r in mine])),
            "predict_s": float(np.median([r["predict_s"] for r in mine])),
            "wrong_steps": float(np.mean([r["wrong_steps"] for r in mine])),
            **_ratio(base - np.log(values[n][MAIN[task]]), rows[0]["folds"]),
        }
    return entry


def _ratio(logs: np.ndarray, n_folds: int) -> dict[str, float | None]:
    """logs: of ours / theirs, a fold each."""
    spread = np.sqrt(1 / len(logs) + 1 / (n_folds - 1))
    se = float(logs.std(ddof=1) * spread) if len(logs) > 1 else None
    return {"ours_over_it": float(np.exp(logs.mean())), "ours_over_it_se": se}


def _mean(values: np.ndarray) -> dict[str, float | None]:
    se = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {"mean": float(values.mean()), "se": se}


def _overall(table: dict[str, Any], name: str, ours: str, ranked: bool, rivals: list[str]) -> dict[str, Any]:
    """Mean rank by mean error: a variant of ours stands in the place of ours, against the same rivals."""
    rivals = [ours if name in rivals else name, *rivals]
    ranks = {key: _rank(entry, rivals, name) for key, entry in table.items()}
    ratios = {key: entry["contestants"][name]["ours_over_it"] for key, entry in table.items()}
    logs = np.log(list(ratios.values()))
    return {
        "mean_rank": float(np.mean(list(ranks.values()))) if ranked else None,
        "first_places": sum(r == 1 for r in ranks.values()) if ranked else None,
        "ranked_among": len(rivals),
        "ours_over_it": float(np.exp(logs.mean())),
        "ours_over_it_without_our_best_set": float(np.exp(np.sort(logs)[1:].mean())) if len(logs) > 1 else None,
        "ours_better_on": int((logs < 0).sum()),
        "our_worst_set": max(ratios, key=ratios.__getitem__),
        "our_worst_ratio": max(ratios.values()),
        "median_fit_s": float(np.median([entry["contestants"][name]["fit_s"] for entry in table.values()])),
        "wrong_steps": float(np.mean([entry["contestants"][name]["wrong_steps"] for entry in table.values()])),
    }


def _rank(entry: dict[str, Any], rivals: list[str], name: str) -> float:
    error = {n: entry["contestants"][n][entry["metric"]]["mean"] for n in rivals}
    below = sum(e < error[name] for e in error.values())
    equal = sum(e == error[name] for e in error.values())
    return below + (equal + 1) / 2


def _seed_spread(table: dict[str, Any], ours: str) -> dict[str, float] | None:
    """Standard deviation of log error over seeds on the same fold, from the variant that differs by its seed only."""
    second = f"{ours}_seed2"
    if any(second not in entry["contestants"] for entry in table.values()):
        return None
    pairs = {k: [np.log(e["contestants"][n]["values"]) for n in (ours, second)] for k, e in table.items()}
    return {name: float(np.sqrt(np.mean((a - b) ** 2) / 2)) for name, (a, b) in pairs.items()}
