"""Was any bit of these tensors written since? In constant time where torch can tell, by comparing bytes elsewhere.

torch's version counter sees in-place operations, but not writes through `.data`, numpy or shared memory. Its
copy-on-write clones see them all: a lazy clone shares memory with the original until somebody writes to either, and
then the writer moves away. So a parameter that still lies at the address of its lazy clone has not been written.
Only a raw pointer (`data_ptr()`) held from before the snapshot and written through afterwards escapes both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

__all__ = ["Snapshot", "changed", "is_transforming", "take"]

# Per tensor: type, shape and stride, then the address of a lazy clone (CPU), or the bytes (CPU), or a clone (GPU).
_Kept = tuple[torch.dtype, torch.Size, tuple[int, ...], int | None, bytearray | None, Tensor]
Snapshot = tuple[_Kept, ...]

_address: Any = getattr(torch._C, "_data_address", None)  # `Tensor.data_ptr()` would count as a write
_use_count: Any = getattr(torch._C, "_storage_Use_Count", None)


def take(tensors: Sequence[Tensor]) -> Snapshot | None:
    """A snapshot, or None where a result must not outlive the call (transforms, fake tensors, captured graphs)."""
    if is_transforming() or not all(map(_is_plain, tensors)):
        return None
    with torch.inference_mode(False), torch.no_grad():
        return tuple(map(_keep, tensors))


def changed(snapshot: Snapshot, tensors: Sequence[Tensor]) -> bool:
    """Whether any bit may have changed since the snapshot; only what is certainly unchanged gives False."""
    if len(snapshot) != len(tensors) or is_transforming():
        return True
    for (dtype, shape, stride, address, content, kept), tensor in zip(snapshot, tensors, strict=True):
        if not _is_plain(tensor) or tensor.dtype is not dtype or tensor.shape != shape or tensor.stride() != stride:
            return True
        if address is not None:  # the lazy clone is alive, so nothing else can have come to lie at its address
            if not tensor.is_cpu or _address(tensor) != address:
                return True
        elif content is not None:  # comparing a bytearray with a buffer is a memcmp
            if not tensor.is_cpu or content != tensor.detach().numpy().data:
                return True
        elif tensor.device != kept.device or not torch.equal(kept, tensor):
            return True
    return False


def _keep(tensor: Tensor) -> _Kept:
    plain, clone = tensor.detach(), None
    facts = tensor.dtype, tensor.shape, tensor.stride()
    if not tensor.is_cpu:
        return *facts, None, None, plain.clone()
    if _address and _use_count:
        storage = plain.untyped_storage()
        # Not resizable: without an allocator (torch.load, numpy), where a write to a lazy clone would crash. More than
        # three users (the tensor, `plain`, `storage`): one of them may be numpy, which writes unseen.
        if storage.resizable() and not storage.is_shared() and _use_count(storage._cdata) <= 3:
            clone = _lazy_clone(plain)
    if clone is None:
        return *facts, None, bytearray(plain.numpy()), plain.new_empty(0)
    return *facts, _address(clone), None, clone


def _lazy_clone(plain: Tensor) -> Tensor | None:
    try:
        return torch._lazy_clone(plain)
    except RuntimeError:  # storages torch cannot share lazily
        return None


def _is_plain(tensor: Tensor) -> bool:
    """Whether the tensor is nothing but its bytes: no subclass, no storage elsewhere, no graph being captured."""
    if type(tensor) not in (nn.Parameter, Tensor) or tensor.is_inference():
        return False
    return tensor.is_cpu or not (tensor.is_meta or (tensor.is_cuda and torch.cuda.is_current_stream_capturing()))


def is_transforming() -> bool:
    """Inside torch.func or forward-mode differentiation results are wrapped, or carry tangents: not to be kept."""
    return torch._C._functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0
