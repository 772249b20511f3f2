"""Who is tried with boosted trees, and with how many: by what networks did, and what their start left over.

Trees take time, and from the features they read all slope bounds, so that not every fit looks for them. Where networks
found something there is something for trees as well; where they searched in vain, or a table has little noise, few
trees by long steps say what they are worth; elsewhere a quick look, or none.
"""

from __future__ import annotations

from typing import NamedTuple

from monolip.engine.boosted_trees import Pace
from monolip.estimators._boosting import Effort
from monolip.estimators._forest_worth import MUCH_OF_ALL
from monolip.estimators._promises import Promises
from monolip.estimators._recipe import Recipe

__all__ = ["BRISK", "FEW_ROWS", "MANY_ROWS", "QUICK", "Look", "look_for_trees"]

# Of few rows and of many, where networks found something; long steps make few trees, which are rough, but four parts of
# them are averaged and a third of that is taken; and a quick look.
FEW_ROWS, MANY_ROWS, BRISK, QUICK = (
    Effort(Pace(31, 0.1, 300, 25), 4, 65_536),
    Effort(Pace(31, 0.1, 1000, 40), 1, 65_536),
    Effort(Pace(31, 0.3, 60, 6), 4, 65_536),
    Effort(Pace(8, 0.15, 200, 15), 2, 4_096),
)
# Where networks gained nothing. Of fewer features an additive function of bins has what few small trees find, and of
# more rows networks would have found it; where few rows did not end in noise, some features are enough, and any rows.
MANY_FEATURES, SOME_FEATURES, LOOKED_AT = 9, 5, range(500, 5000)
# Part of a constant's loss, as a jury counts, that the start of few numbers saves: there is so little noise that trees
# tell what they are worth, whatever networks did; less noise still where few features have little to tell beyond their
# start. Not of classes: no table gained by it. One feature is its start's alone, and of so few rows it is all chance.
TELLING, TELLING_FEW, FEWEST_FEATURES, FEWEST_ROWS = 0.4, 0.6, 2, 100
WIDE = 2**17  # numbers of a table: few rows that four boostings take too long for


class Look(NamedTuple):
    """of_all: part of a constant's loss that trees have to gain, as the last digit of an additive function without
    noise is worth no jumps."""

    effort: Effort
    of_all: float = 0.0


def look_for_trees(
    n: int, places: list[int], recipe: Recipe, promises: Promises, wanted: str | bool, gained: bool
) -> Look | None:
    """None where nobody looks. n: rows; places: features that trees may read; gained: whether networks did."""
    few, narrow = not recipe.has_many_rows, n * len(places) <= WIDE
    thorough = Look(MANY_ROWS if not few else FEW_ROWS if narrow else QUICK)
    if wanted is True:
        return thorough
    if wanted != "auto" or not places or not promises.directions.any():
        return None
    if gained:
        return thorough
    searched, brisk = few and (recipe.climbed >= 2 or recipe.beaten), BRISK if few and narrow else QUICK
    enough = len(places) >= (SOME_FEATURES if searched else MANY_FEATURES) and (searched or n in LOOKED_AT)
    if enough and searched and not recipe.beaten:
        return Look(brisk)
    if few and n >= FEWEST_ROWS and _is_telling(recipe, len(places)):
        return Look(brisk if len(places) >= SOME_FEATURES else QUICK, MUCH_OF_ALL)
    return Look(QUICK) if enough else None


def _is_telling(recipe: Recipe, features: int) -> bool:
    """Whether so little is noise that rows held out can tell."""
    if recipe.folds is None or features < FEWEST_FEATURES or not recipe.jury.anchored:
        return False
    bar = TELLING if features >= SOME_FEATURES else TELLING_FEW
    return recipe.problem.loss.name == "squared" and recipe.jury.explained(recipe.probes[0]) > bar
