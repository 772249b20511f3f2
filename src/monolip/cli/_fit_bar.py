"""The progress bar of a fit, on terminals: the stage that is trained, the validation loss, the time budget."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from threading import Lock
from types import TracebackType
from typing import Any, Self

__all__ = ["FitBar"]

_PASSES = {"pass": "reading all rows once", "training": "training on all rows", "judging": "computing metrics"}


class FitBar:
    """A context manager that draws the bar; training threads call `update`, a fit calls `row` for its history.

    Early stopping decides how many stages there are, so the bar is about one stage: all members that are trained in it.
    """

    def __init__(self, time_budget: float | None = None, quiet: bool = False) -> None:
        self.wanted = sys.stderr.isatty() and not quiet
        self.deadline = None if time_budget is None else time.monotonic() + time_budget
        self.lock = Lock()
        self.what: Any = None  # the stage and its members, or the pass over a stream
        self.steps: dict[int, int] = {}  # done in this stage, by member
        self.losses: dict[int, float] = {}  # after the last validated stage, by member
        self.validated = -1  # the stage that these losses are of
        self.bar: Any = None

    def __enter__(self) -> Self:
        if self.wanted:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(16), TextColumn("{task.percentage:>3.0f} %"))
            left = (TimeRemainingColumn(compact=True), TextColumn("{task.fields[more]}"))
            self.bar = Progress(*columns, *left, console=Console(stderr=True), transient=True)
            first = "preparing (the first fit on a machine compiles for half a minute)"
            self.task = self.bar.add_task(first, total=None, more="")
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def settle(self, model: Any) -> None:
        """Fill the bar after a fit that nothing cut short, and say so if the model is its additive models."""
        if self.bar is None:
            return
        from monolip.estimators._facts import stays_additive
        from monolip.estimators._progress import ADDITIVE_KEPT

        with self.lock:
            total = self.bar.tasks[0].total or 1  # a pass that has not begun has no total
            self.bar.update(self.task, description="trained", total=total, completed=total, more="")
            if self.losses and stays_additive(model.frozen_):
                self.bar.console.print(ADDITIVE_KEPT, highlight=False)

    def row(self, row: Mapping[str, Any]) -> None:
        """Take the validation loss of a new row of the history."""
        if self.bar is None or row["validation_loss"] is None:
            return
        with self.lock:
            if row["stage"] != self.validated:
                self.validated, self.losses = row["stage"], {}
            self.losses[row["member"]] = row["validation_loss"]

    def stage(self, what: str, done: int, of: int, loss: float | None = None) -> None:
        """Show a pass over a stream."""
        if self.bar is None:
            return
        with self.lock:
            if self.what != what:
                self.what = what
                self.bar.reset(self.task, total=of, more="")
            left = "left at most" if what == "training" else "left"  # it ends when the loss stops improving
            more = self._more([left], loss)
            self.bar.update(self.task, description=_PASSES[what], completed=done, total=of, more=more)

    def update(self, job: Any, standing: Any) -> None:
        """Show how far the members of a stage are."""
        if self.bar is None:
            return
        with self.lock:
            what, tell = (job.stage, job.together), self.bar.update
            if what != self.what or standing.step < self.steps.get(job.member, 0):  # a refit repeats a stage
                self.what, self.steps, tell = what, {}, self.bar.reset
            self.steps[job.member] = standing.step
            count = len(job.together)
            text = f"stage {job.stage}, {count} member{'s' if count > 1 else ''}"
            loss = sum(self.losses.values()) / len(self.losses) if self.losses else None
            done, total = sum(self.steps.values()), standing.n_steps * count
            tell(self.task, description=text, completed=done, total=total, more=self._more([], loss))

    def _more(self, words: list[str], loss: float | None) -> str:
        if loss is not None:
            words = [*words, f"validation loss {loss:.4g}"]
        if self.deadline is not None:
            words = [*words, f"time budget {max(0.0, self.deadline - time.monotonic()):.0f} s"]
        return "; ".join(words)
