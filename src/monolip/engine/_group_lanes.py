"""Sort and unsort of groups in lanes, for training: forward keeps what the gradient needs to find its way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._lane_ops import copy_registers, sort_pair, unsort_pair
from monolip.engine._training_layout import LANES

__all__ = ["sort_lanes", "unsort_lanes"]

FloatArray = NDArray[Any]


@compiled(fast=True, inner=True)
def sort_lanes(acts: FloatArray, z_at: int, a_at: int, width: int, group_size: int, origin: NDArray[np.int32]) -> None:
    """a = z sorted in groups; z stays. For groups above 2, origin (width, lanes) says where sorted values came from."""
    if group_size == 1:
        copy_registers(acts, z_at, acts, a_at, width * LANES)
    elif group_size == 2:
        for k in range(0, width * LANES, 2 * LANES):
            sort_pair(acts, z_at + k, acts, a_at + k)
    else:
        for start in range(0, width, group_size):
            _sort_group(acts, z_at + start * LANES, a_at + start * LANES, group_size, origin, start)


@compiled(fast=True, inner=True)
def _sort_group(acts: FloatArray, z_at: int, a_at: int, size: int, origin: NDArray[np.int32], start: int) -> None:
    """Insertion sort of each lane, carrying the unit number along."""
    for lane in range(LANES):
        for i in range(size):
            value = acts[z_at + i * LANES + lane]
            j = i
            while j > 0 and acts[a_at + (j - 1) * LANES + lane] > value:
                acts[a_at + j * LANES + lane] = acts[a_at + (j - 1) * LANES + lane]
                origin[(start + j) * LANES + lane] = origin[(start + j - 1) * LANES + lane]
                j -= 1
            acts[a_at + j * LANES + lane] = value
            origin[(start + j) * LANES + lane] = start + i


@compiled(fast=True, inner=True)
def unsort_lanes(
    acts: FloatArray, z_at: int, width: int, group_size: int, origin: NDArray[np.int32], d: FloatArray, out: FloatArray
) -> None:
    """out = gradient with respect to z, from d, the gradient with respect to sorted z; both (width, lanes) flat."""
    if group_size == 1:
        copy_registers(d, 0, out, 0, width * LANES)
    elif group_size == 2:
        for k in range(0, width * LANES, 2 * LANES):
            unsort_pair(acts, z_at + k, d, out, k)
    else:
        for k in range(width):
            for lane in range(LANES):
                out[origin[k * LANES + lane] * LANES + lane] = d[k * LANES + lane]
