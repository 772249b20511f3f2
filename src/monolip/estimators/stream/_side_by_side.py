"""Groups that are read and worked on side by side, and what comes of them in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from queue import Queue
from threading import BoundedSemaphore, Event
from typing import Any, TypeVar

from monolip.estimators.stream._schedule import _LOOK_SECONDS, _get

__all__ = ["side_by_side"]

Group = TypeVar("Group")
Part = TypeVar("Part")
Answer = TypeVar("Answer")

# what comes of one group: answers under way, in its order, and then why there are no more (None: it has ended)
_Line = Queue[tuple[Future[Any] | None, BaseException | None]]


def side_by_side(
    groups: Iterable[Group], read: Callable[[Group], Iterator[Part]], answer: Callable[[Part], Answer],
    n_readers: int, n_workers: int, n_ahead: int,
) -> Iterator[Answer]:  # fmt: skip
    """answer(part) of every part of every group, from the first to the last.

    n_readers groups are read at once and n_workers parts answered; twice as many parts lie in memory. Answers wait for
    their turn, those of n_ahead groups at most. An error arrives where its answer would.

    Example:
        >>> list(side_by_side([3, 1, 2], lambda n: iter(range(n)), lambda k: 10 * k, 2, 2, 3))
        [0, 10, 20, 0, 0, 10]
    """
    room, stop, waiting = BoundedSemaphore(2 * n_workers), Event(), iter(groups)
    with ThreadPoolExecutor(n_readers, "monolip-read") as readers, ThreadPoolExecutor(n_workers, "monolip") as workers:

        def answered(part: Part) -> Answer:
            try:
                return answer(part)
            finally:
                room.release()

        def follow(group: Group, line: _Line) -> None:
            try:
                for part in read(group):
                    while not room.acquire(timeout=_LOOK_SECONDS):
                        if stop.is_set():
                            return
                    line.put((workers.submit(answered, part), None))
                    del part  # it would stay in memory while the next one is read
                line.put((None, None))
            except BaseException as error:  # whatever it is, who waits has to know
                line.put((None, error))

        def begun(group: Group) -> _Line:
            line: _Line = Queue()
            readers.submit(follow, group, line)
            return line

        try:
            lines = deque(begun(group) for group in islice(waiting, n_ahead))
            while lines:
                yield from _in_order(lines.popleft())
                lines.extend(begun(group) for group in islice(waiting, 1))
        finally:
            stop.set()
            workers.shutdown(wait=False, cancel_futures=True)
            readers.shutdown(wait=False, cancel_futures=True)


def _in_order(line: _Line) -> Iterator[Any]:
    while True:
        future, error = _get(line)
        if error is not None:
            raise error
        if future is None:
            return
        while not wait([future], _LOOK_SECONDS).done:  # in short waits: an endless one does not hear Ctrl-C everywhere
            pass
        yield future.result()
