"""Many trainings at once: the layer between the fit procedure and the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event

import numpy as np
from numpy.typing import NDArray

from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.engine.training import Progress, TrainingResult, train
from monolip.engine.training_options import TrainingOptions
from monolip.estimators._watching import watcher

__all__ = ["Job", "run_jobs"]

SHORTEST = 1e-3  # seconds: a training takes a step at least
FEW_ROWS = 12_800  # that a training sees in all: less is done before threads are ready
OnProgress = Callable[["Job", Progress], None]


@dataclass(frozen=True)
class Job:
    """One training: of which member in which stage, what to learn, how, from where and on which rows.

    holdout: rows that it is validated on while it goes on, or None. together: the members that are trained along with
    this one, itself among them, for whom progress is shown.
    """

    member: int
    stage: int
    problem: Problem
    options: TrainingOptions
    index: NDArray[np.int32]
    holdout: NDArray[np.int32] | None
    start: NetworkArrays | None = None
    together: tuple[int, ...] = ()


def run_jobs(
    jobs: Sequence[Job], n_threads: int, on_progress: OnProgress | None, deadline: float | None = None
) -> list[TrainingResult]:
    """Results in the order of jobs; threads change no bit. Ctrl-C ends all of them with their best so far.

    deadline: time.perf_counter() at which the last of them ends; the time until then is shared out.
    """
    stop, watching = Event(), watcher()
    if watching is not None:
        on_progress = watching.progress
    if on_progress is not None:
        members = tuple(job.member for job in jobs)
        jobs = [replace(job, together=job.together or members) for job in jobs]

    def work(job: Job, turns: int) -> TrainingResult:
        """turns: trainings that this thread does one after the other, this one first."""
        known = None if watching is None else watching.find(job)
        if known is not None:
            return known
        tell = None if on_progress is None else lambda progress: on_progress(job, progress)
        options = job.options
        if deadline is not None:
            options = replace(options, time_limit=max(SHORTEST, (deadline - time.perf_counter()) / turns))
        result = train(
            job.problem, options, index=job.index, holdout=job.holdout, start=job.start, on_progress=tell, stop=stop
        )
        if result.stopped == "interrupted":
            stop.set()  # Ctrl-C reaches one training only; the user meant all
        if watching is not None:
            watching.keep(job, result)
        return result

    if len(jobs) == 1 or all(job.options.n_steps * job.options.batch_size < FEW_ROWS for job in jobs):
        n_threads = 1
    turns = [-(-left // max(1, n_threads)) for left in range(len(jobs), 0, -1)]
    if n_threads <= 1:
        return list(map(work, jobs, turns))
    own: dict[int, TrainingResult] = {}
    with ThreadPoolExecutor(n_threads - 1) as pool:  # this thread trains as well: one less has to find a core
        futures = [pool.submit(work, job, turn) for job, turn in zip(jobs, turns, strict=True)]

        def result(k: int) -> TrainingResult:
            if k not in own and futures[k].cancelled():
                own[k] = work(jobs[k], turns[k])
            return own[k] if k in own else futures[k].result()

        try:
            for k, future in enumerate(futures):
                if future.cancel():  # nobody has begun it
                    own[k] = work(jobs[k], turns[k])
            return [result(k) for k in range(len(jobs))]
        except KeyboardInterrupt:  # it came to this thread, and no training knows
            stop.set()
            results = [result(k) for k in range(len(jobs))]
            return [replace(results[0], stopped="interrupted"), *results[1:]]
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
