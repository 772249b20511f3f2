"""What the members of a fit say about rows they had not learned from: who judges by them need not fit again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.engine.judging import JudgedRows
from monolip.engine.problem import Problem
from monolip.estimators._climber import Climber
from monolip.estimators._targets import Target

__all__ = ["LeftOut", "Part"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
MOST_KEPT = 65_536  # rows that were learned from; more say nothing more
AT_ONCE = 4096


@dataclass(frozen=True)
class Part:
    """kept, held: rows of the user's table that a function was fitted to, and that it was not. f: the function there,
    in the user's units and without offsets. weight: of the rows, where that is not what the user gave."""

    kept: Rows
    held: Rows
    f_kept: FloatArray
    f_held: FloatArray
    weight_kept: FloatArray | None = None
    weight_held: FloatArray | None = None


class LeftOut:
    """A fit's members after the rung that was taken, before all of them learned from all rows. One part for every set
    of rows held out; members that hold out the same are averaged.

    rows: of the user's table that the problem has; None: all of them.
    """

    def __init__(
        self, problem: Problem, climbers: Sequence[Climber], rung: int, target: Target, rows: Rows | None
    ) -> None:
        self._problem, self._rung, self._target, self._rows = problem, rung, target, rows
        self._members: dict[int, list[Climber]] = {}
        for climber in climbers:
            if climber.holdout is not None:
                self._members.setdefault(id(climber.holdout), []).append(climber)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Part]:
        for members in self._members.values():
            kept = members[0].index
            if len(kept) > MOST_KEPT:
                kept = np.random.default_rng(0).choice(kept, MOST_KEPT, replace=False)
            learned, f_kept = self._of(members, kept)
            held, f_held = self._of(members, members[0].judged_on)
            weight = self._target.weight
            weights = (None, None) if weight is None else (weight[learned], weight[held])
            yield Part(self._named(learned), self._named(held), f_kept, f_held, *weights)

    def _of(self, members: Sequence[Climber], rows: NDArray[np.int32]) -> tuple[Rows, FloatArray]:
        """The rows of the problem in its own order, and the mean of the members there."""
        places = self._problem.places(rows)
        networks, mine = [member.network(self._rung) for member in members], self._problem.rows_kept(places)
        f = np.empty(len(mine))
        for start in range(0, len(mine), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            judged = JudgedRows(self._problem, mine[part].astype(np.int32))
            f[part] = np.mean([judged.outputs(network)[:, 0] for network in networks], axis=0, dtype=np.float64)
        offset = self._target.offset
        return mine, (self._target.scale * f + self._target.shift) - (0.0 if offset is None else offset[mine])

    def _named(self, mine: Rows) -> Rows:
        return mine if self._rows is None else self._rows[mine]
