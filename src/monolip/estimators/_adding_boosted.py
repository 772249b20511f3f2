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

from monolip.engine.boosted_trees import Boosted
from monolip.estimators._adding_forest import GAINED, LATE, TOO_FEW, TOO_LARGE, Whole, can_learn
from monolip.estimators._blending import Share, of_constant, share_of
from monolip.estimators._boosting import CodedRows, Effort, boostings, columns_that_count
from monolip.estimators._climber import Chosen, Climber
from monolip.estimators._forest import joined
from monolip.estimators._free_columns import FreeColumns, steplike_places
from monolip.estimators._freezing import cuts_forest, least_factor, with_forest
from monolip.estimators._left_out import Part, left_out
from monolip.estimators._leftover import Leftover
from monolip.estimators._promises import Promises
from monolip.estimators._recipe import Recipe
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target
from monolip.estimators._tree_efforts import QUICK, ROUGH, look_for_trees
from monolip.free_forest import FreeForest
from monolip.frozen import FrozenNetwork

__all__ = ["Blended", "blend_boosted"]

FloatArray = NDArray[np.float64]
# Part of what networks of few rows gained that trees have to gain as well: those are judged one by one, before they
# learn from all rows, and gain the more by both the more there is to learn.
WORTH_OF_GAINED = 0.04
# Standard errors that a gain has to exceed, and in a quick look or a sketch, which are rough: two models that err
# differently are better together, before any row is asked. And by which first parts lose if the others are not tried.
SURE, SURE_ROUGH, HOPELESS = 0.5, 1.0, -0.5
MOST_NUMBERS = 2**21  # of a table, but for those that most rows have: that one boosting learns from
ALL_BOUNDED = (
    "trees=True, but every feature is bounded, capped or flat, and trees read none of those; the model has no trees"
)
NO_ROOM = (
    "slopes of the added members have no room to shrink beside boosted trees, as an interval asks them to stay away "
    "from 0; the model has none any more; fit all members at once (warm_start=False) to keep them"
)
OFFSET = "trees={!r}, but boosted trees of two classes know of no offset; the model has none of them"
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
    target: Target, promises: Promises, wanted: str | bool, gained: float, before: Blended | None = None,
) -> Blended:  # fmt: skip
    """whole: the network with the forest it may have already. gained: by networks over an additive function, a part of
    the loss. before: what there was before members joined. Ctrl-C ends it without boosted trees."""
    if before is not None:
        again = _blended(whole, network, before.trees, before.share, target)
        lost = before.trees is not None and again.trees is None
        return again._replace(whole=again.whole._replace(told=(*again.whole.told, NO_ROOM))) if lost else again
    places, found = steplike_places(promises), Blended(whole)
    if wanted is True and not places:
        return Blended(whole._replace(told=(*whole.told, ALL_BOUNDED)))
    look = None
    with recipe.coach.interruptible():
        look = look_for_trees(len(target.y), places, recipe, promises, wanted, gained > GAINED)
    if look is None or not can_learn(target):
        return found
    if why := _unjudged(recipe, target, climbers):
        new = wanted is True and why.format(wanted) not in whole.told
        return Blended(whole._replace(told=(*whole.told, why.format(wanted)))) if new else found
    left = Leftover.of(target)
    if recipe.coach.is_out_of_time(_seconds(look.effort, len(left.y), len(places)), wanted=True):
        late = wanted is True and not recipe.coach.interrupted and whole.network is network
        return Blended(whole._replace(told=(*whole.told, LATE.format(wanted)))) if late else found
    with recipe.coach.interruptible():
        judges = [climber for climber in climbers if climber.holdout is not None]
        parts = [*left_out(recipe.problem, judges, chosen.rung)]
        assert network.inputs is not None
        columns = FreeColumns.of(
            table, network.inputs.columns, places, promises.missing
        )  # of all rows: what is missing
        table_of_trees = columns, promises.directions[places, 0]
        few = 0.0 if recipe.has_many_rows or not look.least else WORTH_OF_GAINED * gained
        given = whole, network, recipe, parts, table_of_trees, left, target
        found = _grown(*given, look.effort, look.least + few, look.of_all)
        more = 0.0 if look.then is None else _seconds(look.then, len(left.y), len(places))
        if look.then and found.share.gain > look.much and not recipe.coach.is_out_of_time(more, wanted=True):
            then = _grown(*given, look.then, look.least + few, look.of_all)
            found = max(found, then, key=lambda blended: blended.share.gain)
    return found


def _seconds(effort: Effort, n: int, d: int) -> float:
    """At most, roughly."""
    numbers = min(min(n, effort.most_rows) * d, MOST_NUMBERS)
    return SECONDS * numbers * effort.pace.most_trees * effort.most_parts


def _unjudged(recipe: Recipe, target: Target, climbers: Sequence[Climber]) -> str:
    """Why boosted trees cannot be judged; "" where they can."""
    if target.offset is not None:
        return OFFSET
    held = recipe.folds is not None and any(climber.holdout is not None for climber in climbers)
    return "" if held and Leftover.of(target).can_be_judged() else TOO_FEW


def _grown(
    whole: Whole, network: FrozenNetwork, recipe: Recipe, parts: Sequence[Part],
    table: tuple[FreeColumns, NDArray[np.int64]], left: Leftover, target: Target, effort: Effort, least: float,
    of_all: float,
) -> Blended:  # fmt: skip
    """table: columns that trees may read, and their directions. least, of_all: parts of the loss, and of a constant's,
    that trees have to gain."""
    (columns, directions), parts = table, parts[: effort.most_parts]
    most = min(effort.most_rows, MOST_NUMBERS // max(1, columns_that_count(columns.numbers)))
    rows = _looked_at(len(left.y), [part.held for part in parts], most)
    coded = CodedRows(replace(columns, numbers=columns.numbers[rows]), directions)
    added, among = np.zeros(len(left.y)) if whole.added is None else whole.added.copy(), np.full(len(left.y), -1)
    among[rows] = np.arange(len(rows))
    boosted: list[Boosted] = []
    helds, f, g = [part.held for part in parts], np.zeros(0), np.zeros(0)
    threads, seed = recipe.coach.n_threads, recipe.coach.seed
    for one in boostings(coded, left.at(rows), [among[held] for held in helds], effort.pace, threads, seed):
        if one is None:
            return Blended(whole)
        part = parts[len(boosted)]
        f = np.concatenate([f, part.f_held + added[part.held]])
        g = np.concatenate([g, one.outputs[among[part.held]]])
        boosted.append(one)
        asked = left.at(np.concatenate(helds[: len(boosted)]))
        share = share_of(asked, f, g)
        if share.gain <= (0.0 if effort is QUICK else HOPELESS * share.error) and least > 0.0:
            return Blended(whole)
    sure = share.gain > (SURE_ROUGH if effort in ROUGH else SURE) * share.error
    sure = sure or least == 0.0  # who asks for any gain takes the chance
    if not boosted or share.gain <= least or share.of_loss <= 0.0 or not sure:
        return Blended(whole)
    if of_all > 0.0 and of_constant(share, asked, f) < of_all:
        return Blended(whole)
    added[np.concatenate(helds)] += share.share * (g - f)
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


def _blended(whole: Whole, network: FrozenNetwork, trees: FreeForest | None, share: Share, target: Target) -> Blended:
    """(1 - share) f + share g, f with the forest it may have already; where slopes have room to shrink."""
    rest = 1.0 - share.share
    if trees is None or not share.share or rest < least_factor(network):
        return Blended(whole)
    assert whole.network.inputs is not None
    both = joined(trees, share.share, whole.network.inputs.forest, rest)
    blended = with_forest(network, both, rest, share.share * target.shift)
    if cuts_forest(blended):
        return Blended(whole._replace(told=tuple(dict.fromkeys((*whole.told, TOO_LARGE)))))
    return Blended(whole._replace(network=blended), trees, share)
