"""The honest protocol: everything is chosen on validation rows, test rows are looked at once; repeated splits.

Every contestant sees the same training rows; settings are chosen on a fifth of them, then it is fitted again on all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from monolip import MonotonicClassifier, MonotonicRegressor, audit
from paper.datasets.data_set import DataSet
from paper.table1.peers import TREES, Fitted, fit_trees, n_leaves, score_of, select_trees
from paper.table1.penalty import epoch_scores, fit_penalty
from paper.table1.scores import accuracy, mse
from paper.table1.small_network import Inputs, Small, n_parameters, outputs, train_small
from paper.table1.tasks import Split, Task, load, mini

__all__ = ["METHODS", "run_honest"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
WIDE = 64  # with more columns than this, how many to keep is chosen too
KEEP = (20, 30, 40, 60)
MEMBERS = 8


def loss(f: FloatArray, y: FloatArray, classes: bool) -> float:
    """What settings are chosen by: log-loss or squared error."""
    return float(np.mean(np.logaddexp(0.0, f) - y * f)) if classes else mse(f, y)


def ours(task: Task, data: DataSet, split: Split, valid: Split, seed: int) -> Fitted:
    """The estimator, eight members; where there are many columns, the number kept is chosen on validation rows."""
    candidates: list[IntArray] = [np.arange(data.X.shape[1])]
    if data.X.shape[1] > WIDE:
        candidates += [related(data, valid.train, count) for count in KEEP]
        losses = [_loss_of(_estimator(data, valid.train, columns, seed), data, valid.test) for columns in candidates]
        count = len(candidates[int(np.argmin(losses))])
        candidates = [related(data, split.train, count)] if count < data.X.shape[1] else candidates[:1]
    return _estimator(data, split.train, candidates[0], seed)


def _loss_of(fitted: Fitted, data: DataSet, rows: IntArray) -> float:
    return loss(fitted.score(data.X.to_numpy()[rows]), data.y[rows], data.classes)


def related(data: DataSet, rows: IntArray, count: int) -> IntArray:
    """The constrained columns and those whose logarithm is most correlated with the target, on training rows."""
    Z, y = Inputs.of(data.X.to_numpy()[rows], True)(data.X.to_numpy()[rows]), data.y[rows]
    strength = np.abs(Z.T @ (y - y.mean())) / len(y)
    return np.union1d(np.argsort(-strength, kind="stable")[:count], np.flatnonzero(data.signs))


def _estimator(data: DataSet, rows: IntArray, columns: IntArray, seed: int) -> Fitted:
    X, names = data.X.to_numpy()[:, columns], [str(data.X.columns[i]) for i in columns]
    kind = MonotonicClassifier if data.classes else MonotonicRegressor
    cst = [data.cst.get(name, 0) for name in names]
    model = kind(monotonic_cst=cst, n_estimators=MEMBERS, random_state=seed).fit(X[rows], data.y[rows])
    forms = [trunk.form for member in model.frozen_.members for trunk in member]
    size = sum(np.count_nonzero(array) for form in forms for array in (*form.weights, *form.biases))
    ask = model.decision_function if data.classes else model.predict
    return Fitted(lambda raw: np.asarray(ask(raw[:, columns])), int(size))


def ours_small(task: Task, data: DataSet, split: Split, valid: Split, seed: int) -> Fitted:
    """One network of the paper's size: its slope cap and number of epochs chosen on validation rows."""
    losses = [_loss_of(_small(task, small, data, valid.train, seed), data, valid.test) for small in task.grid]
    return _small(task, task.grid[int(np.argmin(losses))], data, split.train, seed)


def _small(task: Task, small: Small, data: DataSet, rows: IntArray, seed: int) -> Fitted:
    raw = data.X.to_numpy()
    inputs = Inputs.of(raw[rows], small.log)
    own = data.classes or task.metric == "rmse"
    shift, scale = (0.0, 1.0) if own else (float(data.y[rows].mean()), float(data.y[rows].std()))
    y = (data.y[rows] - shift) / scale
    result = train_small(small, inputs(raw[rows]), y, data.signs, np.arange(len(rows)), data.classes, seed)
    return Fitted(
        lambda asked: shift + scale * outputs(result.network, inputs(asked)), n_parameters(raw.shape[1], small.hidden)
    )


def trees(name: str) -> Callable[..., Fitted]:
    def fit(task: Task, data: DataSet, split: Split, valid: Split, seed: int) -> Fitted:
        setting, count = select_trees(name, data, valid.train, valid.test, seed)
        model = fit_trees(name, data, setting, count, split.train, seed)
        return Fitted(score_of(model, data.classes), n_leaves(name, model))

    return fit


def penalty(task: Task, data: DataSet, split: Split, valid: Split, seed: int) -> Fitted:
    """The number of epochs is chosen on validation rows."""
    scores = epoch_scores(data, valid.train, valid.test, seed, log=task.small.log)
    best = int(np.argmin([loss(f, data.y[valid.test], data.classes) for f in scores]))
    return fit_penalty(data, split.train, best + 1, seed, log=task.small.log)


METHODS: dict[str, Callable[..., Fitted]] = {
    "monolip": ours,
    "monolip, paper's size": ours_small,
    **{name: trees(name) for name in TREES},
    "gradient penalty": penalty,
}


def run_honest(task: Task, method: str, repeat: int, audited: bool = False) -> dict[str, Any]:
    """One split: the score, the area under the curve, squared errors by day, seconds, and what an audit found."""
    whole = load(task.stated or task.data)
    split = task.honest_split(whole, repeat)
    valid = task.validation(whole, split.train, repeat)
    data = whole if task.keep is None else mini(whole, task.keep, split.train)
    begun = time.perf_counter()
    score, size = METHODS[method](task, data, split, valid, repeat)
    seconds = time.perf_counter() - begun
    X, y = data.X.to_numpy()[split.test], data.y[split.test]
    f = score(X)
    row: dict[str, Any] = {"seconds": round(seconds, 3), "size": size}
    if data.classes:
        row |= {"score": 100 * accuracy(f, y), "auc": float(roc_auc_score(y, f))}
    elif task.metric == "mse":
        row |= {"score": mse(f, y)}
    else:
        row |= {"score": float(np.sqrt(mse(f, y))), **_by_day(f, y, data, split)}
    if audited:
        report = audit(score, X, data.signs, seed=0, max_evaluations=100_000, max_rows=200, max_seconds=None)
        row["worst_drop"] = float(report.worst_drop)
        row["affected"] = float(max(feature.share_beyond_rounding for feature in report.features))
    return row


def _by_day(f: FloatArray, y: FloatArray, data: DataSet, split: Split) -> dict[str, list[float]]:
    assert data.groups is not None
    day = data.groups[split.test]
    errors, counts = np.bincount(day, (f - y) ** 2), np.bincount(day)
    return {"day_errors": errors[counts > 0].round(6).tolist(), "day_rows": counts[counts > 0].tolist()}
