r"""A frozen or fixed-point network as a graph: raw columns in, scores and perhaps predictions out.

    inputs -> model columns (float64) -> layers (float32, float64, or integers in float64) -> score -> prediction

Bad inputs have a defined result: infinities count as the largest number, NaN where a column has no rule for missing
values makes all outputs of that row NaN.
"""

from __future__ import annotations

import numpy as np

from monolip.errors import InputError, PrecisionError
from monolip.export.onnx_graph import Graph
from monolip.export.onnx_inputs import any_of, model_columns, raw_tensors
from monolip.export.onnx_layers import Layers
from monolip.export.onnx_link import fixed_predictions, predictions, scaled_scores
from monolip.export.onnx_source import Network, is_ordered
from monolip.fixed_point import FixedPointNetwork
from monolip.free_branch import FreeBranch
from monolip.frozen import FrozenNetwork

__all__ = ["fixed_graph", "float_graph", "graph_of", "promises_bits"]


def graph_of(network: Network, arithmetic: str, *, in_order: bool = False, predictions: bool = False) -> Graph:
    """The graph of a network that `network_for` gave for this arithmetic; what to_onnx and to_torch share."""
    if isinstance(network, FixedPointNetwork):
        if in_order:
            raise InputError("in_order is about floats: integers are exact anyhow; got fixed-point; leave it out.")
        return fixed_graph(network, predict=predictions)
    return float_graph(network, arithmetic, in_order=in_order, predict=predictions)


def promises_bits(network: Network, in_order: bool) -> bool:
    """Whether a runtime that computes the graph as it stands gives the library's bits, and so every direction."""
    return network.free is None if isinstance(network, FixedPointNetwork) else in_order and is_ordered(network)


def float_graph(network: FrozenNetwork, kind: str, *, in_order: bool = False, predict: bool = False) -> Graph:
    """The graph of a FrozenNetwork whose weights are exact in `kind`, "float32" or "float64".

    Args:
        in_order: sums in the order of `FrozenNetwork.evaluate`, one product and one addition at a time.
        predict: one more output, the prediction or the class probabilities.
    """
    g = Graph(kind)
    if network.inputs is not None:
        raw = raw_tensors(g, network.inputs.columns, kind)
        x, refused = model_columns(g, network.inputs.columns, raw), raw.refused
        x = x if kind == "float64" else g.cast(x, kind)
    else:
        given = g.input("X", kind, network.n_features + network.n_free_features)
        absent = g.add("IsNaN", given)
        x, refused = g.add("Where", absent, g.constant(0.0), given), [any_of(g, absent, None)]
    layers = Layers(g, in_order)
    if network.free_branch is not None:
        d = network.n_features
        h = _free_branch(layers, network.free_branch, _columns(g, x, d, d + network.n_free_features), refused)
        x = g.add("Concat", _columns(g, x, 0, d), h, axis=1)
    f = layers.average(network, x)
    g.output("score", _guarded(g, f, refused, kind), network.n_outputs)
    if predict:
        link = network.link
        if link is None:
            raise InputError("predictions need a link; this network has none; export its scores.")
        wide = f if kind == "float64" else g.cast(f, "float64")
        value, columns = predictions(g, link, wide)
        value = value if kind == "float64" else g.cast(value, kind)
        g.output(_name(link.name), _guarded(g, value, refused, kind), columns)
    return g


def fixed_graph(network: FixedPointNetwork, *, predict: bool = False) -> Graph:
    """The graph of a FixedPointNetwork: integers carried by float64, the same bits as its `evaluate` and `predict`."""
    if "float64" not in network.carriers:
        raise PrecisionError(
            f"float64 must hold every sum; this network's reach {network.reach}; compile it with preset='wide'."
        )
    g, free = Graph("float64"), network.free
    raw = raw_tensors(g, (*network.inputs.columns, *(free.inputs.columns if free else ())), "float64")
    x = model_columns(g, network.inputs.columns, raw)
    if free is not None:
        h = _free_branch(Layers(g, True), free.branch, model_columns(g, free.inputs.columns, raw), raw.refused)
        most = np.array(free.limits, dtype=np.float64)[None]
        whole = g.add("Round", g.with_row("Mul", h, free.rates))
        whole = g.add("Min", g.add("Max", whole, g.constant(-most)), g.constant(most))
        x = g.add("Concat", x, whole, axis=1)
    limit = None if network.format.limit is None else float(network.format.limit)
    f = Layers(g, scale=2.0**-network.format.shift, limit=limit).average(network, x)
    g.output("score", _guarded(g, scaled_scores(g, network.link, f), raw.refused, "float64"), network.n_outputs)
    if predict:
        if network.link.link is None:
            raise InputError("predictions need a link; this network has none; export its scores.")
        value, columns = fixed_predictions(g, network.link, f)
        g.output(_name(network.link.name), _guarded(g, value, raw.refused, "float64"), columns)
    return g


def _name(link: str) -> str:
    return "probability" if link in ("logit", "softmax") else "prediction"


def _guarded(graph: Graph, value: str, refused: list[str], kind: str) -> str:
    """NaN in the rows that hold a missing value nobody has a rule for."""
    for flag in refused:
        value = graph.add("Where", flag, graph.constant(np.nan, kind), value)
    return value


def _columns(graph: Graph, x: str, first: int, stop: int) -> str:
    return graph.add("Gather", x, graph.constant(np.arange(first, stop), "int64"), axis=1)


def _free_branch(layers: Layers, branch: FreeBranch, u: str, refused: list[str]) -> str:
    """Dense layers without a promise; an overflow to NaN is refused, as in Python."""
    g = layers.graph
    for weight, bias, name in zip(branch.weights, branch.biases, branch.activations, strict=True):
        u = layers.affine(u, weight, bias, np.arange(weight.shape[1]), 1)[0]
        if name in ("relu", "tanh"):
            u = g.add(name.capitalize(), u)
        elif name == "silu":
            far = 700.0 if g.kind == "float64" else 85.0
            near = g.add("Clip", u, g.constant(-far), g.constant(far))
            grown = g.add("Add", g.constant(1.0), g.add("Exp", g.add("Neg", near)))
            u = g.add("Div", g.add("Max", u, g.constant(-far)), grown)
    absent = g.add("IsNaN", u)
    refused.append(any_of(g, absent, None))
    return g.add("Where", absent, g.constant(0.0), u)
