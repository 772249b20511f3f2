"""Somebody who watches a fit from outside: sees progress, and may know the result of a training already.

A training is a function of its Job (see _training): a result that was kept is as good as the training itself. This is
all a checkpoint needs, so the recipe knows nothing of checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from monolip.engine.training import Progress, TrainingResult
    from monolip.estimators._training import Job

__all__ = ["Silence", "Watcher", "watched_by", "watcher"]


class Watcher(Protocol):
    """Called from training threads; whatever it raises ends the fit."""

    def find(self, job: Job) -> TrainingResult | None:
        """The result of this very job, where it is known; None: train."""

    def keep(self, job: Job, result: TrainingResult) -> None:
        """A job was done, in full or not (result.stopped)."""

    def progress(self, job: Job, standing: Progress) -> None:
        """A job goes on; the estimator shows nothing itself then."""


class Silence:
    """Knows nothing and shows nothing: for fits inside something that shows its own progress."""

    def find(self, job: Job) -> None:
        return None

    def keep(self, job: Job, result: TrainingResult) -> None:
        """Nothing."""

    def progress(self, job: Job, standing: Progress) -> None:
        """Nothing."""


_WATCHER: ContextVar[Watcher | None] = ContextVar("monolip.watcher", default=None)


def watcher() -> Watcher | None:
    """Who watches the fits of this thread."""
    return _WATCHER.get()


@contextmanager
def watched_by(who: Watcher) -> Iterator[None]:
    """Fits started in this block, in this thread, are watched."""
    token = _WATCHER.set(who)
    try:
        yield
    finally:
        _WATCHER.reset(token)
