"""One unit of benchmarks/accuracy.py: one contestant on one fold of one data set, with all metrics of its test rows."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from contestants import CONTESTANTS, Predict, Task, add_variant, fingerprint
from contestants.ours import warm_up
from contestants.task import main_error
from suite_data import read_set

__all__ = ["Unit", "metrics", "run_unit", "split_of", "wrong_steps"]


@dataclass(frozen=True)
class Unit:
    """options: arguments of a monolip variant given on the command line, as sorted pairs, else None."""

    data_set: str
    repeat: int
    fold: int
    folds: int
    contestant: str
    options: tuple[tuple[str, Any], ...] | None = None

    @property
    def key(self) -> str:
        """Names the unit and what would compute it, so that a cache never mixes versions."""
        where = f"{self.data_set}/{self.repeat}/{self.fold}of{self.folds}"
        return f"{where}/{self.contestant}/{fingerprint(self.contestant)}"

    @property
    def seed(self) -> int:
        return 1000 * self.repeat + self.fold


def split_of(unit: Unit, X: pd.DataFrame, y: np.ndarray, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """(training rows, test rows): the same for every contestant; stratified for classes."""
    kind = StratifiedKFold if classes else KFold
    return list(kind(unit.folds, shuffle=True, random_state=unit.repeat).split(X, y))[unit.fold]


def run_unit(unit: Unit) -> dict[str, Any]:
    """The unit's row: metrics, fit and predict seconds, promise check, or what went wrong under "failed"."""
    if unit.options is not None:
        add_variant(unit.contestant, unit.contestant, dict(unit.options))
    contestant = CONTESTANTS[unit.contestant]
    X, y, facts = read_set(unit.data_set)
    classes = facts["task"] == "binary"
    train, test = split_of(unit, X, y, classes)
    task = Task(X.iloc[train].reset_index(drop=True), y[train], facts["monotonic_cst"], classes, unit.seed)
    row: dict[str, Any] = {"key": unit.key, **asdict(unit), "seed": unit.seed}
    del row["options"]
    if contestant.family == "ours":
        warm_up()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            begun, cpu = time.perf_counter(), time.process_time()
            predict = contestant.fit(task)
            row["fit_s"] = round(time.perf_counter() - begun, 4)
            row["fit_cpu_s"] = round(time.process_time() - cpu, 4)  # what remains true on a busy machine
            begun = time.perf_counter()
            predicted = np.asarray(predict(X.iloc[test]), dtype=float)
            row["predict_s"] = round(time.perf_counter() - begun, 5)
            row.update(metrics(y[test], predicted, classes))
            row["wrong_steps"] = wrong_steps(predict, X.iloc[test], facts["monotonic_cst"], unit.seed)
        except Exception as error:  # a contestant that fails loses its unit, not the run
            row["failed"] = f"{type(error).__name__}: {error}"[:300]
    return row


def metrics(y: np.ndarray, predicted: np.ndarray, classes: bool) -> dict[str, float]:
    if not np.isfinite(predicted).all():
        raise ValueError("predictions must be finite")
    error = main_error(y, predicted, classes)
    if classes:
        accuracy = float(np.mean((predicted > 0.5) == (y == 1)))
        return {"log_loss": error, "auc": float(roc_auc_score(y, predicted)), "accuracy": accuracy}
    return {"rmse": error, "mae": float(np.mean(np.abs(y - predicted)))}


def wrong_steps(predict: Predict, X: pd.DataFrame, cst: dict[str, int], seed: int, most: int = 200) -> float:
    """Share of random steps along promised features (test rows, values of other test rows) that go the wrong way."""
    rng = np.random.default_rng(seed)
    wrong = pairs = 0
    for name, sign in cst.items():
        low = X.iloc[rng.permutation(len(X))[:most]]
        other = rng.choice(X[name].to_numpy(), len(low))
        usable = ~(np.isnan(low[name].to_numpy(dtype=float)) | np.isnan(other.astype(float)))
        low, other = low[usable], other[usable]
        ends = [low.assign(**{name: f(low[name].to_numpy(), other)}) for f in (np.minimum, np.maximum)]
        before, after = (np.asarray(predict(end), dtype=float) for end in ends)
        wrong += int(np.sum(sign * (after - before) < 0))
        pairs += len(low)
    return wrong / max(pairs, 1)
