"""One BLAS thread while a fit runs: more of them sum in another order, and a seed would no longer fix the bits.

The matrices of a fit are small, so nothing is lost; the threads of `n_jobs` are the fit's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

__all__ = ["one_blas_thread"]

_lock = Lock()
_running = 0  # fits under way in this process: the first sets the limit, the last one lifts it
_had: list[tuple[Any, int]] = []  # what the last one restores; nothing while none runs
_pools: Any = None  # BLAS libraries of this process: to look for them takes longer than a small table's start


def _forget() -> None:
    """A process forked while another thread was fitting inherits a held lock and a count of fits it does not run; and
    their limit, which its own first fit lifts."""
    global _lock, _running
    _lock, _running = Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _blas() -> Any:
    """Looked for once: numpy's, the only one a fit multiplies with, was loaded with numpy."""
    global _pools
    if _pools is None:
        from threadpoolctl import ThreadpoolController

        _pools = ThreadpoolController().select(user_api="blas")
    return _pools


def _set_threads(library: Any, count: int) -> None:
    """Whatever thread asks: from 3.8 on threadpoolctl ignores, without a word, all but the first that ever did."""
    clear = getattr(library, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
    library.set_num_threads(count)
    if clear is not None:
        clear(force=True)  # nor are others ignored afterwards


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it numpy's products are single-threaded; what the user had set before is set again afterwards."""
    global _running, _had
    with _lock:
        if _running == 0:
            counts = [(library, library.num_threads) for library in _blas().lib_controllers]
            _had = _had or [(library, count) for library, count in counts if count != 1]
            for library, _ in _had:
                _set_threads(library, 1)
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                for library, count in _had:
                    _set_threads(library, count)
                _had = []
