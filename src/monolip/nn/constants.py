"""Constants of a promise (intervals, radii, factors) as buffers that are computed, never loaded, moved or rounded.

A buffer that torch converts is rounded to nearest, possibly out of the promise, and one that comes from the meta
device has no content at all. So after every move and every load the constants are computed again from the promise.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from .precision import FullPrecision

__all__ = ["PromiseConstants", "rounded_inwards"]


class PromiseConstants(FullPrecision):
    """A module with buffers that follow from its promise, its type and its device alone."""

    def __init__(self) -> None:
        super().__init__()
        self.register_load_state_dict_post_hook(_rebuild)  # the only hook that runs after the children have loaded

    @abstractmethod
    def _constants(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """Every constant by name, on the CPU."""

    @abstractmethod
    def _like(self) -> Tensor:
        """A tensor of the type and on the device the constants belong to."""

    def build_constants(self) -> None:
        like = self._like()
        with torch.inference_mode(False):
            for name, value in self._constants(like.dtype).items():
                self.register_buffer(name, value.to(like.device), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        result = super()._apply(fn, recurse)
        self.build_constants()
        return result


def _rebuild(module: nn.Module, incompatible_keys: Any) -> None:
    assert isinstance(module, PromiseConstants)
    module.build_constants()


def rounded_inwards(value: ArrayLike, dtype: torch.dtype, towards: float) -> Tensor:
    """The values in `dtype`; where rounding passed a value on the side away from `towards`, the next one inwards.

    `towards` is infinity for lower ends and -infinity for upper ends; factors and radii count as upper ends.
    """
    exact = torch.tensor(np.array(value, dtype=np.float64), device="cpu")
    rounded = exact.to(dtype)
    outside = rounded.double() < exact if towards > 0 else rounded.double() > exact
    return torch.where(outside, torch.nextafter(rounded, torch.full_like(rounded, towards)), rounded)
