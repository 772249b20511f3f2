"""Who trains the members of a fit: from when to when, with which options, and what is written down about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from monolip.engine.training import Progress, TrainingResult
from monolip.engine.training_options import TrainingOptions
from monolip.estimators._climber import Climber, Rung
from monolip.estimators._training import Job, entry, run_jobs

__all__ = ["SHORT_OF_TIME", "START_KEPT", "Coach"]

STEEP, FLAT = 2.0, 0.3  # slopes of the first layer before training, from zero and around an additive start
SHORT_OF_TIME = "{} cut training short; with more time the model may be better"
START_KEPT = "training did not beat the additive start on rows held out, so that is kept"


@dataclass
class Coach:
    """One for all paths of a fit: they share its clock, its history and its end.

    deadline: time.perf_counter() after which nothing new starts, or None. history: one entry per training, for users.
    interrupted: by Ctrl-C. short_of_time: whether a lack of time has left anything out.
    """

    batch_size: int
    seed: int
    n_threads: int = 1
    deadline: float | None = None
    on_progress: Callable[[Job, Progress], None] | None = None
    history: list[dict[str, object]] = field(default_factory=list)
    interrupted: bool = False
    short_of_time: bool = False
    _problems: list[int] = field(default_factory=list)  # of the trainings in the history, by id

    def train(self, climbers: Sequence[Climber], number: int, rung: Rung, together: Sequence[Climber] = ()) -> None:
        """All of them climb a rung, `number` on the path. together: them and those that climb it before or after."""
        members = tuple(climber.member for climber in together or climbers)
        jobs = [replace(self._job(climber, number, rung), together=members) for climber in climbers]
        results = self._results(jobs)
        for climber, result in zip(climbers, results, strict=True):
            last = result.snapshots[-1]
            climber.networks.append(last.network)
            if last.holdout_loss is not None:
                climber.losses.append(last.holdout_loss)

    def finish(self, climbers: Sequence[Climber], number: int, rung: Rung, start: int, rows: NDArray[np.int32]) -> None:
        """A rung with these rows, judged by nobody, from where they were after `start` rungs; what is cut short is
        thrown away."""
        jobs = []
        for climber in climbers:
            job = self._job(climber, number, rung)
            options = replace(job.options, seed=(job.options.seed + 15485863) % 2**31)
            jobs.append(replace(job, options=options, index=rows, holdout=None, start=climber.networks[start]))
        for climber, result in zip(climbers, self._results(jobs), strict=True):
            climber.finished = result.snapshots[-1].network if result.stopped == "finished" else None

    def give_up(self, climbers: Sequence[Climber]) -> None:
        """They are on a path that is not taken."""
        # a problem for each member of each path, but of several outputs one for all
        theirs = {(id(climber.anchored.problem), climber.member) for climber in climbers}
        for training, problem in zip(self.history, self._problems, strict=True):
            if (problem, training["member"]) in theirs:
                training["taken"] = False

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C ends what is done inside, and the fit goes on to freeze what it has."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True

    def is_out_of_time(self, seconds: float = 0.0, *, wanted: bool = False) -> bool:
        """By the deadline, for what takes so many seconds, or by Ctrl-C. wanted: it is left out then, which is told."""
        late = self.deadline is not None and time.perf_counter() + seconds >= self.deadline
        self.short_of_time |= late and wanted
        return self.interrupted or late

    @property
    def spent(self) -> float:
        """Seconds of all trainings so far."""
        return sum(float(str(training["seconds"])) for training in self.history)

    def _results(self, jobs: Sequence[Job]) -> list[TrainingResult]:
        """Of trainings that are entered into the history."""
        results = run_jobs(jobs, self.n_threads, self.on_progress, self.deadline)
        self.interrupted |= any(result.stopped == "interrupted" for result in results)
        self.short_of_time |= any(result.stopped == "time" for result in results)
        self.history += [entry(job, result) for job, result in zip(jobs, results, strict=True)]
        self._problems += [id(job.problem) for job in jobs]
        return results

    def _job(self, climber: Climber, number: int, rung: Rung) -> Job:
        options = TrainingOptions(
            n_steps=rung.steps,
            batch_size=self.batch_size,
            slope_rate=rung.rate,
            slope_decay=rung.decay,
            initial_slope=STEEP if climber.anchored.start is None else FLAT,
            n_snapshots=1,
            seed=(self.seed + 7919 * climber.member + 104729 * number) % 2**31,
        )
        start = climber.networks[-1]
        return Job(
            climber.member, number, climber.anchored.problem, options, climber.index, climber.holdout, start,
            n_features=climber.n_features,
        )  # fmt: skip
