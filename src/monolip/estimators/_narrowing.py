r"""Which features a network uses beside its additive start, and which are left to the start alone.

A network follows every feature it is given, also those that have nothing to say, and of many such ones it learns noise.
Rows held out tell them apart: with a feature's values taken from other rows, and outputs averaged over several such
draws, the network g around the start does without it,

    help of feature j  =  sum over rows of  loss(start + mean over draws of g(x without j)) - loss(start + g(x))

Where those without help do harm together, a path is begun again without them, and if that is better, help is asked for
once more. Where a network only loses there is no help to be measured: its path is begun again with the features whose
quarters, two by two, explain what the start leaves over (see _misfit), if there are any. Everything is judged by rows
held out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.engine.judging import JudgedRows
from monolip.engine.trainer import NetworkArrays
from monolip.estimators._climber import Climber, Used
from monolip.estimators._joining import join_partner
from monolip.estimators._jury import judged_losses
from monolip.estimators._recipe import Recipe

__all__ = ["narrowed"]

EARNED = 0.03  # part of the loss that networks gain if their help is asked for
HARM = 0.005  # part of the loss that features without help do at least, if a path is begun again without them
DRAWS = 4
MOST_ROWS = 512  # held out by a member
WORTH = 0.01  # part of the loss by which a path with fewer features is better, if it is taken
WORTH_ENDED = 0.003  # and where the other one has come to its end


def narrowed(recipe: Recipe, starts: NDArray[np.int64], rungs: int) -> Recipe:
    """A path of so many rungs as it is, or begun again with some of its features and that far again.

    starts: first model column of each feature, and one past the last.
    """
    if recipe.folds is None or recipe.climbed == 0 or not recipe.jury.anchored or len(recipe.rungs) <= rungs:
        return recipe  # nothing to judge by, or a path that max_iter has cut short
    if recipe.ended:
        told = recipe.misfit.told() if recipe.misfit is not None else np.zeros(0, bool)
        return _better(recipe, told, starts, rungs, WORTH_ENDED) or recipe
    found: Recipe | None = recipe
    while found is not None and not found.ended and found.jury.gained_much(found.climbed, EARNED):
        recipe = found
        join_partner(recipe)  # two are asked: what one of them follows by chance the other does not
        try:
            helpful = _helpful(recipe, starts)
            found = None if helpful is None else _better(recipe, helpful, starts, rungs, WORTH)
        except KeyboardInterrupt:  # the path so far has a model
            recipe.coach.interrupted, found = True, None
    return found or recipe


def _better(
    recipe: Recipe, features: NDArray[np.bool_], starts: NDArray[np.int64], rungs: int, worth: float
) -> Recipe | None:
    """The path begun again with these features; None where it is not better, or would be the same."""
    before = len(starts) - 1 if recipe.used is None else recipe.used.n_features
    if not 0 < features.sum() < before or recipe.coach.is_out_of_time(wanted=True):
        return None
    found = recipe.restarted(Used.of(features, starts))
    found.climb(rungs)
    best, other = min(found.jury.curve), min(recipe.jury.curve)
    better = other - best > worth * abs(other) and not recipe.coach.is_out_of_time()
    (recipe if better else found).give_up()
    return found if better else None


def _helpful(recipe: Recipe, starts: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """(features,) whether each of them helps the members as far as they have come; None where the others do no harm, or
    time is up."""
    trials, helpful = (
        [_Trial.of(climber, recipe.coach.seed) for climber in recipe.probes],
        np.ones(len(starts) - 1, bool),
    )
    for j, pair in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        if recipe.coach.is_out_of_time(wanted=True):
            return None
        helpful[j] = sum(trial.help(slice(*pair)) for trial in trials) > 0
    others = np.repeat(~helpful, np.diff(starts))
    harm, loss = -sum(trial.help(others) for trial in trials), sum(trial.with_all for trial in trials)
    return helpful if harm > HARM * abs(loss) else None


@dataclass(frozen=True)
class _Trial:
    """A member's network on rows that it holds out. with_all: their loss, as a sum. orders: draws of other rows."""

    rows: JudgedRows
    network: NetworkArrays
    orders: list[NDArray[np.int64]]
    products: NDArray[np.floating]
    with_all: float

    @classmethod
    def of(cls, climber: Climber, seed: int) -> _Trial:
        held, rng = climber.judged_on, np.random.default_rng(seed + climber.member)
        if len(held) > MOST_ROWS:
            held = held[np.linspace(0, len(held) - 1, MOST_ROWS).astype(np.int64)]
        rows, g = JudgedRows(climber.anchored.problem, held), climber.networks[-1]
        assert g is not None, "who has not climbed has no network"
        orders = [rng.permutation(len(held)) for _ in range(DRAWS)]
        loss = float(rows.weight @ judged_losses(rows, rows.outputs(g)))
        return cls(rows, g, orders, rows.products(g), loss)

    def help(self, columns: slice | NDArray[np.bool_]) -> float:
        """What the network would lose without these columns."""
        f = self.rows.outputs_without(self.network, columns, self.orders, self.products)
        return float(self.rows.weight @ judged_losses(self.rows, f)) - self.with_all
