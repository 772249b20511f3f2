r"""A network whose numbers are float32's, proved like any other, and its evaluation in numpy, in the header's order.

mixing rows    multiples of 2^-24 with sum exactly 1: each is a float32
first layer    the nearest float32 inside the slope interval (towards 0 where several columns share a promise)
z = z + w x    two roundings; or fused, one: fl32(z + w x), computed here by rounding the float64 sum to odd
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from monolip.certify.fixed_point_rounding import apportion
from monolip.convex import ConvexForm
from monolip.errors import FreezeError, MonolipError
from monolip.export.c_network import CNetwork
from monolip.frozen import FrozenNetwork, Trunk
from monolip.slopes import SlopeBounds

__all__ = ["evaluate_float32", "fused_multiply_add", "to_float32"]

FloatArray = NDArray[np.float64]
Singles = NDArray[np.float32]

_BITS = 24


def to_float32(network: FrozenNetwork) -> FrozenNetwork:
    """The same network with float32 numbers, its promise proved again; FreezeError where none keeps it."""
    problem: MonolipError | None = None
    for towards_zero in (False, True):
        try:
            return _rounded(network, towards_zero)
        except MonolipError as error:
            problem = problem or error
    raise FreezeError(
        f"float32 must keep the promise in exact arithmetic; it cannot here ({problem}); export float64 or fixed-point."
    )


def _rounded(network: FrozenNetwork, towards_zero: bool) -> FrozenNetwork:
    members = []
    for member in network.members:
        trunks = []
        for trunk in member:
            form, box = trunk.form, network.bounds.for_output(trunk.outputs[0])
            assert isinstance(form, ConvexForm), "checked before"
            boxes = [network.bounds.for_output(k) for k in trunk.outputs]
            lower, upper = (np.max([b.lower for b in boxes], axis=0), np.min([b.upper for b in boxes], axis=0))
            first = _inside(form.weights[0], SlopeBounds(lower, upper) if len(boxes) > 1 else box, towards_zero)
            later = [_mixing(weight) for weight in form.weights[1:]]
            biases = tuple(_single(bias) for bias in form.biases)
            trunks.append(Trunk(ConvexForm((first, *later), biases, form.group_sizes), trunk.outputs))
        members.append(tuple(trunks))
    shares = _mixing(np.asarray(network.member_weights)[None])[0]
    return replace(network, members=tuple(members), member_weights=shares)


def _mixing(rows: FloatArray) -> FloatArray:
    units = apportion(np.ldexp(rows, _BITS), [1 << _BITS] * len(rows), exact=True)
    return np.ldexp(units.astype(np.float64), -_BITS)


def _single(values: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        rounded = np.asarray(values, dtype=np.float32).astype(np.float64)
    if not np.isfinite(rounded).all():
        raise FreezeError("numbers must lie in the range of float32; got larger ones; rescale.")
    return rounded


def _inside(weight: FloatArray, box: SlopeBounds, towards_zero: bool) -> FloatArray:
    near = _single(weight).astype(np.float32)
    if towards_zero:
        near = np.where(np.abs(near) > np.abs(weight), np.nextafter(near, np.float32(0)), near)
    near = np.where(near > box.upper, np.nextafter(near, np.float32(-np.inf)), near)
    near = np.where(near < box.lower, np.nextafter(near, np.float32(np.inf)), near)
    return near.astype(np.float64)


def fused_multiply_add(w: Singles, z: Singles, a: Singles) -> Singles:
    """fl32(w z + a), one rounding: the product is exact in float64; the sum is rounded to odd, then to float32."""
    product, c = w.astype(np.float64) * z.astype(np.float64), a.astype(np.float64)
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)  # exact: what rounding took away
    even = (total.view(np.int64) & 1) == 0
    towards = np.where(error > 0, np.inf, -np.inf)
    odd = np.where((error != 0) & even, np.nextafter(total, towards), total)
    return np.asarray(odd.astype(np.float32))


def evaluate_float32(layers: CNetwork, model: FloatArray) -> Singles:
    """f in float32 and in the order of the header. model: model columns in float64, (n, n_model) -> (n, n_outputs)."""
    most = max(trunk.limit or 0.0 for trunk in layers.trunks)
    u = np.clip(model, -most, most).astype(np.float32)
    total = np.zeros((len(u), layers.n_outputs), np.float32)
    for trunk in layers.trunks:
        limit = np.float32(trunk.limit)
        z = np.clip(u, -limit, limit)
        for layer in trunk.layers:
            weight, bias = layer.weight.astype(np.float32), layer.bias.astype(np.float32)
            sums = np.broadcast_to(bias, (len(z), bias.size)).copy()
            for j in range(weight.shape[1]):
                sums = _step(weight[:, j][None], z[:, j][:, None], sums, layers.fused)
            z = np.sort(sums.reshape(len(z), -1, layer.group_size), axis=-1).reshape(sums.shape)
        at = list(trunk.outputs)
        total[:, at] = _step(np.full((1, 1), trunk.share, np.float32), z, total[:, at], layers.fused)
    return total


def _step(w: Singles, z: Singles, a: Singles, fused: bool) -> Singles:
    return fused_multiply_add(w, z, a) if fused else np.asarray(a + w * z, dtype=np.float32)
