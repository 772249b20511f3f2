"""Summarise the rows of old_and_new.py: error ratios with their intervals, ranks among peers, time ratios.

The error ratio of a table is the geometric mean over rounds of candidate / base. Over tables: the geometric mean, with
a 95 % interval (Student's t over tables). A table is worse if its ratio is above 1.03 and the mean log ratio exceeds
two standard errors of the paired differences over rounds. The time ratio of a table is the median over rounds, and a
fit of under 50 ms counts as 50 ms on both sides; the fields "plain_time" do without that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

__all__ = ["SUITES", "TREES", "draw", "peers_of", "ranks", "read_rows", "show", "spread", "summarise"]

TREES = "lightgbm"  # the name of the rows of one LightGBM fit with early stopping
SHORTEST_S, WORSE, CLIP, FOLDS = 0.05, 0.03, 0.05, 5
SUITES = ("open", "second", "kept_back", "third", "third_kept_back")
POOLS = {"second, all": SUITES[1:3], "third, all": SUITES[3:], "all": SUITES}
RESULTS = {"open": "accuracy", "second": "second_suite", "third": "third_suite"}
Table = tuple[str, str]  # suite, table
Rounds = dict[int, dict[str, Any]]


def read_rows(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the finished lines; a run that was killed may leave half a line."""
    rows = []
    for path in paths:
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return rows


def spread(ratios: list[float]) -> dict[str, Any]:
    """Return the geometric mean over tables with its 95 % interval, and how the ratios are distributed."""
    logs = np.log(ratios)
    n, mean = len(logs), logs.mean()
    half = t.ppf(0.975, n - 1) * logs.std(ddof=1) / np.sqrt(n) if n > 1 else None
    return {
        "tables": n,
        "mean": float(np.exp(mean)),
        "interval": None if half is None else [float(np.exp(mean - half)), float(np.exp(mean + half))],
        "mean_clipped_at_5_percent": float(np.exp(np.clip(logs, -CLIP, CLIP).mean())),
        "median": float(np.median(ratios)),
        "better_on": int((logs < 0).sum()),
        "worse_by_2_percent": int((logs > 0.02).sum()),
        "better_by_2_percent": int((logs < -0.02).sum()),
    }


def peers_of(suite: str) -> dict[str, dict[str, dict[int, float]]]:
    """Return the committed errors {table: {peer: {round: error}}} of the searched boosted trees."""
    path = Path(__file__).parent / "results" / f"{RESULTS.get(suite, suite)}.json"
    if not path.exists():
        return {}
    results = json.loads(path.read_text())["results"]
    facts = results["contestants"]
    names = [n for n, c in facts.items() if c["family"] == "trees" and c["monotone"] and "grid" in c["search"]]
    found: dict[str, dict[str, dict[int, float]]] = {}
    for table, entry in results["data_sets"].items():
        rounds = [repeat * FOLDS + fold for repeat, fold in entry["folds"]]
        found[table] = {n: dict(zip(rounds, entry["contestants"][n]["values"], strict=True)) for n in names}
    return found


def ranks(errors: dict[int, float], peers: dict[str, dict[int, float]], name: str) -> dict[str, float]:
    """Return the rank of `name` and of each peer by mean error over the rounds that all of them have."""
    every = {**peers, name: errors}
    rounds = sorted(set.intersection(*(set(each) for each in every.values())))
    if not rounds or not peers:
        return {}
    mean = {who: np.mean([each[k] for k in rounds]) for who, each in every.items()}
    below = {who: sum(m < mine for m in mean.values()) for who, mine in mean.items()}
    equal = {who: sum(m == mine for m in mean.values()) for who, mine in mean.items()}
    return {who: below[who] + (equal[who] + 1) / 2 for who in mean}


def _paired(ours: Rounds, base: Rounds, clock: str) -> dict[str, Any] | None:
    """Compare the rounds that both have; None if there are none, or errors of zero."""
    rounds = sorted(set(ours) & set(base))
    if not rounds or min(each[k]["error"] for each in (ours, base) for k in rounds) <= 0:
        return None
    logs = np.log([ours[k]["error"] / base[k]["error"] for k in rounds])
    se = float(logs.std(ddof=1) / np.sqrt(len(logs))) if len(logs) > 1 else None
    times = np.array([(ours[k][clock], base[k][clock]) for k in rounds])
    floored = np.maximum(times, SHORTEST_S)
    return {
        "error": float(np.exp(logs.mean())),
        "se": se,
        "worse": bool(se is not None and logs.mean() > max(np.log1p(WORSE), 2 * se)),
        "time": float(np.median(floored[:, 0] / floored[:, 1])),
        "plain_time": float(np.median(times[:, 0] / times[:, 1])),
        "seconds": [float(each) for each in times.mean(axis=0)],
    }


def _times(pairs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return how time ratios are distributed over tables; total: of the sums over tables of the mean seconds."""
    if not pairs:
        return None
    found = {}
    for key in ("time", "plain_time"):
        ratios = [pair[key] for pair in pairs]
        found[key] = {"median": float(np.median(ratios)), "mean": float(np.exp(np.mean(np.log(ratios))))}
    ours, base = np.sum([pair["seconds"] for pair in pairs], axis=0)
    return {**found["time"], "plain_time": found["plain_time"], "total": float(ours / base), "tables": len(pairs)}


def _sort(rows: list[dict[str, Any]]) -> tuple[dict[str, dict[Table, Rounds]], list[dict[str, Any]]]:
    """Return {name: {table: {round: row}}} and those failures that no later line repairs."""
    found: dict[str, dict[Table, Rounds]] = {}
    failed: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = row["name"], row["suite"], row["table"], row["round"]
        if "failed" in row:
            failed[key] = row
        else:
            failed.pop(key, None)
            found.setdefault(row["name"], {}).setdefault((row["suite"], row["table"]), {})[row["round"]] = row
    return found, [{k: r[k] for k in ("name", "suite", "table", "round", "failed")} for r in failed.values()]


def summarise(rows: list[dict[str, Any]], against: str, clock: str = "fit_s") -> dict[str, Any]:
    """Return each candidate's figures per suite and per pool of suites, and all errors and seconds per table."""
    found, failed = _sort(rows)
    if against not in found:
        raise SystemExit(f"--against names a candidate that has rows; got {against}; these have some: {sorted(found)}")
    suites = list(dict.fromkeys(row["suite"] for row in rows))
    pools = {**{suite: (suite,) for suite in suites}, **{p: s for p, s in POOLS.items() if set(s) <= set(suites)}}
    peers = {(suite, table): each for suite in suites for table, each in peers_of(suite).items()}
    candidates = {}
    for name, mine in found.items():
        pairs = {key: _paired(mine[key], found[against].get(key, {}), clock) for key in mine}
        trees = {key: _paired(mine[key], found.get(TREES, {}).get(key, {}), clock) for key in mine}
        ranked = {} if name == TREES else {
            key: ranks({k: row["error"] for k, row in rounds.items()}, peers[key], name)
            for key, rounds in mine.items() if key in peers
        }  # fmt: skip
        facts = next(iter(next(iter(mine.values())).values()))
        compared = {"/".join(key): pair for key, pair in pairs.items() if pair}
        candidates[name] = {
            **{key: facts.get(key, "") for key in ("commit", "code", "arguments")},
            "wrong_steps": max(row.get("wrong_steps", 0.0) for rounds in mine.values() for row in rounds.values()),
            "worse": {} if name == TREES else {key: pair for key, pair in compared.items() if pair["worse"]},
            "suites": {pool: each for pool, s in pools.items() if (each := _of_pool(s, pairs, trees, ranked))},
            "tables": compared,
        }
    tables = {
        "/".join(key): {
            name: {"rounds": sorted(each[key]), "error": [each[key][k]["error"] for k in sorted(each[key])],
                   "seconds": [each[key][k][clock] for k in sorted(each[key])]}
            for name, each in found.items() if key in each
        }
        for key in dict.fromkeys(key for each in found.values() for key in each)
    }  # fmt: skip
    return {"against": against, "candidates": candidates, "tables": tables, "failed": failed}


def _of_pool(suites: tuple[str, ...], pairs: dict, trees: dict, ranked: dict) -> dict[str, Any]:
    """Return one candidate's figures on some suites together."""
    mine, beside = ([pair for key, pair in each.items() if pair and key[0] in suites] for each in (pairs, trees))
    if not mine:
        return {}
    rows = [each for key, each in ranked.items() if each and key[0] in suites]
    everybody = set.intersection(*(set(each) for each in rows)) if rows else set()
    return {
        "error": spread([pair["error"] for pair in mine]),
        "time": _times(mine),
        "time_over_lightgbm": _times(beside),
        # peers that took part on all of these suites; a rank of 1 is the lowest error
        "mean_rank": {who: float(np.mean([_rank_among(each, who, everybody) for each in rows])) for who in everybody},
    }


def _rank_among(rank: dict[str, float], who: str, everybody: set[str]) -> float:
    """Return the rank among some of those who were ranked."""
    below = sum(rank[other] < rank[who] for other in everybody)
    return below + (sum(rank[other] == rank[who] for other in everybody) + 1) / 2


def show(found: dict[str, Any]) -> None:
    """Print the summary."""
    base = found["against"]
    head = f"tables  error [95 % interval]     clipped median better +-2%  time/{base} (total)"
    for name, each in found["candidates"].items():
        code = f"{each['commit'] or each['code']} {each['arguments']}".strip()
        print(f"\n{name} ({code}) / {base}; wrong steps {each['wrong_steps']}")
        print(f"  {'':16s} {head}  time/LightGBM: median, mean  mean ranks")
        for pool, of in each["suites"].items():
            e, time, trees = of["error"], of["time"], of["time_over_lightgbm"]
            interval = "[{:.4f}, {:.4f}]".format(*e["interval"]) if e["interval"] else ""
            beside = f"{trees['median']:.2f}, {trees['mean']:.2f}" if trees else ""
            order = sorted(of["mean_rank"].items(), key=lambda pair: pair[1])
            print(
                f"  {pool:16s} {e['tables']:6d} {e['mean']:7.4f} {interval:17s} {e['mean_clipped_at_5_percent']:7.4f} "
                f"{e['median']:6.4f} {e['better_on']:4d} {e['worse_by_2_percent']:3d}/{e['better_by_2_percent']:2d}   "
                f"{time['plain_time']['mean']:5.2f} ({time['total']:.2f})      {beside:12s}      "
                + "  ".join(f"{who} {rank:.2f}" for who, rank in order)
            )
        for table, pair in sorted(each["worse"].items(), key=lambda item: -item[1]["error"]):
            print(f"    worse: {table:36s} {pair['error']:.3f} (log ratio +- {pair['se']:.3f})")
    for failure in found["failed"]:
        print("FAILED", failure)


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw error against time for all candidates, one panel per pool; bars are 95 % intervals over tables."""
    from matplotlib.figure import Figure

    pools = list(found["candidates"][found["against"]]["suites"])
    figure = Figure(figsize=(4.5 * len(pools), 4), layout="constrained")
    for pool, ax in zip(pools, figure.subplots(1, len(pools), squeeze=False)[0], strict=True):
        for name, each in found["candidates"].items():
            if name == TREES or pool not in each["suites"]:
                continue
            error, time = each["suites"][pool]["error"], each["suites"][pool]["time"]["plain_time"]["mean"]
            low, high = error["interval"] or (error["mean"], error["mean"])
            ax.errorbar(time, error["mean"], [[error["mean"] - low], [high - error["mean"]]], marker="o", capsize=3)
            ax.annotate(name, (time, error["mean"]), xytext=(5, 5), textcoords="offset points")
        ax.margins(0.2)
        ax.set(title=f"{pool} ({error['tables']} tables)", xlabel=f"fit time / {found['against']}'s")
        ax.set_ylabel(f"error / {found['against']}'s")
    figure.savefig(path)
