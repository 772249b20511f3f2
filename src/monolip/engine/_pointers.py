"""Calls through the address of a compiled loss: kernels that use it compile once for all losses.

An address is a plain integer, so numba need not find out the type of a function object at every call from Python,
which took longer than a hundred rows of work.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["call_gradient", "call_value"]


def _call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kinds = [context.get_value_type(kind) for kind in (signature.return_type, *signature.args[1:])]
    function = builder.inttoptr(args[0], ir.FunctionType(kinds[0], kinds[1:]).as_pointer())
    return builder.call(function, args[1:])


@intrinsic
def call_value(typingctx, address, f, y, weight, parameter):  # type: ignore[no-untyped-def]
    """sum weight * loss: the value kernel at an address, see losses.loss_kernels."""
    return types.float64(types.int64, f, y, weight, types.float64), _call


@intrinsic
def call_gradient(typingctx, address, f, y, weight, out, parameter):  # type: ignore[no-untyped-def]
    """out = weight * d loss / d f: the gradient kernel at an address."""
    return types.void(types.int64, f, y, weight, out, types.float64), _call
