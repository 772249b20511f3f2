"""The last step of a fit: a forest beside the network, where it is asked for, possible, and worth it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine.trainer import NetworkArrays
from monolip.errors import InputError
from monolip.estimators._climber import Chosen, Climber
from monolip.estimators._forest import FreeRows, Growth
from monolip.estimators._forest_worth import grow_free_forest
from monolip.estimators._free_columns import FreeColumns, free_places
from monolip.estimators._freezing import cuts_forest, with_forest
from monolip.estimators._leftover import Leftover, Worth
from monolip.estimators._promises import Promises
from monolip.estimators._recipe import Recipe
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import LOSSES, Target
from monolip.frozen import FrozenNetwork

__all__ = [
    "GAINED",
    "LATE",
    "TOO_FEW",
    "TOO_MANY",
    "Whole",
    "add_forest",
    "can_learn",
    "check_trees",
    "has_gained",
    "part_gained",
    "read_wanted",
]

FloatArray = NDArray[np.float64]
N_TREES, MIN_LEAF = 30, 2
GAINED = 0.05  # part of the loss that the path gained: where networks find little more than an additive function,
# nothing is left for trees to find either
NONE_FREE = "trees='free', but something is promised of every feature; the model has no trees"
TOO_FEW = (
    "trees={!r}, but too few rows were held out to judge trees by (16 at least, of each class; early_stopping=False "
    "holds out none); the model has none"
)
LATE = "trees={!r}, but max_time left no time for them; the model has none"
TOO_MANY = "trees={!r}, but a stream of more rows than a fit reads whole ({}) has no trees; the model has none"
TOO_LARGE = "y is so large that trees beside the network would be cut off; the model has none; rescale y"
COPIES = (
    "{:.0%} of the rows have features that another row has as well; the forest over {} learns such rows by heart, and "
    "rows held out take that for a gain; if they are of one customer, or copies, name them by fit(groups=), or leave "
    "all trees out by trees=False"
)


NOTHING = Worth(0.0)


class Whole(NamedTuple):
    """network: with its forest, where it has one. worth: of the forest. added: (n,) what trees that had not learned
    from them add to rows held out. told: what the user should know."""

    network: FrozenNetwork
    worth: Worth = NOTHING
    added: FloatArray | None = None
    told: tuple[str, ...] = ()


def read_wanted(given: Any) -> str | bool:
    """trees as a user may write it."""
    if isinstance(given, str) and given in ("auto", "free"):
        return given
    if not isinstance(given, bool | np.bool_):
        raise InputError(f"trees is 'auto', 'free', True or False; got {given!r}; choose one of them.")
    return bool(given)


def check_trees(given: Any, target: Target) -> str | bool:
    """`read_wanted`, for a target it is possible for."""
    wanted = read_wanted(given)
    if wanted in (True, "free") and not can_learn(target):
        named = {own: name for name, own in LOSSES.items()}
        got = f"{target.n_outputs} classes" if target.classes is not None else f"loss={named[target.loss.name]!r}"
        raise InputError(f"trees learn by squared_error, or two classes; got {got}; leave trees={wanted!r} out.")
    return wanted


def can_learn(target: Target) -> bool:
    return target.n_outputs == 1 and target.loss.name in ("squared", "logistic")


def add_forest(
    network: FrozenNetwork, recipe: Recipe, climbers: Sequence[Climber], chosen: Chosen,
    arrays: Sequence[NetworkArrays], table: RawTable, target: Target, promises: Promises, wanted: str | bool,
    before: Worth | None = None,
) -> Whole:  # fmt: skip
    """wanted: "auto" where networks gained something and the forest gains much, for users who ask for directions; True
    or "free" where it gains anything. before: what it was worth before members joined. Ctrl-C ends it with the network
    alone."""
    places, eager, whole = free_places(promises), wanted in (True, "free"), Whole(network)
    if not wanted or not can_learn(target) or before == NOTHING:
        return whole
    if recipe.coach.is_out_of_time():
        late = wanted == "free" and not recipe.coach.interrupted
        return Whole(network, told=(LATE.format(wanted),) if late else ())
    if not eager and not before and not (promises.directions.any() and has_gained(recipe, chosen)):
        return whole
    if not places:
        return Whole(network, told=(NONE_FREE,) if wanted == "free" else ())
    with recipe.coach.interruptible():
        assert network.inputs is not None
        free = FreeRows(FreeColumns.of(table, network.inputs.columns, places, promises.missing))
        growth = Growth(N_TREES, MIN_LEAF, recipe.coach.n_threads, recipe.coach.seed)
        judges = [climber for climber in climbers if climber.holdout is not None]
        if (not before and not judges) or not Leftover.of(target).can_be_judged():
            return Whole(network, told=(TOO_FEW.format(wanted),) if eager else ())
        grown = grow_free_forest(recipe.problem, judges, chosen.rung, arrays, target, free, growth, eager, before)
        if grown is not None:
            names = ", ".join(network.inputs.names[j] for j in places[:3]) + (" ..." if len(places) > 3 else "")
            told = (COPIES.format(grown.copies, names),) if grown.copies and target.groups is None else ()
            together = with_forest(network, grown.forest)
            if cuts_forest(together):
                return Whole(network, told=(TOO_LARGE,))
            whole = Whole(together, grown.worth, grown.added, told)
    return whole


def has_gained(recipe: Recipe, chosen: Chosen) -> bool:
    """Whether networks found more than an additive function."""
    return part_gained(recipe, chosen) > GAINED


def part_gained(recipe: Recipe, chosen: Chosen) -> float:
    """Part of the loss that networks gained over their starts."""
    curve = recipe.jury.curve
    if not 0 < chosen.rung < len(curve) or not curve[0]:
        return 0.0
    return (curve[0] - curve[chosen.rung]) / abs(curve[0])
