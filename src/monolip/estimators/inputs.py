"""From a raw table to learning problems: calibrated columns, bins, encoded categories, slope boxes and penalties."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from monolip.engine.architecture import Architecture
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.errors import InputError
from monolip.estimators._bounds import Boxes
from monolip.estimators._calibration import Uncalibrated, calibrate_all
from monolip.estimators._categories import encode
from monolip.estimators._checks import check_boxes
from monolip.estimators._far_values import training_reach
from monolip.estimators._memory import check_memory
from monolip.estimators._model_rows import ModelRows
from monolip.estimators._promises import Promises
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target
from monolip.estimators.fit_options import FitOptions
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.piecewise_linear import PiecewiseLinear

__all__ = [
    "MOST_PIECES",
    "MergedInputs",
    "bin_ranges",
    "choose_n_bins",
    "fit_inputs",
    "kinds_of_bins",
    "learn_inputs",
    "make_problem",
    "merge_bins",
    "penalties",
    "too_fine",
]

FloatArray = NDArray[np.float64]

MOST_PIECES = 2**26  # of all features: maps^2 * knots; checker/monolip_check.py has the same number
FEW_BINS = 8  # whose slopes have a ridge penalty of 1; with many features, half of them or none
MAP_PENALTY, CATEGORY_PENALTY = 0.1, 0.3  # ridge penalties of the map of a whole feature, and of a category's columns


def fit_inputs(
    table: RawTable, schema: Schema, promises: Promises, target: Target, n_bins: int | None, options: FitOptions
) -> InputTransform:
    """Return the inputs with the finest bins that any member sees; n_bins: of the user, None leaves it to the rule."""
    if n_bins is not None:
        inputs = learn_inputs(table, schema, promises, target, n_bins, options.one_hot_levels)
        if too_fine(inputs):
            raise InputError(
                f"bins are few enough for the checker to prove a certificate in seconds; n_bins={n_bins} with "
                f"{inputs.n_raw} features is more than that; use n_bins='auto', or at most {n_bins // 2}."
            )
        return inputs
    n_bins = choose_n_bins(table, schema, options, target.n_outputs)
    inputs = learn_inputs(table, schema, promises, target, n_bins, options.one_hot_levels)
    while too_fine(inputs) and n_bins > 0:
        n_bins //= 2
        inputs = learn_inputs(table, schema, promises, target, n_bins, options.one_hot_levels)
    return inputs


def choose_n_bins(table: RawTable, schema: Schema, options: FitOptions, n_outputs: int = 1) -> int:
    """Return how many bins every numeric feature gets: fewer with few rows, many features or several outputs."""
    n_numeric = max(1, _count_binned(table, schema))
    most = int(options.of("n_bins", table.n_rows))
    total = min(options.total_bins, table.n_rows)
    n_bins = min(most, total // n_numeric, table.n_rows // options.rows_per_bin)
    if n_outputs == 1 and n_bins > min(2 * FEW_BINS, most - 1):
        return n_bins
    per_feature = options.total_bins // n_numeric
    return min(most, FEW_BINS if per_feature >= FEW_BINS else FEW_BINS // 2 if per_feature >= FEW_BINS // 2 else 0)


def _count_binned(table: RawTable, schema: Schema) -> int:
    """Return the number of numeric features; with more than 64, of those with more than two values, which have bins."""
    numeric = [column for column, labels in zip(table.columns, schema.categories, strict=True) if labels is None]
    if len(numeric) <= 8 * FEW_BINS:
        return len(numeric)
    return sum(_has_several_values(column.values) for column in numeric)


def _has_several_values(values: FloatArray) -> bool:
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)  # NaN where all are missing
    return bool(((values > low) & (values < high)).any())


def learn_inputs(
    table: RawTable, schema: Schema, promises: Promises, target: Target, n_bins: int, one_hot_levels: int
) -> InputTransform:
    """Return the calibrations and tables of categories of a table; rows of the user's own validation are not in it."""
    numbers: list[Uncalibrated] = []
    for j, column in enumerate(table.columns):
        if schema.categories[j] is None:
            if not column.is_numeric:
                raise InputError(f"strings in numeric column {column.name!r}; convert it to numbers.")
            numbers.append(Uncalibrated(column.name, column.values, promises.style(j), promises.missing[j]))
    calibrated = iter(calibrate_all(numbers, n_bins))
    columns: list[NumericColumn | CategoryColumn] = []
    for j, column in enumerate(table.columns):
        categories = schema.categories[j]
        if categories is None:
            columns.append(next(calibrated))
            continue
        columns.append(
            encode(
                column,
                categories,
                ordered=schema.ordered[j],
                missing=promises.missing[j],
                target=target.averaged,
                weight=target.weight,
                one_hot_levels=one_hot_levels,
            )
        )
    return InputTransform(tuple(columns))


def too_fine(inputs: InputTransform) -> bool:
    """Return whether the checker would refuse a certificate of a model with these inputs, because it takes too long."""
    numeric = (column for column in inputs.columns if isinstance(column, NumericColumn))
    return sum(len(c.maps) ** 2 * sum(len(phi.knots) for phi in c.maps) for c in numeric) > MOST_PIECES


@dataclass(frozen=True)
class MergedInputs:
    """The same inputs with neighbouring bins merged.

    A merged bin is the sum of its bins, so a network on merged bins is a network on all bins with equal slopes.
    source: (n_model,), the number of the merged column that holds each column, or -1 where none does.
    """

    inputs: InputTransform
    source: NDArray[np.int64]

    def merge_boxes(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slope boxes of the merged columns: the intersection of those of their bins."""
        shape = len(lower), self.inputs.n_model
        low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
        for k, (mine, yours) in enumerate(zip(lower, upper, strict=True)):
            kept = self.source >= 0
            np.maximum.at(low[k], self.source[kept], mine[kept])
            np.minimum.at(high[k], self.source[kept], yours[kept])
        return low, high

    def expand(self, network: NetworkArrays) -> NetworkArrays:
        """Return the network as one on all columns."""
        merged = network.weights[0]
        first = np.where(self.source >= 0, merged[:, np.maximum(self.source, 0)], 0.0)
        return network._replace(weights=(first, *network.weights[1:]))


def merge_bins(inputs: InputTransform, n_bins: int | None) -> MergedInputs:
    """Return inputs with at most so many bins per numeric feature; None leaves all of them."""
    columns: list[NumericColumn | CategoryColumn] = []
    source: list[int] = []
    for column in inputs.columns:
        first = sum(c.n_model for c in columns)
        if not isinstance(column, NumericColumn) or n_bins is None or len(column.maps) - 1 <= n_bins:
            columns.append(column)
            source += range(first, first + column.n_model)
            continue
        parts = [part.tolist() for part in np.array_split(np.arange(1, len(column.maps)), n_bins)] if n_bins else []
        maps = (column.maps[0], *(_sum_of_bins([column.maps[m] for m in part]) for part in parts))
        missing = column.missing
        if missing is not None:
            rest = missing[len(column.maps) :]
            missing = (missing[0], *(sum(missing[m] for m in part) for part in parts), *rest)
        columns.append(NumericColumn(column.name, maps, missing, column.present, column.seen))
        source.append(first)
        source += [first + 1 + k for k, part in enumerate(parts) for _ in part] or [-1] * (len(column.maps) - 1)
        source += [first + len(maps)] * (column.present is not None)
    return MergedInputs(InputTransform(tuple(columns)), np.array(source, np.int64))


def kinds_of_bins(inputs: InputTransform, kinds: Sequence[int | None]) -> list[MergedInputs]:
    """Return the inputs of each kind of members, without kinds that are the same for these inputs."""
    found: dict[int, MergedInputs] = {}
    for n_bins in kinds:
        merged = merge_bins(inputs, n_bins)
        found.setdefault(merged.inputs.n_model, merged)
    return list(found.values())


def _sum_of_bins(bins: list[PiecewiseLinear]) -> PiecewiseLinear:
    """Return the sum of neighbouring bins: each is constant outside its knots, and its last knot begins the next."""
    return reduce(_sum_of_two, bins)


def _sum_of_two(left: PiecewiseLinear, right: PiecewiseLinear) -> PiecewiseLinear:
    values = np.concatenate([left.values + right.values[0], left.values[-1] + right.values[1:]])
    return PiecewiseLinear(np.concatenate([left.knots, right.knots[1:]]), np.maximum.accumulate(values))


def make_problem(
    merged: MergedInputs,
    boxes: Boxes,
    table: RawTable,
    target: Target,
    hidden: tuple[int, ...],
    seed: int,
    *,
    training_table: RawTable | None = None,
) -> Problem:
    """Return the learning problem of some rows: model columns, targets and slope boxes in the units of training.

    training_table: of validation rows, the table that the inputs were learned from. Target means of categories
    are taken out of fold for training rows only, and far values are those of the training table.
    """
    inputs = merged.inputs
    ranges = bin_ranges(inputs)
    check_memory(table.n_rows, inputs.n_model, inputs.n_model - sum(stop - first - 2 for first, stop in ranges))
    lower, upper = merged.merge_boxes(boxes.lower, boxes.upper)
    with np.errstate(over="ignore"):  # an infinite cap is a generous one
        lower, upper = lower / target.scale, upper / target.scale
    check_boxes(inputs, lower, upper)
    with warnings.catch_warnings():
        if training_table is not None:
            warnings.simplefilter("ignore")  # the training rows have said it
        rows = ModelRows(inputs, table, target, seed)
        if training_table is not None:
            rows.honest, rows.reach = {}, training_reach(inputs, training_table)
    return Problem(
        rows,
        target.y,
        lower,
        upper,
        loss=target.loss,
        architecture=Architecture(hidden=hidden),
        sample_weight=target.weight,
        offset=target.offset,
        bins=ranges,
    )


def bin_ranges(inputs: InputTransform) -> list[tuple[int, int]]:
    """Return the ranges of model columns that are bins of one feature: all its maps after the first."""
    numeric = ((inputs.starts[j], c) for j, c in enumerate(inputs.columns) if isinstance(c, NumericColumn))
    return [(int(start) + 1, int(start) + len(c.maps)) for start, c in numeric if len(c.maps) > 1]


def penalties(inputs: InputTransform) -> FloatArray:
    """Return the relative ridge penalty of each model column in the additive model.

    The penalty of a function does not depend on how finely its feature is binned: many narrow bins cost as much
    together as few wide ones.
    """
    penalty = np.ones(inputs.n_model)
    for column, (start, stop) in zip(inputs.columns, pairwise(inputs.starts.tolist()), strict=True):
        if isinstance(column, NumericColumn):
            penalty[start:stop] = FEW_BINS / max(FEW_BINS, len(column.maps) - 1)
            penalty[start] = MAP_PENALTY
        else:
            penalty[start:stop] = CATEGORY_PENALTY
    return penalty
