"""Train one network: snapshots judged on held-out rows, early stopping, a time limit, a clean stop on Ctrl-C."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Literal, NamedTuple

from numpy.typing import ArrayLike, NDArray

from monolip.cached import cached_property
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays, Trainer
from monolip.engine.training_options import TrainingOptions

__all__ = ["Progress", "Snapshot", "TrainingResult", "train"]

Stopped = Literal["finished", "patience", "time", "interrupted"]
WATCHED_ROWS = 4096
TICK_SECONDS = 0.05  # Python looks up this often: for Ctrl-C, progress and the time limit
SLOW = 1e9  # products a second that every machine manages; most do a hundred times as many


class Progress(NamedTuple):
    """Where training stands: steps done of n_steps, seconds since the start, the last and best hold-out loss."""

    step: int
    n_steps: int
    seconds: float
    holdout_loss: float | None
    best_loss: float | None


@dataclass(frozen=True)
class Snapshot:
    """What had been learned after `step` steps.

    training_loss: on the first 4096 rows trained on. holdout_loss: on the rows held out (None: nothing was).
    The network and the training loss are worked out when asked for: of many snapshots one is used.
    """

    step: int
    holdout_loss: float | None
    trainer: Trainer = field(repr=False)
    params: NDArray[Any] = field(repr=False)

    @cached_property
    def training_loss(self) -> float:
        return self.trainer.finite_loss("training", self.trainer.index[:WATCHED_ROWS], self.params)

    @cached_property
    def network(self) -> NetworkArrays:
        return self.trainer.network(self.params)


@dataclass(frozen=True)
class TrainingResult:
    """network: of the best snapshot (the last one without hold-out rows). stopped: why training ended."""

    network: NetworkArrays
    snapshots: tuple[Snapshot, ...]
    best: int
    stopped: Stopped
    seconds: float


def train(
    problem: Problem,
    options: TrainingOptions | None = None,
    *,
    index: ArrayLike | None = None,
    holdout: ArrayLike | None = None,
    start: NetworkArrays | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: Event | None = None,
) -> TrainingResult:
    """Train on the rows `index` of a problem (all if None), judge snapshots on the rows `holdout`, return the best.

    `start` is a network of the same architecture to go on from (None: a fresh one). Bit for bit the same for a seed on
    one machine, unless a time limit or Ctrl-C ended it. `stop`, set by another thread, ends training as Ctrl-C does:
    with the best network so far.
    """
    run = _Run(problem, TrainingOptions() if options is None else options, index, holdout, start)
    try:
        while run.stopped is None:
            run.tick(stop)
            if on_progress is not None:
                on_progress(run.progress())
    except KeyboardInterrupt:
        run.stopped = "interrupted"
    return run.result()


@dataclass
class _Run:
    """The loop's bookkeeping; a snapshot is appended whole or not at all, so an interrupt cannot tear it."""

    problem: Problem
    options: TrainingOptions
    index: ArrayLike | None
    holdout: ArrayLike | None
    start: NetworkArrays | None
    snapshots: list[Snapshot] = field(default_factory=list)
    stopped: Stopped | None = None

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.trainer = Trainer(self.problem, self.options, self.index, self.start)
        self.chunk = _first_steps(self.problem, self.options.batch_size)
        self.judged = None if self.holdout is None else self.problem.places(self.holdout)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def tick(self, stop: Event | None) -> None:
        """Some steps, at most up to the next snapshot; then every reason to stop is looked at."""
        options, done = self.options, self.trainer.steps_done
        parts = min(options.n_snapshots, options.n_steps)
        due = -(-(len(self.snapshots) + 1) * options.n_steps // parts)
        begun = time.perf_counter()
        steps = min(self.chunk, due - done)
        self.trainer.advance(steps)
        took = time.perf_counter() - begun
        if done:  # the first call may have compiled
            self.chunk = max(1, min(4 * self.chunk, int(steps * TICK_SECONDS / max(took, 1e-9))))
        if self.trainer.steps_done >= due:
            self._snapshot()
        if self.trainer.steps_done >= options.n_steps:
            self.stopped = "finished"
        elif self._out_of_patience():
            self.stopped = "patience"
        elif options.time_limit is not None and self.seconds >= options.time_limit:
            self.stopped = "time"
        elif stop is not None and stop.is_set():
            self.stopped = "interrupted"

    def _snapshot(self) -> None:
        trainer = self.trainer
        params = trainer.current()
        holdout = None if self.judged is None else trainer.finite_loss("hold-out", self.judged, params)
        snapshot = Snapshot(trainer.steps_done, holdout, trainer, params)
        if holdout is None:
            _ = snapshot.training_loss  # something has to notice a loss that is not finite
        self.snapshots.append(snapshot)

    def best(self) -> int:
        losses = [math.inf if s.holdout_loss is None else s.holdout_loss for s in self.snapshots]
        return len(losses) - 1 if self.holdout is None else losses.index(min(losses))

    def _out_of_patience(self) -> bool:
        patience = self.options.patience
        return bool(patience is not None and self.snapshots and len(self.snapshots) - 1 - self.best() >= patience)

    def progress(self) -> Progress:
        last = self.snapshots[-1].holdout_loss if self.snapshots else None
        best = self.snapshots[self.best()].holdout_loss if self.snapshots else None
        return Progress(self.trainer.steps_done, self.options.n_steps, self.seconds, last, best)

    def result(self) -> TrainingResult:
        if not self.snapshots or self.snapshots[-1].step < self.trainer.steps_done:
            self._snapshot()  # stopped in between: what has been learned since counts too
        self.trainer.finish(WATCHED_ROWS)
        best = self.best()
        stopped: Stopped = "finished" if self.stopped is None else self.stopped
        return TrainingResult(self.snapshots[best].network, tuple(self.snapshots), best, stopped, self.seconds)


def _first_steps(problem: Problem, batch_size: int) -> int:
    """Steps to begin with: a tick's worth on a slow machine. How steps are cut into calls changes no bit."""
    layout, rows = problem.layout, min(batch_size, len(problem.data.y))
    products = 3 * rows * layout.products + 10 * layout.size  # once forward and twice back, then the step
    return max(1, int(TICK_SECONDS * SLOW / products))
