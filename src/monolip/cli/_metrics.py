"""How well predictions match rows that were held out, beside the best constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.report.comparing_scores import scores_of
from monolip.rounding import score_text

__all__ = ["judge", "metric_cells"]

HIGHER_IS_BETTER = frozenset(("AUC", "accuracy", "R2"))


def judge(model: Any, test: Any, train: Any, labels: Sequence[Any] | None) -> dict[str, dict[str, float]]:
    """{"model": metrics, "baseline": metrics}; the baseline predicts the mean, or the shares of classes, of train."""
    weight = np.ones(len(train)) if train.weight is None else train.weight
    if labels is None:
        constant = np.full(len(test), np.average(train.y, weights=weight))
        found: NDArray[Any] = model.predict(test.X)
    else:
        shares = np.array([weight[train.y == label].sum() for label in labels]) / weight.sum()
        constant = np.tile(shares, (len(test), 1))
        found = model.predict_proba(test.X)
    return {
        "model": scores_of(test.y, found, labels, test.weight),
        "baseline": scores_of(test.y, constant, labels, test.weight),
    }


def metric_cells(found: dict[str, dict[str, float]], baseline: str) -> list[list[str]]:
    """A table: metric, model, baseline, and which way is better."""
    cells = [["metric", "model", baseline, "better is"]]
    for name, value in found["model"].items():
        way = "higher" if name in HIGHER_IS_BETTER else "lower"
        cells.append([name, score_text(value), score_text(found["baseline"][name]), way])
    return cells
