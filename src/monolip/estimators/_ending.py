"""How a path ends: early in noise, later than planned, and with all rows or without.

    scouts    some members climb a rung alone: two of few rows the first one, one of many the fourth where the third
              gained little; where they lose by it, nobody else need try
    noise     few rows that lose by their first rung end there
    more      a path of few rows whose last rung still gains much earns another one
    finish    all rows are trained on in the end, but not where many rows gained little

A path ends in noise only where its start leaves nothing over that features explain (see _misfit). That is no proof of
noise: waves of many features show in no quarter of them, and in a network only when it has found them, which takes
some hundred steps. So a rung is tried before it is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monolip.estimators._jury import SHORT, WORTH_NOISY

if TYPE_CHECKING:
    from monolip.estimators._recipe import Recipe

__all__ = ["earns_more", "ends_in_noise", "ends_with_scouts", "is_finished"]

SCOUTS = 2  # members of few rows that climb the first rung before the others
THIRD = 3  # rungs of many rows, after which one member goes ahead
EARNS = 0.05  # part of the loss: a last rung that gains this much earns another one
LITTLE, FEW_PARTS = 0.05, 8  # a path over many rows that gains less leaves one of so many parts of them out


def ends_with_scouts(recipe: Recipe, number: int) -> bool:
    """Whether members that climb a rung before the others find nothing but noise there."""
    if recipe.folds is None or not recipe.jury.anchored or len(recipe.probes) < 2:
        return False
    return _of_many(recipe, number) if recipe.has_many_rows else _of_few(recipe, number)


def _of_few(recipe: Recipe, number: int) -> bool:
    if number > 0 or recipe.jury.quiet or len(recipe.probes) < 2 * SCOUTS:
        return False
    scouts = recipe.probes[:SCOUTS]
    recipe.train(scouts, 0, recipe.probes)
    if recipe.coach.is_out_of_time(wanted=True):
        return True
    lost = all(recipe.jury.loss_of(scout, 1) > recipe.jury.loss_of(scout, 0) for scout in scouts)
    return lost and recipe.leaves_noise


def _of_many(recipe: Recipe, number: int) -> bool:
    """Not of very many: four rungs tell little of what those have to teach."""
    if number != THIRD or recipe.jury.short > SHORT or recipe.jury.gained_last(WORTH_NOISY) or not recipe.leaves_noise:
        return False
    scout = recipe.probes[0]
    recipe.train([scout], number, recipe.probes)
    lost = recipe.jury.loss_of(scout, number + 1) > recipe.jury.loss_of(scout, number)
    return lost or recipe.coach.is_out_of_time(wanted=True)


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
