r"""Whether a torch model computes what its layers say: the package's own classes, no foreign hook, the same outputs.

A verdict is about weights, so anything else in the forward pass would escape it: a hook that turns an input around, a
class that is merely *named* GroupSort. What runs must be torch's or the package's, and then outputs are compared:

    |model(x) - network(x)|  <=  2 n u M(x)        n = terms of all layers, u = half an ulp of 1, M = sums of |terms|
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import FreezeError
from monolip.frozen import FrozenNetwork
from monolip.paper_form import Sort

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monolip.export.monotonicnetworks_layers import Layers

__all__ = ["PACKAGES", "require_genuine", "require_same_outputs"]

FloatArray = NDArray[np.float64]
PACKAGES = ("monotonicnetworks", "monotonenorm")  # its name today, and before
_OWNERS = {"LipschitzLinear": "Linear", "SigmaNet": "MonotonicWrapper"}  # whose forward a class inherits
_HOOKS = ("_forward_pre_hooks", "_forward_hooks")
_ROWS = 64


def require_genuine(part: Any) -> None:
    """Refuse a module whose forward pass is not that of the class it is named after, or that has foreign hooks."""
    word = type(part).__name__.removeprefix("Parametrized")
    owner = next((c for c in type(part).__mro__ if "forward" in vars(c)), object)
    plain = "forward" not in vars(part) and owner.__name__ == _OWNERS.get(word, word) and _is_known(owner)
    base = next((c for c in type(part).__mro__ if c.__name__ == "Module" and _is_known(c)), object)
    calls = ("__call__", "_call_impl", "_wrapped_call_impl")
    plain = plain and all(getattr(type(part), name, 0) is getattr(base, name, 1) for name in calls)
    if not plain or any(name in vars(part) for name in calls):
        raise FreezeError(
            f"a verdict is about layers of torch and of {PACKAGES[0]}; got a {word} with a forward pass of its own; "
            "import a model of the package's classes."
        )
    module = sys.modules[base.__module__]
    hooks = [hook for name in _HOOKS for hook in getattr(module, f"_global{name}", {}).values()]
    hooks += [hook for name in _HOOKS for hook in getattr(part, name, {}).values() if not _projects(part, name, hook)]
    if hooks:
        raise FreezeError(
            f"a verdict is about layers, not about hooks; {word} has a forward hook ({hooks[0]!r:.80}); remove it, and "
            "import again."
        )


def _root(thing: Any) -> str:
    return str(getattr(thing, "__module__", "")).split(".")[0]


def _is_known(owner: type) -> bool:
    """Whether a class is torch's or the package's, under its own name, and its forward the one it came with."""
    home = sys.modules.get(owner.__module__)
    known = ("torch", *PACKAGES)
    own = _root(owner) in known and _root(vars(owner).get("forward", owner)) in known
    return own and getattr(home, owner.__name__, None) is owner


def _projects(part: Any, name: str, hook: Any) -> bool:
    """Whether a hook writes the weight before the forward pass, as project_norm (and torch's weight_norm) do."""
    return name == _HOOKS[0] and hasattr(part, "weight") and _root(hook) in ("torch", *PACKAGES)


def require_same_outputs(model: Any, found: Layers, network: FrozenNetwork) -> None:
    """Compare on random rows of three sizes, in evaluation mode; the model is left as it was."""
    rng = np.random.default_rng(0)
    size = np.repeat([1e-2, 1.0, 1e2], _ROWS)[:, None]
    x = (rng.normal(size=(3 * _ROWS, network.n_features)) * size).astype(np.float32).astype(np.float64)
    with _evaluating(model) as run:
        got, unit = run(x)
    expected, scale = network.evaluate(x), _scale(found, x)
    terms = sum(w.shape[1] + 2 for w in found.weights) + network.n_features + 2
    room = 2 * terms * unit * scale
    if found.link is not None:
        expected, room = 1 / (1 + np.exp(-np.clip(expected, -700, 700))), room / 4 + 8 * unit
    if got.shape != expected.shape or not (np.abs(got - expected) <= room).all():
        raise FreezeError(
            "a model computes what its layers say; this one gives other outputs than its weights, sorts and residual "
            "do; remove what else is in its forward pass, and import again."
        )


def _scale(found: Layers, x: FloatArray) -> FloatArray:
    """Sums of the absolute values of all terms, (n, n_outputs): what rounding errors are relative to."""
    z = np.abs(x)
    for k, (weight, bias) in enumerate(zip(found.weights, found.biases, strict=True)):
        z = z @ np.abs(weight).T + np.abs(bias)
        if k < len(found.activations) and isinstance(activation := found.activations[k], Sort):
            groups = z.reshape(len(z), -1, activation.group_size).max(axis=2)
            z = np.repeat(groups, activation.group_size, axis=1)
    return np.asarray(z + abs(found.constant) * (np.abs(x) @ np.abs(found.constraints).T))


@contextmanager
def _evaluating(model: Any) -> Iterator[Any]:
    """Outputs of float64 rows and the unit of rounding; modes, and weights that hooks write to, are put back."""
    torch = sys.modules["torch"]
    modes = [(module, module.training) for module in model.modules()]
    kept = {name: value.detach().clone() for name, value in model.state_dict().items()}
    like = next(iter(model.parameters()))

    def run(x: FloatArray) -> tuple[FloatArray, float]:
        with torch.no_grad():
            f = model(torch.from_numpy(x).to(dtype=like.dtype, device=like.device))
        return f.detach().cpu().double().numpy(), float(torch.finfo(like.dtype).eps) / 2

    try:
        model.eval()
        yield run
    finally:
        for module, mode in modes:
            module.training = mode
        with torch.no_grad():
            for name, value in model.state_dict().items():
                value.copy_(kept[name])
