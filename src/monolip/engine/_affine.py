"""Products of a weight and rows in lanes, in register tiles of six units, two and one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._vector import tile

__all__ = ["affine_kernel"]


def affine_kernel(*, fused: bool, start: Literal["bias", "sum"]) -> Callable[..., None]:
    """z = W x + b, or z += W x: kernel(params, weight_at, bias_at, n_units, fan, x, z, lanes).

    x is (fan, lanes) and z (n_units, lanes), both flat; W (n_units, fan) and b stand in params at their places. Terms
    are added in the order of the inputs, each product rounded first unless they are fused.
    """
    six, two, one = (tile(rows, 4, fused=fused, start=start) for rows in (6, 2, 1))

    def run(
        params: NDArray[Any], weight_at: int, bias_at: int, n_units: int, fan: int, x: NDArray[Any], z: NDArray[Any],
        lanes: int,
    ) -> None:  # fmt: skip
        k = 0
        while k + 6 <= n_units:
            six(z, k * lanes, lanes, params, weight_at + k * fan, fan, 1, x, 0, lanes, fan, params, bias_at + k)
            k += 6
        while k + 2 <= n_units:
            two(z, k * lanes, lanes, params, weight_at + k * fan, fan, 1, x, 0, lanes, fan, params, bias_at + k)
            k += 2
        if k < n_units:
            one(z, k * lanes, lanes, params, weight_at + k * fan, fan, 1, x, 0, lanes, fan, params, bias_at + k)

    return compiled(inner=True)(run)
