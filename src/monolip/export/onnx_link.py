r"""From scores to predictions in a graph, by the monotone tables of `output_link` and `fixed_point_link`.

Never ONNX's Sigmoid, Exp or Softmax: a runtime's own need not be monotone from one float to the next.

    floats:       e^x = E_i h(x - x_i), clamped between E_i and E_{i+1}; the operations of `ordered_exp` in their order
    fixed point:  the integers of `FixedLink`, in int64; shifts are divisions of numbers that are not negative
"""

from __future__ import annotations

import numpy as np

from monolip.export.onnx_graph import Graph
from monolip.fixed_point_link import EXPONENTIALS, FRACTION, PLACES, UNIT, FixedLink
from monolip.output_link import OutputLink, ordered_exp

__all__ = ["fixed_predictions", "predictions", "scaled_scores"]

_FAR = 990
_GRID = 64
_NEAR = 40.0  # probabilities: e^-40 is 4e-18; beyond, they stay as they are


def predictions(graph: Graph, link: OutputLink, f: str) -> tuple[str, int]:
    """Predictions (rows, 1) or probabilities (rows, n_classes) of scores f, in float64, and the number of columns."""
    g = graph
    if link.name == "identity":
        return f, 1
    if link.name == "log":
        return _exp(g, f, 708.0), 1
    if link.name == "logit":
        own, other = g.add("Neg", f), f  # P = 1 / (1 + e^-f) of the class that f is about, 1 / (1 + e^f) of the other
        both = g.add("Concat", *((other, own) if link.positive else (own, other)), axis=1)
        one = g.constant(1.0, "float64")
        return g.add("Div", one, g.add("Add", one, _exp(g, both, _NEAR))), 2
    count = link.n_outputs
    columns = g.add_many("Split", count, f, g.constant([1] * count, "int64"), axis=1)
    shares = []
    for own in columns:
        total = None
        for other in columns:
            term = _exp(g, g.add("Sub", other, own), _NEAR)
            total = term if total is None else g.add("Add", total, term)
        assert total is not None
        shares.append(g.add("Div", g.constant(1.0, "float64"), total))
    return g.add("Concat", *shares, axis=1), count


def _exp(graph: Graph, x: str, limit: float) -> str:
    """ordered_exp, clamped beyond +-limit."""
    g = graph

    def number(value: float) -> str:
        return g.constant(value, "float64")

    near = g.add("Clip", x, number(-limit), number(limit))
    cell = g.add("Floor", g.add("Mul", near, number(_GRID)))
    t = g.add("Sub", near, g.add("Div", cell, number(_GRID)))
    h = g.add("Add", number(1 / 120), g.add("Div", t, number(720.0)))
    for coefficient in (1 / 24, 1 / 6, 1 / 2, 1.0, 1.0):
        h = g.add("Add", number(coefficient), g.add("Mul", t, h))
    at = g.add("Add", g.cast(cell, "int64"), g.constant(int(limit * _GRID), "int64"))
    table = g.constant(ordered_exp(np.arange(-limit * _GRID, limit * _GRID + 2) / _GRID), "float64")
    low, high = g.add("Gather", table, at), g.add("Gather", table, g.add("Add", at, g.constant(1, "int64")))
    return g.add("Min", g.add("Max", g.add("Mul", low, h), low), high)


def fixed_predictions(graph: Graph, link: FixedLink, f: str) -> tuple[str, int]:
    """`FixedLink.apply` of integers f carried by float64, (rows, n_outputs): the same bits."""
    g = graph
    if link.link is None or link.name == "identity":
        return scaled_scores(g, link, f), 1
    whole = g.cast(f, "int64")
    if link.name == "log":
        mantissa, exponent = _fixed_exp(g, link, whole)
        powers = g.constant(np.ldexp(1.0, np.arange(-_FAR, _FAR + 1) - 26), "float64")
        place = g.add("Add", exponent, g.constant(_FAR, "int64"))
        return g.add("Mul", g.cast(mantissa, "float64"), g.add("Gather", powers, place)), 1
    if link.name == "logit":
        zero = g.add("Sub", whole, whole)
        columns = [zero, whole] if link.positive else [whole, zero]
    else:
        count = len((link.link and link.link.labels) or ())
        columns = g.add_many("Split", count, whole, g.constant([1] * count, "int64"), axis=1)
    shares = []
    for own in columns:
        total = None
        for other in columns:
            term = _term(g, link, g.add("Sub", other, own))
            total = term if total is None else g.add("Add", total, term)
        assert total is not None
        shares.append(g.add("Div", g.constant(float(UNIT), "float64"), g.cast(total, "float64")))
    return g.add("Concat", *shares, axis=1), len(columns)


def scaled_scores(graph: Graph, link: FixedLink, f: str) -> str:
    """Integers in units of the score: times a power of two, which is exact; then the offset, rounded once."""
    scaled = graph.add("Mul", f, graph.constant(float(np.ldexp(1.0, -link.unit)), "float64"))
    return graph.with_row("Add", scaled, [link.offset]) if link.offset else scaled


def _fixed_exp(graph: Graph, link: FixedLink, d: str) -> tuple[str, str]:
    """`FixedLink.exponential`: mantissa and exponent, int64."""
    g = graph

    def number(value: int) -> str:
        return g.constant(value, "int64")

    a = g.add("Mul", d, number(link.factor))
    one, step = number(1), number(1 << link.shift)
    below = g.add("Sub", g.add("Neg", a), one)  # floor(a / m) = -1 - (-1 - a) / m for a < 0: ONNX rounds to zero
    down = g.add("Sub", g.add("Neg", g.add("Div", below, step)), one)
    y = g.add("Where", g.add("Less", a, number(0)), down, g.add("Div", a, step))
    y = g.add("Min", g.add("Max", y, number(-_FAR << FRACTION)), number(_FAR << FRACTION))
    y = g.add("Add", y, number(_FAR << FRACTION))  # not negative, and the same fraction
    rest_bits = FRACTION - PLACES
    cell = g.add("Div", y, number(1 << rest_bits))
    place = g.add("Mod", cell, number(1 << PLACES))
    rest = g.add("Mod", y, number(1 << rest_bits))
    table = g.constant(EXPONENTIALS, "int64")
    low, high = g.add("Gather", table, place), g.add("Gather", table, g.add("Add", place, one))
    rise = g.add("Div", g.add("Mul", g.add("Sub", high, low), rest), number(1 << rest_bits))
    exponent = g.add("Sub", g.add("Div", y, number(1 << FRACTION)), number(_FAR))
    return g.add("Add", low, rise), exponent


def _term(graph: Graph, link: FixedLink, d: str) -> str:
    """min(floor(mantissa * 2^exponent), ceiling), int64, as `FixedLink._sum` adds them up."""
    g = graph
    mantissa, exponent = _fixed_exp(g, link, d)
    zero, powers = g.constant(0, "int64"), g.constant([1 << k for k in range(41)], "int64")
    right = g.add("Min", g.add("Max", g.add("Neg", exponent), zero), g.constant(40, "int64"))  # mantissas are < 2^28
    left = g.add("Min", g.add("Max", exponent, zero), g.constant(63 - 28, "int64"))
    shifted = g.add("Mul", g.add("Div", mantissa, g.add("Gather", powers, right)), g.add("Gather", powers, left))
    return g.add("Min", shifted, g.constant(link.ceiling, "int64"))
