"""Progress of long fits: bars on a terminal after two seconds, or when asked for; plain lines where it is none."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from monolip.engine._compile import heard_compiling
from monolip.engine.training import Progress as Standing
from monolip.estimators._course import Course
from monolip.estimators._training import Job

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Display"]

PATIENCE_SECONDS = 2.0
PAUSE_SECONDS = 5.0  # between two lines about what still goes on
COMPILING = "compiling kernels, once on this machine: ten to forty seconds in all"
_STAGES = {"pass": ("reading all rows once", "batch {} of {}"), "training": ("training on all rows", "buffer {} of {}")}
_AT_MOST = {"training": "at most "}  # it ends where rows held out gain no more


@dataclass
class _Told:
    """One training: its words, where it stands, and the step that a line has told of."""

    key: Any
    words: str
    standing: Standing
    step: int = 0


class Display:
    """Context manager; `update(job, standing)` is called by every training thread, `stage` by passes over a stream.

    verbose: bars or lines from the beginning; otherwise bars on a terminal. quiet: nothing, as somebody else shows it.
    """

    def __init__(self, verbose: int, quiet: bool = False) -> None:
        self.verbose, self.started = bool(verbose), time.perf_counter()
        self.terminal = sys.stderr is not None and sys.stderr.isatty()  # a daemon may have none
        self.wanted = (self.verbose or self.terminal) and not quiet and sys.stderr is not None
        self.lock, self.progress = Lock(), None
        self.tasks: dict[Any, Any] = {}
        self.members: dict[int, _Told] = {}  # of each member the training that goes on
        self.course, self.last_line = Course(), self.started
        self.compiling: AbstractContextManager[None] = heard_compiling(self._compiles)
        self.told_compiling = False

    progress: Progress | None

    def __enter__(self) -> Self:
        self.compiling.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.compiling.__exit__(None, None, None)
        if self.progress is not None:
            self.progress.stop()
        for told in self.members.values():
            self._finish(told)

    def update(self, job: Job, standing: Standing) -> None:
        if not self.wanted:
            return
        self.course.hear(job)
        path = job.problem.layout.most_bins, job.n_features
        key = (job.member, job.options.seed, job.holdout is None, path)  # rungs have seeds
        with self.lock:
            if not self.terminal:
                self._tell(job, key, standing)
            elif self.verbose or time.perf_counter() - self.started >= PATIENCE_SECONDS:
                loss = "" if standing.best_loss is None else f"hold-out loss {standing.best_loss:.4g}"
                self._bar(key, self.course.words_of_one(job), standing.step, standing.n_steps, loss)

    def stage(self, what: str, done: int, of: int, loss: float | None = None) -> None:
        """A pass over a stream goes on: batches that are read, or buffers that are trained on."""
        if not self.wanted:
            return
        (words, unit), now = _STAGES[what], time.perf_counter()
        losses = "" if loss is None else f"hold-out loss {loss:.5g}"
        with self.lock:
            if self.terminal:
                if self.verbose or now - self.started >= PATIENCE_SECONDS:
                    self._bar(what, words, done, of, losses)
            elif done == of or now - self.last_line >= PAUSE_SECONDS:
                place = unit.format(f"{done:,}", f"{_AT_MOST.get(what, '')}{of:,}")
                self._line(f"fit_stream: {words}, {place}{', ' * bool(losses)}{losses}")

    def say(self, words: str) -> None:
        """What begins now, where lines are written."""
        if self.wanted and not self.terminal:
            self._line(words)

    def _compiles(self) -> None:
        """A kernel begins to be compiled: said once, where it is not over at once; a bar in progress says enough."""
        late = time.perf_counter() - self.started >= PATIENCE_SECONDS
        if self.wanted and late and not self.told_compiling and self.progress is None:
            self.told_compiling = True
            self._line(COMPILING)

    def _bar(self, key: Any, words: str, done: int, of: int, loss: str) -> None:
        if self.progress is None:
            self.progress = _progress_line()
            self.progress.start()
        if key not in self.tasks:
            self.tasks[key] = self.progress.add_task(words, total=of, loss="")
        self.progress.update(self.tasks[key], completed=done, loss=loss)

    def _tell(self, job: Job, key: Any, standing: Standing) -> None:
        """A line for each training that ended, and every few seconds one for what goes on."""
        told = self.members.get(job.member)
        if told is None or told.key != key:
            if told is not None:
                self._finish(told)
            told = self.members[job.member] = _Told(key, self.course.words_of_one(job), standing)
        told.standing = standing
        if standing.step >= standing.n_steps:
            self._finish(told)
        elif time.perf_counter() - self.last_line >= PAUSE_SECONDS:
            self._finish(told, f"step {standing.step:,}")

    def _finish(self, told: _Told, place: str = "") -> None:
        if told.standing.step <= told.step:
            return
        if not place and told.standing.step < told.standing.n_steps:
            place = f"ended at step {told.standing.step:,}"
        told.step, loss = told.standing.step, told.standing.best_loss
        parts = [place, "" if loss is None else f"hold-out loss {loss:.4g}"]
        self._line(": ".join([told.words, *filter(None, [", ".join(filter(None, parts))])]))

    def _line(self, words: str) -> None:
        """At once, also into a pipe or a log, with the time since the fit began."""
        self.last_line = time.perf_counter()
        seconds = self.last_line - self.started
        since = f"{seconds:.1f} s" if seconds >= 1.0 else f"{1000 * seconds:.0f} ms"
        try:
            print(f"{words}, after {since}", file=sys.stderr, flush=True)
        except (OSError, ValueError):  # who read it has gone, which is no reason to lose the fit
            self.wanted = False


def _progress_line() -> Progress:
    from rich.console import Console  # imported when a line is drawn: most fits end before
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(8), TimeRemainingColumn(elapsed_when_finished=True))
    return Progress(*columns, TextColumn("{task.fields[loss]}"), console=Console(stderr=True))
