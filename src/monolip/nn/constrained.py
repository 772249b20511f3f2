"""What every constrained layer shares: an effective weight (cached in eval, never stale) and a checked checkpoint."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import CheckpointError
from .fixed import FixedOptions
from .precision import FullPrecision, check_dtype
from .snapshot import Snapshot, changed, take

__all__ = ["ConstrainedLayer", "PromiseRecord"]


class PromiseRecord(FixedOptions):
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
        for name, module in self.named_modules():  # all records first: a refused checkpoint must overwrite no layer
            if isinstance(module, PromiseRecord):
                _check_record(module, state_dict, f"{prefix}{name}." if name else prefix)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


def _check_record(module: PromiseRecord, state_dict: dict[str, Any], prefix: str) -> None:
    found = state_dict.get(prefix + "_extra_state")
    where = f"'{prefix.rstrip('.')}'" if prefix else "the whole model"
    if found is None:
        raise CheckpointError(
            f"a checkpoint must carry the promise it was trained under; this one has none for {where} (the key "
            f"'{prefix}_extra_state' is missing); save with model.state_dict() of the same monolip module."
        )
    theirs = _read_record(found, where)
    ours = json.loads(json.dumps(module.promise_record()))
    if theirs != ours:
        changed = sorted(key for key in {*theirs, *ours} if theirs.get(key) != ours.get(key))
        shown = ", ".join(f"{key}: checkpoint {theirs.get(key)!r}, model {ours.get(key)!r}" for key in changed)
        raise CheckpointError(
            f"a checkpoint must be loaded under the promise it was trained with; {where} differs ({shown}); "
            "build the model with the checkpoint's arguments."
        )


def _read_record(found: Any, where: str) -> dict[str, Any]:
    try:
        record = json.loads(bytes(found.tolist()).decode())
    except (AttributeError, TypeError, ValueError):
        record = None
    if not isinstance(record, dict):
        raise CheckpointError(
            f"a checkpoint must carry the promise it was trained under; the record of {where} cannot be read; save "
            "again with model.state_dict()."
        )
    return record


class ConstrainedLayer(PromiseRecord, FullPrecision):
    """A layer that multiplies by `effective_weight`, a feasible function of its plain parameters.

    In training mode, and whenever gradients to the parameters are wanted, the effective weight is computed afresh. In
    eval mode it is cached; the cache notices every change of the parameters (in-place, `.data`, numpy, loading,
    moving), but no code outside torch and numpy that kept a raw pointer and writes through it later.
    """

    weight: nn.Parameter

    def __init__(self) -> None:
        super().__init__()
        self._cache: tuple[Snapshot, Tensor] | None = None

    @abstractmethod
    def constrain(self, weight: Tensor) -> Tensor:
        """The feasible weight the forward pass multiplies by."""

    def sources(self) -> tuple[Tensor, ...]:
        """Every tensor `effective_weight` depends on."""
        return (self.weight,)

    @property
    def effective_weight(self) -> Tensor:
        """What the forward pass multiplies by; computed afresh, so that writing into it changes no layer."""
        weight = self.weight
        check_dtype(weight.dtype)
        return self.constrain(weight)

    def _forward_weight(self) -> Tensor:
        """`effective_weight`, or in eval mode the cached tensor itself as long as no bit it depends on has changed."""
        if self.training or torch.compiler.is_compiling():
            return self.effective_weight
        sources = self.sources()
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in sources):
            return self.effective_weight
        if self._cache is not None and not changed(self._cache[0], sources):
            return self._cache[1]
        snapshot = take(sources)  # before computing: a change in between is then noticed
        if snapshot is None:
            return self.effective_weight
        with torch.inference_mode(False), torch.no_grad():
            weight = self.effective_weight
        self._cache = (snapshot, weight)
        return weight

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None}
