r"""The free forest: trees over raw features, whose sum is one more model column.

    g(x) = sum over trees of the value of the leaf that x reaches,     x < threshold goes to a child, others to the next

What is promised of features it does not read holds for the whole network, bit for bit, whatever it computes. The
features it reads jump: no slope bounds them, and everything that reports promises says so by name. Those with a
direction keep it, bit for bit, where every tree has it as well (`rises`, `falls`): rounded sums in one order keep an
order. Raw numbers are compared and nothing is computed from them, so every runtime reaches the same leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cached import cached_property
from .errors import StructureError
from .fixed_point_trunk import locked_ints
from .floats import locked, to_floats
from .forest_nodes import LEAF, MOST_NODES, check_nodes, largest_sum, leaves_below
from .input_columns import numbers_of

__all__ = ["LEAF", "FreeForest"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FreeForest:
    """g of some raw columns, immutable; nodes of all trees one after the other, the root of each first.

    Args:
        reads: positions of the raw columns that nodes ask about, in order.
        stands: of each of them two numbers: what counts for a missing value, and for a label that is none of the
            categories; a category counts as its place among the others.
        features: (n,) which of `reads` a node asks about, LEAF in a leaf.
        thresholds: (n,) smaller numbers go to the child, others to the node after it; 0 in a leaf.
        children: (n,) always further on in the same tree; 0 in a leaf.
        values: (n,) of leaves, floats or (of a FixedPointNetwork) integers; 0 elsewhere.
        roots: (trees,) where each tree begins.

    Shape: evaluate takes numbers (n, n_reads), as `numbers` gives them, and returns (n,).

    Examples:
        >>> step = FreeForest((1,), ((0.0, 0.0),), [0, LEAF, LEAF], [2.5, 0, 0], [1, 0, 0], [0, -1.0, 3.0], [0])
        >>> step.evaluate(np.array([[2.0], [2.5]]))
        array([-1.,  3.])
        >>> step.rises, step.falls
        ((True,), (False,))
    """

    reads: tuple[int, ...]
    stands: tuple[tuple[float, float], ...]
    features: IntArray
    thresholds: FloatArray
    children: IntArray
    values: NDArray[Any]
    roots: IntArray

    def __post_init__(self) -> None:
        reads = tuple(self.reads) if isinstance(self.reads, Iterable) else ()
        if not reads or not all(type(j) is int and j >= 0 for j in reads) or list(reads) != sorted(set(reads)):
            raise StructureError(f"a forest reads raw columns by position, each once and in order; got {self.reads!r}.")
        try:
            stands = tuple((float(missing) + 0.0, float(unseen) + 0.0) for missing, unseen in self.stands)
            whole = [locked_ints(part) for part in (self.features, self.children, self.roots)]
            kept = locked_ints if np.asarray(self.values).dtype.kind in "iu" else _floats
            numbers = _floats(self.thresholds), kept(self.values)
        except (TypeError, ValueError, OverflowError) as error:
            raise StructureError(f"a forest is made of numbers; {error}; grow it again.") from None
        if len(stands) != len(reads) or not np.isfinite(stands).all():
            raise StructureError(f"two finite numbers stand for what a column lacks; got {self.stands!r}; give both.")
        fields = {"reads": reads, "stands": stands, "features": whole[0], "children": whole[1], "roots": whole[2]}
        for name, value in (fields | {"thresholds": numbers[0], "values": numbers[1]}).items():
            object.__setattr__(self, name, value)
        check_nodes(whole[0], numbers[0], whole[1], numbers[1], whole[2], len(reads))

    @property
    def rises(self) -> tuple[bool, ...]:
        """Per column read whether every tree is proved to be non-decreasing in it, whatever the others are.

        So it is where no leaf below the first child of a node that asks about the column is larger than one below its
        second: where two rows that differ in this column part, one goes to each. A column that nobody asks about rises
        and falls.
        """
        return self._directions[0]

    @property
    def falls(self) -> tuple[bool, ...]:
        """Likewise whether every tree is proved to be non-increasing in a column."""
        return self._directions[1]

    @cached_property
    def _directions(self) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        return self.directions_in(range(len(self.reads)))

    def directions_in(self, columns: Sequence[int]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """`rises` and `falls` of some of the columns read, True for others: trees that ask about none of them are left
        alone, and those are most where a fit asks."""
        asked = np.zeros(len(self.reads) + 1, np.bool_)  # LEAF is the last
        asked[list(columns)] = True
        asks = asked[self.features]
        has = np.logical_or.reduceat(asks, self.roots)
        nodes, last = np.flatnonzero(asks), np.append(self.roots[1:], len(asks))[has].max(initial=0)
        low, high = leaves_below(self.children[:last], self.values[:last], self.roots[has])
        first, column, n = self.children[nodes], self.features[nodes], len(self.reads)
        rising, falling = high[first] <= low[first + 1], low[first] >= high[first + 1]
        rises, falls = (np.bincount(column[~kept], minlength=n) == 0 for kept in (rising, falling))
        return tuple(rises.tolist()), tuple(falls.tolist())

    def missing_is(self, k: int) -> str:
        """Where trees put a missing value of the k-th column read: "lowest" or "highest" of all numbers, or "state".

        The number that stands for it is the lowest or the largest there is. -inf is still smaller, and a threshold
        right at the lowest number would part the two.
        """
        stand, far = self.stands[k][0], float(np.finfo(np.float64).max)
        if stand == -far and not (self.thresholds[self.features == k] == -far).any():
            return "lowest"
        return "highest" if stand == far else "state"

    @cached_property
    def largest(self) -> float | int:
        """No sum, in any order, is larger in magnitude."""
        return largest_sum(self.values, self.roots)

    def numbers(self, columns: Sequence[Any], given: Sequence[Any]) -> FloatArray:
        """What nodes compare, (n, n_reads). columns, given: all raw columns of a network, and their values."""
        found = []
        for k, j in enumerate(self.reads):
            column = columns[j]
            codes = column.codes(given[j]) if hasattr(column, "codes") else None
            values = numbers_of(given[j], column.name) if codes is None else codes
            found.append(self.compared(k, values, None if codes is None else len(column.categories)))
        return np.stack(found, axis=1)

    def compared(self, k: int, values: NDArray[Any], n_labels: int | None) -> FloatArray:
        """What nodes compare of the k-th column read: its numbers, or codes (see CategoryColumn) of so many labels."""
        missing, unseen = self.stands[k]
        if n_labels is None:
            return np.asarray(np.where(np.isnan(values), missing, values))
        return np.asarray(np.append(np.arange(n_labels, dtype=np.float64), [unseen, missing])[values])

    def evaluate(self, numbers: FloatArray) -> NDArray[Any]:
        """g of rows of numbers: (n, n_reads) -> (n,); leaves are added up in the order of the trees."""
        total, rows = np.zeros(len(numbers), self.values.dtype), np.arange(len(numbers))
        for root in self.roots.tolist():
            node, going = np.full(len(numbers), root), rows
            while len(going):
                here = node[going]
                going = going[inner := self.features[here] != LEAF]
                here = here[inner]
                right = numbers[going, self.features[here]] >= self.thresholds[here]
                node[going] = self.children[here] + right
            total += self.values[node]
        return total

    def jumps(self, k: int, numbers: FloatArray | None = None) -> FloatArray:
        """Where g can jump along the k-th column read, in order: thresholds on the ways that are open.

        numbers: (n_reads,), the other columns, as `numbers` gives them; None: whatever they are. From one threshold up
        to the next g is constant.
        """
        if numbers is None:
            return np.unique(self.thresholds[self.features == k])
        found, nodes = [np.zeros(0)], self.roots
        while len(nodes):
            nodes = nodes[self.features[nodes] != LEAF]
            asks = self.features[nodes] == k
            here, others, first = nodes[asks], nodes[~asks], self.children[nodes[asks]]
            found.append(self.thresholds[here])
            right = numbers[self.features[others]] >= self.thresholds[others]
            nodes = np.concatenate([first, first + 1, self.children[others] + right])
        return np.unique(np.concatenate(found))

    def joined(self, share: float, other: FreeForest, rest: float) -> FreeForest:
        """share * self + rest * other, these trees first; other reads nothing that self does not read.

        Nodes lead where they led before, so that only what is new is looked at: values, and how many there are.
        """
        n, place = len(self.features), np.array([*(self.reads.index(j) for j in other.reads), LEAF])
        children = other.children + n
        children *= other.children != 0
        parts: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {
            "features": (self.features, place[other.features]), "thresholds": (self.thresholds, other.thresholds),
            "children": (self.children, children), "values": (share * self.values + 0.0, rest * other.values + 0.0),
            "roots": (self.roots, other.roots + n),
        }  # fmt: skip
        forest = object.__new__(FreeForest)
        for name, pair in parts.items():
            object.__setattr__(forest, name, np.frombuffer(b"".join([part.data for part in pair]), pair[0].dtype))
        for name in ("reads", "stands"):
            object.__setattr__(forest, name, getattr(self, name))
        if not np.isfinite(forest.largest) or len(forest.features) > MOST_NODES:
            raise StructureError(f"the sum of two forests is finite, of 2^26 nodes at most; got {forest!r} and others.")
        return forest

    def in_units(self, rate: float) -> FreeForest:
        """The same trees with integers in their leaves, `rate` for every unit of a value."""
        return replace(self, values=np.rint(self.values * rate).astype(np.int64))

    def __reduce__(self) -> tuple[Any, ...]:
        rest = (self.features, self.thresholds, self.children, self.values, self.roots)
        return FreeForest, (self.reads, self.stands, *rest)

    def __repr__(self) -> str:
        return f"FreeForest({len(self.roots)} trees, {len(self.features)} nodes, reads {self.reads})"


def _floats(values: Any) -> FloatArray:
    """Nobody can write to them; what is floats already is copied once less."""
    return locked(values if type(values) is np.ndarray and values.dtype == np.float64 else to_floats(values))
