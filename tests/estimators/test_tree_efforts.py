"""Who is tried with boosted trees, and with how many."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from monolip.estimators import _tree_efforts
from monolip.estimators._forest_worth import MUCH_OF_ALL
from monolip.estimators._tree_efforts import look_for_trees


class Path:
    """As much of a recipe as says who looks for trees."""

    def __init__(
        self, many=False, climbed=0, beaten=False, explained=0.3, held_out=True, anchored=True, loss="squared"
    ):
        self.has_many_rows, self.climbed, self.beaten = many, climbed, beaten
        self.problem = SimpleNamespace(loss=SimpleNamespace(name=loss))
        self.folds, self.probes = (0 if held_out else None), ["first"]
        self.jury = SimpleNamespace(anchored=anchored, explained={"first": explained}.get)


@pytest.mark.parametrize(
    ("n", "features", "path", "gained", "effort"),
    [
        (300, 5, Path(climbed=3), True, "FEW_ROWS"),
        (300, 5, Path(climbed=2), False, "BRISK"),  # some way in search of it
        (300, 4, Path(climbed=2), False, None),
        (300, 5, Path(beaten=True), False, "QUICK"),
        (300, 12, Path(climbed=1), False, None),  # noise
        (600, 12, Path(climbed=1), False, "QUICK"),
        (300, 5, Path(climbed=1, explained=0.7), False, "BRISK"),  # little noise
        (300, 4, Path(climbed=1, explained=0.7), False, "QUICK"),
        (600, 12, Path(climbed=1, explained=0.7), False, "BRISK"),
        (300, 5, Path(beaten=True, explained=0.7), False, "BRISK"),
        (300, 5, Path(climbed=1, explained=0.45), False, "BRISK"),
        (300, 4, Path(climbed=1, explained=0.45), False, None),
        (300, 2, Path(climbed=1, explained=0.7), False, "QUICK"),
        (300, 1, Path(climbed=1, explained=0.7), False, None),  # its start has all of it
        (100, 5, Path(climbed=1, explained=0.7), False, "BRISK"),
        (99, 5, Path(climbed=1, explained=0.7), False, None),  # chance
        (300, 5, Path(climbed=1, explained=0.7, loss="logistic"), False, None),
        (300, 4, Path(climbed=1, explained=0.7, held_out=False), False, None),  # nobody can tell
        (300, 4, Path(climbed=1, explained=0.7, anchored=False), False, None),
        (6000, 12, Path(many=True, climbed=4, explained=0.7), False, "SKETCH"),
        (2000, 80, Path(climbed=4), True, "QUICK"),  # four boostings would take too long
        (2000, 80, Path(climbed=4), False, "QUICK"),
        (3000, 12, Path(many=True, climbed=4), False, "QUICK"),
        (6000, 12, Path(many=True, climbed=4), False, "SKETCH"),
        (3000, 8, Path(many=True, climbed=4), False, "SKETCH"),
        (6000, 2, Path(many=True, climbed=4, loss="logistic"), False, "SKETCH"),
        (6000, 1, Path(many=True, climbed=4), False, None),
        (6000, 2, Path(many=True, climbed=4), True, "MANY_ROWS"),
    ],
)
def test_who_looks_for_trees_and_how_long(n, features, path, gained, effort):
    class Promises:
        directions = np.ones((features, 1))

    given = (n, list(range(features)), path, Promises)
    found = look_for_trees(*given, "auto", gained)
    assert (found and found.effort) is (None if effort is None else getattr(_tree_efforts, effort))
    assert look_for_trees(*given, "free", gained) is None
    assert look_for_trees(*given, False, gained) is None
    asked = look_for_trees(*given, True, gained)
    assert asked.effort in (_tree_efforts.FEW_ROWS, _tree_efforts.MANY_ROWS, _tree_efforts.QUICK)
    assert (asked.least, asked.of_all, asked.then) == (0.0, 0.0, None)  # at once, and for any gain


def test_what_is_rough_is_followed_by_more_where_it_gains():
    class Promises:
        directions = np.ones((8, 1))

    def look(n, path):
        found = look_for_trees(n, list(range(8)), path, Promises, "auto", False)
        return found.effort, found.least, found.then, found.much

    few, many = look(300, Path(climbed=2)), look(6000, Path(many=True, climbed=4))
    worth, sketched = _tree_efforts.WORTH, _tree_efforts.SKETCHED
    assert few == (_tree_efforts.BRISK, worth, _tree_efforts.FEW_ROWS, _tree_efforts.MUCH_BY_TREES)
    assert many == (_tree_efforts.SKETCH, sketched, _tree_efforts.MANY_ROWS, 0.0)


@pytest.mark.parametrize("features", [3, 8])
def test_only_where_little_noise_is_the_reason_the_last_digit_is_worth_no_jumps(features):
    class Promises:
        directions = np.ones((features, 1))

    def of_all(path, gained=False):
        return look_for_trees(300, list(range(features)), path, Promises, "auto", gained).of_all

    assert of_all(Path(climbed=1, explained=0.99)) == MUCH_OF_ALL
    assert of_all(Path(climbed=3, explained=0.99), gained=True) == 0.0
    assert of_all(Path(climbed=3, explained=0.99)) == (0.0 if features >= 5 else MUCH_OF_ALL)


def test_nothing_promised_needs_no_trees():
    class Promises:
        directions = np.zeros((8, 1))

    given = (300, list(range(8)), Path(climbed=1, explained=0.99), Promises)
    assert look_for_trees(*given, "auto", True) is None
    assert look_for_trees(300, [], Path(climbed=3), Promises, "auto", True) is None
