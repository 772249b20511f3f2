"""One fit, from a raw table and a target to a FrozenNetwork: inputs, boxes, recipe, freezing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.estimators._bounds import Boxes, make_boxes
from monolip.estimators._climber import Chosen, Rung, deal_folds
from monolip.estimators._coach import Coach
from monolip.estimators._facts import staying_members
from monolip.estimators._freezing import freeze
from monolip.estimators._groups import deal_groups
from monolip.estimators._held_out import HeldOut
from monolip.estimators._joining import followers
from monolip.estimators._misfit import Misfit
from monolip.estimators._one_blas_thread import one_blas_thread
from monolip.estimators._preparing import learn_inputs, make_problem, penalties
from monolip.estimators._promises import Promises
from monolip.estimators._race import Path, better_path
from monolip.estimators._recipe import MANY_ROWS, Recipe
from monolip.estimators._sampling import rows_that_count
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target
from monolip.frozen import FrozenNetwork
from monolip.input_transform import InputTransform

__all__ = ["Fitted", "Settings", "definition", "fit_network", "make_coach", "make_folds", "make_recipe"]

MAX_HELD_OUT = 2**13
FEWEST = 16  # rows of which some can be held out
MEMBERS, MORE_MEMBERS = 2, 4  # where their number is left to the fit: of many rows; of few, or where two disagree
FURTHER = 2  # rungs of few rows that a path has to earn
FIRST_STEPS, DECAYS = 50, (0.3, 0.1, 0.05, 0.02, 0.02, 0.01, 0.005, 0.003)


@dataclass(frozen=True)
class Settings:
    """The estimator's parameters as fit_network needs them."""

    hidden: tuple[int, ...]
    n_members: int | None  # None: as many as the rows ask for
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
    held_out: HeldOut | None = None
    short_of_time: bool = False


@one_blas_thread()
def fit_network(
    table: RawTable, schema: Schema, promises: Promises, target: Target, settings: Settings,
    on_progress: Callable[..., None] | None = None, before: Fitted | None = None,
) -> Fitted:  # fmt: skip
    """before: a fit on the same data whose members are kept (warm start)."""
    started = time.perf_counter()
    rng = np.random.default_rng(settings.seed)
    shared = definition(promises, target, settings)
    table, target = rows_that_count(table, target, rng)
    coach = make_coach(len(target.y), settings, started, on_progress)
    folds = make_folds(target, settings, rng)  # all paths of a fit hold out the same rows

    def learn(bins: int) -> InputTransform:
        return learn_inputs(table, schema, promises, target, bins)

    def make(inputs: InputTransform) -> Path:
        given = None if before is None else before.boxes
        boxes = given or make_boxes(inputs, promises, table, target.scale, target.deviation)
        problem = make_problem(inputs, table, target, boxes, settings.hidden, settings.seed)
        recipe = make_recipe(problem, inputs, settings, folds, coach)
        recipe.look = lambda start: Misfit(start, problem, table, schema)
        return Path(inputs, boxes, recipe)

    kept: tuple[NetworkArrays, ...] = ()
    if before is None:
        inputs, boxes, recipe = better_path(table, schema, settings.n_bins, learn, make)
        chosen, climbers = recipe.run()
    else:
        assert before.network.inputs is not None
        inputs, boxes, recipe = make(before.network.inputs)
        chosen, kept = before.chosen, before.arrays
        climbers = followers(recipe, chosen, len(kept))
    arrays = (*kept, *(climber.result(chosen.rung) for climber in climbers))
    network = freeze(
        arrays, boxes.model, boxes.raw, inputs, target.link, scale=target.scale, shift=target.shift
    )  # fmt: skip
    epochs = max(1, round(chosen.steps * coach.batch_size / len(target.y)))
    history = (before.history if before else []) + coach.history
    if len(network.members) < len(arrays):
        history += staying_members(history, len(arrays), recipe.problem.layout.most_bins)
    held = HeldOut.of(recipe.jury, climbers, chosen.rung, target)
    earlier = before.held_out if before else None
    held = held.after(earlier) if held else earlier
    ends = coach.interrupted, held, coach.short_of_time
    return Fitted(network, boxes, shared, arrays, chosen, history, epochs, *ends)


def definition(promises: Promises, target: Target, settings: Settings) -> dict[str, Any]:
    """What all members of a model share, by the argument it came from; a warm start may not change it."""
    shares = None if target.classes is None else np.bincount(target.classes, target.weight).tolist()
    unit = (target.scale, target.shift, target.deviation, shares)
    return {
        "y (or its weights, loss or classes)": (target.loss, replace(target.link, target=None), *unit),
        "monotonic_cst": promises.directions.tolist(),
        "slopes": promises.intervals,
        "max_slope": (str(promises.caps.tolist()), promises.standard_cap),  # as text: NaN is equal to NaN
        "missing": promises.missing,
        "n_bins": settings.n_bins,
        "hidden_layer_sizes": settings.hidden,
    }


def make_coach(n: int, settings: Settings, started: float, on_progress: Callable[..., None] | None) -> Coach:
    """For a fit of n rows that began at time.perf_counter() = started."""
    batch = min(settings.batch_size or (64 if n < 4000 else 128), n)
    deadline = None if settings.max_time is None else started + settings.max_time
    return Coach(batch, settings.seed, settings.n_threads, deadline, on_progress)


def make_folds(target: Target, settings: Settings, rng: np.random.Generator) -> NDArray[np.int32] | None:
    """Fold of each row, -1 for one that is never held out; None where no row is."""
    n = len(target.y)
    if settings.holdout is None or n < FEWEST:
        return None
    n_folds = max(2, round(min(1 / settings.holdout, n)))
    if target.groups is not None:
        return deal_groups(target.groups, n_folds, rng, MAX_HELD_OUT, classes=target.classes)
    folds = deal_folds(n, n_folds, rng, target.classes)
    for fold in range(n_folds if n > n_folds * MAX_HELD_OUT else 0):  # judging needs no more rows
        folds[rng.permutation(np.flatnonzero(folds == fold))[MAX_HELD_OUT:]] = -1
    return folds


def make_recipe(
    problem: Problem, inputs: InputTransform, settings: Settings, folds: NDArray[np.int32] | None, coach: Coach
) -> Recipe:
    """A path not yet begun."""
    n = len(problem.data.y)
    rungs, unearned = _rungs(n, coach.batch_size, settings.max_iter)
    if settings.holdout is not None and folds is None and len(problem.lower) == 1:
        rungs, unearned = (), 0  # too few rows to hold any out: the start alone
    return Recipe(
        problem,
        folds,
        rungs,
        penalties(inputs),
        n_members=settings.n_members or (MORE_MEMBERS if n < MANY_ROWS else MEMBERS if folds is None else 1),
        most_members=settings.n_members or MORE_MEMBERS,
        coach=coach,
        unearned=unearned,
        n_features=len(inputs.columns),
    )


def _rungs(n: int, batch: int, max_iter: int | None) -> tuple[tuple[Rung, ...], int]:
    """The path: more rows earn more rungs; with max_iter, as many steps as so many passes over the data.

    Also how many of them at the end are only for paths that still gain much there: of few rows, where steps are cheap.
    """
    decays = (*DECAYS, *[DECAYS[-1]] * 20)
    if max_iter is None:
        count = 6 if n < 5000 else 7 if n < 20_000 else 8 if n < 100_000 else 9
        unearned = FURTHER if n < 5000 else 0
        return tuple(Rung(FIRST_STEPS * 2**k, decays[k]) for k in range(count + unearned)), unearned
    found: list[Rung] = []
    left = max(1, -(-max_iter * n // batch))
    for decay in decays:
        steps = min(FIRST_STEPS * 2 ** len(found), left)
        left -= steps
        found.append(Rung(steps + (left if left < steps else 0), decay))
        if left < steps:
            break
    return tuple(found), 0
