"""What every contestant is given: the training rows of one fold, the promised directions and a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold

__all__ = ["Contestant", "Predict", "Task", "inner_splits", "main_error", "select"]

Predict = Callable[[pd.DataFrame], np.ndarray]  # numbers, or P(y = 1)
SMALL = 2500  # below this many rows a choice is made on three held-out fifths, else on one eighth


@dataclass(frozen=True)
class Task:
    """X: (n, d) with categories as such. y: (n,) numbers, or 0 and 1 where `classes`. cst: {feature: -1 or +1}."""

    X: pd.DataFrame
    y: np.ndarray
    cst: dict[str, int]
    classes: bool
    seed: int
    threads: int = 1


@dataclass(frozen=True)
class Contestant:
    """name: for the command line. fit: sees the task and nothing else. cost: seconds per unit of 1000 rows, roughly."""

    name: str
    label: str
    fit: Callable[[Task], Predict]
    monotone: bool
    family: str  # "ours", "trees", "network" or "linear"
    packages: tuple[str, ...]
    cost: float
    search: dict[str, Any] = field(default_factory=dict)


def inner_splits(task: Task) -> list[tuple[np.ndarray, np.ndarray]]:
    """(rows to fit on, rows held out), all inside the training rows; the same for every contestant."""
    folds, wanted = (5, 3) if len(task.y) < SMALL else (8, 1)
    kind = StratifiedKFold if task.classes and np.bincount(task.y).min() >= folds else KFold
    return list(kind(folds, shuffle=True, random_state=task.seed).split(task.X, task.y))[:wanted]


def main_error(y: np.ndarray, predicted: np.ndarray, classes: bool) -> float:
    """Log-loss for two classes, else the root mean squared error."""
    if not classes:
        return float(np.sqrt(np.mean((y - predicted) ** 2)))
    p = np.clip(predicted, 1e-6, 1 - 1e-6)
    return float(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p))))


def select(
    task: Task,
    grid: Iterable[dict[str, Any]],
    stopped: Callable[[Task, dict[str, Any], np.ndarray, np.ndarray], tuple[float, int]],
) -> tuple[dict[str, Any], int]:
    """(setting with the least mean held-out error, its mean length): `stopped` gives (error, length) of one split."""
    splits = inner_splits(task)
    best: tuple[float, dict[str, Any], int] | None = None
    for setting in grid:
        found = [stopped(task, setting, fit, held) for fit, held in splits]
        error = float(np.mean([e for e, _ in found]))
        if best is None or error < best[0]:
            best = (error, setting, max(1, round(float(np.mean([length for _, length in found])))))
    assert best is not None, "a grid has at least one setting"
    return best[1], best[2]
