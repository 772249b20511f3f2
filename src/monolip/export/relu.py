r"""Dense layers and ReLU alone, for tools that know nothing else: the same function in exact arithmetic.

    d = a - b:     min(a, b) = b - relu(-d)        max(a, b) = b + relu(d)        b = relu(b) - relu(-b)

Four units a pair. Piecewise-linear maps of numbers become one more layer, a unit a knot. What is lost: differences of
weights are rounded, and a value travels as a difference of two, so **directions no longer hold bit for bit** and slopes
only up to rounding; the parity report says what was measured. Use C, ONNX in order, or fixed point where bits matter.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.errors import FreezeError, InputError
from monolip.export.onnx_parity import Artefact, Columns, measured
from monolip.export.onnx_source import network_for, require_float32_room, write_file
from monolip.export.parity import ParityReport
from monolip.export.parity_room import absolute_terms
from monolip.export.relu_layers import relu_inputs, relu_members, usual_inputs
from monolip.frozen import FrozenNetwork

__all__ = ["ReluMLP", "relu_mlp", "to_relu_mlp"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReluMLP:
    """Dense layers with ReLU between them.

    Args:
        weights, biases: (out, in) and (out,), one pair per layer; no ReLU after the last.
    """

    weights: tuple[NDArray[Any], ...]
    biases: tuple[NDArray[Any], ...]

    @property
    def n_parameters(self) -> int:
        return sum(w.size + b.size for w, b in zip(self.weights, self.biases, strict=True))

    def evaluate(self, x: ArrayLike) -> NDArray[Any]:
        """Shape (n, n_features) -> (n, n_outputs), in the type of the weights."""
        z, wanted = np.asarray(x, dtype=self.weights[0].dtype), self.weights[0].shape[1]
        if z.ndim != 2 or z.shape[1] != wanted:
            raise InputError(f"rows have {wanted} features; got shape {z.shape}; pass (n, {wanted}).")
        with np.errstate(over="ignore", invalid="ignore"):  # infinities where the type ends, as everywhere
            for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
                z = np.maximum(z @ weight.T + bias, 0)
            return np.asarray(z @ self.weights[-1].T + self.biases[-1])

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Arrays named as in torch.nn.Sequential(Linear, ReLU, Linear, ...)."""
        names = [(f"{2 * k}.weight", f"{2 * k}.bias") for k in range(len(self.weights))]
        pairs = zip(names, self.weights, self.biases, strict=True)
        return {name: array for (w, b), weight, bias in pairs for name, array in ((w, weight), (b, bias))}


def relu_mlp(model: Any, *, arithmetic: str = "float64") -> ReluMLP:
    """The lowering of a fitted estimator or a FrozenNetwork of numbers; takes raw features, without missing values.

    Examples:
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> form = ConvexForm(([[1.0], [-1.0]], [[0.0, 1.0]]), ([0.0, 0.0], [0.0]), (2,))  # |x|
        >>> relu_mlp(FrozenNetwork(SlopeBounds([-1.0], [1.0]), ((Trunk(form, (0,)),),))).evaluate(
        ...     [[-3.0], [2.0]]
        ... ).ravel()
        array([3., 2.])
    """
    if arithmetic not in ("float32", "float64"):
        raise InputError(f"ReLU layers are of floats; got arithmetic={arithmetic!r}; choose float32 or float64.")
    network = network_for(model, "float64")
    assert isinstance(network, FrozenNetwork), "float64 is never fixed point"
    layers, (read, offset) = relu_inputs(network)
    hidden, (out, shift) = relu_members(network)
    for weight, bias in [*hidden, (out, shift)]:
        layers.append((weight @ read, weight @ offset + bias))
        read, offset = np.eye(len(bias)), np.zeros(len(bias))
    kind = np.dtype(arithmetic)
    if arithmetic == "float32":
        require_float32_room(network)
        if any(np.abs(array).max() > np.finfo(kind).max for layer in layers for array in layer):
            raise FreezeError("weights must fit float32; got larger ones; export float64.")
    return ReluMLP(tuple(w.astype(kind) for w, _ in layers), tuple(b.astype(kind) for _, b in layers))


def to_relu_mlp(
    model: Any, path: str | PathLike[str], *, arithmetic: str = "float64", rows: int = 2000
) -> ParityReport:
    """Write the ReLU lowering as a safetensors file of `ReluMLP.state_dict`, and return the parity report.

    The report is about inputs where training data may lie (all knots and as much again on either side): beyond, terms
    that cancel grow without end.
    """
    from safetensors.numpy import save

    lowered = relu_mlp(model, arithmetic=arithmetic)
    network = network_for(model, "float64")
    assert isinstance(network, FrozenNetwork)

    def run(columns: Columns) -> NDArray[Any]:
        return lowered.evaluate(np.stack(columns, axis=1))

    def terms(columns: Columns) -> FloatArray:  # a value travels as a difference of two, which are larger
        return absolute_terms(np.abs(np.stack(columns, axis=1)), lowered.weights, lowered.biases, ())

    how = "dense layers and ReLU in numpy, inputs inside the knots and as far again; no direction is promised"
    artefact = Artefact("relu_mlp", arithmetic, path, False, how)
    report = measured(network, run, artefact, rows=rows, inside=usual_inputs(network), extra=terms)
    arrays = {name: np.ascontiguousarray(array) for name, array in lowered.state_dict().items()}
    certified = "nothing: a lowering for tools without min and max"
    note = json.dumps({"digest": network.digest, "certified": certified}, sort_keys=True)
    write_file(save(arrays, metadata={"monolip": note}), path)  # one key: the order of several would be random
    return report
