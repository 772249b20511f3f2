r"""The fit recipe: which regime, how many steps, which snapshot; then the members that are averaged.

    regimes   (slope_rate, slope_decay): how fast slopes grow and how strongly they are pulled to zero
    ladder    all regimes at the first number of steps, the best two within 5 % at the second, the best further on;
              stop when the hold-out loss gains less than 0.5 % or its minimum lies before 60 % of the run
    members   each holds out another eighth of the rows; the snapshot is picked on their averaged hold-out curve

Everything is decided on rows held out inside the fit; nothing depends on anything a fit cannot see.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from monolip.engine.problem import Problem
from monolip.engine.training import Progress
from monolip.engine.training_options import TrainingOptions
from monolip.estimators._training import Job, Run, run_jobs

__all__ = ["REGIMES", "Chosen", "Recipe", "deal_folds"]

REGIMES = ((0.64, 0.003), (0.16, 0.02), (0.16, 0.1), (0.16, 0.3), (0.16, 1.0))
_MIDDLE = 2  # the regime used where nothing can be held out to choose one


@dataclass(frozen=True)
class Chosen:
    """What the ladder settled on; a warm start trains further members the same way."""

    regime: int
    steps: int


@dataclass
class Recipe:
    """steps: the ladder; n_probes: members trained while choosing; folds: (n,) fold of each row, or None (no hold-out).

    deadline: time.perf_counter() after which nothing new starts, or None. history: one entry per training, for users.
    """

    problem: Problem
    folds: NDArray[np.int64] | None
    steps: tuple[int, ...]
    n_members: int
    n_probes: int
    batch_size: int
    seed: int
    n_threads: int = 1
    deadline: float | None = None
    on_progress: Callable[[Job, Progress], None] | None = None
    n_snapshots: int = 8
    history: list[dict[str, object]] = field(default_factory=list)
    interrupted: bool = False

    def run(self) -> tuple[Chosen, list[Run], int]:
        """(what was chosen, one run per member, the snapshot to take from each)."""
        if self.folds is None:
            chosen = Chosen(_MIDDLE, self.steps[-1])
            return chosen, self._train(range(self.n_members), [chosen.regime], chosen.steps), -1
        chosen, probes = self._climb()
        return chosen, *self.complete(chosen, probes)

    def complete(self, chosen: Chosen, runs: Sequence[Run]) -> tuple[list[Run], int]:
        """Train the members that are missing and pick one snapshot for all."""
        runs = list(runs)[: self.n_members]
        if not self._out_of_time():
            runs += self.more(chosen, len(runs))
        return runs, self.best_snapshot(runs)

    def more(self, chosen: Chosen, start: int) -> list[Run]:
        """Members number `start` and up."""
        return self._train(range(start, self.n_members), [chosen.regime], chosen.steps)

    def best_snapshot(self, runs: Sequence[Run]) -> int:
        """One snapshot for all members, by their averaged hold-out curve; the last one where nothing was held out."""
        return -1 if self.folds is None else int(mean_curve(runs).argmin())

    def _climb(self) -> tuple[Chosen, list[Run]]:
        candidates = list(range(len(REGIMES)))
        best: tuple[float, Chosen, list[Run]] | None = None
        for rung, steps in enumerate(self.steps):
            runs = self._train(range(self.n_probes), candidates, steps)
            by_regime = {r: [run for run in runs if run.job.regime == r] for r in candidates}
            loss = {r: float(mean_curve(by_regime[r]).min()) for r in candidates if by_regime[r]}
            order = sorted(loss, key=loss.__getitem__)
            lead = order[0]
            gained = best is None or loss[lead] <= best[0] - 0.005 * abs(best[0])
            if best is None or loss[lead] < best[0]:
                best = (loss[lead], Chosen(lead, steps), by_regime[lead])
            close = rung == 0 and len(order) > 1 and loss[order[1]] < loss[lead] + 0.05 * abs(loss[lead])
            candidates = order[:2] if close else order[:1]
            curve = mean_curve(by_regime[lead])
            early = int(curve.argmin()) < 0.6 * len(curve)
            if not gained or early or self._out_of_time():
                break
        assert best is not None, "the ladder has at least one rung"
        return best[1], best[2]

    def _train(self, members: Sequence[int], regimes: Sequence[int], steps: int) -> list[Run]:
        jobs = [self._job(member, regime, steps) for regime in regimes for member in members]
        runs = run_jobs(self.problem, jobs, self.n_threads, self.on_progress)
        self.interrupted |= any(run.result.stopped == "interrupted" for run in runs)
        for run in runs:
            rate, decay = REGIMES[run.job.regime]
            losses = [snapshot.holdout_loss for snapshot in run.result.snapshots]
            entry = {"member": run.job.member, "n_steps": steps, "slope_rate": rate, "slope_decay": decay}
            self.history.append({**entry, "holdout_loss": losses, "seconds": run.result.seconds})
        return runs

    def _job(self, member: int, regime: int, steps: int) -> Job:
        rate, decay = REGIMES[regime]
        left = None if self.deadline is None else max(1e-3, self.deadline - time.perf_counter())
        options = TrainingOptions(
            n_steps=steps,
            batch_size=self.batch_size,
            slope_rate=rate,
            slope_decay=decay,
            n_snapshots=min(self.n_snapshots, steps),
            time_limit=left,
            seed=(self.seed + 7919 * member) % 2**31,
        )
        n = len(self.problem.data.x)
        if self.folds is None:
            return Job(member, regime, options, np.arange(n, dtype=np.int32), None)
        held = self.folds == member % (int(self.folds.max()) + 1)
        return Job(member, regime, options, _numbers(~held), _numbers(held))

    def _out_of_time(self) -> bool:
        return self.interrupted or (self.deadline is not None and time.perf_counter() >= self.deadline)


def deal_folds(n: int, n_folds: int, rng: np.random.Generator, classes: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Fold of each row: random, equal in size, and with an equal share of every class."""
    order = rng.permutation(n)
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    folds = np.empty(n, dtype=np.int64)
    folds[order] = np.arange(n) % n_folds
    return folds


def mean_curve(runs: Sequence[Run]) -> NDArray[np.float64]:
    """Hold-out losses averaged over members, as far as all of them came."""
    shortest = min(len(run.curve) for run in runs)
    return np.asarray(np.mean([run.curve[:shortest] for run in runs], axis=0))


def _numbers(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.flatnonzero(mask).astype(np.int32)
