"""Training in stages, early stopping, the refit on all rows, and members that follow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from monolip.engine.training import Progress, TrainingResult
from monolip.engine.training_options import TrainingOptions
from monolip.estimators._training import Job, run_jobs
from monolip.estimators.fit_options import FitOptions, Stage
from monolip.estimators.folds import Rows
from monolip.estimators.members import Group, Member, fit_additive_models

__all__ = ["History", "Plan", "Trained", "add_followers", "refit", "train_in_stages", "without_bad_groups"]

History = tuple[dict[str, Any], ...]
Stopped = Literal["", "time", "interrupted", "callback"]
FROM_ZERO = 2.0  # first-layer slopes before training, of members that start from a constant
AROUND = 0.3  # the same, of members that start from an additive model


@dataclass(frozen=True)
class Plan:
    """What all stages of a fit share.

    n_rows, n_features: of the table. deadline: time.perf_counter() after which nothing new starts, or None.
    on_progress: called while a training goes on. callbacks: called with each row of the history; one that returns True
    ends training.
    """

    options: FitOptions
    stages: tuple[Stage, ...]
    n_rows: int
    n_features: int
    batch_size: int
    seed: int
    n_threads: int = 1
    deadline: float | None = None
    on_progress: Callable[[Job, Progress], None] | None = None
    callbacks: tuple[Callable[[dict[str, Any]], Any], ...] = ()

    @property
    def is_over(self) -> bool:
        return self.deadline is not None and time.perf_counter() >= self.deadline

    @property
    def slope_rate(self) -> float:
        """Step size of slopes: all features move f at once, so that each takes smaller steps where there are many."""
        wide = self.options.wide_features
        return self.options.slope_rate * math.sqrt(wide / max(wide, self.n_features))

    def run(self, given: Sequence[tuple[Member, int]], rows: Rows | None = None, salt: int = 0) -> list[TrainingResult]:
        """Train each member in the given stage (1 is the first), from its network after the one before.

        rows: in place of its own.
        """
        jobs = [
            Job(
                member.number,
                stage,
                member.anchored.problem,
                TrainingOptions(
                    n_steps=self.stages[stage - 1].steps,
                    batch_size=self.batch_size,
                    slope_rate=self.slope_rate,
                    slope_decay=self.stages[stage - 1].decay,
                    initial_slope=FROM_ZERO if member.anchored.start is None else AROUND,
                    n_snapshots=1,
                    seed=(self.seed + 7919 * member.number + 104729 * (stage - 1) + salt) % 2**31,
                ),
                member.rows if rows is None else rows,
                None,
                member.networks[stage - 1],
            )
            for member, stage in given
        ]
        return run_jobs(jobs, self.n_threads, self.on_progress, self.deadline)


@dataclass(frozen=True)
class Trained:
    """Groups after training, the history so far, and what ended training before its time, if anything did."""

    groups: tuple[Group, ...]
    history: History = ()
    stopped: Stopped = ""

    @property
    def members(self) -> list[tuple[Group, Member]]:
        """All members, each with its group."""
        return [(group, member) for group in self.groups for member in group.members]

    @property
    def stays_additive(self) -> bool:
        """Whether validation preferred the additive models to all that was trained around them."""
        return any(group.n_stages for group in self.groups) and all(group.best == 0 for group in self.groups)


def train_in_stages(groups: Sequence[Group], plan: Plan) -> Trained:
    """Train every group, stage after stage, until its validation loss stops improving.

    A group stops after the first stage, from `min_stages` on, that improves its loss by less than `min_improvement`.
    Without validation rows all stages are trained.
    """
    trained = Trained(tuple(groups))
    try:
        trained = _validated(trained, 0, [], plan)
        for number in range(1, len(plan.stages) + 1):
            if trained.stopped or all(_is_done(group, number - 1, plan) for group in trained.groups):
                break
            if plan.is_over:
                return replace(trained, stopped="time")
            pairs = [(g, m) for g, m in trained.members if not _is_done(g, number - 1, plan)]
            results = plan.run([(member, number) for _, member in pairs])
            by_member = {member.number: result for (_, member), result in zip(pairs, results, strict=True)}
            groups = tuple(_after_stage(group, by_member) for group in trained.groups)
            trained = _validated(replace(trained, groups=groups), number, results, plan)
    except KeyboardInterrupt:
        return replace(trained, stopped="interrupted")
    return trained


def _validated(trained: Trained, number: int, results: Sequence[TrainingResult], plan: Plan) -> Trained:
    """Return the groups with the losses after a stage, for those that were trained in it."""
    groups, rows, left = [], [], iter(results)
    for group in trained.groups:
        if group.n_stages == number:
            group, own = group.validated()
            for member, loss in zip(group.members, own, strict=True):
                rows.append(_row(group, member, number, loss, plan, next(left) if number else None))
        groups.append(group)
    return _reported(replace(trained, groups=tuple(groups), stopped=_why_stopped(results)), rows, plan)


def _after_stage(group: Group, results: Mapping[int, TrainingResult]) -> Group:
    """Return the group with the networks of its members after one more stage, if they were trained."""
    if any(member.number not in results for member in group.members):
        return group
    members = tuple(
        replace(member, networks=(*member.networks, results[member.number].snapshots[-1].network))
        for member in group.members
    )
    return replace(group, members=members)


def _is_done(group: Group, done: int, plan: Plan) -> bool:
    """Return whether a group is trained no further after `done` stages."""
    losses = group.losses
    if group.n_stages < done:
        return True
    if not losses or done < max(1, int(plan.options.of("min_stages", plan.n_rows))):
        return False
    before = min(losses[:-1])
    return before - losses[-1] < plan.options.min_improvement * abs(before)


def without_bad_groups(trained: Trained, options: FitOptions) -> Trained:
    """Return what was trained without groups whose validation loss is much higher than that of the best group."""
    losses = [group.losses[group.best] if group.losses else 0.0 for group in trained.groups]
    limit = min(losses) + options.kind_tolerance * abs(min(losses))
    groups = tuple(group for group, loss in zip(trained.groups, losses, strict=True) if loss <= limit)
    return replace(trained, groups=groups)


def refit(trained: Trained, rows: Rows, plan: Plan) -> Trained:
    """Train the chosen stage of every validated member once more, with all rows.

    A refit that time or Ctrl-C ends early is thrown away: the network that was validated stays.
    """
    pairs = [(g, m) for g, m in trained.members if g.best > 0 and m.validation is not None]
    if not pairs or trained.stopped:
        return trained
    if plan.is_over:
        return replace(trained, stopped="time")
    try:
        results = plan.run([(member, group.best) for group, member in pairs], rows, salt=15485863)
    except KeyboardInterrupt:
        return replace(trained, stopped="interrupted")
    done = [(g, m, result) for (g, m), result in zip(pairs, results, strict=True) if result.stopped == "finished"]
    refitted = {member.number: result.snapshots[-1].network for _, member, result in done}
    groups = tuple(
        replace(group, members=tuple(replace(m, refitted=refitted.get(m.number)) for m in group.members))
        for group in trained.groups
    )
    entries = [_row(group, member, group.best, None, plan, result, refit=True) for group, member, result in done]
    return _reported(replace(trained, groups=groups, stopped=_why_stopped(results)), entries, plan)


def add_followers(trained: Trained, n_members: int, rows: Rows, plan: Plan) -> Trained:
    """Add members until there are so many, shared out evenly over the groups.

    Followers are trained on all rows to the stage that their group chose, without validation rows of their own. Those
    that time or Ctrl-C ends early are thrown away.
    """
    # Numbers of members whose group was dropped are in the history; they are not used again.
    number = 1 + max([*(member.number for _, member in trained.members), *(row["member"] for row in trained.history)])
    numbers: list[list[int]] = [[] for _ in trained.groups]
    for _ in range(n_members - len(trained.members)):
        k = min(range(len(numbers)), key=lambda k: len(trained.groups[k].members) + len(numbers[k]))
        numbers[k].append(number)
        number += 1
    for k, mine in enumerate(numbers):
        if not mine or trained.stopped:
            continue
        try:
            trained = _with_followers(trained, k, mine, rows, plan)
        except KeyboardInterrupt:
            return replace(trained, stopped="interrupted")
    return trained


def _with_followers(trained: Trained, k: int, numbers: Sequence[int], rows: Rows, plan: Plan) -> Trained:
    group = trained.groups[k]
    fresh = fit_additive_models(group, [(rows, None)] * len(numbers), numbers, plan.options)
    entries = [] if group.best else [_row(fresh, member, 0, None, plan) for member in fresh.members]
    for stage in range(1, group.best + 1):
        if plan.is_over:
            return replace(trained, stopped="time")
        results = plan.run([(member, stage) for member in fresh.members])
        fresh = _after_stage(fresh, {m.number: result for m, result in zip(fresh.members, results, strict=True)})
        entries += [_row(fresh, m, stage, None, plan, r) for m, r in zip(fresh.members, results, strict=True)]
        if stopped := _why_stopped(results):
            return replace(trained, stopped=stopped)
    group = replace(group, members=group.members + fresh.members)
    groups = (*trained.groups[:k], group, *trained.groups[k + 1 :])
    return _reported(replace(trained, groups=groups), entries, plan)


def _row(
    group: Group, member: Member, stage: int, validation_loss: float | None, plan: Plan,
    result: TrainingResult | None = None, *, refit: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return a row of the history."""
    return {
        "member": member.number,
        "n_bins": group.problem.layout.most_bins,
        "stage": stage,
        "refit": refit,
        "steps": 0 if result is None else result.snapshots[-1].step,
        "slope_decay": plan.stages[stage - 1].decay if stage else None,
        "training_loss": None if result is None else result.snapshots[-1].training_loss,
        "validation_loss": validation_loss,
        "seconds": 0.0 if result is None else result.seconds,
        "chosen": False,
    }


def _reported(trained: Trained, rows: Sequence[dict[str, Any]], plan: Plan) -> Trained:
    """Return it with rows added to its history, after the callbacks have seen them.

    Ctrl-C while a callback runs ends training, and loses nothing that was trained before.
    """
    trained = replace(trained, history=(*trained.history, *rows))
    try:
        ended = [_says_true(callback(dict(row))) for row in rows for callback in plan.callbacks]
    except KeyboardInterrupt:
        return replace(trained, stopped="interrupted")
    return replace(trained, stopped="callback") if any(ended) and not trained.stopped else trained


def _says_true(answer: Any) -> bool:
    """Return whether a callback returned True, of Python or of numpy; other values do not end training."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _why_stopped(results: Sequence[TrainingResult]) -> Stopped:
    stops = {result.stopped for result in results}
    return "interrupted" if "interrupted" in stops else "time" if "time" in stops else ""
