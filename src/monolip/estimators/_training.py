"""Many trainings at once on one problem: the layer between the recipe and the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray

from monolip.engine.problem import Problem
from monolip.engine.training import Progress, TrainingResult, train
from monolip.engine.training_options import TrainingOptions

__all__ = ["Job", "Run", "run_jobs"]

OnProgress = Callable[["Job", Progress], None]


@dataclass(frozen=True)
class Job:
    """One training: member number, regime number, options, the rows it learns from and those it is judged on."""

    member: int
    regime: int
    options: TrainingOptions
    index: NDArray[np.int32]
    holdout: NDArray[np.int32] | None


@dataclass(frozen=True)
class Run:
    """A finished job and its hold-out losses, one a snapshot (of length 1, and NaN, without hold-out rows)."""

    job: Job
    result: TrainingResult

    @property
    def curve(self) -> NDArray[np.float64]:
        return np.array([np.nan if s.holdout_loss is None else s.holdout_loss for s in self.result.snapshots])

    @property
    def finished(self) -> bool:
        return self.result.stopped == "finished"


def run_jobs(problem: Problem, jobs: Sequence[Job], n_threads: int, on_progress: OnProgress | None) -> list[Run]:
    """Runs in the order of jobs; threads change no bit. Ctrl-C ends all of them with their best so far."""
    stop = Event()

    def work(job: Job) -> Run:
        tell = None if on_progress is None else lambda progress: on_progress(job, progress)
        result = train(problem, job.options, index=job.index, holdout=job.holdout, on_progress=tell, stop=stop)
        if result.stopped == "interrupted":
            stop.set()  # Ctrl-C reaches one training only; the user meant all
        return Run(job, result)

    if n_threads <= 1 or len(jobs) == 1:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(work, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            stop.set()
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
