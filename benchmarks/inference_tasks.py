"""The two tasks of benchmarks/inference.py: one matrix of numbers each, the same for every contestant."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from record import ROOT
from suite_data import read_set

__all__ = ["Task", "compas", "two_track"]

Array = np.ndarray


@dataclass(frozen=True)
class Task:
    """parts: train, valid, test -> (X, y). options: of MonotonicClassifier, beside its size. large: a hidden layer."""

    name: str
    names: tuple[str, ...]
    parts: dict[str, tuple[Array, Array]]
    directions: tuple[int, ...]
    options: dict[str, Any]
    large: int
    about: str

    def draw(self, n: int) -> Array:
        """Numbers of n rows of all parts, at random: so many that no branch predictor learns them by heart."""
        n_all = sum(len(y) for _, y in self.parts.values())
        return np.random.default_rng(1).integers(0, n_all, n)

    def rows(self, n: int) -> Array:
        return np.ascontiguousarray(np.vstack([X for X, _ in self.parts.values()])[self.draw(n)])

    def one_hot(self, part: str) -> Array:
        """For a model that knows no categories: their columns spread out."""
        X, known = self.parts[part][0], self.parts["train"][0]
        columns = []
        for j in range(X.shape[1]):
            codes = np.arange(known[:, j].max() + 1) if j in self.options.get("categorical_features", ()) else None
            columns.append(X[:, j : j + 1] if codes is None else (X[:, j : j + 1] == codes).astype(float))
        return np.hstack(columns)


def two_track(rows: int = 100_000) -> Task:
    """Two-track vertices at the LHC, the four inputs of LHCb's network; data of paper/lhc, no real ones."""
    sys.path.insert(0, str(ROOT))
    from paper.lhc.sample import DIRECTIONS, background, signal

    X, y = [], []
    for label, draw in ((1, signal), (0, background)):
        X.append(draw([7], rows // 2).table(4))
        y.append(np.full(rows // 2, label))
    # log-odds per unit of each input, as LHCb promises them; the free input has the same cap
    slopes = {j: (0.0 if d else -4.0, 4.0) for j, d in enumerate(DIRECTIONS.values())}
    directions = tuple(DIRECTIONS.values())
    about = f"{rows} simulated two-track vertices, 4 inputs, 3 increasing; slopes at most 4 per unit"
    parts = _split(np.vstack(X), np.concatenate(y), (0.6, 0.8))
    return Task("two-track vertices", tuple(DIRECTIONS), parts, directions, {"slopes": slopes}, 20, about)


def compas() -> Task:
    """Reoffence within two years; race and sex as codes, which ours takes as categories and trees as numbers."""
    frame, y, facts = read_set("compas")
    text = [column for column in frame if str(frame[column].dtype) == "category"]
    coded = frame.assign(**{column: frame[column].cat.codes for column in text})
    cst = [int(facts["monotonic_cst"].get(column, 0)) for column in frame]
    categories = [list(frame).index(column) for column in text]
    options = {"monotonic_cst": cst, "categorical_features": categories}
    about = f"COMPAS, {len(y)} rows, {frame.shape[1]} inputs, {sum(map(bool, cst))} increasing"
    parts = _split(coded.to_numpy(dtype=np.float64), y, (0.64, 0.8))
    return Task("COMPAS", tuple(frame), parts, tuple(cst), options, 18, about)


def _split(X: Array, y: Array, ends: tuple[float, float]) -> dict[str, tuple[Array, Array]]:
    """Inputs are floats that float32 holds, so that every contestant sees the same numbers."""
    X = X.astype(np.float32).astype(np.float64)
    order = np.random.default_rng(0).permutation(len(y))
    cuts = [round(end * len(y)) for end in ends]
    return {
        part: (np.ascontiguousarray(X[rows]), y[rows].astype(int))
        for part, rows in zip(("train", "valid", "test"), np.split(order, cuts), strict=True)
    }
