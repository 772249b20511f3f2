"""Random small networks with and without raw inputs, and decisions in exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from monolip.convex import ConvexForm, on_simplex
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds

from ..make import convex, exact_convex, exact_paper, paper

KINDS = ("plain", "deep", "ensemble", "raw", "paper", "classes", "classes apart", "raw classes", "affine")


def box(d, rng):
    """Increasing, decreasing and free features in turn."""
    low = np.array([[0.0, -1.0, -1.0][i % 3] for i in range(d)]) * rng.uniform(0.5, 2.0, d)
    high = np.array([[1.0, 0.0, 1.0][i % 3] for i in range(d)]) * rng.uniform(0.5, 2.0, d)
    return SlopeBounds(low, high, tuple(f"f{i}" for i in range(d)))


def network(kind, seed):
    """One FrozenNetwork of the kind, at the edge of what its slopes allow."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    if kind.startswith("raw"):
        return raw_network(rng, 3 if kind == "raw classes" else 1)
    slopes, group = box(d, rng), int(rng.choice([2, 4]))
    if kind == "paper":
        return FrozenNetwork(slopes, ((Trunk(paper(rng, [d, 4, 4, 1], group, slopes), (0,)),),))
    if kind == "affine":
        return FrozenNetwork(slopes, ((Trunk(convex(rng, [d, 1], 1, slopes), (0,)),),))
    if kind == "ensemble":
        members = tuple((Trunk(convex(rng, [d, 4, 1], group, slopes), (0,)),) for _ in range(3))
        return FrozenNetwork(slopes, members, on_simplex(rng.random((1, 3)))[0])
    if kind == "classes":
        return FrozenNetwork(slopes, ((Trunk(convex(rng, [d, 4, 4, 3], group, slopes), (2, 0, 1)),),))
    if kind == "classes apart":
        both = Trunk(convex(rng, [d, 4, 2], group, slopes), (2, 0))
        return FrozenNetwork(slopes, ((both, Trunk(convex(rng, [d, 4, 1], 2, slopes), (1,))),))
    sizes = [d, 8, 8, 4, 1] if kind == "deep" else [d, 4, 1]
    return FrozenNetwork(slopes, ((Trunk(convex(rng, sizes, group, slopes), (0,)),),))


def raw_network(rng, n_outputs):
    """Two numeric features of several maps each (one may be missing), and a category."""
    numeric = []
    for i in range(2):
        maps = tuple(random_map(rng) for _ in range(int(rng.integers(1, 4))))
        missing = tuple(rng.normal(size=len(maps))) if i else None
        numeric.append(NumericColumn(f"n{i}", maps, missing))
    city = CategoryColumn("city", ("a", "b"), rng.normal(size=(4, 2)))
    inputs = InputTransform((numeric[0], city, numeric[1]))
    width = inputs.n_model
    low = -rng.uniform(0.2, 1.0, width)
    low[: numeric[0].n_model] = 0.0  # n0 is increasing
    slopes = SlopeBounds(low, rng.uniform(0.2, 1.0, width))
    form = convex(rng, [width, 4, 4, n_outputs], 2, slopes)
    link = OutputLink("softmax", ("p", "q", "r")) if n_outputs > 1 else None
    trunk = Trunk(form, tuple(range(n_outputs)))
    return FrozenNetwork(slopes, ((trunk,),), inputs=inputs, link=link)


def random_map(rng):
    knots = np.unique(rng.normal(size=int(rng.integers(1, 5))).round(2))
    values = np.cumsum(rng.random(len(knots)) * (rng.random(len(knots)) < 0.7))
    return PiecewiseLinear(knots, values, float(rng.choice([0.0, 0.5])), float(rng.choice([0.0, 0.5])))


def rows_of(net, rng, n):
    """Rows the network takes, near its kinks."""
    if net.inputs is None:
        return [list(row) for row in rng.normal(size=(n, net.n_features)).round(3)]
    numbers, cities = rng.normal(size=(n, len(net.inputs.numeric))).round(2).tolist(), rng.choice(["a", "b"], n)
    at = net.inputs.names.index("city")
    rows = [[*row[:at], str(city), *row[at:]] for row, city in zip(numbers, cities, strict=True)]
    if n > 1:
        rows[-1][net.inputs.names.index("n1")] = float("nan")
    return rows


def exact_decision(net, row):
    """The class, by an evaluation that shares nothing with the package's own."""
    total = exact_value(net, row)
    return int(total[0] > 0) if len(total) == 1 else total.index(max(total))


def exact_value(net, row):
    u = list(map(Fraction, row)) if net.inputs is None else exact_columns(net.inputs, row)
    total = [Fraction(0)] * net.n_outputs
    for weight, member in zip(net.member_weights.tolist(), net.members, strict=True):
        for trunk in member:
            found = (exact_convex if isinstance(trunk.form, ConvexForm) else exact_paper)(trunk.form, u)
            for k, value in zip(trunk.outputs, found, strict=True):
                total[k] += Fraction(weight) * value
    return total


def exact_columns(inputs, row):
    u = []
    for column, value in zip(inputs.columns, row, strict=True):
        if isinstance(column, CategoryColumn):
            u += map(Fraction, column.evaluate([value])[0].tolist())
        elif value != value:
            u += map(Fraction, column.missing)
        else:
            u += [exact_map(phi, Fraction(value)) for phi in column.maps]
    return u


def exact_map(phi, x):
    k, v = list(map(Fraction, phi.knots.tolist())), list(map(Fraction, phi.values.tolist()))
    if x <= k[0]:
        return v[0] + Fraction(phi.left_slope) * (x - k[0])
    if x >= k[-1]:
        return v[-1] + Fraction(phi.right_slope) * (x - k[-1])
    i = next(i for i in range(len(k) - 1) if k[i] <= x <= k[i + 1])
    return v[i] + (v[i + 1] - v[i]) * (x - k[i]) / (k[i + 1] - k[i])


def moved_positions(net):
    """Raw positions of the features a radius is about."""
    if net.inputs is None:
        return list(range(net.n_features))
    return list(net.inputs.numeric)
