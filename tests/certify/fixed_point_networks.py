"""Random frozen networks with raw columns of every kind, and the fixed-point evaluation in Python's own integers."""

from __future__ import annotations

import numpy as np

from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds
from tests.make import convex, paper

__all__ = ["exact_evaluate", "random_network", "table_network"]

BOX = SlopeBounds([0.0, -1.5, -1.0], [2.0, 0.0, 1.0], ("up", "down", "free"))


def random_network(rng, form="convex", depth=2, group_size=2, n_outputs=1, members=1):
    """Three model columns used as they are: one increasing, one decreasing, one free."""
    width = 4 if group_size == 4 else 6
    sizes = [3, *[width] * (depth - 1), n_outputs]
    make = convex if form == "convex" else paper
    trunks = [(Trunk(make(rng, sizes, group_size, BOX), tuple(range(n_outputs))),) for _ in range(members)]
    return FrozenNetwork(BOX, tuple(trunks))


def table_network(rng, link="identity", classes=3, missing="lowest", members=2):
    """Raw columns: amount (rising, two maps, missing), level (ordered), kind (unordered), pace (falling, linear)."""
    knots = np.sort(rng.normal(0, 30, 6)) + np.arange(6)
    values = np.sort(rng.normal(0, 1, 6))
    amount = (PiecewiseLinear(knots, values), PiecewiseLinear(knots[1:4], np.array([-0.2, 0.1, 0.1])))
    ends = [float(phi.values[0 if missing == "lowest" else -1]) for phi in amount]
    gone, here = (0.0, 1.0) if missing == "lowest" else (1.0, 0.0)
    columns = (
        NumericColumn("amount", amount, (*ends, gone), here, (-50.0, 0.0, 50.0)),
        CategoryColumn("level", ("low", "mid", "high"), [[-0.4], [0.1], [0.3], [0.0], [-0.4]], ordered=True),
        CategoryColumn("kind", ("a", "b"), rng.normal(size=(4, 2))),
        NumericColumn("pace", (PiecewiseLinear([1.0], [0.0], 0.25, 0.25),), seen=(-2.0, 1.0, 4.0)),
    )
    up, down = np.array([0.0, 0.0, 0.0, 0.0, -2.0, -2.0, -1.5]), np.array([2.0, 2.0, 1.0, 1.5, 2.0, 2.0, 0.0])
    inputs = InputTransform(columns)
    if link == "softmax":  # class 0 rises, all others fall
        lower = np.stack([up] + [-down] * (classes - 1), axis=1)
        upper = np.stack([down] + [-up] * (classes - 1), axis=1)
        bounds = SlopeBounds(lower, upper)
        trunks = [
            tuple(Trunk(convex(rng, [7, 4, 4, 1], 2, bounds.for_output(k)), (k,)) for k in range(classes))
            for _ in range(members)
        ]
        made = OutputLink("softmax", tuple(range(classes)))
    else:
        bounds = SlopeBounds(up, down)
        trunks = [(Trunk(convex(rng, [7, 6, 4, 1], 2, bounds), (0,)),) for _ in range(members)]
        classes_of = {"logit": (("no", "yes"),), "first": (("no", "yes"), 0, "loan")}  # first: f is about "no"
        made = OutputLink("logit", *classes_of[link]) if link in classes_of else OutputLink(link)
    return FrozenNetwork(bounds, tuple(trunks), inputs=inputs, link=made)


def exact_evaluate(network, row):
    """f of one integer row in Python's integers, which cannot overflow; every step as docs/fixed_point.md states it."""
    shift, limit = network.format.shift, network.format.limit
    total = [1 << (shift - 1)] * network.n_outputs
    for share, member in zip(network.member_weights.tolist(), network.members, strict=True):
        for trunk in member:
            x = z = [int(v) for v in row]
            for k, (weight, bias) in enumerate(zip(trunk.weights, trunk.biases, strict=True)):
                rows = zip(weight.tolist(), bias.tolist(), strict=True)
                z = [(b + sum(w * v for w, v in zip(r, z, strict=True))) >> shift for r, b in rows]
                if k < len(trunk.group_sizes):
                    z = z if limit is None else [min(max(v, -limit), limit) for v in z]
                    size = trunk.group_sizes[k]
                    z = [v for at in range(0, len(z), size) for v in sorted(z[at : at + size])]
            if trunk.residual is not None:
                terms = [sum(c * v for c, v in zip(r, x, strict=True)) for r in trunk.residual.tolist()]
                z = [a + b for a, b in zip(z, terms, strict=True)]
            for k, v in zip(trunk.outputs, z, strict=True):
                total[k] += share * v
    return [v >> shift for v in total]
