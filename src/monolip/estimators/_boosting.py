"""Boosted trees over coded columns: one boosting for every part of the rows that members held out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.engine._boosted_others import FEWEST, USUAL, find_others
from monolip.engine.boosted_trees import MOST_CODES, Boosted, Pace, boost
from monolip.estimators._code_edges import find_edges, put_codes
from monolip.estimators._forest import planted
from monolip.estimators._free_columns import FreeColumns
from monolip.estimators._leftover import Leftover
from monolip.free_forest import FreeForest

__all__ = ["CodedRows", "Effort", "boostings", "columns_that_count"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
FEW_NUMBERS = 2**12  # of a table: a boosting is done before another thread would be ready
LOOKED_AT, ASKED = 8192, 1024  # rows, at most, whose numbers say where codes begin, and what columns cost


@dataclass(frozen=True)
class Effort:
    """What boosted trees may cost: their pace, boostings at most, and rows that one of them learns from."""

    pace: Pace
    most_parts: int
    most_rows: int


def columns_that_count(numbers: FloatArray) -> int:
    """As many columns take the time that these do: where many have one number in most rows, only the others count."""
    n, d = len(numbers), int(numbers.shape[1])
    if d < FEWEST:
        return d
    some = numbers[np.linspace(0, n - 1, min(n, ASKED)).astype(np.int64)]
    shares = np.array([np.unique(column, return_counts=True)[1].max() / len(some) for column in some.T])
    usual = shares >= USUAL
    others = float((1.0 - shares[usual]).sum()) / (1.0 - USUAL)
    return d if usual.sum() < FEWEST else int((~usual).sum()) + math.ceil(others)


class CodedRows:
    """Some training rows by few codes a column, in the order of their numbers.

    directions: (n_columns,) 1, -1 or 0, of the columns.
    """

    def __init__(self, columns: FreeColumns, directions: NDArray[np.int64]) -> None:
        self.columns, self.directions = columns, directions.astype(np.int8)
        n = len(columns.numbers)
        some = slice(None) if n <= LOOKED_AT else np.random.default_rng(0).choice(n, LOOKED_AT, replace=False)
        ordered, width = np.ascontiguousarray(columns.numbers[some].T), columns.numbers.shape[1]
        ordered.sort(axis=1)
        edges, counts = np.empty((width, MOST_CODES - 1)), np.empty(width, np.int64)
        find_edges(ordered, MOST_CODES, edges, counts)
        self.codes = np.empty(columns.numbers.shape, np.uint8)
        put_codes(columns.numbers, edges, counts, self.codes)
        self.others = find_others(self.codes)
        self.edges = [mine[:count] for mine, count in zip(edges, counts.tolist(), strict=True)]

    def forest(self, boosted: Sequence[Boosted], factor: float) -> FreeForest:
        """The mean of these sums of trees, times a factor."""
        trees = [tree for one in boosted for tree in one.trees]
        lower = [np.append(0.0, edges) for edges in self.edges]  # of a code; nobody asks where the first begins
        starts = np.cumsum([0, *map(len, lower)])
        return planted(self.columns, trees, np.concatenate(lower), starts, factor / len(boosted))


def boostings(
    coded: CodedRows, left: Leftover, parts: Sequence[Rows], pace: Pace, n_threads: int, seed: int
) -> Iterator[Boosted | None]:
    """Trees that learn y without each part, and stop where its rows like them best; None where there is nothing to
    learn. One after the other, as asked for. left: of the rows that are coded; parts: of these, those held out."""
    seeds = np.random.SeedSequence(seed).generate_state(len(parts), np.uint64).tolist()
    weight = left.weight / (left.weight.mean() or 1.0)

    def one(k: int) -> Boosted | None:
        learns = np.ones(len(weight), np.bool_)
        learns[parts[k]] = False
        y = left.y[learns & (weight > 0)]
        if not len(y) or y.min() == y.max():
            return None
        held = parts[k].astype(np.int32)
        given = coded.codes, left.y, weight, held, coded.directions
        return boost(*given, left.is_class, pace, seeds[k], coded.others)

    if n_threads == 1 or len(parts) == 1 or coded.codes.size < FEW_NUMBERS:
        yield from map(one, range(len(parts)))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(one, range(len(parts)))
