"""Models for benchmarks/inference.py: each library as it comes, and the smallest that is as accurate as the best."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import catboost
import lightgbm
import numpy as np
import torch
import xgboost
from sklearn.metrics import log_loss

from inference_tasks import Task
from monolip import MonotonicClassifier
from reference import reference_network

__all__ = ["Fitted", "fit_all", "loss"]

TOLERANCE = 1.005  # "as accurate": validation loss within half a percent of the best model's
TREES = (5, 10, 20, 30, 50, 100)
DEPTHS = (3, 4, 6)
LEAVES = {3: 8, 4: 16, 6: 31}  # of LightGBM, whose trees grow by leaves: 31 is its default
HIDDEN = ((4,), (4, 4), (8,), (8, 8), (12, 12), (16, 16))
RATE = 0.3  # learning rate of small ensembles: fewer trees for the same loss

Few = tuple[int, int]  # trees, depth


@dataclass(frozen=True)
class Fitted:
    """label: what the table calls it; probability: rows -> P(1)."""

    label: str
    library: str
    size: str
    model: Any
    probability: Callable[[np.ndarray], np.ndarray]


def loss(task: Task, fitted: Fitted, part: str) -> float:
    X, y = task.parts[part]
    given = task.one_hot(part) if fitted.library == "monotonicnetworks" else X
    return float(log_loss(y, fitted.probability(given)))


def fit_all(task: Task) -> list[Fitted]:
    """Defaults; then of each library the first of growing sizes whose validation loss is within the tolerance.

    Where none is, the most accurate of these sizes.
    """
    makers: dict[str, Callable[[Any], Fitted]] = {
        "monolip": lambda size: _monolip(task, size),
        "lightgbm": lambda size: _lightgbm(task, size),
        "xgboost": lambda size: _xgboost(task, size),
        "catboost": lambda size: _catboost(task, size),
    }
    found = [make(None) for make in makers.values()]
    wanted = TOLERANCE * min(loss(task, fitted, "valid") for fitted in found)
    ensembles = sorted(((trees, depth) for trees in TREES for depth in DEPTHS), key=lambda few: few[0] * 2 ** few[1])
    for library, make in makers.items():
        tried = []
        for size in HIDDEN if library == "monolip" else ensembles:
            tried.append(make(size))
            if loss(task, tried[-1], "valid") <= wanted:
                break
        good = loss(task, tried[-1], "valid") <= wanted
        found.append(tried[-1] if good else min(tried, key=lambda fitted: loss(task, fitted, "valid")))
    return [*found, _reference(task)]


def _labels(size: Few | None) -> str:
    return "default" if size is None else "few trees"


def _monolip(task: Task, hidden: tuple[int, ...] | None) -> Fitted:
    layers = hidden or (task.large, task.large)
    options = {"hidden_layer_sizes": layers, "n_estimators": 1, "n_bins": 0, "random_state": 0}
    model = MonotonicClassifier(**task.options, **options).fit(*task.parts["train"])
    form = model.frozen_.members[0][0].form
    shape = "-".join(str(weight.shape[1]) for weight in form.weights) + "-1"
    weights = sum(weight.size for weight in form.weights)
    label = "large" if hidden is None else "small"
    return Fitted(label, "monolip", f"{shape}, {weights} weights", model, lambda X: model.predict_proba(X)[:, 1])


def _lightgbm(task: Task, few: Few | None) -> Fitted:
    options: dict[str, Any] = {}
    if few is not None:
        options = {"n_estimators": few[0], "num_leaves": LEAVES[few[1]], "learning_rate": RATE}
    cst = list(task.directions)
    model = lightgbm.LGBMClassifier(monotone_constraints=cst, n_jobs=1, verbose=-1, random_state=0, **options)
    booster = model.fit(*task.parts["train"]).booster_
    size = f"{booster.num_trees()} trees" + (f" of {LEAVES[few[1]]} leaves" if few else "")
    return Fitted(_labels(few), "lightgbm", size, model, lambda X: booster.predict(X, num_threads=1))


def _xgboost(task: Task, few: Few | None) -> Fitted:
    options: dict[str, Any] = {}
    if few is not None:
        options = {"n_estimators": few[0], "max_depth": few[1], "learning_rate": RATE}
    model = xgboost.XGBClassifier(monotone_constraints=task.directions, n_jobs=1, random_state=0, **options)
    model.fit(*task.parts["train"])
    size = f"{model.get_booster().num_boosted_rounds()} trees" + (f" of depth {few[1]}" if few else "")
    return Fitted(_labels(few), "xgboost", size, model, lambda X: model.predict_proba(X)[:, 1])


def _catboost(task: Task, few: Few | None) -> Fitted:
    options: dict[str, Any] = {}
    if few is not None:
        options = {"iterations": few[0], "depth": few[1], "learning_rate": RATE}
    cst = list(task.directions)
    model = catboost.CatBoostClassifier(
        monotone_constraints=cst, thread_count=1, verbose=0, random_state=0, allow_writing_files=False, **options
    ).fit(*task.parts["train"])
    size = f"{model.tree_count_} trees" + (f" of depth {few[1]}" if few else "")
    return Fitted(_labels(few), "catboost", size, model, lambda X: model.predict_proba(X)[:, 1])


def _reference(task: Task, epochs: int = 20) -> Fitted:
    """The paper's network, standardised inputs, trained with Adam; the best bound of a few on validation data."""
    from monotonicnetworks import MonotonicWrapper

    torch.manual_seed(0)
    X, y = task.one_hot("train"), task.parts["train"][1]
    mean, scale = X.mean(axis=0), X.std(axis=0) + 1e-12
    cst = [*task.directions, *[0] * X.shape[1]][: X.shape[1]]  # columns that were spread out are free, and last
    best: Fitted | None = None
    for bound in (1.0, 3.0):
        net = MonotonicWrapper(reference_network([X.shape[1], 20, 20, 1], bound), bound, cst)
        _train(net, (X - mean) / scale, y, epochs)

        def probability(given: np.ndarray, net: Any = net) -> np.ndarray:
            with torch.no_grad():
                z = net(torch.tensor((given - mean) / scale, dtype=torch.float32))
            return torch.sigmoid(z)[:, 0].double().numpy()

        shape = f"{X.shape[1]}-20-20-1"
        fitted = Fitted("default", "monotonicnetworks", shape, (net, mean, scale), probability)
        if best is None or loss(task, fitted, "valid") < loss(task, best, "valid"):
            best = fitted
    assert best is not None
    return best


def _train(net: Any, X: np.ndarray, y: np.ndarray, epochs: int) -> None:
    rows, target = torch.tensor(X, dtype=torch.float32), torch.tensor(y[:, None], dtype=torch.float32)
    size = min(512, len(rows) // 8)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-2, epochs * (len(rows) // size))
    criterion = torch.nn.BCEWithLogitsLoss()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(epochs):
            for batch in torch.randperm(len(rows))[: len(rows) // size * size].split(size):
                optimizer.zero_grad()
                criterion(net(rows[batch]), target[batch]).backward()
                optimizer.step()
                schedule.step()
