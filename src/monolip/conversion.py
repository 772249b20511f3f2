r"""Between the two forms (Theorem 2): the same function, written with signed rows or with averages.

Paper form -> convex form, at up to twice the width: keep every unit and its negative (-GroupSort of z is the reversed
GroupSort of -z), send positive weights to the unit and negative ones to its negative, give the slack 1 - sum|w| in
equal parts to a unit and its negative, where it cancels, and add the center to the first layer.
Convex form -> paper form: subtract the center from the first layer; sorting and averaging commute with a common shift.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .convex import ConvexForm, on_simplex
from .errors import StructureError
from .norms import Norm
from .paper_form import PaperForm, Sort
from .slopes import SlopeBounds

__all__ = ["can_be_convex", "convex_to_paper", "paper_to_convex"]

FloatArray = NDArray[np.float64]


def can_be_convex(form: PaperForm) -> bool:
    """Whether averages can express it: GroupSort, row sums bounded after the first layer, one residual for all outputs.

    Householder reflections are not averages, and the L1 -> L1 scheme bounds columns, not rows.
    """
    sorts = all(isinstance(activation, Sort) for activation in form.activations)
    rows = form.norms[0] is not Norm.L1_TO_L1 and all(norm is Norm.LINF_TO_LINF for norm in form.norms[1:])
    shared = bool((form.center == form.center[0]).all() and (form.scale == form.scale[0]).all())
    return sorts and (rows or len(form.norms) == 1) and shared


def paper_to_convex(form: PaperForm, slopes: SlopeBounds) -> ConvexForm:
    """The same function in convex form, its first-layer rows inside `slopes` exactly.

    Args:
        form: as `can_be_convex` requires.
        slopes: the intervals promised, one per feature; rounding in W1 = center +- scale radius W is clipped to them.
    """
    if not can_be_convex(form):
        raise StructureError(
            "convex form needs GroupSort, the (1,inf)-then-inf norms and one residual for all outputs; got "
            f"{[type(a).__name__ for a in form.activations]}, {[n.name for n in form.norms]}; keep it in paper form."
        )
    scale, center = form.scale[0], form.center[0]
    spread = scale * form.radius * form.weights[0]
    if len(form.weights) == 1:
        return ConvexForm((_inside(center + spread, slopes),), (scale * form.biases[0],), ())
    weights = [_inside(np.vstack([center + spread, center - spread]), slopes)]
    biases = [np.concatenate([scale * form.biases[0], -scale * form.biases[0]])]
    for k in range(1, len(form.weights)):
        activation = form.activations[k - 1]
        assert isinstance(activation, Sort)  # can_be_convex has seen to it
        unit, negative = _split_signs(form.weights[k], activation.group_size)
        last = k == len(form.weights) - 1
        weights.append(on_simplex(unit if last else np.vstack([unit, negative])))
        bias = scale * form.biases[k]
        biases.append(bias if last else np.concatenate([bias, -bias]))
    sizes = tuple(a.group_size for a in form.activations if isinstance(a, Sort))
    return ConvexForm(tuple(weights), tuple(biases), sizes)


def _split_signs(weight: FloatArray, group_size: int) -> tuple[FloatArray, FloatArray]:
    """Rows over [sort(z), sort(-z)] that equal weight . sort(z) and its negative, both >= 0 with sum 1."""
    width = weight.shape[1]
    mirror = width + np.arange(width).reshape(-1, group_size)[:, ::-1].ravel()  # where -sort(z)_j stands in sort(-z)
    slack = np.maximum(1.0 - np.abs(weight).sum(axis=1, keepdims=True), 0.0) / (2 * width)
    plus, minus = np.maximum(weight, 0.0) + slack, np.maximum(-weight, 0.0) + slack
    unit, negative = np.empty((2, weight.shape[0], 2 * width))
    unit[:, :width], unit[:, mirror] = plus, minus
    negative[:, :width], negative[:, mirror] = minus, plus
    return unit, negative


def _inside(rows: FloatArray, slopes: SlopeBounds) -> FloatArray:
    """Rows rounded into their intervals; more than rounding would be another function, and is refused."""
    if slopes.lower.shape != rows.shape[1:]:
        raise StructureError(
            f"convex form needs one slope interval per feature; got shape {slopes.lower.shape} for {rows.shape[1]} "
            "features; pass the intervals of one output."
        )
    inside = np.clip(rows, slopes.lower, slopes.upper)
    size = np.maximum(np.maximum(np.abs(slopes.lower), np.abs(slopes.upper)), np.abs(rows).max(axis=0))
    if (np.abs(inside - rows) > 2.0**-50 * size + 1e-320).any():
        raise StructureError(
            "the slopes of the network, center +- scale * radius, must lie inside the intervals; got a network that "
            "leaves them; pass the intervals it was built for."
        )
    return inside


def convex_to_paper(form: ConvexForm, slopes: SlopeBounds) -> PaperForm:
    """The same function as center.x + g(radius * x), with g 1-Lipschitz from L1 (Eq. 4).

    Args:
        slopes: intervals that contain the first-layer rows; their center and radius become the residual and the scale.
    """
    low, high = form.slope_range
    if slopes.lower.ndim != 1 or not (slopes.contains(low) and slopes.contains(high)):
        raise StructureError(
            "the first-layer rows must lie inside one slope interval per feature; got rows outside; pass the intervals "
            "the network was built for, or form.slope_range."
        )
    radius = slopes.radius
    unit = np.divide(form.weights[0] - slopes.center, radius, out=np.zeros_like(form.weights[0]), where=radius > 0)
    return PaperForm(
        weights=(np.clip(unit, -1.0, 1.0), *form.weights[1:]),
        biases=form.biases,
        activations=tuple(Sort(size) for size in form.group_sizes),
        norms=(Norm.L1_TO_LINF, *[Norm.LINF_TO_LINF] * (len(form.weights) - 1)),
        center=np.tile(slopes.center, (form.n_outputs, 1)),
        radius=radius,
        scale=np.ones(form.n_outputs),
    )
