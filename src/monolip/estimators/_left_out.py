"""What the members of a fit say about rows they had not learned from: who judges by them need not fit again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.engine.judging import JudgedRows
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.estimators._climber import Climber

__all__ = ["Part", "left_out", "mean_outputs"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
MOST_KEPT = 65_536  # rows that were learned from; more say nothing more


@dataclass(frozen=True)
class Part:
    """kept, held: rows that a function was fitted to, and that it was not. f: the function there, offsets included."""

    kept: Rows
    held: Rows
    evaluate: Callable[[Rows], FloatArray]

    @cached_property
    def f_kept(self) -> FloatArray:
        return self.evaluate(self.kept)

    @cached_property
    def f_held(self) -> FloatArray:
        return self.evaluate(self.held)


def left_out(problem: Problem, climbers: Sequence[Climber], rung: int) -> Iterator[Part]:
    """Of members after the rung that was taken, before all of them learned from all rows: a part for every set of rows
    held out; members that hold out the same are averaged."""
    sharing: dict[int, list[Climber]] = {}
    for climber in climbers:
        if climber.holdout is not None:
            sharing.setdefault(id(climber.holdout), []).append(climber)
    for members in sharing.values():
        kept = members[0].index
        if len(kept) > MOST_KEPT:
            kept = np.random.default_rng(0).choice(kept, MOST_KEPT, replace=False)
        networks = [member.network(rung) for member in members]
        learned, held = (_rows(problem, rows) for rows in (kept, members[0].judged_on))
        yield Part(learned, held, partial(mean_outputs, problem, networks))


def mean_outputs(problem: Problem, networks: Sequence[NetworkArrays], rows: Rows) -> FloatArray:
    """Of members, at rows in the order in which the problem keeps them, offsets included; quick rather than exact."""
    judged = JudgedRows(problem, rows.astype(np.int32))
    return np.asarray(np.mean([judged.outputs(network)[:, 0] for network in networks], axis=0, dtype=np.float64))


def _rows(problem: Problem, rows: NDArray[np.int32]) -> Rows:
    """The same rows in the order in which the problem keeps them, where they are read quickest."""
    return problem.rows_kept(problem.places(rows))
