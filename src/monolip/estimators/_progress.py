"""Progress of fits: lines with verbose=1, and a bar on a terminal for fits that take longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from monolip.engine._compile import heard_compiling
from monolip.engine.training import Progress as Standing
from monolip.estimators._training import Job

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["ADDITIVE_KEPT", "SHORT_OF_TIME", "Display", "row_words"]

PATIENCE_SECONDS = 2.0
PAUSE_SECONDS = 5.0  # between two lines about the same pass over a stream
COMPILING = "compiling kernels, once on this machine: ten to forty seconds in all"
SHORT_OF_TIME = "{} ended training early; with more time the model may be better"
ADDITIVE_KEPT = "training did not improve the validation loss of the additive model, which is kept"
_STAGES = {"pass": ("reading all rows once", "batch {} of {}"), "training": ("training on all rows", "buffer {} of {}")}
_AT_MOST = {"training": "at most "}  # it ends when the validation loss stops improving


def row_words(row: Mapping[str, Any], best: float | None) -> str:
    """Return a row of the history in words; best: lowest validation loss of the member so far."""
    what = "additive model" if row["stage"] == 0 else f"stage {row['stage']}"
    if row["refit"]:
        return f"member {row['member'] + 1}, {what} again with all rows: training loss {row['training_loss']:.4g}"
    if row["validation_loss"] is not None:
        lowest = row["validation_loss"] if best is None else min(best, row["validation_loss"])
        return f"member {row['member'] + 1}, {what}: validation loss {row['validation_loss']:.4g} (best {lowest:.4g})"
    loss = "" if row["training_loss"] is None else f": training loss {row['training_loss']:.4g}"
    return f"member {row['member'] + 1}, {what}{loss}"


class Display:
    """Context manager; `update` is called by every training thread, `row` after each stage, `stage` by passes over a
    stream.

    verbose: a line for each row of the history. On a terminal a bar shows long fits. quiet: nothing is shown.
    """

    def __init__(self, verbose: int, quiet: bool = False) -> None:
        self.verbose, self.started = bool(verbose), time.perf_counter()
        self.terminal = sys.stderr is not None and sys.stderr.isatty()  # a daemon may have none
        self.wanted = (self.verbose or self.terminal) and not quiet and sys.stderr is not None
        self.lock, self.progress = Lock(), None
        self.task: Any = None
        self.what: Any = None
        self.done: dict[int, int] = {}
        self.best: dict[int, float] = {}
        self.last_line = self.started
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

    def update(self, job: Job, standing: Standing) -> None:
        """A training goes on: the bar is about all members that are trained in this stage."""
        if not self.wanted or not self.terminal or time.perf_counter() - self.started < PATIENCE_SECONDS:
            return
        with self.lock:
            what = (job.stage, job.together)
            if what != self.what or standing.step < self.done.get(job.member, 0):  # a refit repeats a stage
                self.what, self.done = what, {}
            self.done[job.member] = standing.step
            count = len(job.together)
            words = f"stage {job.stage}, {count} member{'s' if count > 1 else ''}"
            self._bar(words, sum(self.done.values()), count * standing.n_steps, "")

    def row(self, row: Mapping[str, Any]) -> None:
        """A row of the history is known."""
        if self.verbose and self.wanted:
            with self.lock:
                self.say(row_words(row, self.best.get(row["member"])))
                if row["validation_loss"] is not None:
                    known = self.best.get(row["member"], row["validation_loss"])
                    self.best[row["member"]] = min(known, row["validation_loss"])

    def stage(self, what: str, done: int, of: int, loss: float | None = None) -> None:
        """A pass over a stream goes on: batches that are read, or buffers that are trained on."""
        if not self.wanted:
            return
        (words, unit), now = _STAGES[what], time.perf_counter()
        losses = "" if loss is None else f"validation loss {loss:.5g}"
        with self.lock:
            if self.terminal:
                if self.verbose or now - self.started >= PATIENCE_SECONDS:
                    self._bar(words, done, of, losses)
            elif done == of or now - self.last_line >= PAUSE_SECONDS:
                place = unit.format(f"{done:,}", f"{_AT_MOST.get(what, '')}{of:,}")
                self.say(f"fit_stream: {words}, {place}{', ' * bool(losses)}{losses}")

    def _compiles(self) -> None:
        """A kernel begins to be compiled: said once, where it is not over at once; a bar in progress says enough."""
        late = time.perf_counter() - self.started >= PATIENCE_SECONDS
        if self.wanted and late and not self.told_compiling and self.progress is None:
            self.told_compiling = True
            self._print(COMPILING)

    def _bar(self, words: str, done: int, of: int, loss: str) -> None:
        if self.progress is None:
            self.progress = _progress_line()
            self.progress.start()
            self.task = self.progress.add_task(words, total=of, loss="")
        self.progress.update(self.task, description=words, completed=done, total=of, loss=loss)

    def say(self, words: str) -> None:
        """Print a line at once, also into a pipe or a log, with the time since the fit began."""
        if self.wanted and (self.verbose or not self.terminal):
            self._print(words)

    def _print(self, words: str) -> None:
        self.last_line = time.perf_counter()
        seconds = self.last_line - self.started
        since = f"{seconds:.1f} s" if seconds >= 1.0 else f"{1000 * seconds:.0f} ms"
        try:
            print(f"{words}, after {since}", file=sys.stderr, flush=True)
        except (OSError, ValueError):  # whatever read it has gone, which is no reason to lose the fit
            self.wanted = False


def _progress_line() -> Progress:
    from rich.console import Console  # imported when a line is drawn: most fits end before
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(8), TimeRemainingColumn(elapsed_when_finished=True))
    return Progress(*columns, TextColumn("{task.fields[loss]}"), console=Console(stderr=True))
