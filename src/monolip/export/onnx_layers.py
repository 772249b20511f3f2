r"""Trunks and their average as a graph: the split-row form, in which no sort is left.

    slot s of all groups:  a_s = z W_s^T + b_s        rows of W that stand s-th in their group
    sorted:                comparators (Min, Max) between slots; two slots: h = Concat(Min(a_0, a_1), Max(a_0, a_1))
    next layer:            its columns permuted once, here, to that order

Minimum and maximum are exact, so this is the same function, whatever the group size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.convex import ConvexForm
from monolip.errors import FreezeError
from monolip.export.c_network import float_limit
from monolip.export.onnx_graph import Graph
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_trunk import FixedTrunk
from monolip.frozen import FrozenNetwork
from monolip.paper_form import PaperForm, Rectify, Sort

__all__ = ["Layers", "comparators"]

Array = NDArray[Any]


def comparators(n: int) -> Iterator[tuple[int, int]]:
    """Pairs (i, j), i < j, whose comparison in this order sorts n numbers (Batcher's merge exchange).

    >>> list(comparators(2)), len(list(comparators(8)))
    ([(0, 1)], 19)
    """
    top = 1 << max(0, math.ceil(math.log2(n)) - 1) if n > 1 else 0
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            yield from ((i, i + d) for i in range(n - d) if i & p == r)
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2


@dataclass
class Layers:
    """Writes layers into a graph.

    Args:
        graph: to append to.
        in_order: sums as single products and additions in the order of `monolip.ordered`, instead of matrix products,
            whose order is the runtime's own.
        scale: what sums are multiplied by before they are rounded down (fixed point); None for floats.
        limit: what activations are clamped to, either sign; None for no clamp.
    """

    graph: Graph
    in_order: bool = False
    scale: float | None = None
    limit: float | None = None

    def average(self, network: FrozenNetwork | FixedPointNetwork, x: str) -> str:
        """f of model columns, (rows, n_outputs); in fixed point an integer carried by a float."""
        g, total = self.graph, None
        assert network.member_weights is not None, "set in __post_init__"
        for weight, member in zip(network.member_weights.tolist(), network.members, strict=True):
            trunks: tuple[Any, ...] = member
            parts = [self.trunk(t if isinstance(t, FixedTrunk) else t.form, x) for t in trunks]
            order = np.argsort([k for t in trunks for k in t.outputs])
            value = parts[0] if len(parts) == 1 else g.add("Concat", *parts, axis=1)
            if (np.diff(order) < 0).any():
                value = g.add("Gather", value, g.constant(order, "int64"), axis=1)
            if weight != 1.0:
                value = g.with_row("Mul", value, np.full(network.n_outputs, weight))
            if self.scale is not None and total is None:
                total = g.constant(0.5 / self.scale)  # half a unit: rounding to nearest
            total = value if total is None else g.add("Add", total, value)
        assert total is not None
        return total if self.scale is None else self._rounded(total)

    def trunk(self, form: ConvexForm | PaperForm | FixedTrunk, x: str) -> str:
        """One network, (rows, n_outputs)."""
        g, z = self.graph, x
        if isinstance(form, FixedTrunk):
            value = self.layers(form.weights, form.biases, form.group_sizes, x)
            if form.residual is None:
                return value
            return g.add("Add", value, g.add("MatMul", x, g.constant(form.residual.T)))
        limit = clamp_limit(form, g.kind)
        z = x = g.add("Clip", x, g.constant(-limit), g.constant(limit))
        if isinstance(form, ConvexForm):
            return self.layers(form.weights, form.biases, form.group_sizes, z)
        z = g.with_row("Mul", x, form.radius)
        sizes = [a.group_size if isinstance(a, Sort) else 0 for a in form.activations]
        assert all(isinstance(a, Sort | Rectify) for a in form.activations), "others have no certificate"
        value = g.with_row("Mul", self.layers(form.weights, form.biases, sizes, z), form.scale)
        zero = np.zeros(form.n_outputs)
        return g.add("Add", self.affine(x, form.center, zero, np.arange(form.n_features), 1)[0], value)

    def layers(self, weights: Sequence[Array], biases: Sequence[Array], sizes: Sequence[int], z: str) -> str:
        """Affine layers with sorts of the given group sizes between them; size 0 stands for max(z, 0)."""
        g, at = self.graph, np.arange(weights[0].shape[1])
        for weight, bias, size in zip(weights[:-1], biases[:-1], sizes, strict=True):
            slots = [self._activation(a) for a in self.affine(z, weight, bias, at, size or 1)]
            if size == 0:
                slots = [g.add("Relu", slots[0])]
            for i, j in comparators(len(slots)):
                slots[i], slots[j] = g.add("Min", slots[i], slots[j]), g.add("Max", slots[i], slots[j])
            z = slots[0] if len(slots) == 1 else g.add("Concat", *slots, axis=1)
            at = np.arange(len(bias)).reshape(-1, size or 1).T.ravel()  # unit that stands at each place of z
        (value,) = self.affine(z, weights[-1], biases[-1], at, 1)
        return value if self.scale is None else self._rounded(value)

    def affine(self, z: str, weight: Array, bias: Array, at: Array, slots: int) -> list[str]:
        """z W^T + b, as one tensor per place in a group; `at` says which unit stands at each place of z."""
        if self.in_order:
            return self._affine_in_order(z, weight, bias, at, slots)
        g, out = self.graph, []
        for s in range(slots):
            product = g.add("MatMul", z, g.constant(weight[s::slots, :][:, at].T))
            zero = not bias[s::slots].any()
            out.append(product if zero else g.with_row("Add", product, bias[s::slots]))
        return out

    def _affine_in_order(self, z: str, weight: Array, bias: Array, at: Array, slots: int) -> list[str]:
        g, count = self.graph, len(at)
        columns = [z] if count == 1 else g.add_many("Split", count, z, g.constant([1] * count, "int64"), axis=1)
        rows = np.arange(len(bias)).reshape(-1, slots).T.ravel()
        total = ""
        for unit, place in enumerate(np.argsort(at).tolist()):
            term = g.with_row("Mul", columns[place], weight[rows, unit])
            total = g.add("Add", total, term) if total else g.with_row("Add", term, bias[rows])
        if slots == 1:
            return [total]
        return g.add_many("Split", slots, total, g.constant([len(bias) // slots] * slots, "int64"), axis=1)

    def _activation(self, a: str) -> str:
        if self.scale is None:
            return a
        z, g = self._rounded(a), self.graph
        return z if self.limit is None else g.add("Clip", z, g.constant(-self.limit), g.constant(self.limit))

    def _rounded(self, a: str) -> str:
        assert self.scale is not None
        return self.graph.add("Floor", self.graph.add("Mul", a, self.graph.constant(self.scale)))


def clamp_limit(form: ConvexForm | PaperForm, kind: str) -> float:
    """The power of two beyond which inputs are clamped, so that no value overflows in the type of the layers."""
    if kind == "float64":
        return form.clamp_limit
    assert isinstance(form, ConvexForm), "float32 networks are in convex form"
    try:
        return float_limit(form)
    except ValueError as error:
        raise FreezeError(f"sums must fit float32; {error}; export float64.") from None
