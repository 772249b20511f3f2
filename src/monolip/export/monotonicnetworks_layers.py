"""Reading a torch model of the reference package: effective weights, sorts, residual; without importing it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.errors import FreezeError, InputError
from monolip.export.monotonicnetworks_genuine import require_genuine
from monolip.output_link import OutputLink
from monolip.paper_form import Activation, Rectify, Sort

__all__ = ["Layers", "layers_of"]

FloatArray = NDArray[np.float64]
_LINEAR = ("Linear", "LipschitzLinear", "ParametrizedLinear", "ParametrizedLipschitzLinear")
_WRAPPERS = ("MonotonicWrapper", "SigmaNet")
_PASSED = ("Identity", "Dropout")  # nothing happens there in evaluation
_REFUSED = {
    "RMSNorm": "RMSNorm is not 1-Lipschitz in L1 or Linf (its gain grows like the square root of the width)",
    "MonotonicLayer": "a stack of MonotonicLayers is Lipschitz from L1 to Linf only, layer by layer, so its bounds "
    "do not multiply",
}
_REFUSED["ParametrizedMonotonicLayer"] = _REFUSED["MonotonicLayer"]


class Layers(NamedTuple):
    """Effective weights (out, in) as float64 of what float32 stores, and what lies between and around them."""

    weights: list[FloatArray]
    biases: list[FloatArray]
    activations: list[Activation]
    constant: float
    constraints: FloatArray  # (n_outputs, n_features)
    trained: tuple[str, ...]
    link: OutputLink | None


def layers_of(model: Any) -> Layers:
    """The layers of a wrapper, or of a Sequential of layers; anything else is refused by name."""
    parts, link = _flat(model), None
    if parts and type(parts[-1]).__name__ == "Sigmoid":
        require_genuine(parts[-1])
        parts, link = parts[:-1], OutputLink("logit", (0, 1))
    wrapper = parts[0] if len(parts) == 1 and type(parts[0]).__name__ in _WRAPPERS else None
    if wrapper is not None:
        require_genuine(wrapper)
        parts = _flat(wrapper.nn)
    weights: list[FloatArray] = []
    biases: list[FloatArray] = []
    trained: list[str] = []
    activations: list[Activation] = []
    for part in parts:
        word = type(part).__name__
        if word in _REFUSED:
            raise FreezeError(f"the bound of a network is a product of norms; {_REFUSED[word]}; there is no guarantee.")
        if word in (*_PASSED, *_LINEAR, "GroupSort", "ReLU"):
            require_genuine(part)
        if word in _PASSED:
            continue
        if word in _LINEAR:
            if len(activations) != len(weights):
                raise FreezeError("layers alternate with activations; got two layers in a row; multiply them first.")
            weight = _effective(part)
            weights.append(weight)
            biases.append(np.zeros(len(weight)) if part.bias is None else _numbers(part.bias))
            trained.append(_declared(part))
        elif word in ("GroupSort", "ReLU") and len(activations) == len(weights) - 1:
            activations.append(Rectify() if word == "ReLU" else _sort(part, len(biases[-1])))
        else:
            raise InputError(
                f"a model of the reference package has Linear layers with GroupSort or ReLU between them; got {word}; "
                "import its trunk."
            )
    if not weights or len(activations) != len(weights) - 1:
        raise InputError("a network begins and ends with a Linear layer; got another; import its trunk.")
    constant, constraints = _residual(wrapper, weights[-1].shape[0], weights[0].shape[1])
    if link is not None and len(constraints) != 1:
        raise InputError(f"a Sigmoid means one output; got {len(constraints)}; import the model without it.")
    return Layers(weights, biases, activations, constant, constraints, tuple(trained), link)


def _flat(module: Any) -> list[Any]:
    """The parts of nested Sequentials, in order."""
    if not hasattr(module, "children") or not hasattr(module, "state_dict"):
        raise InputError(
            f"a model of the reference package is a torch module; got {type(module).__name__}; pass the trained model."
        )
    if type(module).__name__ != "Sequential":
        return [module]
    require_genuine(module)
    return [part for child in module.children() for part in _flat(child)]


def _numbers(tensor: Any) -> FloatArray:
    values = np.asarray(tensor.detach().cpu().double().numpy(), dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError("weights and biases are finite; got others; train it again.")
    return values


def _effective(layer: Any) -> FloatArray:
    """The weight the forward pass multiplies by: after parametrisations, and after hooks that project it."""
    hooks = list(getattr(layer, "_forward_pre_hooks", {}).values())
    if not hooks:
        return _numbers(layer.weight)
    before = layer.weight.detach().clone()
    try:
        for hook in hooks:  # project_norm writes the normalised weight back: undone below
            hook(layer, None)
        return _numbers(layer.weight)
    finally:
        layer.weight.data.copy_(before)


def _sort(part: Any, width: int) -> Sort:
    count, axis = int(part.n_groups), int(part.axis)
    if count < 1 or width % count or axis not in (-1, 1):
        raise InputError(
            f"GroupSort sorts whole groups of the last axis; got n_groups={count} of {width}, axis={axis}; correct it."
        )
    return Sort(width // count)


def _residual(wrapper: Any, n_outputs: int, n_features: int) -> tuple[float, FloatArray]:
    if wrapper is None:
        return 0.0, np.zeros((n_outputs, n_features))
    constant = float(_numbers(wrapper.lipschitz_const).ravel()[0])
    given = _numbers(wrapper.monotonic_constraints)
    try:
        constraints = np.broadcast_to(given, (n_features, n_outputs)).T
    except ValueError:
        raise InputError(
            f"constraints have a row per feature, {n_features}, and a column per output, {n_outputs}; got "
            f"{given.shape}; check the model."
        ) from None
    return constant, np.array(constraints)


def _declared(layer: Any) -> str:
    """The `kind` a layer was normalised to, which the package keeps in a closure; "?" where there is none to read."""
    parametrisations = getattr(layer, "parametrizations", None)
    functions = [type(p).forward for p in parametrisations["weight"]] if parametrisations is not None else []
    functions += list(getattr(layer, "_forward_pre_hooks", {}).values())
    for function in functions:
        function = getattr(function, "__wrapped__", function)
        code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
        known = dict(zip(code.co_freevars if code else (), (cell.cell_contents for cell in cells), strict=False))
        if "kind" in known:
            return f"{known['kind']} <= {known.get('max_norm') or 1:g}"
    return "?"
