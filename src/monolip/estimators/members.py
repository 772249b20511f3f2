"""Members: networks in training, the additive models they start from, and what validation rows say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.engine.additive import Additive, fit_additives, row_losses_of
from monolip.engine.anchored import Anchored
from monolip.engine.judging import JudgedRows
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.estimators.fit_options import FitOptions
from monolip.estimators.folds import every_row, rows_of_fold
from monolip.estimators.inputs import MergedInputs, penalties

__all__ = ["Group", "Member", "ValidationRows", "deal_rows", "fit_additive_models"]

Rows = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Rows of a problem that members are validated on."""

    problem: Problem
    rows: Rows

    @cached_property
    def judged(self) -> JudgedRows:
        return JudgedRows(self.problem, self.rows)

    @cached_property
    def weight(self) -> float:
        return float(self.judged.weight.sum())

    def loss(self, outputs: NDArray[np.floating]) -> float:
        """Return the weighted mean loss of outputs."""
        return float(self.judged.losses(outputs) @ self.judged.weight / self.weight)


@dataclass(frozen=True, eq=False)
class Member:
    """One network of the ensemble, as it was after each stage.

    rows: numbers of the rows that it is trained on. networks: what was trained around the additive model, after
    0, 1, 2, ... stages (0: None). refitted: the network after the refit, which replaces that of the chosen stage.
    """

    number: int
    rows: Rows
    validation: ValidationRows | None
    anchored: Anchored
    networks: tuple[NetworkArrays | None, ...] = (None,)
    refitted: NetworkArrays | None = None

    def network(self, stage: int) -> NetworkArrays:
        """Return additive model and network together, after a stage; 0 is the additive model alone."""
        trained = self.networks[stage]
        return self.anchored.linear() if trained is None else self.anchored.network(trained)

    def result(self, stage: int) -> NetworkArrays:
        """Return what the fit keeps: the refitted network, or the one after a stage."""
        return self.network(stage) if self.refitted is None else self.anchored.network(self.refitted)

    def outputs(self, stage: int) -> NDArray[np.floating]:
        """Return the outputs for the validation rows, after a stage."""
        assert self.validation is not None
        return self.validation.judged.outputs(self.network(stage))


@dataclass(frozen=True, eq=False)
class Group:
    """Members that see the same bins, and decide together how far to train.

    strength: ridge strength of the additive models, None before it is chosen.
    losses: validation loss of the additive models and after each stage; () without validation rows. least: the first
    stage that may be chosen: 1 where the additive model is linear in a feature, so that it cannot bend.
    """

    merged: MergedInputs
    problem: Problem
    strength: float | None = None
    members: tuple[Member, ...] = ()
    losses: tuple[float, ...] = ()
    least: int = 0

    @property
    def n_stages(self) -> int:
        """Stages that all members have been trained for."""
        return min(len(member.networks) for member in self.members) - 1

    @property
    def best(self) -> int:
        """The stage with the lowest validation loss; the last one without validation."""
        if not self.losses:
            return self.n_stages
        least = min(self.least, len(self.losses) - 1)
        return least + int(np.argmin(self.losses[least:]))

    def validated(self) -> tuple[Group, list[float | None]]:
        """Return the group with the loss of its last stage, and each member's own loss.

        Members with the same validation rows are averaged first, as the model averages them.
        """
        stage = self.n_stages
        together: dict[int, list[Member]] = {}
        for member in self.members:
            if member.validation is not None:
                together.setdefault(id(member.validation), []).append(member)
        if not together:
            return self, [None] * len(self.members)
        total = weight = 0.0
        own: dict[int, float] = {}
        for members in together.values():
            validation = members[0].validation
            assert validation is not None
            outputs = [member.outputs(stage) for member in members]
            own |= {member.number: validation.loss(f) for member, f in zip(members, outputs, strict=True)}
            loss = own[members[0].number] if len(members) == 1 else validation.loss(np.mean(outputs, axis=0))
            total, weight = total + validation.weight * loss, weight + validation.weight
        found = replace(self, losses=(*self.losses, total / weight))
        return found, [own.get(member.number) for member in self.members]


def fit_additive_models(
    group: Group, dealt: Sequence[tuple[Rows, ValidationRows | None]], numbers: Sequence[int], options: FitOptions
) -> Group:
    """Return the group with new members, one for each entry of `dealt`, at their additive models.

    dealt: of each member the rows that it is trained on, and those that it is validated on. The ridge strength is the
    one that validation rows prefer, or the group's own where it has one. Several outputs have no additive model: their
    members start from a constant.
    """
    tried = sorted(options.ridge_strengths if group.strength is None else (group.strength,), reverse=True)
    parts = list({id(rows): rows for rows, _ in dealt}.values())
    fitted = fit_additives(group.problem, parts, penalties(group.merged.inputs), tried)
    by_rows = dict(zip(map(id, parts), fitted, strict=True))
    models = [by_rows[id(rows)] for rows, _ in dealt]
    chosen: list[Additive | None] = [None] * len(dealt)
    strength = group.strength
    if models and all(models):
        validations = [validation for _, validation in dealt if validation is not None]
        at = int(np.argmin(np.abs(np.log(np.asarray(tried) / options.usual_strength))))
        if len(tried) > 1 and len(validations) == len(dealt):
            at = _choose_strength(models, validations, tried, options.usual_strength)
        strength, chosen = tried[at], [model[at] for model in models]
    members = tuple(
        Member(number, rows, validation, Anchored(group.problem, start, rows))
        for number, (rows, validation), start in zip(numbers, dealt, chosen, strict=True)
    )
    return replace(group, strength=strength, members=members, losses=())


def _choose_strength(
    models: Sequence[Sequence[Additive]], validations: Sequence[ValidationRows], tried: Sequence[float], usual: float
) -> int:
    """Return which strength to take: of those within half a standard error of the best, the one nearest to the usual.

    models: of each member, one for each strength.
    """
    # Members with the same validation rows have the same training rows, and so the same additive model.
    distinct = {id(validation): (model, validation) for model, validation in zip(models, validations, strict=True)}
    pairs = list(distinct.values())
    every, weight = row_losses_of([m for m, _ in pairs], pairs[0][1].problem, [v.rows for _, v in pairs])
    share = weight / weight.sum()
    worse = every - every[int((every @ share).argmin())]
    mean = worse @ share
    error = np.sqrt(np.square(worse - mean[:, None]) @ np.square(share))
    distance = np.abs(np.log(np.asarray(tried) / usual))
    return int(np.where(mean <= 0.5 * error, distance, np.inf).argmin())


def deal_rows(
    problem: Problem, folds: Rows | None, n_members: int, options: FitOptions
) -> list[tuple[Rows, ValidationRows | None]]:
    """Return the training and validation rows of the members of a group that are validated.

    With few rows each has a fold of its own; with many rows they share one. Without folds all members are trained on
    all rows.
    """
    n = len(problem.data.y)
    if folds is None:
        return [(every_row(n), None)] * n_members
    n_folds = int(folds.max()) + 1
    known: dict[int, tuple[Rows, ValidationRows]] = {}
    found: list[tuple[Rows, ValidationRows | None]] = []
    for k in range(min(n_members, int(options.of("n_validated", n)))):
        fold = k % n_folds if n < options.many_rows else 0
        if fold not in known:
            rows, validated = rows_of_fold(folds, fold)
            known[fold] = rows, ValidationRows(problem, validated)
        found.append(known[fold])
    return found
