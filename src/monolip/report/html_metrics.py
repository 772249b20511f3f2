"""Losses and metrics of predictions: one loss per row, so that two models can be compared pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.estimators.calibration import measure_calibration
from monolip.report.html_subject import Subject

__all__ = ["loss_name", "metrics_of", "row_losses"]

FloatArray = NDArray[np.float64]
_LEAST = 1e-15


def loss_name(subject: Subject) -> str:
    """What `row_losses` are, in words."""
    if subject.labels:
        return "log-loss"
    if subject.link == "log":
        return "Poisson deviance"
    words = {"absolute_error": "absolute error", "quantile": "pinball loss"}
    return words.get(_fitted_loss(subject), "squared error")


def row_losses(subject: Subject, y: NDArray[Any], predictions: FloatArray) -> FloatArray:
    """Loss of each row, (n,): predictions are numbers (n,) or probabilities (n, classes)."""
    name = loss_name(subject)
    if name == "log-loss":
        return np.asarray(-np.log(np.clip(predictions[np.arange(len(y)), y], _LEAST, 1.0)))
    away = y - predictions
    if name == "Poisson deviance":
        mean = np.maximum(predictions, _LEAST)
        return np.asarray(2.0 * (y * np.log(np.maximum(y, _LEAST) / mean) - away))
    if name == "pinball loss":
        level = getattr(subject.model, "loss_parameter", None) or 0.5
        return np.asarray(np.maximum(level * away, (level - 1.0) * away))
    return np.asarray(np.abs(away) if name == "absolute error" else away**2)


def metrics_of(subject: Subject, y: NDArray[Any], predictions: FloatArray) -> dict[str, float]:
    """Metrics by name; NaN where one is undefined on these rows (one class only, a constant target)."""
    mean_loss = float(row_losses(subject, y, predictions).mean())
    if not subject.labels:
        error = y - predictions
        spread = float(((y - y.mean()) ** 2).sum())
        found = {
            "R²": 1.0 - float((error**2).sum()) / spread if spread else np.nan,
            "RMSE": float(np.sqrt((error**2).mean())),
            "mean absolute error": float(np.abs(error).mean()),
        }
        name = loss_name(subject)
        return found if name in ("squared error", "absolute error") else {**found, name: mean_loss}
    from sklearn.metrics import average_precision_score, roc_auc_score

    decided = predictions[:, 1] > 0.5 if len(subject.labels) == 2 else predictions.argmax(axis=1)
    told_y, told = subject.of_named(y, predictions)
    calibration = measure_calibration(told, told_y)
    found = {"accuracy": float((decided == y).mean()), "log-loss": mean_loss}
    found |= {"Brier score": calibration.brier, "calibration error": calibration.error}
    if len(subject.labels) == 2:
        both = len(np.unique(y)) == 2
        is_named, score = y == subject.named, predictions[:, subject.named]
        precision = f"average precision of {subject.labels[subject.named]}"
        ranking = {
            "ROC AUC": float(roc_auc_score(is_named, score)) if both else np.nan,
            precision: float(average_precision_score(is_named, score)) if both else np.nan,
        }
        return ranking | found
    return found


def _fitted_loss(subject: Subject) -> str:
    return str(getattr(subject.model, "loss", "squared_error"))
