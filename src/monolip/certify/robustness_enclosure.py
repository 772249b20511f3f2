r"""f with a proved error: |f(x) - value| <= error, for many rows at once, in ordinary floats.

A dot product of n terms, in any order, fused or not, is off by at most  n u / (1 - n u) * (|w|.|z| + |b|), u = 2^-53,
beside what its inputs are off by, |w|.error. Sorting moves no value by more than the largest error in its group. The
error is computed in floats too; a factor 1 + 2^-40 covers that, and 2^-1060 covers underflow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.certify.robustness_exact import exact_form
from monolip.certify.robustness_inputs import Samples
from monolip.convex import ConvexForm
from monolip.frozen import FrozenNetwork
from monolip.ordered import sort_groups
from monolip.paper_form import Activation, PaperForm, Rectify, Reflect, Sort
from monolip.trunk import Trunk

__all__ = ["affine_enclosure", "output_enclosure", "trunk_enclosure"]

FloatArray = NDArray[np.float64]
Enclosure = tuple[FloatArray, FloatArray]

TINY = 2.0**-1060


def affine_enclosure(
    z: FloatArray, error: FloatArray, weight: FloatArray, bias: FloatArray, slack: int = 4
) -> Enclosure:
    """W z + b. slack: ulps by which the entries of W and b themselves may be off, and a few for the sums."""
    size = np.abs(weight).T
    value = z @ weight.T + bias
    rounding = 2.0**-52 * (weight.shape[1] + slack) * (np.abs(z) @ size + np.abs(bias))
    return value, (error @ size + rounding) * (1 + 2.0**-40) + TINY


def trunk_enclosure(trunk: Trunk, inputs: FloatArray, error: FloatArray) -> Enclosure:
    """Outputs of one trunk, in the order of its rows; shapes (n, columns) -> (n, rows)."""
    form = trunk.form
    if isinstance(form, ConvexForm):
        activations: tuple[Activation, ...] = tuple(Sort(size) for size in form.group_sizes)
        return _layers(form.weights, form.biases, activations, inputs, error)
    if any(isinstance(activation, Reflect) for activation in form.activations):
        return _exactly(trunk, form, inputs, error)
    scaled = inputs * form.radius
    off = (error * form.radius + 2.0**-52 * np.abs(scaled)) * (1 + 2.0**-40) + TINY
    g, g_off = _layers(form.weights, form.biases, form.activations, scaled, off)
    residual, r_off = affine_enclosure(inputs, error, form.center, np.zeros(form.n_outputs))
    value = residual + form.scale * g
    rounding = 2.0**-50 * (np.abs(residual) + np.abs(form.scale * g))
    return value, (r_off + form.scale * g_off + rounding) * (1 + 2.0**-40) + TINY


def output_enclosure(network: FrozenNetwork, samples: Samples) -> Enclosure:
    """All outputs of f, shape (n, n_outputs)."""
    value = np.zeros((len(samples), network.n_outputs))
    error, size = np.zeros_like(value), np.zeros_like(value)
    assert network.member_weights is not None
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no finite error, and no radius
        for weight, member in zip(network.member_weights.tolist(), network.members, strict=True):
            for trunk in member:
                at = list(trunk.outputs)
                part, off = trunk_enclosure(trunk, samples.inputs, samples.error)
                value[:, at] += weight * part
                error[:, at] += weight * off
                size[:, at] += np.abs(weight * part)
        count = len(network.members) + 4
        return value, (error + 2.0**-52 * count * size) * (1 + 2.0**-40) + TINY


def _layers(
    weights: tuple[FloatArray, ...], biases: tuple[FloatArray, ...], activations: tuple[Activation, ...],
    z: FloatArray, error: FloatArray,
) -> Enclosure:  # fmt: skip
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        z, error = affine_enclosure(z, error, weight, bias)
        if k < len(activations):
            activation = activations[k]
            if isinstance(activation, Sort):
                size = activation.group_size
                z, groups = sort_groups(z, size), error.reshape(len(error), error.shape[1] // size, size)
                error = np.repeat(groups.max(axis=-1), size, axis=-1)
            else:
                assert isinstance(activation, Rectify)
                z = np.maximum(z, 0.0)
    return z, error


def _exactly(trunk: Trunk, form: PaperForm, inputs: FloatArray, error: FloatArray) -> Enclosure:
    """Row by row in rational arithmetic; an error of the inputs counts by the steepest slopes."""
    value = np.array([[float(v) for v in exact_form(form, row)] for row in inputs.tolist()])
    steepest = np.abs(np.stack(trunk.slope_range)).max(axis=0)
    off = (error @ steepest)[:, None] * (1 + 2.0**-40) + 2.0**-52 * np.abs(value) + TINY
    return value, off
