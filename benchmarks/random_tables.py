"""Two hundred random tables with everything that goes wrong in practice, and what a default fit makes of them.

    python benchmarks/random_tables.py [--tables 200] [--first 0] [--jobs 2]

Types, scales from 1e-9 to 1e9, heavy tails, missing values (few, most, all), constant and duplicated columns, promises
the data contradict, many categories, ordered ones, bool and int columns, a dozen rows, fewer rows than columns, two
classes of which one is rare. Each fit must end, quickly, with finite predictions that keep the promise (one-ulp and
large steps, compared exactly); that is "wrong" otherwise. "worse": a quarter above the error of a constant on new rows,
beyond chance; a few of 200 may be, where one row of the target outweighs all others.
"""

from __future__ import annotations

import argparse
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

from contestants.ours import warm_up
from contestants.task import main_error
from record import record

__all__ = ["RandomTable", "judge", "random_table"]

LONGEST_S = 20.0  # of processor time, for at most 2000 rows and 40 columns: beyond that it is absurd


@dataclass
class RandomTable:
    """X: training rows, then as many new ones in X_new. odd: what is unusual about it, in words."""

    X: pd.DataFrame
    y: np.ndarray
    X_new: pd.DataFrame
    y_new: np.ndarray
    cst: dict[str, int]
    classes: bool
    odd: list[str] = field(default_factory=list)


def random_table(number: int) -> RandomTable:
    """The same table for the same number, always."""
    rng = np.random.default_rng([20_26, number])
    n = int(rng.choice([12, 25, 60, 200, 600, 2000], p=[0.1, 0.1, 0.2, 0.25, 0.25, 0.1]))
    d = int(rng.choice([1, 2, 5, 12, 40], p=[0.1, 0.15, 0.4, 0.25, 0.1] if n > 60 else [0.1, 0.1, 0.3, 0.2, 0.3]))
    classes = bool(rng.random() < 0.4)
    columns: dict[str, Any] = {}
    f = np.zeros(2 * n)
    cst: dict[str, int] = {}
    odd = [f"{n} rows", f"{d} columns"]
    for k in range(d):
        kind = str(rng.choice(list(KINDS), p=np.array(list(KINDS.values())) / sum(KINDS.values())))
        column, effect = _column(rng, kind, 2 * n, columns)
        columns[f"c{k}"] = column
        f += effect * rng.choice([0.0, 0.5, 1.0])
        if kind in PROMISABLE and rng.random() < 0.5:
            cst[f"c{k}"] = int(rng.choice([-1, 1]))  # the effect rises: half the promises contradict the data
        odd.append(kind)
    frame = pd.DataFrame(columns)
    y = _target(rng, f, classes, odd)
    return RandomTable(
        frame[:n].reset_index(drop=True), y[:n], frame[n:].reset_index(drop=True), y[n:], cst, classes, odd
    )


KINDS = {
    "normal": 4, "tiny": 1, "huge": 1, "cauchy": 1, "lognormal": 1, "integer": 1, "bool": 1, "few missing": 1,
    "most missing": 1, "all missing": 0.3, "constant": 1, "copy": 1, "outlier": 0.5, "near constant": 0.5,
    "category": 1, "many categories": 1, "ordered category": 1, "offset": 0.5, "zeros": 0.5, "text": 0.5,
}  # fmt: skip
PROMISABLE = set(KINDS) - {"category", "many categories", "text"}


def _column(rng: np.random.Generator, kind: str, n: int, before: dict[str, Any]) -> tuple[Any, np.ndarray]:
    """(a column of that kind, its rising effect on the target)."""
    z = rng.normal(size=n)
    numbers = {
        "normal": z, "tiny": 1e-9 * z, "huge": 1e9 * z, "cauchy": rng.standard_cauchy(n), "lognormal": np.exp(3 * z),
        "integer": np.round(3 * z).astype(np.int32), "bool": z > 0, "constant": np.full(n, 7.5),
        "near constant": np.where(np.arange(n) == n // 3, 1.0, 0.0), "offset": 1e9 + z, "zeros": np.maximum(z, 0.0),
        "outlier": np.where(np.arange(n) == 0, 1e12, z), "all missing": np.full(n, np.nan),
        "few missing": np.where(rng.random(n) < 0.1, np.nan, z), "most missing": np.where(z < 1.2, np.nan, z),
    }  # fmt: skip
    if kind in numbers:
        return numbers[kind], z
    if kind == "copy":
        twins = [column for column in before.values() if isinstance(column, np.ndarray) and column.dtype.kind in "fib"]
        return (twins[0] if twins else z), np.zeros(n)  # perhaps under the opposite promise
    codes = rng.integers(
        0, {"category": 4, "text": 6, "ordered category": 5, "many categories": max(3, n // 3)}[kind], n
    )
    levels = [f"level {code}" for code in range(codes.max() + 1)]
    effect = codes / max(codes.max(), 1) if kind == "ordered category" else rng.normal(size=len(levels))[codes]
    if kind == "text":
        return np.array(levels, dtype=object)[codes], effect
    return pd.Categorical.from_codes(codes, levels, ordered=kind == "ordered category"), effect


def _target(rng: np.random.Generator, f: np.ndarray, classes: bool, odd: list[str]) -> np.ndarray:
    noisy = f + rng.normal(size=len(f))
    if not classes:
        kind = str(rng.choice(["plain", "scaled 1e8", "scaled 1e-8", "heavy tail", "counts", "constant target"]))
        odd.append(kind)
        return {
            "plain": noisy, "scaled 1e8": 1e8 * noisy, "scaled 1e-8": 1e-8 * noisy, "heavy tail": np.exp(noisy),
            "counts": np.floor(np.exp(np.minimum(noisy, 5))), "constant target": np.full(len(f), 3.0),
        }[kind]  # fmt: skip
    half = len(f) // 2
    share = float(rng.choice([0.5, 0.1, 0.0]))  # 0: one row of the second class, nothing else
    odd.append(f"share of ones {share}")
    y = (noisy > np.quantile(noisy[:half], 1 - share)).astype(int) if share else np.zeros(len(f), int)
    y[0], y[1] = 0, 1
    return y


def judge(number: int, **options: Any) -> dict[str, Any]:
    """Fit with default settings (or options) and check everything; "wrong" lists what must never happen."""
    table = random_table(number)
    found: dict[str, Any] = {"number": number, "odd": ", ".join(table.odd), "wrong": [], "worse": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _judge(table, found, options)
    except Exception as error:
        found["wrong"].append(f"{type(error).__name__}: {error}"[:300])
        found["trace"] = traceback.format_exc()[-1500:]
    return found


def _judge(table: RandomTable, found: dict[str, Any], options: dict[str, Any]) -> None:
    from monolip.estimators import MonotonicClassifier, MonotonicRegressor

    kind = MonotonicClassifier if table.classes else MonotonicRegressor
    begun = time.process_time()  # not the clock on the wall: machines are shared
    model = kind(monotonic_cst=table.cst, random_state=0, **options).fit(table.X, table.y)
    found["fit_s"] = time.process_time() - begun
    scores = model.decision_function if table.classes else model.predict
    predicted = model.predict_proba(table.X_new)[:, 1] if table.classes else model.predict(table.X_new)
    if found["fit_s"] > LONGEST_S:
        found["wrong"].append(f"fit took {found['fit_s']:.1f} s")
    if not (np.isfinite(predicted).all() and np.isfinite(scores(table.X)).all()):
        found["wrong"].append("predictions are not finite")
        return
    constant = np.full(len(table.y_new), table.y.mean())
    error, trivial = (main_error(table.y_new, p, table.classes) for p in (predicted, constant))
    found["error_over_constant"] = error / trivial if trivial > 0 else 1.0 if error < 1e-6 else np.inf
    found["worse"] = (
        found["error_over_constant"] > 1.25 and len(table.y) >= 25 and beyond_chance(table, predicted, constant)
    )
    drops = wrong_directions(scores, table.X_new, table.cst)
    if drops:
        found["wrong"].append(f"promise broken: {drops}")


def beyond_chance(table: RandomTable, predicted: np.ndarray, constant: np.ndarray) -> bool:
    """Worse than the constant by three standard errors, row by row: one lucky or unlucky row does not count."""
    y = table.y_new
    if table.classes:
        p, q = (np.where(y == 1, s, 1 - s).clip(1e-6) for s in (predicted, constant))
        worse = np.log(q) - np.log(p)
    else:
        worse = (y - predicted) ** 2 - (y - constant) ** 2
    return bool(worse.mean() > 3 * worse.std() / np.sqrt(len(worse)))


def wrong_directions(scores: Any, X: pd.DataFrame, cst: dict[str, int]) -> dict[str, int]:
    """{feature: steps that went the wrong way, bit for bit}: one ulp, small and huge steps; next ordered category."""
    found = {}
    before = scores(X)
    for name, sign in cst.items():
        wrong = 0
        for moved in _steps(X[name]):
            known = (X[name].notna() & moved.notna()).to_numpy()
            after = scores(X.assign(**{name: moved}))
            wrong += int(np.sum((sign * (after - before) < 0) & known))
        if wrong:
            found[name] = wrong
    return found


def _steps(column: pd.Series) -> list[pd.Series]:
    """The column moved up in several ways; never down."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        top = len(column.cat.categories) - 1
        up = np.where(column.cat.codes < 0, -1, np.minimum(column.cat.codes + 1, top))
        return [pd.Series(pd.Categorical.from_codes(up, dtype=column.dtype), index=column.index)]
    if column.dtype.kind == "b":
        return [column | True]
    if column.dtype.kind in "iu":
        return [column + step for step in (1, 7, 100_000)]
    values = column.to_numpy(dtype=float)
    size = float(np.nanstd(values)) if np.isfinite(values).any() else 1.0
    moved = [np.nextafter(values, np.inf), *(values + size * step for step in (1e-6, 0.3, 5.0)), values + 1e15]
    return [pd.Series(v, index=column.index) for v in moved]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.tables)
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn"), initializer=warm_up) as pool:
        found = []
        for row in pool.map(judge, numbers):
            found.append(row)
            if row["wrong"] or row["worse"]:
                said = row["wrong"] or f"error is {row['error_over_constant']:.2f} of the constant's"
                print(f"table {row['number']}: {said} ({row['odd']})", flush=True)
    summary = {
        "tables": len(found),
        "wrong": [{k: row[k] for k in ("number", "wrong", "odd")} for row in found if row["wrong"]],
        "worse_than_constant": [row["number"] for row in found if row["worse"]],
        **_spread(found, "fit_s"),
        **_spread(found, "error_over_constant"),
    }
    print(summary)
    if arguments.tables >= 200 and arguments.first == 0:
        record("random_tables", summary, ("monolip", "numpy", "numba", "pandas"))


def _spread(found: list[dict[str, Any]], key: str) -> dict[str, Any]:
    """The median of a quantity, and its largest value with the table that has it."""
    values = {row["number"]: float(row[key]) for row in found if key in row}
    worst = max(values, key=values.__getitem__)
    return {f"{key}_median": float(np.median(list(values.values()))), f"{key}_largest": [worst, values[worst]]}


if __name__ == "__main__":
    main()
