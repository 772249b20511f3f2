"""More than memory can hold: said before it is tried."""

from __future__ import annotations

import os
import re
from pathlib import Path

from monolip.errors import InputError

__all__ = ["check_memory", "free_bytes"]

SMALL = 2**23  # bytes: far less than this process holds already


def free_bytes() -> int | None:
    """Memory that can be had (caches count, they are given up on demand), where the system tells."""
    known = [size for size in (_available(), _group_room()) if size is not None]
    return min(known) if known else None


def _available() -> int | None:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # less: without what caches would give up
    except (AttributeError, ValueError, OSError):
        return None


def _group_room() -> int | None:
    """What a container's control group leaves; caches that can be given up do not count as used."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = int((group / "memory.max").read_text()), int((group / "memory.current").read_text())
        caches = re.search(r"^inactive_file (\d+)", (group / "memory.stat").read_text(), re.MULTILINE)
        return max(0, limit - used + (int(caches[1]) if caches else 0))
    except (ValueError, OSError):  # "max": no limit
        return None


def check_memory(n_rows: int, n_model: int, n_packed: int) -> None:
    """Training holds n_packed numbers of each row in single precision, and some that tell where it is; refuse more.

    n_packed: the model columns with the bins of a feature counted as two.
    """
    needed = 4 * n_rows * (n_packed + 16)
    free = free_bytes() if needed > SMALL else None  # to ask takes as long as a part of a small fit
    if free is not None and needed > free:
        raise InputError(
            f"the table must fit into memory; training on {n_rows} rows of {n_model} model columns needs about "
            f"{needed / 2**30:.2g} GiB and {free / 2**30:.2g} GiB are free; use fewer rows or columns, or n_bins=0."
        )
