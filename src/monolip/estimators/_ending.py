"""How a path ends: early in noise, later than planned, and with all rows or without.

    scouts    two members of few rows climb the first rung one after the other; where they lose by it, nobody else need
              try: in noise, and where they lose much although their start had explained something. Where the first one
              loses clearly, it is enough
    noise     few rows that lose by their first rung end there
    more      a path of few rows whose last rung still gains much earns another one
    finish    all rows are trained on in the end, but not where many rows gained little

A path ends in noise only where its start leaves nothing over that features explain (see _misfit). That is no proof of
noise: waves of many features show in no quarter of them, and in a network only when it has found them, which takes
some hundred steps. So many rows climb their first rungs in any case. Nor is losing much at once; but a
start that explains a good part, and needed a penalty for it, is not beaten later by networks that lost much at first,
unless features tell of more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monolip.estimators._climber import Climber
    from monolip.estimators._recipe import Recipe

__all__ = ["earns_more", "ends_in_noise", "ends_with_scouts", "is_finished"]

SCOUTS = 2  # members of few rows that climb the first rung before the others
LOST, EXPLAINED = 0.03, 0.2  # parts of the loss: lost by them, and saved by the first one's start over a constant
PENALISED = 10.0  # strength of its penalty, at least: there is noise about
ALONE = 0.01  # part of the loss: a first scout that loses more needs no second one
EARNS = 0.05  # part of the loss: a last rung that gains this much earns another one
LITTLE, FEW_PARTS = 0.05, 8  # a path over many rows that gains less leaves one of so many parts of them out


def ends_with_scouts(recipe: Recipe) -> bool:
    """Whether two members of few rows lose by the first rung, and all there is over is noise, or they lose much and it
    is hardly more: nobody else tries. Nor does the second where the first one loses more than ALONE."""
    if recipe.folds is None or recipe.has_many_rows or len(recipe.probes) < 2 * SCOUTS:
        return False
    if recipe.jury.quiet or not recipe.jury.anchored:
        return False
    for number, more in enumerate((ALONE, 0.0)):
        recipe.train(recipe.probes[number : number + 1], 0, recipe.probes)
        if recipe.coach.is_out_of_time(wanted=True):
            return True
        lost = _lost(recipe, recipe.probes[: number + 1])
        if lost > more and _is_over(recipe, lost):
            return True
    return False


def _lost(recipe: Recipe, scouts: Sequence[Climber]) -> float:
    """Part of the loss, by the first rung."""
    before, after = (sum(recipe.jury.loss_of(scout, rung) for scout in scouts) for rung in (0, 1))
    return (after - before) / abs(before) if before else float(after > 0)


def _is_over(recipe: Recipe, lost: float) -> bool:
    if recipe.leaves_noise:
        return True
    noisy = recipe.strength is not None and recipe.strength >= PENALISED
    explains = noisy and lost > LOST and recipe.jury.explained(recipe.probes[0]) > EXPLAINED
    return explains and recipe.leaves_little


def ends_in_noise(recipe: Recipe) -> bool:
    """Whether few rows have lost by their first rung, and their start leaves nothing over to be learned."""
    return recipe.climbed == 1 and recipe.jury.lost_at_once() and recipe.leaves_noise


def earns_more(recipe: Recipe) -> bool:
    """Whether the last rung of a path gained so much that there is one more."""
    return recipe.unearned > 0 and recipe.folds is not None and recipe.jury.gained_last(EARNS)


def is_finished(recipe: Recipe, best: int) -> bool:
    """Whether all rows are trained on in the end: of many, what gained little gains nothing by some more."""
    parts = 0 if recipe.folds is None or not recipe.has_many_rows else int(recipe.folds.max()) + 1
    return recipe.folds is not None and (parts < FEW_PARTS or recipe.jury.gained_much(best, LITTLE))
