"""What every constrained layer shares: an effective weight (cached in eval, never stale) and a checked checkpoint."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import CheckpointError
from .precision import FullPrecision, check_dtype

__all__ = ["ConstrainedLayer", "PromiseRecord"]

_SAMPLES = 2048


class PromiseRecord(nn.Module):
    """A module whose checkpoints carry its promise: loading one made under another promise is an error.

    The record travels as a uint8 tensor (JSON), so that `weights_only=True` and safetensors can hold it.
    """

    @abstractmethod
    def promise_record(self) -> dict[str, Any]:
        """JSON-able facts that define the promise: norm, bound, intervals, ..."""

    def get_extra_state(self) -> Tensor:
        text = json.dumps(self.promise_record(), sort_keys=True)
        return torch.tensor(list(text.encode()), dtype=torch.uint8)

    def set_extra_state(self, state: Any) -> None:
        pass  # compared in _load_from_state_dict, which can refuse even when strict=False

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        found = state_dict.get(prefix + "_extra_state")
        where = prefix.rstrip(".") or "the model"
        if found is None:
            raise CheckpointError(
                f"a checkpoint must carry the promise it was trained under; {where} has none ('{prefix}_extra_state' "
                "is missing); save with model.state_dict() of the same monolip module."
            )
        theirs = json.loads(bytes(found.tolist()).decode())
        ours = json.loads(json.dumps(self.promise_record()))
        if theirs != ours:
            changed = sorted(key for key in {*theirs, *ours} if theirs.get(key) != ours.get(key))
            shown = ", ".join(f"{key}: checkpoint {theirs.get(key)!r}, model {ours.get(key)!r}" for key in changed)
            raise CheckpointError(
                f"a checkpoint must be loaded under the promise it was trained with; {where} differs ({shown}); "
                "build the model with the checkpoint's arguments."
            )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class ConstrainedLayer(PromiseRecord, FullPrecision):
    """A layer that multiplies by `effective_weight`, a feasible function of its plain parameters.

    In training mode, and whenever gradients to the parameters are wanted, the effective weight is computed afresh. In
    eval mode it is cached; the cache notices every change of the parameters (in-place, `.data`, loading, moving).
    """

    weight: nn.Parameter

    def __init__(self) -> None:
        super().__init__()
        self._cache: tuple[Any, Tensor] | None = None

    @abstractmethod
    def constrain(self, weight: Tensor) -> Tensor:
        """The feasible weight the forward pass multiplies by."""

    def sources(self) -> tuple[Tensor, ...]:
        """Every tensor `effective_weight` depends on."""
        return (self.weight,)

    @property
    def effective_weight(self) -> Tensor:
        """What the forward pass multiplies by."""
        check_dtype(self.weight.dtype)
        if self.training or torch.compiler.is_compiling():
            return self.constrain(self.weight)
        sources = self.sources()
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in sources):
            return self.constrain(self.weight)
        state = _state_of(sources)
        if state is None:
            return self.constrain(self.weight)
        if self._cache is None or not _same_state(self._cache[0], state):
            with torch.inference_mode(False), torch.no_grad():
                self._cache = (state, self.constrain(self.weight))
        return self._cache[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None}


def _state_of(sources: tuple[Tensor, ...]) -> tuple[Any, ...] | None:
    """A fingerprint of the tensors, or None where they cannot be cached (vmap, fake or otherwise wrapped tensors).

    The version counter sees every in-place operation but not writes through `.data` or numpy views; the sum and a
    strided sample see those.
    """
    state: list[Any] = []
    for tensor in sources:
        if type(tensor) not in (Tensor, nn.Parameter) or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return None
        if tensor.is_inference() or tensor.is_meta:
            return None
        with torch.no_grad():
            flat = tensor.detach().reshape(-1)
            sample = flat[:: max(1, flat.numel() // _SAMPLES)].clone()
            state.append((tensor.data_ptr(), tensor._version, tensor.dtype, tensor.shape, sample, flat.sum()))
    return tuple(state)


def _same_state(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    return len(old) == len(new) and all(
        a[:4] == b[:4] and a[4].device == b[4].device and torch.equal(a[4], b[4]) and torch.equal(a[5], b[5])
        for a, b in zip(old, new, strict=True)
    )
