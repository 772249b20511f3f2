r"""How far an artefact that promises no bits may be from the network: what rounding can do, and no more.

    floats        max(64, n) ulp M(x)      M(x) = sums of the absolute values of all terms, n = terms of a path
    integers      a free branch may round each of its outputs to a neighbour; that step, carried through the layers

M covers cancellation: a difference of two numbers of 1e30 is known to 1e30 ulp, and M is 1e30 there. A wrong weight, a
constant or NaN exceeds it on ordinary rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.convex import ConvexForm
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork
from monolip.paper_form import PaperForm, Sort

__all__ = ["absolute_terms", "rounding_room"]

FloatArray = NDArray[np.float64]
_LEAST = 64  # ulps
_CLAMPED = 1e30  # float32 clamps its inputs somewhere beyond
_STEP = 2.0  # units: rounding may go either way in artefact and reference


def rounding_room(
    network: FrozenNetwork | FixedPointNetwork, columns: list[Any], arithmetic: str, extra: FloatArray | float = 0.0
) -> FloatArray:
    """The largest |artefact - network| that rounding explains, (n, n_outputs).

    Args:
        columns: raw columns (n,) each.
        arithmetic: "float32", "float64" or "fixed-point".
        extra: M of terms that the artefact has and the network has not, (n, 1) or a number.
    """
    if isinstance(network, FixedPointNetwork):
        return np.broadcast_to(_integer_room(network), (len(columns[0]), network.n_outputs))
    model = np.stack(columns, axis=1) if network.inputs is None else network.inputs.evaluate(columns)
    with np.errstate(over="ignore"):  # an infinite sum has infinite rounding
        scale = _float_scale(network, np.abs(model)) + extra
    if arithmetic == "float32" and network.free_branch is not None:  # clamped elsewhere than its float64 reference
        scale = np.where(np.abs(model).max(axis=1, keepdims=True) > _CLAMPED, np.inf, scale)
    kind = np.finfo(arithmetic)
    ulps = max(_LEAST, _terms(network))
    return np.asarray(ulps * (float(kind.eps) * scale + float(kind.tiny)))


def absolute_terms(
    z: FloatArray, weights: Sequence[FloatArray], biases: Sequence[FloatArray], group_sizes: Sequence[int]
) -> FloatArray:
    """|W| z + |b| layer by layer, (n, outputs); a sort may put the largest of a group anywhere in it (1: no sort)."""
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        z = z @ np.abs(weight).T + np.abs(bias)
        if k < len(group_sizes) and group_sizes[k] > 1:
            z = np.repeat(z.reshape(len(z), -1, group_sizes[k]).max(axis=2), group_sizes[k], axis=1)
    return z


def _float_scale(network: FrozenNetwork, rows: FloatArray) -> FloatArray:
    branch, d = network.free_branch, network.n_features
    if branch is not None:  # |tanh v|, |silu v| and |relu v| are at most |v|
        rows = np.hstack([rows[:, :d], absolute_terms(rows[:, d:], branch.weights, branch.biases, ())])
    assert network.member_weights is not None, "set by FrozenNetwork"
    total = np.zeros((len(rows), network.n_outputs))
    for weight, member in zip(network.member_weights, network.members, strict=True):
        for trunk in member:
            total[:, list(trunk.outputs)] += weight * _form_scale(trunk.form, rows)
    return total


def _form_scale(form: ConvexForm | PaperForm, rows: FloatArray) -> FloatArray:
    z = np.minimum(rows, form.clamp_limit)
    if isinstance(form, ConvexForm):
        return absolute_terms(z, form.weights, form.biases, form.group_sizes)
    sizes = [part.group_size if isinstance(part, Sort) else 1 for part in form.activations]
    g = absolute_terms(z * form.radius, form.weights, form.biases, sizes)
    return np.asarray(z @ np.abs(form.center).T + np.abs(form.scale) * g)


def _terms(network: FrozenNetwork) -> int:
    """Additions on the longest path from an input to an output."""
    forms = [trunk.form for member in network.members for trunk in member]
    longest = max(sum(w.shape[1] + 1 for w in form.weights) for form in forms)
    branch = () if network.free_branch is None else network.free_branch.weights
    return int(longest) + len(network.members) + sum(int(w.shape[1]) + 1 for w in branch)


def _integer_room(network: FixedPointNetwork) -> FloatArray:
    """Of a free branch that rounds to a neighbour; zero without one."""
    total = np.zeros(network.n_outputs)
    if network.free is None:
        return total
    count, one = len(network.limits), float(1 << network.format.shift)
    step = np.where(np.arange(count) < count - len(network.free.limits), 0.0, _STEP)
    for share, member in zip(network.member_weights.tolist(), network.members, strict=True):
        for trunk in member:
            z = step
            for k, weight in enumerate(trunk.weights):
                z = np.abs(weight).astype(np.float64) @ z / one + 1
                if k < len(trunk.group_sizes):
                    z = np.repeat(z.reshape(-1, trunk.group_sizes[k]).max(axis=1), trunk.group_sizes[k])
            z = z if trunk.residual is None else z + np.abs(trunk.residual).astype(np.float64) @ step
            total[list(trunk.outputs)] += share / one * z
    return np.ldexp(total + 1, -network.link.unit)
