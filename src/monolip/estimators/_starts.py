"""Members at their additive starts, all of one strength."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from monolip.engine.additive import Additive, fit_additives, row_losses_of
from monolip.engine.anchored import Anchored
from monolip.engine.problem import Problem
from monolip.estimators._climber import Climber, Used, plainest

__all__ = ["Started", "put_at_start", "start_members"]

Rows = NDArray[np.int32]
Started = tuple[list[Climber], float | None]


def start_members(
    problem: Problem, members: Sequence[int], rows: Sequence[tuple[Rows, Rows | None]],
    penalty: NDArray[np.float64], tried: Sequence[float], judged: bool,
    used: Used | None = None,
) -> Started:  # fmt: skip
    """Climbers, and the strength of their ridge penalty: of those tried the best on all rows held out together, or the
    one in the middle where nothing is judged; None where a problem has no additive start, and they begin at a constant.

    rows: of every member, those it learns from and those it holds out. used: by networks; None: everything.
    """
    climbers = [Climber(m, *r, Anchored(problem, None, r[0])) for m, r in zip(members, rows, strict=True)]
    hands = list({id(climber.index): climber.index for climber in climbers}.values())  # two by two may have the same
    found = dict(zip(map(id, hands), fit_additives(problem, hands, penalty, tried), strict=True)) if hands else {}
    starts = [found[id(climber.index)] for climber in climbers]
    if not starts or not all(starts):
        return climbers, None
    at = len(tried) // 2
    if judged and len(tried) > 1:
        at = plainest(*row_losses_of(starts, problem, [climber.judged_on for climber in climbers]), tried)
    for climber, one in zip(climbers, starts, strict=True):
        put_at_start(climber, problem, one[at], used)
    return climbers, tried[at]


def put_at_start(climber: Climber, problem: Problem, start: Additive | None, used: Used | None) -> None:
    """Its network will be trained around the start, and use what may be used."""
    climber.anchored = Anchored(problem, start, climber.index, None if used is None else used.columns)
    climber.n_features = None if used is None else used.n_features
