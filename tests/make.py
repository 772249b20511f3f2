"""Random networks at the edge of what their form allows, and their values in exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from monolip.convex import ConvexForm, on_simplex
from monolip.free_branch import FreeBranch
from monolip.frozen import FrozenNetwork, Trunk
from monolip.norms import Norm
from monolip.paper_form import PaperForm, Rectify, Reflect, Sort
from monolip.slope_set import SlopeSet
from monolip.slopes import SlopeBounds

__all__ = ["convex", "exact_convex", "exact_paper", "frozen_networks", "householder", "mixing", "paper", "signed_rows"]


def mixing(rng, out, fan):
    """Sparse mixing rows: some units get nothing, some nearly everything."""
    rows = rng.random((out, fan)) ** 4 * (rng.random((out, fan)) < 0.7)
    rows[:, 0] += 1e-12
    return on_simplex(rows)


def convex(rng, sizes, group_size, slopes, bias=1.0):
    """Convex form whose first-layer rows sit on the faces of their intervals half of the time."""
    wild = slopes.center + 2.0 * slopes.radius * rng.uniform(-1, 1, (sizes[1], sizes[0]))
    first = np.clip(wild, slopes.lower, slopes.upper)
    weights = [first, *[mixing(rng, out, fan) for fan, out in pairwise(sizes[1:])]]
    biases = [bias * rng.normal(size=out) for out in sizes[1:]]
    sizes_of_groups = [width if group_size == "full" else group_size for width in sizes[1:-1]]
    return ConvexForm(tuple(weights), tuple(biases), tuple(sizes_of_groups))


def signed_rows(rng, out, fan, *, slack=True):
    """Rows with sum |w| exactly 1 or, with slack, also less; one row of zeros where there is room."""
    rows = mixing(rng, out, fan) * rng.choice([-1.0, 1.0], (out, fan))
    if slack and out > 2:
        rows[1] *= 0.5
        rows[2] = 0.0
    return rows


def paper(rng, sizes, group_size, slopes, *, slack=True, scale=1.0):
    """Paper form of the (1,inf)-then-inf scheme with GroupSort, saturated, for one interval per feature."""
    first = np.clip(rng.uniform(-2, 2, (sizes[1], sizes[0])), -1, 1)
    weights = [first, *[signed_rows(rng, out, fan, slack=slack) for fan, out in pairwise(sizes[1:])]]
    return PaperForm(
        weights=tuple(weights),
        biases=tuple(rng.normal(size=out) for out in sizes[1:]),
        activations=tuple(Sort(width if group_size == "full" else group_size) for width in sizes[1:-1]),
        norms=(Norm.L1_TO_LINF, *[Norm.LINF_TO_LINF] * (len(sizes) - 2)),
        center=np.tile(slopes.center, (sizes[-1], 1)),
        radius=slopes.radius / scale,
        scale=np.full(sizes[-1], scale),
    )


def householder(rng, d, groups, group_size, slopes):
    """Two layers with a general reflection between them; the second row pays for its gain and is then rounded in."""
    reflect = Reflect(rng.normal(size=(groups, group_size)))
    width = groups * group_size
    row = rng.normal(size=(1, width))
    v = reflect.directions / np.linalg.norm(reflect.directions, axis=1, keepdims=True)
    parts = row.reshape(groups, group_size)
    turned = parts - 2 * (parts * v).sum(1, keepdims=True) * v
    row /= np.maximum(np.abs(parts).sum(1), np.abs(turned).sum(1)).sum() * (1 + 1e-12)
    first = np.clip(rng.uniform(-2, 2, (width, d)), -1, 1)
    return PaperForm(
        weights=(first, row),
        biases=(rng.normal(size=width), rng.normal(size=1)),
        activations=(reflect,),
        norms=(Norm.L1_TO_LINF, Norm.LINF_TO_LINF),
        center=slopes.center[None],
        radius=slopes.radius,
        scale=[1.0],
    )


def frozen_networks(rng):
    """One FrozenNetwork of every kind, by name; three constrained features x, y, z each."""
    box = SlopeBounds([0.0, -1.5, -1.0], [2.0, 0.0, 1.0], ("x", "y", "z"))
    one = lambda: (Trunk(convex(rng, [3, 6, 4, 1], 2, box), (0,)),)  # noqa: E731
    columns = SlopeBounds(np.stack([box.lower, -box.upper], 1), np.stack([box.upper, -box.lower], 1), ("x", "y", "z"))
    apart = tuple(Trunk(convex(rng, [3, 4, 1], 2, columns.for_output(k)), (k,)) for k in (1, 0))
    wide = SlopeBounds([*box.lower, -1.0, -1.0], [*box.upper, 1.0, 1.0], ("x", "y", "z", "h0", "h1"))
    branch = FreeBranch(
        (rng.normal(size=(5, 2)), rng.normal(size=(2, 5))),
        (rng.normal(size=5), rng.normal(size=2)),
        ("silu", "tanh"),
    )
    kept = SlopeSet(box).at_least("x", "z").in_l2_ball(2.0)
    rows = kept.exact(rng.normal(size=(4, 3)))
    inside = ConvexForm((rows, mixing(rng, 1, 4)), (rng.normal(size=4), rng.normal(size=1)), (4,))
    plain = PaperForm(
        ([[0.5, 0.25, 0.0], [0.5, -0.5, 1.0]], [[0.5, -0.5]]),
        ([0.1, 0.2], [0.3]),
        (Rectify(),),
        (Norm.L1_TO_L1, Norm.L1_TO_L1),
        box.center[None],
        box.radius,
        [1.0],
    )
    return {
        "convex": FrozenNetwork(box, (one(),)),
        "ensemble": FrozenNetwork(box, (one(), one(), one())),
        "per output": FrozenNetwork(columns, (apart,)),
        "two outputs": FrozenNetwork(box, ((Trunk(convex(rng, [3, 4, 2], 4, box), (1, 0)),),)),
        "householder": FrozenNetwork(box, ((Trunk(householder(rng, 3, 2, 2, box), (0,)),),)),
        "L1 to L1": FrozenNetwork(box, ((Trunk(plain, (0,)),),)),
        "free branch": FrozenNetwork(
            wide, ((Trunk(convex(rng, [5, 4, 1], 2, wide), (0,)),),), free_branch=branch, free_names=("u", "v")
        ),
        "slope set": FrozenNetwork(kept, ((Trunk(inside, (0,)),),)),
    }


def exact_convex(form, x):
    """f(x) of convex form without any rounding, for a sequence of rational numbers x."""
    z = list(map(Fraction, x))
    for k, (weight, bias) in enumerate(zip(form.weights, form.biases, strict=True)):
        z = _exact_affine(weight, bias, z)
        if k < len(form.group_sizes):
            z = _exact_sort(z, form.group_sizes[k])
    return z


def exact_paper(form, x):
    """f(x) of paper form without any rounding."""
    x = list(map(Fraction, x))
    z = [Fraction(float(r)) * v for r, v in zip(form.radius, x, strict=True)]
    for k, (weight, bias) in enumerate(zip(form.weights, form.biases, strict=True)):
        z = _exact_affine(weight, bias, z)
        if k < len(form.activations):
            z = _exact_activation(form.activations[k], z)
    residual = _exact_affine(form.center, np.zeros(form.n_outputs), x)
    return [a + Fraction(float(s)) * g for a, s, g in zip(residual, form.scale, z, strict=True)]


def _exact_affine(weight, bias, z):
    rows = zip(weight.tolist(), bias.tolist(), strict=True)
    return [Fraction(b) + sum(Fraction(w) * v for w, v in zip(row, z, strict=True)) for row, b in rows]


def _exact_sort(z, size):
    return [v for start in range(0, len(z), size) for v in sorted(z[start : start + size])]


def _exact_activation(activation, z):
    if isinstance(activation, Sort):
        return _exact_sort(z, activation.group_size)
    if isinstance(activation, Rectify):
        return [max(v, Fraction(0)) for v in z]
    out, size = [], activation.directions.shape[1]
    for g, direction in enumerate(activation.directions.tolist()):
        v, part = list(map(Fraction, direction)), z[g * size : (g + 1) * size]
        along = sum(a * b for a, b in zip(v, part, strict=True))
        turn = 0 if along > 0 else 2 * along / sum(a * a for a in v)
        out += [b - turn * a for a, b in zip(v, part, strict=True)]
    return out
