"""Models other people ship with monotone constraints, fitted on one open data set, for benchmarks/violations.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import torch
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from reference import reference_network

__all__ = ["models"]

Fit = Callable[[pd.DataFrame, np.ndarray, dict[str, int]], Any]


def models(X: pd.DataFrame, y: np.ndarray, cst: dict[str, int]) -> Iterator[tuple[str, str, Any, Any]]:
    """(library, what, fitted model or the error it gave, what it is audited for)."""
    signs = [cst.get(name, 0) for name in X]
    classes = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    top_class = {name: {2: sign} for name, sign in cst.items()}
    for library, what, fit, target in _regressors(signs, cst):
        yield library, what, _try(lambda fit=fit, target=target: fit(X, target(y))), cst
    for library, fit in _classifiers(signs, cst):
        yield library, "three classes", _try(lambda fit=fit: fit(X, classes)), top_class
    yield "monotonicnetworks", "float32, squared error", _reference(X, y, signs), cst


def _try(fit: Callable[[], Any]) -> Any:
    try:
        return fit()
    except Exception as error:  # a refusal is a result
        return f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"


def _regressors(signs: list[int], cst: dict[str, int]) -> Iterator[tuple[str, str, Any, Any]]:
    same = np.asarray
    trees = {"monotone_constraints": tuple(signs), "n_jobs": 1}
    for what, given in (
        ("squared error", {}),
        ("quantile 0.9", {"objective": "reg:quantileerror", "quantile_alpha": 0.9}),
        ("absolute error", {"objective": "reg:absoluteerror"}),
    ):
        yield "XGBoost", what, xgboost.XGBRegressor(**trees, **given).fit, same
    for what, given in (
        ("squared error", {}),
        ("quantile 0.9", {"loss": "quantile", "quantile": 0.9}),
        ("absolute error", {"loss": "absolute_error"}),
    ):
        yield "HistGradientBoosting", what, HistGradientBoostingRegressor(monotonic_cst=cst, **given).fit, same
    for what, given in (
        ("squared error", {}),
        ("quantile 0.9", {"objective": "quantile", "alpha": 0.9}),
        ("linear_tree", {"linear_tree": True}),
    ):
        yield "LightGBM", what, lightgbm.LGBMRegressor(**trees, verbose=-1, **given).fit, same
    for what, given in (
        ("squared error", {}),
        ("quantile 0.9", {"loss": "quantile", "loss_parameter": 0.9}),
        ("absolute error", {"loss": "absolute_error"}),
    ):
        yield "monolip", what, MonotonicRegressor(monotonic_cst=cst, random_state=0, **given).fit, same


def _classifiers(signs: list[int], cst: dict[str, int]) -> Iterator[tuple[str, Fit]]:
    yield "XGBoost", xgboost.XGBClassifier(monotone_constraints=tuple(signs), n_jobs=1).fit
    yield "HistGradientBoosting", HistGradientBoostingClassifier(monotonic_cst=cst).fit
    yield "LightGBM", lightgbm.LGBMClassifier(monotone_constraints=signs, n_jobs=1, verbose=-1).fit
    top = {name: {2: sign} for name, sign in cst.items()}
    yield "monolip", MonotonicClassifier(monotonic_cst=top, random_state=0).fit


def _reference(X: pd.DataFrame, y: np.ndarray, signs: list[int]) -> Any:
    """The published architecture in float32, trained for 300 steps on standardised columns."""
    from monotonicnetworks import MonotonicWrapper

    torch.manual_seed(0)
    scale, shift = X.std().to_numpy(np.float32), X.mean().to_numpy(np.float32)
    net = MonotonicWrapper(reference_network((X.shape[1], 16, 16, 1), 2.0), 2.0, signs)
    rows = torch.tensor((X.to_numpy(np.float32) - shift) / scale)
    target = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32)[:, None]
    optimiser = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(300):
        optimiser.zero_grad()
        torch.nn.functional.mse_loss(net(rows), target).backward()
        optimiser.step()

    @torch.no_grad()
    def predict(table: pd.DataFrame) -> np.ndarray:
        return net(torch.tensor((table.to_numpy(np.float32) - shift) / scale)).numpy()[:, 0]

    return predict
