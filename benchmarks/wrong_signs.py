"""How many wrong signs `fit` warns of, and how many right ones.

    MONOLIP_DATA=../shared/data python benchmarks/wrong_signs.py [--others build/second build/third]

The signs of suite.json count as right. Each table is fitted with them; then with one of them flipped, each in its turn;
then with all of them flipped, as a wrong class does it. A flipped sign is found if the warning lists its feature, a
right one that is listed is a false alarm. The same is done with random parts of the rows, and with other values of the
one threshold, FALSE. --others: folders that second_suite.py and third_suite.py have made. Writes
benchmarks/results/wrong_signs.json.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.errors import PromiseWarning
from monolip.estimators import _against_data
from record import ROOT, record
from suite_data import list_sets, read_set

CHANCES = (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9)
PARTS = (100, 300, 1000)  # rows


def listed(X: Any, y: Any, task: str, signs: dict[str, int]) -> set[str]:
    """The features that the warning of a fit lists; the fit is short, because the warning does not depend on it."""
    kind = MonotonicRegressor if task == "regression" else MonotonicClassifier
    model = kind(monotonic_cst=signs, hidden_layer_sizes=(4,), n_estimators=1, max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", PromiseWarning)
        try:
            model.fit(X, y)
        except PromiseWarning as warning:
            return {name for name in signs if f"{name!r} (" in str(warning)}
    return set()


def flipped(signs: dict[str, int], *names: str) -> dict[str, int]:
    return {name: -sign if name in names else sign for name, sign in signs.items()}


def one_set(name: str) -> dict[str, Any]:
    """Which features are listed: with right signs, with each sign flipped, with all signs flipped."""
    X, y, facts = read_set(name)
    task, signs = facts["task"], facts["monotonic_cst"]
    alone = {one: listed(X, y, task, flipped(signs, one)) for one in signs}
    return {
        "rows": len(X),
        "constraints": len(signs),
        "listed_with_right_signs": sorted(listed(X, y, task, signs)),
        "missed": [one for one in signs if one not in alone[one]],
        "false_beside_a_flipped_one": {one: sorted(found - {one}) for one, found in alone.items() if found - {one}},
        "missed_if_all_are_flipped": sorted(set(signs) - listed(X, y, task, flipped(signs, *signs))),
    }


def one_suite(names: Sequence[str]) -> dict[str, Any]:
    found = {name: one_set(name) for name in names}
    constraints = sum(one["constraints"] for one in found.values())
    missed = sum(len(one["missed"]) for one in found.values())
    fits = [one["constraints"] + one["constraints"] * (one["constraints"] - 1) for one in found.values()]
    false = [
        len(one["listed_with_right_signs"]) + sum(map(len, one["false_beside_a_flipped_one"].values()))
        for one in found.values()
    ]
    return {
        "constraints": constraints,
        "found": constraints - missed,
        "found_if_all_are_flipped": constraints - sum(len(one["missed_if_all_are_flipped"]) for one in found.values()),
        "right_signs": sum(fits),
        "false_alarms": sum(false),
        "tables": found,
    }


def part_of(rows: int, names: Sequence[str], repeats: int) -> dict[str, Any]:
    """All signs right, and all flipped, on random parts of the rows."""
    constraints = found = false = 0
    for name in names:
        X, y, facts = read_set(name)
        signs = facts["monotonic_cst"]
        for seed in range(repeats if len(X) > rows else 0):
            some = np.sort(np.random.default_rng(seed).choice(len(X), rows, replace=False))
            task, table = facts["task"], X.iloc[some].reset_index(drop=True)
            constraints += len(signs)
            false += len(listed(table, y[some], task, signs))
            found += len(listed(table, y[some], task, flipped(signs, *signs)))
    return {"rows": rows, "constraints": constraints, "found": found, "false_alarms": false}


@contextmanager
def chance(false: float) -> Iterator[None]:
    before = _against_data.FALSE
    _against_data.FALSE = false
    try:
        yield
    finally:
        _against_data.FALSE = before


def counts(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "tables"}


def seconds(names: Sequence[str]) -> dict[str, dict[str, float]]:
    """What the check takes, beside a default fit: the least of five, of one."""
    found: dict[str, dict[str, float]] = {}
    for name in names:
        X, y, facts = read_set(name)
        kind = MonotonicRegressor if facts["task"] == "regression" else MonotonicClassifier
        taken: dict[str, list[float]] = {"fit": [], "check": []}
        check = _against_data.contradictions

        def timed(*given: Any, check: Any = check, taken: Any = taken) -> Any:
            started = time.perf_counter()
            answer = check(*given)
            taken["check"].append(time.perf_counter() - started)
            return answer

        _against_data.contradictions = timed  # type: ignore[assignment]
        for _ in range(5):
            started = time.perf_counter()
            kind(monotonic_cst=facts["monotonic_cst"], n_jobs=1, random_state=0).fit(X, y)
            taken["fit"].append(time.perf_counter() - started)
        _against_data.contradictions = check
        found[name] = {what: round(min(each), 5) for what, each in taken.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", nargs="*", default=[], help="folders that hold suite/ of other suites")
    parser.add_argument("--repeats", type=int, default=20, help="random parts of each table")
    arguments = parser.parse_args()
    names = list(list_sets())
    results: dict[str, Any] = {"open": one_suite(names)}
    print("open", counts(results["open"]), flush=True)
    results["chances"] = []
    for false in CHANCES:
        with chance(false):
            results["chances"].append({"chance": false, **counts(one_suite(names))})
    results["parts"] = [part_of(rows, names, arguments.repeats) for rows in PARTS]
    results["seconds"] = seconds(names)
    print(results["chances"], results["parts"], results["seconds"], sep="\n", flush=True)
    before = os.environ.get("MONOLIP_DATA")
    for folder in arguments.others:
        os.environ["MONOLIP_DATA"] = folder
        results[Path(folder).name] = one_suite([name for name, one in list_sets().items() if one["monotonic_cst"]])
        print(folder, counts(results[Path(folder).name]), flush=True)
    os.environ.pop("MONOLIP_DATA", None)
    if before is not None:
        os.environ["MONOLIP_DATA"] = before
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    settings = {"commit": commit.stdout.strip(), "chance": _against_data.FALSE, "repeats": arguments.repeats}
    print(record("wrong_signs", results, ("monolip", "numpy", "scikit-learn"), **settings))


if __name__ == "__main__":
    main()
