"""One fit, from a raw table and a target to a FrozenNetwork: inputs, boxes, recipe, freezing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine.architecture import Architecture
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.errors import InputError
from monolip.estimators._bounds import Boxes, make_boxes
from monolip.estimators._calibration import calibrate
from monolip.estimators._categories import encode, out_of_fold
from monolip.estimators._checks import check_boxes
from monolip.estimators._fast_inputs import FastInputs
from monolip.estimators._freezing import freeze
from monolip.estimators._memory import check_memory
from monolip.estimators._promises import Promises
from monolip.estimators._recipe import Chosen, Recipe, deal_folds
from monolip.estimators._sampling import rows_that_count
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform

__all__ = ["Fitted", "Settings", "definition", "fit_network"]

MAX_HELD_OUT = 2**13


@dataclass(frozen=True)
class Settings:
    """The estimator's parameters as fit_network needs them."""

    hidden: tuple[int, ...]
    n_members: int
    max_iter: int | None
    batch_size: int | None
    holdout: float | None  # share of rows held out by each member; None: no early stopping
    n_bins: int | None
    max_time: float | None
    n_threads: int
    seed: int


@dataclass(frozen=True)
class Fitted:
    """The network, and what a warm start needs: the members' arrays, what defines them, and what the ladder chose."""

    network: FrozenNetwork
    boxes: Boxes
    definition: dict[str, Any]
    arrays: tuple[NetworkArrays, ...]
    chosen: Chosen
    history: list[dict[str, Any]]
    n_iter: int
    interrupted: bool = False


def fit_network(
    table: RawTable, schema: Schema, promises: Promises, target: Target, settings: Settings,
    on_progress: Callable[..., None] | None = None, before: Fitted | None = None,
) -> Fitted:  # fmt: skip
    """before: a fit on the same data whose members are kept (warm start)."""
    started = time.perf_counter()
    rng = np.random.default_rng(settings.seed)
    shared = definition(promises, target, settings)
    table, target = rows_that_count(table, target, rng)
    if before is None:
        inputs = learn_inputs(table, schema, promises, target, settings.n_bins)
        boxes = make_boxes(inputs, promises, table, target.scale, target.deviation)
    else:
        assert before.network.inputs is not None
        inputs, boxes = before.network.inputs, before.boxes
    problem = _problem(inputs, table, target, boxes, settings)
    recipe = _recipe(problem, target, settings, rng, started, on_progress)
    if before is None:
        chosen, runs, snapshot = recipe.run()
        kept: tuple[NetworkArrays, ...] = ()
    else:
        chosen, kept = before.chosen, before.arrays
        runs = recipe.more(chosen, len(kept))
        snapshot = recipe.best_snapshot(runs)
    arrays = (*kept, *(run.result.snapshots[snapshot].network for run in runs))
    network = freeze(
        arrays, boxes.model, boxes.raw, inputs, target.link, scale=target.scale, shift=target.shift
    )  # fmt: skip
    epochs = max(1, round(chosen.steps * recipe.batch_size / len(target.y)))
    history = (before.history if before else []) + recipe.history
    return Fitted(network, boxes, shared, arrays, chosen, history, epochs, recipe.interrupted)


def definition(promises: Promises, target: Target, settings: Settings) -> dict[str, Any]:
    """What all members of a model share, by the argument it came from; a warm start may not change it."""
    shares = None if target.classes is None else np.bincount(target.classes, target.weight).tolist()
    unit = (target.scale, target.shift, target.deviation, shares)
    return {
        "y (or its weights, loss or classes)": (target.loss, target.link, *unit),
        "monotonic_cst": promises.directions.tolist(),
        "slopes": promises.intervals,
        "max_slope": (str(promises.caps.tolist()), promises.standard_cap),  # as text: NaN is equal to NaN
        "missing": promises.missing,
        "n_bins": settings.n_bins,
        "hidden_layer_sizes": settings.hidden,
    }


def learn_inputs(
    table: RawTable, schema: Schema, promises: Promises, target: Target, n_bins: int | None
) -> InputTransform:
    """Calibrations and tables of categories, from training rows only."""
    numeric = sum(categories is None for categories in schema.categories)
    bins = n_bins if n_bins is not None else 8 if numeric <= 64 else 4 if numeric <= 128 else 0
    columns: list[NumericColumn | CategoryColumn] = []
    for j, column in enumerate(table.columns):
        categories = schema.categories[j]
        if categories is not None:
            columns.append(
                encode(
                    column.name, column.labels, categories, ordered=schema.ordered[j], missing=promises.missing[j],
                    target=target.y, weight=target.weight,
                )
            )  # fmt: skip
        elif not column.is_numeric:
            raise InputError(f"strings in numeric column {column.name!r}; convert it to numbers.")
        else:
            style, missing = promises.style(j), promises.missing[j]
            columns.append(calibrate(column.name, column.values, style=style, n_bins=bins, missing=missing))
    return InputTransform(tuple(columns))


def _problem(inputs: InputTransform, table: RawTable, target: Target, boxes: Boxes, settings: Settings) -> Problem:
    check_memory(table.n_rows, inputs.n_model)
    with np.errstate(over="ignore"):  # an infinite cap is a generous one
        lower, upper = boxes.lower / target.scale, boxes.upper / target.scale
    check_boxes(inputs, lower, upper)
    x = np.empty((table.n_rows, inputs.n_model), dtype=np.float32)
    fast = FastInputs(inputs)
    for start in range(0, table.n_rows, 4096):
        x[start : start + 4096] = fast.evaluate(table, start, start + 4096)
    for j, column in enumerate(inputs.columns):
        if isinstance(column, CategoryColumn):
            rng = np.random.default_rng([settings.seed, j])
            out_of_fold(column, table.columns[j].labels, target.y, target.weight, rng, x[:, inputs.starts[j] :])
    return Problem(
        x,
        target.y,
        lower,
        upper,
        loss=target.loss,
        architecture=Architecture(hidden=settings.hidden),
        sample_weight=target.weight,
        offset=target.offset,
    )


def _recipe(
    problem: Problem, target: Target, settings: Settings, rng: np.random.Generator, started: float,
    on_progress: Callable[..., None] | None,
) -> Recipe:  # fmt: skip
    n = len(target.y)
    batch = settings.batch_size or (64 if n < 4000 else 128)
    folds: NDArray[np.int64] | None = None
    if settings.holdout is not None and n >= 16:
        n_folds = max(2, round(min(1 / settings.holdout, n)))
        folds = deal_folds(n, n_folds, rng, target.classes)
        for fold in range(n_folds if n > n_folds * MAX_HELD_OUT else 0):  # judging needs no more rows
            folds[np.flatnonzero(folds == fold)[MAX_HELD_OUT:]] = -1
    return Recipe(
        problem,
        folds,
        _ladder(n, batch, settings.max_iter),
        n_members=settings.n_members,
        n_probes=min(settings.n_members, 4 if n < 500 else 2 if n < 2500 else 1),
        batch_size=batch,
        seed=settings.seed,
        n_threads=settings.n_threads,
        deadline=None if settings.max_time is None else started + settings.max_time,
        on_progress=on_progress,
    )


def _ladder(n: int, batch: int, max_iter: int | None) -> tuple[int, ...]:
    """Steps of each rung: more rows earn more steps; max_iter passes over the data are the limit."""
    rungs = [200, 800, 2400, *([7200] if n >= 10_000 else []), *([21600] if n >= 100_000 else [])]
    if max_iter is None:
        return tuple(rungs)
    limit = max(1, -(-max_iter * n // batch))
    while rungs[-1] < limit:
        rungs.append(3 * rungs[-1])
    return (*(steps for steps in rungs if steps < limit), limit)
