"""The progress bar of a fit, on terminals: the round that is trained, how far it is, the time it has left."""

from __future__ import annotations

import sys
import time
from threading import Lock
from types import TracebackType
from typing import Any, Self

__all__ = ["FitBar"]

_STAGES = {"pass": "looking at all rows once", "training": "training on all rows", "judging": "judging"}


class FitBar:
    """A context manager; `update` is called by every training thread.

    A fit trains in rounds, each twice as long as the last, for as long as rows that are held out gain from it. How
    many there will be is not known before; so the bar is about the round.
    """

    def __init__(self, time_budget: float | None = None, quiet: bool = False) -> None:
        self.wanted = sys.stderr.isatty() and not quiet
        self.deadline = None if time_budget is None else time.monotonic() + time_budget
        self.lock, self.loss, self.what = Lock(), "", ""
        self.round: tuple[Any, ...] = ()
        self.members: dict[int, int] = {}  # of this round, and the steps that each has made
        self.course: Any = None
        self.bar: Any = None

    def __enter__(self) -> Self:
        if self.wanted:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(16), TextColumn("{task.percentage:>3.0f} %"))
            left = (TimeRemainingColumn(compact=True), TextColumn("{task.fields[more]}"))
            self.bar = Progress(*columns, *left, console=Console(stderr=True), transient=True)
            first = "preparing (a machine's first fit compiles for half a minute)"
            self.task = self.bar.add_task(first, total=None, more="")
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def settle(self, model: Any) -> None:
        """A fit came to its end by itself: of a round that noise ended early nothing more will come, which is said."""
        if self.bar is None:
            return
        from monolip.estimators._coach import START_KEPT
        from monolip.estimators._facts import stays_at_start

        with self.lock:
            total = self.bar.tasks[0].total or 1  # of a pass that has not begun nothing is known
            self.bar.update(self.task, description="trained", total=total, completed=total, more="")
            if self.round and stays_at_start(model.frozen_):
                self.bar.console.print(START_KEPT, highlight=False)

    def stage(self, what: str, done: int, of: int, loss: float | None = None) -> None:
        """A pass over a stream: the bar is about all of it."""
        if self.bar is None:
            return
        with self.lock:
            if self.what != what:
                self.what, self.round = what, ()
                self.bar.reset(self.task, total=of, more="")
            more = "left" if loss is None else f"left at most; loss {loss:.4g}"
            self.bar.update(self.task, description=_STAGES[what], completed=done, total=of, more=more + self._budget())

    def _budget(self) -> str:
        return "" if self.deadline is None else f"; budget {max(0.0, self.deadline - time.monotonic()):.0f} s"

    def update(self, job: Any, standing: Any) -> None:
        if self.bar is None:
            return
        with self.lock:
            if self.course is None:
                from monolip.estimators._course import Course  # a fit is going on: it costs nothing any more

                self.course = Course()
            self.course.hear(job)
            began = (job.rung, job.problem.layout.most_bins, job.n_features, job.holdout is None, job.together)
            tell = self.bar.update
            if began != self.round or standing.step < self.members.get(job.member, 0):  # followers finish in place
                self.round, self.members, tell = began, {}, self.bar.reset
            self.members[job.member] = standing.step
            if standing.best_loss is not None:
                self.loss = f"; loss {standing.best_loss:.4g}"
            text, more = f"{self.course.words(job)}, round {job.rung + 1}", f"left in this round{self.loss}"
            done, total = sum(self.members.values()), standing.n_steps * len(job.together)
            tell(self.task, description=text, completed=done, total=total, more=more + self._budget())
