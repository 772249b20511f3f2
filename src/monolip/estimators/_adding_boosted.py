"""Boosted trees beside the network: f becomes (1 - share) f + share g, where that is asked for, possible and worth it.

The trees keep every direction, in steps; who asked for an interval or a cap of a feature keeps it, because they do not
read that feature. Everything is decided on rows that members hold out anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine.boosted_trees import Pace
from monolip.estimators._adding_forest import Whole, can_learn
from monolip.estimators._blending import Share, share_of
from monolip.estimators._boosting import CodedRows, Effort, boostings
from monolip.estimators._climber import Chosen, Climber
from monolip.estimators._forest import joined
from monolip.estimators._free_columns import FreeColumns, steplike_places
from monolip.estimators._freezing import least_factor, rescale, with_forest
from monolip.estimators._left_out import Part, left_out
from monolip.estimators._leftover import Leftover
from monolip.estimators._promises import Promises
from monolip.estimators._recipe import Recipe
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target
from monolip.free_forest import FreeForest
from monolip.frozen import FrozenNetwork

__all__ = ["Blended", "blend_boosted"]

FloatArray = NDArray[np.float64]
MANY_FEATURES = 9  # of fewer, an additive function of bins has what few small trees find
# Where networks found something, trees may as well; elsewhere, and only of many features, a quick look. What they have
# to gain makes up for slope bounds that nobody asked for; it is more where networks of few rows found something: those
# are judged one by one, before they learn from all rows, and gain by both.
FEW_ROWS, MANY_ROWS, QUICK = (
    Effort(Pace(16, 0.1, 300, 25), 4, 65_536, 0.03),
    Effort(Pace(31, 0.1, 1000, 40), 1, 65_536, 0.01),
    Effort(Pace(8, 0.15, 200, 15), 2, 8_192, 0.01),
)
ALL_BOUNDED = "trees=True, but the slopes of every feature are bounded or flat; the model has no trees"
SECONDS = 3e-9  # of a row, a feature and a tree


class Blended(NamedTuple):
    """whole: the model with its trees, where it has any. trees: g by itself, in the user's units; share: of it."""

    whole: Whole
    trees: FreeForest | None = None
    share: Share = Share()

    @property
    def gain(self) -> float:
        """Part of the loss that rows held out gain by all trees together."""
        return 1.0 - (1.0 - self.whole.worth.gain) * (1.0 - self.share.of_loss)


def blend_boosted(
    whole: Whole, network: FrozenNetwork, recipe: Recipe, climbers: Sequence[Climber], chosen: Chosen, table: RawTable,
    target: Target, promises: Promises, wanted: str | bool, gained: bool, before: Blended | None = None,
) -> Blended:  # fmt: skip
    """whole: the network with the forest it may have already. gained: whether networks found more than an additive
    function. before: what there was before members joined. Ctrl-C ends it without boosted trees."""
    if before is not None:
        return _blended(whole, network, before.trees, before.share, target) if before.trees else Blended(whole)
    places, found = steplike_places(promises), Blended(whole)
    if wanted is True and not places:
        return Blended(whole._replace(told=(*whole.told, ALL_BOUNDED)))
    if (
        wanted not in (True, "auto")
        or not places
        or target.offset is not None
        or not can_learn(target)
        or recipe.folds is None
    ):
        return found
    if wanted == "auto" and not (promises.directions.any() and (gained or len(places) >= MANY_FEATURES)):
        return found
    effort = QUICK if not gained and wanted == "auto" else MANY_ROWS if recipe.has_many_rows else FEW_ROWS
    effort = replace(effort, worth=0.0) if wanted is True else effort
    left, trees = Leftover.of(target), effort.pace.most_trees * effort.most_parts
    seconds = SECONDS * min(len(target.y), effort.most_rows) * len(places) * trees
    if not left.can_be_judged() or recipe.coach.is_out_of_time(seconds, wanted=True):
        return found
    with recipe.coach.interruptible():
        judges = [climber for climber in climbers if climber.holdout is not None]
        parts = [*left_out(recipe.problem, judges, chosen.rung)][: effort.most_parts]
        found = _grown(whole, network, recipe, parts, table, left, target, promises, effort)
    return found


def _grown(
    whole: Whole, network: FrozenNetwork, recipe: Recipe, parts: Sequence[Part], table: RawTable, left: Leftover,
    target: Target, promises: Promises, effort: Effort,
) -> Blended:  # fmt: skip
    assert network.inputs is not None
    helds = [part.held for part in parts]
    rows, places = _looked_at(len(left.y), helds, effort.most_rows), steplike_places(promises)
    some = table if len(rows) == len(left.y) else table.take(rows)
    columns = FreeColumns.of(some, network.inputs.columns, places, promises.missing)
    coded, among = CodedRows(columns, promises.directions[places, 0]), np.full(len(left.y), -1)
    among[rows] = np.arange(len(rows))
    found = boostings(
        coded, left.at(rows), [among[held] for held in helds], effort.pace, recipe.coach.n_threads, recipe.coach.seed
    )
    boosted = [one for one in found if one is not None]
    if len(boosted) < len(parts) or not parts:
        return Blended(whole)
    added = np.zeros(len(left.y)) if whole.added is None else whole.added.copy()
    f = np.concatenate([part.f_held + added[held] for part, held in zip(parts, helds, strict=True)])
    g = np.concatenate([one.outputs[among[held]] for one, held in zip(boosted, helds, strict=True)])
    every = np.concatenate(helds)
    share = share_of(left.at(every), f, g)
    if share.gain <= effort.worth or share.share == 0.0 or 1.0 - share.share < least_factor(network):
        return Blended(whole)
    added[every] += share.share * (g - f)
    return _blended(whole._replace(added=added), network, coded.forest(boosted, target.scale), share, target)


def _looked_at(n: int, helds: Sequence[NDArray[np.int64]], most: int) -> NDArray[np.int64]:
    """Rows that boosted trees know: all that are held out, and of the others as many as a boosting learns from."""
    known = np.zeros(n, np.bool_)
    for held in helds:
        known[held] = True
    others = np.flatnonzero(~known)
    if len(others) > most:
        others = np.random.default_rng(0).choice(others, most, replace=False)
    known[others] = True
    return np.flatnonzero(known)


def _blended(whole: Whole, network: FrozenNetwork, trees: FreeForest, share: Share, target: Target) -> Blended:
    """(1 - share) f + share g, f with the forest it may have already."""
    shrunk = rescale(network, 1.0 - share.share, share.share * target.shift)
    assert whole.network.inputs is not None
    other = whole.network.inputs.forest
    both = joined(trees, share.share, other, 1.0 - share.share)
    return Blended(whole._replace(network=with_forest(shrunk, both)), trees, share)
