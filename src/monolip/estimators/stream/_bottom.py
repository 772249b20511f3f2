r"""A uniform sample of rows that does not depend on the order they come in: those with the smallest hash of position.

    key(row) = splitmix64(position, salt)        sample = the k rows with the smallest keys

Keys are as good as random and never change, so the sample is uniform without replacement, the same for any order of
reading, and mergeable: bottom(A + B) = bottom(bottom(A) + bottom(B)), with no loss. Ranks in it are, by the inequality
of Dvoretzky, Kiefer, Wolfowitz and Massart, within sqrt(log(2 / p) / 2 k) of the stream's but with probability p
(for k = 262,144 and p = 1e-6 that is 0.0053; sampling without replacement only helps).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bottom", "keys_of", "rank_error"]

FloatArray = NDArray[np.float64]
Keys = NDArray[np.uint64]
_SLACK = 4096  # rows beyond k before the sample is cut: cutting costs a pass over it


def keys_of(positions: Keys, salt: int) -> Keys:
    """splitmix64: a bijection of 64 bits whose output passes every common test of randomness."""
    with np.errstate(over="ignore"):
        z = positions * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
            (salt * 0xD1342543DE82EF95 + 0x632BE59BD9B4E019) % 2**64
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


def rank_error(k: int, probability: float = 1e-6) -> float:
    """How far ranks in a sample of k rows may be from those in the stream, but with this probability."""
    return math.sqrt(math.log(2 / probability) / (2 * k))


class Bottom:
    """The rows (k at most) with the smallest keys seen so far; rows are matrices (rows, width)."""

    def __init__(self, k: int, width: int) -> None:
        self.k = k
        self._keys: list[Keys] = [np.zeros(0, np.uint64)]
        self._rows: list[FloatArray] = [np.zeros((0, width))]
        self._held, self._most = 0, np.uint64(2**64 - 1)

    def wanted(self, keys: Keys) -> NDArray[np.bool_]:
        """Which rows may belong to the sample: the others need not be looked at."""
        return np.asarray(keys <= self._most)

    def add(self, keys: Keys, rows: FloatArray) -> None:
        """Some rows with their keys."""
        self._keys.append(keys)
        self._rows.append(rows)
        self._held += len(keys)
        if self._held > self.k + max(_SLACK, self.k // 4):
            self._cut()

    def shrink(self, k: int) -> None:
        """Keep fewer rows from now on."""
        if k < self.k:
            self.k = k
            self._cut()

    def _cut(self) -> None:
        keys, rows = np.concatenate(self._keys), np.concatenate(self._rows)
        if len(keys) > self.k:
            best = np.argpartition(keys, self.k - 1)[: self.k]
            keys, rows = keys[best], rows[best]
            self._most = keys.max()
        self._keys, self._rows, self._held = [keys], [rows], len(keys)

    def taken(self, count: int | None = None) -> tuple[Keys, FloatArray]:
        """Keys and rows of the sample (of its `count` smallest keys), in order of keys."""
        self._cut()
        keys, rows = self._keys[0], self._rows[0]
        order = np.argsort(keys)[: len(keys) if count is None else count]
        return keys[order], rows[order]
