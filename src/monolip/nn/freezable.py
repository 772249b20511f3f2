"""Is a live module the data it seems to be? Subclasses, hooks and computed weights are code, which no file can hold."""

from __future__ import annotations

from torch import nn

from ..errors import FreezeError

__all__ = ["check_is_data", "check_no_hooks"]


def check_is_data(module: nn.Module, *classes: type[nn.Module]) -> None:
    """Refuse a module whose own forward pass is not that of one of `classes`."""
    if type(module).forward not in [known.forward for known in classes]:
        names = " and ".join(known.__name__ for known in classes)
        raise FreezeError(
            f"only {names} can be frozen; got {type(module).__name__}; its forward pass is code, and a FrozenNetwork "
            "holds data alone."
        )
    _check_plain(module, type(module).__name__)


def check_no_hooks(module: nn.Module) -> None:
    """Refuse forward hooks, replaced forward passes and computed weights anywhere inside."""
    for name, part in module.named_modules():
        _check_plain(part, f"{name or 'the module'} ({type(part).__name__})")


def _check_plain(part: nn.Module, where: str) -> None:
    hooked = part._forward_hooks or part._forward_pre_hooks or "forward" in part.__dict__
    if hooked:
        raise FreezeError(
            f"a frozen module computes what its layers say; {where} has a forward hook or a forward pass of its own "
            "(pruning and weight_norm add such hooks); remove it first, e.g. by prune.remove or remove_weight_norm."
        )
    if isinstance(getattr(part, "weight", None), nn.Parameter) or not hasattr(part, "weight"):
        return
    raise FreezeError(
        f"a frozen layer stores its parameter `weight`; that of {where} is computed from others; make it a parameter "
        "first, e.g. by prune.remove, remove_weight_norm or remove_parametrizations."
    )
