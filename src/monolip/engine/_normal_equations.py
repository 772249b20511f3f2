"""Weighted least-squares problems of several starts on one table: Gram matrices, moments and means.

Rows that the same starts learn from lie together in blocks. A block's Gram matrix is made once and added to those of
all its starts: nothing is taken away, so a row that a start leaves out has no part in it, however much it weighs. (It
has one in the point that columns are centred around at first, for which single precision has room within a hundred
times their spread.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._normal_sums import centre, find_alike, scale, weigh

__all__ = ["NormalEquations"]

FloatArray = NDArray[np.float64]
Starts = NDArray[np.int64]


class NormalEquations:
    """gram: (starts, d, d); moment, mean: (starts, d); middle: (starts,), the means of what is regressed on.

    x: (d, n), columns of the table. learns: (starts, n), which rows each learns from. in_place: x is not needed
    afterwards.
    """

    def __init__(self, x: NDArray[Any], weight: FloatArray, learns: NDArray[np.bool_], in_place: bool) -> None:
        self.x, self.learns, (n_starts, n), d = x, learns, learns.shape, len(x)
        self.weights = np.where(learns, weight, 0.0)
        self.scaled = x if in_place else np.empty_like(x)
        self.gram = np.empty((n_starts, d, d), x.dtype)
        self.moment, self.mean, self.middle = np.empty((n_starts, d)), np.empty((n_starts, d)), np.empty(n_starts)
        ends = (np.flatnonzero((learns[:, 1:] != learns[:, :-1]).any(axis=0)) + 1).tolist()
        self.blocks = [slice(start, stop) for start, stop in zip([0, *ends], [*ends, n], strict=True)]
        self._mine = learns[:, [0, *ends]].astype(x.dtype)  # (starts, blocks)
        self._products = np.empty((len(self.blocks), d, d), x.dtype)
        self._every, self._alike = np.arange(n_starts), np.empty(n_starts, np.bool_)
        self._sides, self._total, self._common = np.empty((2, n_starts, n), x.dtype), np.empty(n_starts), np.empty(d)
        self._rows = np.empty((2, n), x.dtype)

    def put(self, z: FloatArray) -> None:
        """Columns are regressed on z, (starts, n)."""
        self._weigh(self._every, z, np.zeros_like(z), np.ones(z.shape[1]))
        self._put(self._every)

    def put_newton(self, f: FloatArray, slope: FloatArray, curve: FloatArray) -> None:
        """Columns are regressed on f - slope / curve, with weights times curve; each is (starts, n).

        Under the first one's curvature, but for starts whose own is another one: those have Gram matrices of their own.
        """
        every, alike = self._every, self._alike
        self._weigh(every, f, slope, curve[0])
        find_alike(self.scaled, self.weights, curve, self._rows, alike)
        self._put(every if alike.all() else every[alike])
        for s in every[~alike].tolist():
            self._weigh(every[s : s + 1], f, slope, curve[s])
            self._put(every[s : s + 1], alone=True)

    def _weigh(self, some: Starts, f: FloatArray, slope: FloatArray, curve: FloatArray) -> None:
        """Columns around their means, times roots of weights times curve, (n,)."""
        weigh(self.weights, some, curve, f, slope, self._sides, self._total, self.middle, self._rows)
        scale(self.x, self._rows, self._common, self.scaled)

    def _put(self, some: Starts, alone: bool = False) -> None:
        """alone: columns are weighed for one start, and what others learn from weighs nothing."""
        sides = self._sides[:, some] if len(some) < len(self.learns) else self._sides
        sums = np.asarray(sides.reshape(2 * len(some), -1) @ self.scaled.T, np.float64).reshape(2, len(some), -1)
        if alone:
            np.matmul(self.scaled, self.scaled.T, out=self.gram[some[0]])
        else:
            self._put_gram(some)
        centre(self.gram, some, sums, self._total, self._common, self.moment, self.mean)

    def _put_gram(self, some: Starts) -> None:
        for rows, product in zip(self.blocks, self._products, strict=True):
            part = self.scaled[:, rows]
            np.matmul(part, part.T, out=product)
        flat = self._products.reshape(len(self.blocks), -1)
        if len(some) < len(self.learns):
            self.gram[some] = (self._mine[some] @ flat).reshape(len(some), *self.gram.shape[1:])
        else:
            np.matmul(self._mine, flat, out=self.gram.reshape(len(some), -1))
