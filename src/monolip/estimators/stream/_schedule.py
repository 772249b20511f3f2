"""The order in which rows are read: from the first to the last, or shuffled groups, several of them in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np

from monolip.estimators.stream._arrow import refuse_file
from monolip.estimators.stream._batch import Batch, Layout, read_batch
from monolip.estimators.stream.source import Group, Source

__all__ = ["BATCH_ROWS", "Stretch", "buffers", "in_order", "prefetched", "read_groups", "read_stretches", "shuffled"]

BATCH_ROWS = 2**14
OPEN_GROUPS = 8  # row groups that are read in turn: a buffer holds rows from so many places at least
_LOOK_SECONDS = 0.2

Item = TypeVar("Item")


class Stretch(NamedTuple):
    """Rows start to stop of a group; read without a pause they are one batch."""

    group: int
    start: int
    stop: int


def in_order(source: Source, batch_rows: int = BATCH_ROWS) -> list[Stretch]:
    """Every row once, from the first to the last."""
    return [piece for number in range(len(source.groups)) for piece in _cut(source, number, batch_rows)]


def shuffled(source: Source, rng: np.random.Generator, batch_rows: int = BATCH_ROWS) -> list[Stretch]:
    """Every row once: groups in random order, OPEN_GROUPS of them in turn, a batch from each.

    Files that are sorted (by date, by customer) then still give buffers that hold something of everything, and only
    as many groups are open at a time.
    """
    waiting = [iter(_cut(source, number, batch_rows)) for number in rng.permutation(len(source.groups)).tolist()]
    waiting.reverse()
    turn = [waiting.pop() for _ in range(min(OPEN_GROUPS, len(waiting)))]
    found: list[Stretch] = []
    while turn:
        at = int(rng.integers(len(turn)))
        piece = next(turn[at], None)
        if piece is not None:
            found.append(piece)
        elif waiting:
            turn[at] = waiting.pop()
        else:
            turn.pop(at)
    return found


def _cut(source: Source, number: int, batch_rows: int) -> Iterator[Stretch]:
    n = source.groups[number].n_rows
    return (Stretch(number, start, min(start + batch_rows, n)) for start in range(0, n, batch_rows))


def read_stretches(source: Source, layout: Layout, pieces: Iterable[Stretch], batch_rows: int) -> Iterator[Batch]:
    """Batches in the order asked for; each group is opened once and read forwards."""
    opened: dict[int, Any] = {}
    for piece in pieces:
        group = source.groups[piece.group]
        if piece.group not in opened:
            opened[piece.group] = source.read(group, layout.names, batch_rows, piece.start)
        rows = next(opened[piece.group], None)
        if rows is None or rows.num_rows != piece.stop - piece.start:
            refuse_file(source.path(group), "it has other rows than when the fit began")
        before = source.row(group) + piece.start
        yield read_batch(rows, group.first + piece.start, layout, source.kinds, source.path(group), before)
        if piece.stop == group.n_rows:
            for _ in opened.pop(piece.group):  # its end: the count of rows is checked there
                pass


def read_groups(source: Source, names: list[str], batch_rows: int) -> Iterator[tuple[Group, Any]]:
    """Record batches of all groups, from the first row to the last."""
    for group in source.groups:
        for rows in source.read(group, names, batch_rows):
            yield group, rows


def prefetched(items: Iterable[Item], ahead: int = 2) -> Iterator[Item]:
    """The same items, made by a thread while the last ones are used; an error arrives where its item would."""
    queue: Queue[tuple[Item | None, BaseException | None]] = Queue(ahead)
    stop = Event()

    def work() -> None:
        try:
            for item in items:
                if not _put(queue, (item, None), stop):
                    return
            _put(queue, (None, StopIteration()), stop)
        except BaseException as error:  # whatever it is, the reader has to know
            _put(queue, (None, error), stop)

    thread = Thread(target=work, name="monolip-prefetch", daemon=True)
    thread.start()
    try:
        while True:
            item, error = _get(queue)
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        stop.set()
        thread.join()


def _put(queue: Queue[Any], item: Any, stop: Event) -> bool:
    while not stop.is_set():
        try:
            queue.put(item, timeout=_LOOK_SECONDS)
            return True
        except Full:
            continue
    return False


def _get(queue: Queue[Any]) -> Any:
    """In short waits, since an endless one does not hear Ctrl-C everywhere."""
    while True:
        try:
            return queue.get(timeout=_LOOK_SECONDS)
        except Empty:
            continue


def buffers(pieces: list[Stretch], per_buffer: int) -> list[list[Stretch]]:
    """Consecutive batches, so many to a buffer."""
    return [[p for _, p in part] for _, part in groupby(enumerate(pieces), lambda pair: pair[0] // per_buffer)]
