"""The fit procedure: from a raw table and a target to a FrozenNetwork, in six steps.

1. folds           which rows each member is validated on
2. inputs          a monotone map and bins for each numeric feature, columns for each category, slope boxes
3. additive models the best additive function inside the slope boxes, for every member
4. members         networks around the additive models, trained in stages until the validation loss stops improving
5. refit           each validated member repeats its chosen stage with all rows; then further members follow
6. freeze          the average of the members, rounded and proved
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from monolip.engine.trainer import NetworkArrays
from monolip.estimators._bounds import Boxes, make_boxes
from monolip.estimators._held_out import HeldOut
from monolip.estimators._one_blas_thread import one_blas_thread
from monolip.estimators._promises import Promises
from monolip.estimators._sampling import rows_that_count
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target
from monolip.estimators.fit_options import FitOptions
from monolip.estimators.folds import FEWEST_ROWS, Rows, every_row, make_folds
from monolip.estimators.freeze import freeze
from monolip.estimators.inputs import fit_inputs, kinds_of_bins, make_problem
from monolip.estimators.members import (
    Group,
    ValidationRows,
    deal_rows,
    fit_additive_models,
)
from monolip.estimators.stages import (
    History,
    Plan,
    Trained,
    add_followers,
    refit,
    train_in_stages,
    without_bad_groups,
)
from monolip.frozen import FrozenNetwork
from monolip.input_transform import InputTransform

__all__ = ["Fitted", "Settings", "definition", "fit_network", "marked_history", "train_groups"]

Validation = tuple[RawTable, Target]
OWN_ARGUMENTS = ("hidden_layer_sizes", "validation_fraction")  # fields of the options that the constructor may set


@dataclass(frozen=True)
class Settings:
    """What a fit is asked to do; n_bins and n_members are None where the options decide them."""

    options: FitOptions
    n_bins: int | None
    n_members: int | None
    max_iter: int | None
    batch_size: int | None
    early_stopping: bool
    max_time: float | None
    n_threads: int
    seed: int
    callbacks: tuple[Callable[[dict[str, Any]], Any], ...] = ()


@dataclass(frozen=True)
class Fitted:
    """The network, and what warm starts, calibration and warnings need beside it.

    definition: what a warm start may not change, by argument. networks: the members as trained.
    """

    network: FrozenNetwork
    definition: dict[str, Any]
    boxes: Boxes
    trained: Trained
    networks: tuple[NetworkArrays, ...]
    history: History
    n_iter: int
    held_out: HeldOut | None


@one_blas_thread()
def fit_network(
    table: RawTable, schema: Schema, promises: Promises, target: Target, settings: Settings,
    on_progress: Callable[..., None] | None = None, validation: Validation | None = None,
    before: Fitted | None = None,
) -> Fitted:  # fmt: skip
    """Return the fitted network of a table.

    validation: rows of the user's own that decide stages and ridge strengths in place of folds. before: a fit of the
    same data whose members are kept (warm start).
    """
    started = time.perf_counter()
    shared = definition(promises, target, settings)
    rng = np.random.default_rng(settings.seed)
    table, target = rows_that_count(table, target, rng)
    folds = make_folds(target, settings.options, rng) if settings.early_stopping and validation is None else None
    if before is None:
        inputs = fit_inputs(table, schema, promises, target, settings.n_bins, settings.options)
        boxes = make_boxes(inputs, promises, table, target.scale, target.deviation)
    else:
        assert before.network.inputs is not None
        inputs, boxes = before.network.inputs, before.boxes
    trained, plan = train_groups(
        inputs,
        boxes,
        table,
        target,
        folds,
        settings,
        started,
        on_progress,
        validation,
        before,
        bool(promises.intervals),
    )
    networks = tuple(group.merged.expand(member.result(group.best)) for group, member in trained.members)
    network = freeze(networks, boxes.model, boxes.raw, inputs, target.link, scale=target.scale, shift=target.shift)
    history = marked_history(trained.history, trained)
    steps = max(sum(stage.steps for stage in plan.stages[: group.best]) for group in trained.groups)
    epochs = max(1, round(steps * plan.batch_size / plan.n_rows))
    held_out = before.held_out if before else HeldOut.of(trained, target, validation[1] if validation else None)
    return Fitted(network, shared, boxes, trained, networks, history, epochs, held_out)


def train_groups(
    inputs: InputTransform, boxes: Boxes, table: RawTable, target: Target, folds: Rows | None, settings: Settings,
    started: float, on_progress: Callable[..., None] | None, validation: Validation | None = None,
    before: Fitted | None = None, must_bend: bool = False,
) -> tuple[Trained, Plan]:  # fmt: skip
    """Return trained members (steps 3 to 5), and the plan that they were trained by.

    must_bend: never choose the additive models, because they are linear in features with a slope interval.
    """
    n, options = len(target.y), settings.options
    validated = folds is not None or validation is not None
    if before is not None:
        validated = any(group.losses for group in before.trained.groups)
    plan = _plan(n, len(inputs.columns), target, settings, started, on_progress, validated)
    n_members = settings.n_members or int(options.of("n_estimators", n))
    if before is not None:
        return add_followers(Trained(before.trained.groups, before.history), n_members, every_row(n), plan), plan
    groups = _additive_models(inputs, boxes, table, target, validation, folds, n_members, settings)
    groups = tuple(replace(group, least=int(must_bend)) for group in groups)
    trained = without_bad_groups(train_in_stages(groups, plan), options)
    if validation is None:
        trained = refit(trained, every_row(n), plan)
    return add_followers(trained, n_members, every_row(n), plan), plan


def definition(promises: Promises, target: Target, settings: Settings) -> dict[str, Any]:
    """Return what all members of a model share, by the argument it came from; a warm start may not change it."""
    shares = None if target.classes is None else np.bincount(target.classes, target.weight).tolist()
    unit = (target.scale, target.shift, target.deviation, shares)
    options = settings.options
    return {
        "y (or its weights, loss or classes)": (target.loss, replace(target.link, target=None), *unit),
        "monotonic_cst": promises.directions.tolist(),
        "slopes": promises.intervals,
        "max_slope": (str(promises.caps.tolist()), promises.standard_cap),  # as text: NaN is equal to NaN
        "missing": promises.missing,
        "n_bins": settings.n_bins,
        **{name: getattr(settings, name) for name in ("max_iter", "batch_size", "early_stopping")},
        **{name: getattr(options, name) for name in OWN_ARGUMENTS},
        "fit_options": replace(options, **{name: getattr(FitOptions(), name) for name in OWN_ARGUMENTS}),
    }


def _plan(
    n: int, n_features: int, target: Target, settings: Settings, started: float,
    on_progress: Callable[..., None] | None, validated: bool,
) -> Plan:  # fmt: skip
    """Return how members of a table of n rows are trained."""
    options = settings.options
    batch = min(settings.batch_size or int(options.of("batch_size", n)), n)
    stages = options.stages(n, batch, settings.max_iter)
    if not validated:
        stages = tuple(replace(stage, decay=max(stage.decay, options.unvalidated_decay)) for stage in stages)
        if settings.max_iter is None:
            stages = stages[: options.unvalidated_stages]
        if settings.early_stopping and n < FEWEST_ROWS and target.n_outputs == 1:
            stages = ()  # too few rows to validate anything: the additive model alone
    deadline = None if settings.max_time is None else started + settings.max_time
    return Plan(
        options, stages, n, n_features, batch, settings.seed, settings.n_threads, deadline, on_progress,
        settings.callbacks,
    )  # fmt: skip


def _additive_models(
    inputs: InputTransform, boxes: Boxes, table: RawTable, target: Target, validation: Validation | None,
    folds: Rows | None, n_members: int, settings: Settings,
) -> tuple[Group, ...]:  # fmt: skip
    """Return the groups of members that decide how far to train, each member at its additive model."""
    options, hidden, seed = settings.options, settings.options.hidden_layer_sizes, settings.seed
    groups: list[Group] = []
    kinds = kinds_of_bins(inputs, options.bin_kinds)[:n_members]
    for k, merged in enumerate(kinds):
        problem = make_problem(merged, boxes, table, target, hidden, seed)
        numbers = range(k, n_members, len(kinds))
        dealt: list[tuple[Rows, ValidationRows | None]]
        if validation is not None:
            judged = make_problem(merged, boxes, *validation, hidden, seed, training_table=table)
            rows = ValidationRows(judged, every_row(len(judged.data.y)))
            dealt = [(every_row(len(target.y)), rows)] * len(numbers)
        else:
            dealt = deal_rows(problem, folds, len(numbers), options)
        groups.append(fit_additive_models(Group(merged, problem), dealt, numbers[: len(dealt)], options))
    return tuple(groups)


def marked_history(history: History, trained: Trained) -> History:
    """Return the history with the rows of the chosen stages marked; a refitted member has two of them."""
    best = {member.number: group.best for group, member in trained.members}
    return tuple({**row, "chosen": best.get(row["member"]) == row["stage"]} for row in history)
