"""Train several networks at once, one thread each: the members of an ensemble, or candidates to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

from numpy.typing import ArrayLike

from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.engine.training import TrainingResult, train
from monolip.engine.training_options import TrainingOptions

__all__ = ["Member", "train_members"]


@dataclass(frozen=True)
class Member:
    """One member: its options (seed included), rows to learn from, rows to be judged on, where to go on from."""

    options: TrainingOptions
    index: ArrayLike | None = None
    holdout: ArrayLike | None = None
    start: NetworkArrays | None = None


def train_members(problem: Problem, members: Sequence[Member], n_threads: int = 1) -> list[TrainingResult]:
    """One result a member, in order; the number of threads changes no bit. Ctrl-C ends all with their best so far."""
    stop = Event()

    def work(member: Member) -> TrainingResult:
        return train(problem, member.options, index=member.index, holdout=member.holdout, start=member.start, stop=stop)

    with ThreadPoolExecutor(max(1, n_threads)) as pool:
        futures = [pool.submit(work, member) for member in members]
        try:
            _await(futures)
        except KeyboardInterrupt:
            stop.set()
        if any(future.done() and future.exception() is not None for future in futures):
            stop.set()  # one member failed: the others need not finish before the error is told
        return [future.result() for future in futures]


def _await(futures: Sequence[Future[TrainingResult]]) -> None:
    """Until all are done or one has failed; in short waits, since an endless one does not hear Ctrl-C everywhere."""
    while True:
        done, pending = wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION)
        if not pending or any(future.exception() is not None for future in done):
            return
