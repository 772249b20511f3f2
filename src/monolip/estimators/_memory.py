"""More than memory can hold: said before it is tried."""

from __future__ import annotations

import os

from monolip.errors import InputError

__all__ = ["check_memory", "free_bytes"]


def free_bytes() -> int | None:
    """Free physical memory, where the system tells."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(n_rows: int, n_model: int) -> None:
    """Training holds the model columns twice in single precision for a moment; refuse what cannot fit."""
    needed, free = 8 * n_rows * (n_model + 16), free_bytes()
    if free is not None and needed > free:
        raise InputError(
            f"the table must fit into memory; training on {n_rows} rows of {n_model} model columns needs about "
            f"{needed / 2**30:.2g} GiB and {free / 2**30:.2g} GiB are free; use fewer rows or columns, or n_bins=0."
        )
