"""The progress bar of a fit, on terminals: the round that is trained, how far it is, the time it has left."""

from __future__ import annotations

import sys
import time
from threading import Lock
from types import TracebackType
from typing import Any, Self

__all__ = ["FitBar"]

DECIDING = 4  # members that are trained together and decide how far to go; further ones follow
_STAGES = {"pass": "looking at all rows once", "training": "training on all rows", "judging": "judging"}


class FitBar:
    """A context manager; `update` is called by every training thread.

    A fit trains in rounds, each twice as long as the last, for as long as rows that are held out gain from it. How
    many there will be is not known before; so the bar is about the round.
    """

    def __init__(self, n_members: int, time_budget: float | None = None, quiet: bool = False) -> None:
        self.wanted = sys.stderr.isatty() and not quiet
        self.n_members, self.loss = n_members, ""
        self.deadline = None if time_budget is None else time.monotonic() + time_budget
        self.lock, self.round, self.what = Lock(), (-1, False), ""
        self.members: dict[int, tuple[int, int]] = {}
        self.seen = 0
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

    def stage(self, what: str, done: int, of: int, loss: float | None = None) -> None:
        """A pass over a stream: the bar is about all of it."""
        if self.bar is None:
            return
        with self.lock:
            if self.what != what:
                self.what, self.round = what, (-1, False)
                self.bar.reset(self.task, total=of, more="")
            more = "left" if loss is None else f"left at most; loss {loss:.4g}"
            self.bar.update(self.task, description=_STAGES[what], completed=done, total=of, more=more + self._budget())

    def _budget(self) -> str:
        return "" if self.deadline is None else f"; budget {max(0.0, self.deadline - time.monotonic()):.0f} s"

    def update(self, job: Any, standing: Any) -> None:
        if self.bar is None:
            return
        with self.lock:
            follower = job.member >= DECIDING
            if (job.rung, follower) != self.round:
                self.round, self.members = (job.rung, follower), {}
                self.bar.reset(self.task, total=None, more="")
            self.members[job.member] = standing.step, standing.n_steps
            expected = self.n_members - DECIDING if follower else min(self.n_members, DECIDING)
            self.seen = max(self.seen, len(self.members))  # there may be more than expected
            expected = expected if follower else max(expected, self.seen)
            if standing.best_loss is not None:
                self.loss = f"; loss {standing.best_loss:.4g}"
            more = f"left in this round{self.loss}{self._budget()}"
            text = f"training{' more' if follower else ''}, round {job.rung + 1}"
            done, total = sum(step for step, _ in self.members.values()), standing.n_steps * max(1, expected)
            self.bar.update(self.task, description=text, completed=done, total=total, more=more)
