"""Members that come after those that began: some join them on their way, others follow them in the end.

    join      two that disagree much after three rungs are joined by others, who climb as far as they did and judge with
              them; the jury hears all of them from the start again
    follow    where two disagree in the end, or more members were asked for than decide, others go as far as was chosen:
              they judge nothing, and learn from all rows

Members disagree where their average saves much of the loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monolip.estimators._climber import Chosen, Climber

if TYPE_CHECKING:
    from monolip.estimators._recipe import Recipe

__all__ = ["followers", "is_divided", "join"]

DISAGREE = 3  # rungs after which two members are compared
APART, DIVIDED = 0.015, 0.03  # part of the loss that their average saves, if two more join them; follow in the end
PATIENT = 4.0  # times as long as so far: less time left, and nobody joins


def join(recipe: Recipe) -> None:
    """After three rungs, members that disagree much are joined by others, who climb as far as they did; then all of
    them judge."""
    if recipe.climbed != DISAGREE or not _may_be_more(recipe):
        return
    if recipe.jury.disagreement(recipe.probes) < APART or not _has_time(recipe):
        return
    before, recipe.n_members = recipe.n_members, recipe.most_members
    with recipe.coach.interruptible():
        joining = recipe.start(range(before, recipe.n_members), judged=True)[0]
        for number in range(DISAGREE):
            recipe.train(joining, number)
    if recipe.coach.is_out_of_time(wanted=True):
        recipe.n_members = before  # who came only part of the way would spoil the others
        return
    recipe.probes, jury = recipe.probes + joining, recipe.jury
    del recipe.jury  # another one for so many members
    recipe.jury.succeed(jury)
    for rung in range(DISAGREE + 1):
        recipe.jury.hear(recipe.probes, rung)


def is_divided(recipe: Recipe, chosen: Chosen) -> bool:
    """Whether members disagree so much in the end that others are to follow them."""
    if not _may_be_more(recipe) or chosen.rung == 0:
        return False
    return recipe.jury.disagreement(recipe.probes, chosen.rung) > DIVIDED and _has_time(recipe)


def followers(recipe: Recipe, chosen: Chosen, start: int) -> list[Climber]:
    """Members number `start` and up, as far as was chosen. They judge nothing, and learn from all rows."""
    recipe.strength, recipe.learned, recipe.used = chosen.strength, chosen.learned, chosen.used
    found: list[Climber] = []
    with recipe.coach.interruptible():
        found = _as_far(recipe, chosen, start)
    return found


def _as_far(recipe: Recipe, chosen: Chosen, start: int) -> list[Climber]:
    climbers, _ = recipe.start(range(start, recipe.n_members), judged=False)
    for number in range(chosen.rung):
        recipe.train(climbers, number)
        if number + 1 < chosen.rung and recipe.coach.is_out_of_time(wanted=True):
            return []  # members that came only part of the way would spoil the others
    if chosen.further is not None and climbers:
        recipe.finish(climbers, chosen)
    return climbers


def _may_be_more(recipe: Recipe) -> bool:
    """Whether members are judged, and their number is left to the fit."""
    return recipe.folds is not None and recipe.most_members > recipe.n_members


def _has_time(recipe: Recipe) -> bool:
    """Whether enough time is left for others to come."""
    return not recipe.coach.is_out_of_time(PATIENT * recipe.coach.spent, wanted=True)
