"""Memory of a step on a CPU: short portions of rows, and memory that stays with the process between them.

A step computes a dozen arrays of (rows, units) and frees them. Given back to the system and fetched again, memory comes
page by page, cleared: with 8192 rows and 2 x 128 units that took up to a third of a step.
"""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["keep_freed_memory", "rows_of_a_portion"]

_UNITS = 9 << 17  # of all layers and rows of a portion; the dozen arrays then stay below what is kept
_BLOCK = 30 << 20  # bytes; glibc follows blocks up to 32 MiB
_FEWEST = 256  # each portion computes the effective weights anew, which has to be little against its products


def rows_of_a_portion(model: nn.Module) -> int:
    """Rows to compute at once: as many as about a million outputs of layers; the gradients of portions add up.

    Example:
        >>> rows_of_a_portion(nn.Sequential(nn.Linear(20, 128), nn.Linear(128, 128)))
        4608
    """
    units = sum(parameter.shape[0] for parameter in model.parameters() if parameter.dim() > 1)
    return max(_FEWEST, _UNITS // max(1, units))


def keep_freed_memory() -> None:
    """Free one large block, never written to: the C library of Linux (glibc) then keeps up to twice as much for later.

    It does so for any program ("dynamic mmap threshold" in mallopt(3)), once the program frees a block of its own that
    large; other systems lose nothing by it.

    Example:
        >>> keep_freed_memory()
    """
    torch.empty(_BLOCK, dtype=torch.uint8)
