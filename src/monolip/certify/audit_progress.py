"""A progress line for long audits: only on a terminal after two seconds, or when asked for."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

from monolip.certify.audit_search import Budget

__all__ = ["Progress"]

_PATIENCE_SECONDS = 2.0


class Progress:
    """Context manager; call it with the budget as often as you like."""

    def __init__(self, verbose: int) -> None:
        self.verbose = bool(verbose)
        self.wanted = self.verbose or sys.stderr.isatty()
        self.line: Any = None
        self.task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.line is not None:
            self.line.stop()

    def __call__(self, budget: Budget) -> None:
        if not self.wanted or (not self.verbose and budget.seconds < _PATIENCE_SECONDS):
            return
        if self.line is None:
            from rich.console import Console  # imported when a line is drawn: most audits end before
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Line

            text = TextColumn("audit, {task.completed:,.0f} rows scored")
            bar, screen = BarColumn(20), Console(stderr=True)
            gone = screen.is_terminal  # when it is done: what stays on a screen is the report, in a log the line
            self.line = Line(text, bar, TimeElapsedColumn(), TimeRemainingColumn(), console=screen, transient=gone)
            self.line.start()
            self.task = self.line.add_task("audit", total=budget.max_evaluations)
        self.line.update(self.task, completed=budget.evaluations)
