"""Few bins or many, all features or some: paths begin, and the rows held out say which of them goes on.

Many bins let a network follow steps and bends that few cannot, and noise. What the first rungs gain with few bins says
whether there is anything to follow, and so does what their start leaves over along a feature: where neither shows
anything, many bins are not tried, and cost nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._bounds import Boxes
from monolip.estimators._fineness import refuse_too_fine, too_fine
from monolip.estimators._narrowing import narrowed
from monolip.estimators._recipe import Recipe
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawTable
from monolip.input_transform import InputTransform

__all__ = ["Path", "better_path", "few_bins"]

FEW, MANY = 8, 64  # bins of a numeric feature
MANY_FEATURES, TOO_MANY = 64, 128  # numeric ones that get half of the few bins, and none
ALL_BINS, ROWS_OF_A_BIN = 2048, 8  # of all features together, at most; on average, at least
BINS_OF_A_ROW = 2  # of all features together, at most: an additive start has that many slopes to find
LARGE, VERY_MANY = 4096, 128  # rows that bear more of them
RUNGS = 3  # after which paths are compared
EARNED = 0.08  # part of the loss that few bins gain by then if many are tried
LONGER = 4.0  # times as long as the path of few bins: less time left, and many are not tried
WORTH = 0.02  # part of the loss: less is not worth predictions that take four times as long


class Path(NamedTuple):
    """A recipe that has begun or not, and the inputs and slope boxes it was made for."""

    inputs: InputTransform
    boxes: Boxes
    recipe: Recipe


def few_bins(table: RawTable, schema: Schema) -> int:
    """Bins of a numeric feature where nothing speaks for more; fewer, or none, where there are very many features that
    would have any."""
    binned = _may_have_bins(table, schema)
    return FEW if binned <= MANY_FEATURES else FEW // 2 if binned <= TOO_MANY else 0


def _may_have_bins(table: RawTable, schema: Schema) -> int:
    """Numeric features; where those are very many, of more than two values: others are a category's, taken apart."""
    places = [j for j, categories in enumerate(schema.categories) if categories is None]
    if len(places) <= MANY_FEATURES:
        return len(places)
    return sum(_has_several_values(table.columns[j].values) for j in places)


def _has_several_values(values: NDArray[np.float64]) -> bool:
    """More than two, missing ones aside."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)  # NaN where all are missing
    return bool(((values > low) & (values < high)).any())


def better_path(
    table: RawTable, schema: Schema, n_bins: int | None, learn: Callable[[int], InputTransform],
    make: Callable[[InputTransform], Path],
) -> Path:  # fmt: skip
    """The path of so many bins (None: of few, or of many where those are worth more), whose networks use all features
    or only some of them where those are worth more. make: a path not yet begun."""
    path = _path_of_bins(table, schema, n_bins, learn, make)
    recipe = path.recipe
    if recipe.folds is None or len(path.boxes.lower) > 1:
        return path
    recipe.climb(RUNGS)
    try:
        return path._replace(recipe=narrowed(recipe, path.inputs.starts, RUNGS))
    except KeyboardInterrupt:  # the path has a model already
        recipe.coach.interrupted = True
        return path


def _path_of_bins(
    table: RawTable, schema: Schema, n_bins: int | None, learn: Callable[[int], InputTransform],
    make: Callable[[InputTransform], Path],
) -> Path:  # fmt: skip
    begun = time.perf_counter()
    if n_bins is not None:
        inputs = learn(n_bins)
        refuse_too_fine(inputs, n_bins)
        return make(inputs)
    few, numeric = make(learn(few_bins(table, schema))), _may_have_bins(table, schema)
    most = MANY if table.n_rows < LARGE else VERY_MANY
    all_bins = min(ALL_BINS, BINS_OF_A_ROW * table.n_rows)
    more = min(most, all_bins // max(numeric, 1), table.n_rows // ROWS_OF_A_BIN)
    one_output = len(few.boxes.lower) == 1
    allowed = 0 < numeric <= MANY_FEATURES and one_output and more > 2 * FEW
    if not allowed or few.recipe.folds is None:
        return few
    goes_on = few.recipe.climb(RUNGS)
    if few.recipe.coach.is_out_of_time():
        return few
    gains = goes_on and few.recipe.jury.gained_much(RUNGS, EARNED)
    if not gains and (few.recipe.misfit is None or not few.recipe.misfit.bends()):
        return few
    if few.recipe.coach.is_out_of_time(LONGER * (time.perf_counter() - begun), wanted=True):
        return few
    try:
        many = _other_path(few, more, learn, make)
    except KeyboardInterrupt:  # the first path has a model already
        few.recipe.coach.interrupted = True
        return few
    if many is None:
        return few
    best, other = min(many.recipe.jury.curve), min(few.recipe.jury.curve)
    taken, left = (many, few) if other - best > WORTH * abs(other) else (few, many)
    left.recipe.give_up()
    return taken


def _other_path(
    few: Path, more: int, learn: Callable[[int], InputTransform], make: Callable[[InputTransform], Path]
) -> Path | None:
    """The path of many bins as far as the first one; None where there are no more bins, or no more time."""
    inputs = learn(more)
    while too_fine(inputs) and more > 2 * FEW:
        more //= 2
        inputs = learn(more)
    if inputs.n_model == few.inputs.n_model or too_fine(inputs):  # features of few values have no more bins
        return None
    many = make(inputs)
    many.recipe.n_members = few.recipe.n_members  # an average is compared with an average
    many.recipe.climb(RUNGS)
    if not many.recipe.coach.is_out_of_time(wanted=True):
        return many
    many.recipe.give_up()
    return None
