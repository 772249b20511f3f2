"""Cores of its own for a worker: a message that wakes two of them can then not put both on one core.

The system moves processes between cores as it sees fit, and one that waits for a message is often woken on the core of
who sent it. Processes that work in step then wait for each other there, with the other core idle.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["own_cores"]


@contextmanager
def own_cores(place: int, count: int = 1) -> Iterator[tuple[int, ...]]:
    """Hold this thread, and threads it starts, to `count` cores, for the time of a `with`; yields them.

    place: of the worker among those of its machine, from 0. count: 0 holds nothing. Where the machine has too few cores
    for that, or the system cannot do it (only Linux does), nothing is held, and none are yielded.

    Example:
        >>> with own_cores(0) as cores:
        ...     len(cores) <= 1
        True
    """
    if count == 0 or not hasattr(os, "sched_setaffinity"):
        yield ()
        return
    allowed = os.sched_getaffinity(0)
    mine = tuple(sorted(allowed)[place * count : (place + 1) * count])
    if len(mine) < count:
        yield ()
        return
    os.sched_setaffinity(0, mine)
    try:
        yield mine
    finally:
        os.sched_setaffinity(0, allowed)
