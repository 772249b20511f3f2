"""The linear model under the same promise: ridge or logistic, coefficients of constrained features signed.

minimise  mean loss(y, a + b.x) + alpha |b|^2 / 2     with  sign(b_i) as promised;   alpha chosen of eight
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from contestants.encoding import Encoding
from contestants.task import Predict, Task, main_error, select

__all__ = ["ALPHAS", "linear"]

ALPHAS = [{"alpha": float(a)} for a in 10.0 ** np.linspace(-5, 1, 8)]


def linear(task: Task) -> Predict:
    setting, _ = select(task, ALPHAS, _judged)
    return _fit(task, setting["alpha"], np.arange(len(task.y)))


def _judged(task: Task, setting: dict, rows: np.ndarray, held: np.ndarray) -> tuple[float, int]:
    predict = _fit(task, setting["alpha"], rows)
    return main_error(task.y[held], predict(task.X.iloc[held]), task.classes), 1


def _fit(task: Task, alpha: float, rows: np.ndarray) -> Predict:
    encode = Encoding(task.X.iloc[rows], task.cst)
    Z, y = encode(task.X.iloc[rows]), task.y[rows].astype(float)
    shift, scale = (0.0, 1.0) if task.classes else (y.mean(), y.std() or 1.0)
    target = (y - shift) / scale

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        f = b[0] + Z @ b[1:]
        if task.classes:
            value, slope = np.mean(np.logaddexp(0, f) - target * f), (expit(f) - target) / len(f)
        else:
            value, slope = np.mean((f - target) ** 2) / 2, (f - target) / len(f)
        gradient = np.concatenate([[slope.sum()], Z.T @ slope + alpha * b[1:]])
        return float(value + alpha * (b[1:] @ b[1:]) / 2), gradient

    box = [(None, None)] + [{1: (0, None), -1: (None, 0), 0: (None, None)}[int(s)] for s in encode.directions]
    start = np.zeros(Z.shape[1] + 1)
    b = minimize(loss, start, jac=True, bounds=box, method="L-BFGS-B", options={"maxiter": 2000, "maxfun": 5000}).x
    if task.classes:
        return lambda X: expit(b[0] + encode(X) @ b[1:])
    return lambda X: shift + scale * (b[0] + encode(X) @ b[1:])
