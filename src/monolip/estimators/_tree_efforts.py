"""Who is tried with boosted trees, and with how many: by what networks did, and what their start left over.

Trees take time, and from the features they read all slope bounds, so that not every fit looks for them. Where networks
found something there is something for trees as well; where they searched in vain, or a table has little noise, few
trees by long steps say what they are worth; elsewhere a quick look, or none. Of many rows, whose networks gained
little, a part is sketched by such trees: it is all noise to most, but what some have in steps no network finds.
"""

from __future__ import annotations

from typing import NamedTuple

from monolip.engine.boosted_trees import Pace
from monolip.estimators._boosting import Effort
from monolip.estimators._forest_worth import MUCH_OF_ALL
from monolip.estimators._promises import Promises
from monolip.estimators._recipe import Recipe

__all__ = ["QUICK", "ROUGH", "Look", "look_for_trees"]

# Of few rows and of many, where networks found something; long steps make few trees, which are rough, but four parts of
# them are averaged and a third of that is taken; a quick look; and a sketch of many rows.
FEW_ROWS, MANY_ROWS, BRISK, QUICK, SKETCH = (
    Effort(Pace(31, 0.1, 300, 25), 4, 65_536),
    Effort(Pace(31, 0.1, 1000, 40), 1, 65_536),
    Effort(Pace(31, 0.3, 60, 6), 4, 65_536),
    Effort(Pace(8, 0.15, 200, 15), 2, 4_096),
    Effort(Pace(31, 0.3, 60, 6), 1, 16_384),
)
ROUGH = QUICK, SKETCH  # a gain by them has to be surer
# Parts of the loss. WORTH makes up for slope bounds nobody asked for; where few trees gain MUCH_BY_TREES, or a sketch
# gains SKETCHED, more of them are worth their time.
WORTH, MUCH_BY_TREES, SKETCHED = 0.005, 0.1, 0.01
# Where networks gained nothing. Of fewer features an additive function of bins has what few small trees find, and more
# rows are sketched; where few rows did not end in noise, some features are enough, and any rows.
MANY_FEATURES, SOME_FEATURES, LOOKED_AT = 9, 5, range(500, 5000)
# Part of a constant's loss, as a jury counts, that the start of few numbers saves: there is so little noise that trees
# tell what they are worth, whatever networks did; less noise still where few features have little to tell beyond their
# start. Not of classes: no table gained by it. One feature is its start's alone, and of so few rows it is all chance.
TELLING, TELLING_FEW, FEWEST_FEATURES, FEWEST_ROWS = 0.4, 0.6, 2, 100
WIDE = 2**17  # numbers of a table: few rows that four boostings take too long for


class Look(NamedTuple):
    """least: part of the loss that trees have to gain. of_all: and of a constant's, as the last digit of an additive
    function without noise is worth no jumps. then: how trees are grown that replace the first ones if they are better,
    where those gain more than `much`."""

    effort: Effort
    least: float = WORTH
    of_all: float = 0.0
    then: Effort | None = None
    much: float = 0.0


def look_for_trees(
    n: int, places: list[int], recipe: Recipe, promises: Promises, wanted: str | bool, gained: bool
) -> Look | None:
    """None where nobody looks. n: rows; places: features that trees may read; gained: whether networks did."""
    few, narrow = not recipe.has_many_rows, n * len(places) <= WIDE
    thorough = Look(MANY_ROWS if not few else FEW_ROWS if narrow else QUICK)
    if wanted is True:
        return thorough._replace(least=0.0)
    if wanted != "auto" or not places or not promises.directions.any():
        return None
    if gained:
        return thorough
    searched = few and (recipe.climbed >= 2 or recipe.beaten)
    brisk = Look(BRISK, then=FEW_ROWS, much=MUCH_BY_TREES) if few and narrow else Look(QUICK)
    enough = len(places) >= (SOME_FEATURES if searched else MANY_FEATURES) and (searched or n in LOOKED_AT)
    if enough and searched and not recipe.beaten:
        return brisk
    if few and n >= FEWEST_ROWS and _is_telling(recipe, len(places)):
        return (brisk if len(places) >= SOME_FEATURES else Look(QUICK))._replace(of_all=MUCH_OF_ALL)
    if enough:
        return Look(QUICK)
    return None if few or len(places) < FEWEST_FEATURES else Look(SKETCH, SKETCHED, then=MANY_ROWS)


def _is_telling(recipe: Recipe, features: int) -> bool:
    """Whether so little is noise that rows held out can tell."""
    if recipe.folds is None or features < FEWEST_FEATURES or not recipe.jury.anchored:
        return False
    bar = TELLING if features >= SOME_FEATURES else TELLING_FEW
    return recipe.problem.loss.name == "squared" and recipe.jury.explained(recipe.probes[0]) > bar
