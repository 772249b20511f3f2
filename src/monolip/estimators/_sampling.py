"""Which rows a fit visits: of very many a random part, in which what is rare stays whole and weights make up for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._picked_rows import pick_rows
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target

__all__ = ["rows_that_count"]

MAX_ROWS = 2**18  # more rows than the steps can visit: a random part is as good, and memory stays bounded
MAX_CELLS = 2**29  # of model columns, in single precision: 2 GiB


def rows_that_count(table: RawTable, target: Target, rng: np.random.Generator) -> tuple[RawTable, Target]:
    """Rows of positive weight, and no more of them than fit into MAX_ROWS and MAX_CELLS.

    Of too many, rare classes (under a log link, rare targets above zero) keep every row, and the others are sampled;
    weights are multiplied by (rows there were / rows taken), so that each class counts for as much as before.
    """
    most = min(MAX_ROWS, max(256, MAX_CELLS // (10 * len(table.columns))))
    if target.weight is None and table.n_rows <= most:
        return table, target
    rows = np.arange(table.n_rows) if target.weight is None else np.flatnonzero(target.weight)
    if len(rows) == table.n_rows <= most:
        return table, target
    if len(rows) <= most:
        return pick_rows(table, rows), target.take(rows)
    strata = _strata(target)
    if strata is None:
        rows = np.sort(rng.choice(rows, most, replace=False))
        return pick_rows(table, rows), target.take(rows)
    kinds = strata[rows]
    there = np.bincount(kinds)
    taken = _shares(there, most)
    picked = [rng.choice(rows[kinds == k], taken[k], replace=False) for k in range(len(there)) if there[k]]
    rows = np.sort(np.concatenate(picked))
    part = target.take(rows)
    weight = (there / np.maximum(taken, 1))[strata[rows]]
    part = replace(part, weight=weight if part.weight is None else weight * part.weight)
    return pick_rows(table, rows), part


def _strata(target: Target) -> NDArray[np.int64] | None:
    """The kind of each row: its class; zero or not under a log link; None where all rows are of one kind."""
    if target.classes is not None:
        return target.classes
    return (target.y > 0).astype(np.int64) if target.link.name == "log" else None


def _shares(there: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Rows to take of each kind: all of a rare one, of the others as many as their part of what is left."""
    rare = there <= most // (2 * len(there))
    left = most - int(there[rare].sum())
    part = np.maximum((there * (left / there[~rare].sum())).astype(np.int64), 1)
    return np.where(rare, there, np.minimum(part, there))
