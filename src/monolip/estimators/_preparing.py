"""From a raw table to a learning problem: calibrations, tables of categories, penalties."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from monolip.engine.architecture import Architecture
from monolip.engine.problem import Problem
from monolip.errors import InputError
from monolip.estimators._bounds import Boxes
from monolip.estimators._calibration import Uncalibrated, calibrate_all
from monolip.estimators._categories import encode
from monolip.estimators._checks import check_boxes
from monolip.estimators._memory import check_memory
from monolip.estimators._model_rows import ModelRows
from monolip.estimators._promises import Promises
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform

__all__ = ["learn_inputs", "make_problem", "penalties"]

FEW_BINS = 8  # whose slopes have a penalty of 1
MAP_PENALTY, CATEGORY_PENALTY = 0.1, 0.3


def learn_inputs(table: RawTable, schema: Schema, promises: Promises, target: Target, n_bins: int) -> InputTransform:
    """Calibrations and tables of categories, from training rows only."""
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
                column, categories, ordered=schema.ordered[j], missing=promises.missing[j],
                target=target.averaged, weight=target.weight,
            )
        )  # fmt: skip
    return InputTransform(tuple(columns))


def make_problem(
    inputs: InputTransform, table: RawTable, target: Target, boxes: Boxes, hidden: tuple[int, ...], seed: int
) -> Problem:
    """Model columns of all rows, targets and slope boxes in the units of training."""
    bins = _bins(inputs)
    check_memory(table.n_rows, inputs.n_model, inputs.n_model - sum(stop - first - 2 for first, stop in bins))
    with np.errstate(over="ignore"):  # an infinite cap is a generous one
        lower, upper = boxes.lower / target.scale, boxes.upper / target.scale
    check_boxes(inputs, lower, upper)
    return Problem(
        ModelRows(inputs, table, target, seed),
        target.y,
        lower,
        upper,
        loss=target.loss,
        architecture=Architecture(hidden=hidden),
        sample_weight=target.weight,
        offset=target.offset,
        bins=bins,
    )


def _bins(inputs: InputTransform) -> list[tuple[int, int]]:
    """Model columns that are bins of one feature: all its maps after the first."""
    numeric = ((inputs.starts[j], c) for j, c in enumerate(inputs.columns) if isinstance(c, NumericColumn))
    return [(int(start) + 1, int(start) + len(c.maps)) for start, c in numeric if len(c.maps) > 1]


def penalties(inputs: InputTransform) -> NDArray[np.float64]:
    """Ridge penalties of the additive start: little for the map of a whole feature, much for bends and categories.

    The slopes of many narrow bins cost as much together as those of few wide ones: a function that wanders, by steps
    whose squares grow with the width of a bin, is as likely before with any number of them.
    """
    penalty = np.ones(inputs.n_model)
    for column, (start, stop) in zip(inputs.columns, pairwise(inputs.starts.tolist()), strict=True):
        if isinstance(column, NumericColumn):
            penalty[start:stop] = FEW_BINS / max(FEW_BINS, len(column.maps) - 1)
            penalty[start] = MAP_PENALTY
        else:
            penalty[start:stop] = CATEGORY_PENALTY
    return penalty
