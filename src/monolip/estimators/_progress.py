"""A progress line on long fits: only on a terminal after two seconds, or when asked for."""

from __future__ import annotations

import sys
import time
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from monolip.engine.training import Progress as Standing
from monolip.estimators._course import Course
from monolip.estimators._training import Job

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Display"]

PATIENCE_SECONDS = 2.0


class Display:
    """Context manager; `update(job, standing)` is called by every training thread."""

    def __init__(self, verbose: int) -> None:
        self.verbose, self.started = bool(verbose), time.perf_counter()
        self.wanted = self.verbose or sys.stderr.isatty()
        self.lock, self.progress = Lock(), None
        self.tasks: dict[Any, Any] = {}
        self.course = Course()

    progress: Progress | None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.progress is not None:
            self.progress.stop()

    def update(self, job: Job, standing: Standing) -> None:
        if not self.wanted:
            return
        self.course.hear(job)
        if not self.verbose and time.perf_counter() - self.started < PATIENCE_SECONDS:
            return
        with self.lock:
            if self.progress is None:
                self.progress = _progress_line()
                self.progress.start()
            key = (job.member, job.options.seed, job.holdout is None, job.problem.layout.most_bins)  # rungs have seeds
            if key not in self.tasks:
                text = self.course.words_of_one(job)
                self.tasks[key] = self.progress.add_task(text, total=standing.n_steps, loss="")
            loss = "" if standing.best_loss is None else f"hold-out loss {standing.best_loss:.4g}"
            self.progress.update(self.tasks[key], completed=standing.step, loss=loss)


def _progress_line() -> Progress:
    from rich.console import Console  # imported when a line is drawn: most fits end before
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(8), TimeRemainingColumn(elapsed_when_finished=True))
    return Progress(*columns, TextColumn("{task.fields[loss]}"), console=Console(stderr=True))
