"""Members that come after those that began: some join them on their way, others follow them in the end.

    partner   many rows are explored by one member, whom another joins where there is something to gain; both hold out
              the same rows, so that their average is judged from then on
    join      two that disagree much after three rungs are joined by others, who climb as far as they did and judge with
              them; the jury hears all of them from the start again
    follow    where two disagree in the end, or more members were asked for than decide, others go as far as was chosen:
              they judge nothing, and learn from all rows

Members disagree where their average saves much of the loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monolip.estimators._climber import Chosen, Climber
from monolip.estimators._starts import put_at_start

if TYPE_CHECKING:
    from monolip.estimators._recipe import Recipe

__all__ = ["DISAGREE", "followers", "is_divided", "join", "join_partner"]

DISAGREE = 3  # rungs after which two members are compared
EXPLAINED = 0.05  # part of a constant's loss: one member whose start explains less has a partner at once
GAINS = 0.01  # part of the loss: one that gained this much has a partner from then on
APART, DIVIDED = 0.015, 0.03  # part of the loss that their average saves, if two more join them; follow in the end
PATIENT = 4.0  # times as long as so far: less time left, and nobody joins


def join(recipe: Recipe) -> None:
    """One member that needs a partner is joined by it, and after three rungs two that disagree much by others; they
    climb as far as those did, and then all of them judge."""
    before, climbed = recipe.n_members, recipe.climbed
    join_partner(recipe)
    late = climbed > DISAGREE and recipe.n_members == before  # nobody is new, and they have been compared before
    if climbed < DISAGREE or late or recipe.n_members == 1 or not _may_be_more(recipe):
        return
    if recipe.jury.disagreement(recipe.probes) >= APART and _has_time(recipe):
        _join_all(recipe, recipe.most_members)


def join_partner(recipe: Recipe) -> None:
    """One member that needs a partner is joined by it."""
    if _may_be_more(recipe) and recipe.n_members == 1 and _needs_partner(recipe) and _has_time(recipe):
        _join_all(recipe, 2)


def _needs_partner(recipe: Recipe) -> bool:
    """At the start, where that explains next to nothing: what there is to learn is easily missed. Later, where networks
    gain: averaging is worth something there."""
    if recipe.climbed == 0:
        return recipe.jury.explained(recipe.probes[0]) < EXPLAINED
    return recipe.climbed >= min(DISAGREE, recipe.judged) and recipe.jury.gained_much(recipe.climbed, GAINS)


def _join_all(recipe: Recipe, n_members: int) -> None:
    """So many members there are then."""
    before, climbed, recipe.n_members = recipe.n_members, recipe.climbed, n_members
    joining: list[Climber] = []
    with recipe.coach.interruptible():
        joining = [_partner(recipe)] if before == 1 else recipe.start(range(before, n_members), judged=True)[0]
        for number in range(climbed):
            recipe.train(joining, number)
    jury = recipe.jury
    if not recipe.coach.is_out_of_time(wanted=True):
        with recipe.coach.interruptible():
            del recipe.jury  # another one for so many members
            recipe.jury.succeed(jury)
            for rung in range(climbed + 1):
                recipe.jury.hear([*recipe.probes, *joining], rung)
    if recipe.coach.is_out_of_time(wanted=True):
        recipe.n_members, recipe.jury = before, jury  # who came only part of the way would spoil the others
        recipe.coach.give_up(joining)
        return
    recipe.probes = recipe.probes + joining


def _partner(recipe: Recipe) -> Climber:
    """A second member, at the first one's start and with its rows."""
    first = recipe.probes[0]
    second = Climber(1, first.index, first.holdout, first.anchored)
    put_at_start(second, recipe.problem, first.anchored.start, recipe.used)
    return second


def is_divided(recipe: Recipe, chosen: Chosen) -> bool:
    """Whether members disagree so much in the end that others are to follow them."""
    if not _may_be_more(recipe) or chosen.rung == 0 or recipe.n_members == 1:
        return False
    return recipe.jury.disagreement(recipe.probes, chosen.rung) > DIVIDED and _has_time(recipe)


def followers(recipe: Recipe, chosen: Chosen, start: int) -> list[Climber]:
    """Members number `start` and up, as far as was chosen. They judge nothing, and learn from all rows."""
    recipe.strength, recipe.learned, recipe.used = chosen.strength, chosen.learned, chosen.used
    climbers: list[Climber] = []
    arrived = False
    with recipe.coach.interruptible():
        climbers, _ = recipe.start(range(start, recipe.n_members), judged=False)
        arrived = _come_as_far(recipe, chosen, climbers)
    if not arrived:
        recipe.coach.give_up(climbers)
    return climbers if arrived else []


def _come_as_far(recipe: Recipe, chosen: Chosen, climbers: list[Climber]) -> bool:
    """Whether they did: members that came only part of the way would spoil the others."""
    for number in range(chosen.rung):
        recipe.train(climbers, number)
        if number + 1 < chosen.rung and recipe.coach.is_out_of_time(wanted=True):
            return False
    if chosen.further is not None and climbers:
        recipe.finish(climbers, chosen)
    return True


def _may_be_more(recipe: Recipe) -> bool:
    """Whether members are judged, and their number is left to the fit."""
    return recipe.folds is not None and recipe.most_members > recipe.n_members


def _has_time(recipe: Recipe) -> bool:
    """Whether enough time is left for others to come."""
    return not recipe.coach.is_out_of_time(PATIENT * recipe.coach.spent, wanted=True)
