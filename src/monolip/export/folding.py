r"""Linear columns folded into the first layer, for formats that take numbers as they are.

    u = s x + t   and   z = W u + b        give        z = (W s) x + (b + W t)

Features given in `slopes=` have such maps, with s a power of two: W s is exact, so every first-layer row keeps its
slope interval in raw units. b + W t is rounded once, which moves no slope. The promise is proved again.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from monolip.convex import ConvexForm
from monolip.errors import FreezeError
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn
from monolip.slope_set import SlopeSet

__all__ = ["fold_inputs"]

FloatArray = NDArray[np.float64]


def fold_inputs(network: FrozenNetwork) -> FrozenNetwork:
    """The same function of raw numbers without an input transform; a rule for missing values is lost.

    Args:
        network: in convex form, every raw column a number with one linear map: features of `slopes=`.

    Examples:
        >>> from monolip import MonotonicRegressor
        >>> X = np.random.default_rng(0).uniform(0, 10, (200, 2))
        >>> model = MonotonicRegressor(slopes={0: (0, 2), 1: (-1, 1)}, max_iter=2, random_state=0).fit(X, X[:, 0])
        >>> plain = fold_inputs(model.frozen_)
        >>> bool(np.allclose(plain.evaluate(X)[:, 0], model.predict(X))), plain.inputs
        (True, None)
    """
    if network.inputs is None:
        return network
    scale, shift = _lines(network)
    promise = network.raw_promise or network.raw_slopes
    members = tuple(
        tuple(Trunk(_folded(trunk.form, scale, shift), trunk.outputs) for trunk in member) for member in network.members
    )
    return FrozenNetwork(promise, members, network.member_weights, link=network.link)


def _lines(network: FrozenNetwork) -> tuple[list[list[Fraction]], list[Fraction]]:
    """u = scale x + shift, exactly: scale (n_model, n_raw), shift (n_model,)."""
    assert network.inputs is not None
    if network.free_branch is not None or isinstance(network.promise, SlopeSet) or not network.is_convex:
        raise FreezeError(
            "columns fold into a first layer in convex form with slope intervals alone; got paper form, a free branch "
            "or a SlopeSet; export C, ONNX or JSON, which hold the transform."
        )
    scale, shift = [], []
    for i, column in enumerate(network.inputs.columns):
        if isinstance(column, CategoryColumn) or any(len(set(phi.slopes)) > 1 for phi in column.maps):
            raise FreezeError(
                f"a column folds into the first layer if its map is one line; got {column.name!r} with "
                f"{'categories' if isinstance(column, CategoryColumn) else 'a bent map'}; give every feature a slope "
                "interval (slopes=), which makes maps linear, or export C, ONNX or JSON, which hold the transform."
            )
        for phi in column.maps:
            s = phi.slopes[0]
            scale.append([s if j == i else Fraction(0) for j in range(network.inputs.n_raw)])
            shift.append(Fraction(float(phi.values[0])) - s * Fraction(float(phi.knots[0])))
        if column.present is not None:  # a constant, once nothing is missing
            scale.append([Fraction(0)] * network.inputs.n_raw)
            shift.append(Fraction(column.present))
    return scale, shift


def _folded(form: object, scale: list[list[Fraction]], shift: list[Fraction]) -> ConvexForm:
    assert isinstance(form, ConvexForm), "checked before"
    rows = [[Fraction(w) for w in row] for row in form.weights[0].tolist()]
    first = [
        [float(sum(w * s[i] for w, s in zip(row, scale, strict=True))) for i in range(len(scale[0]))] for row in rows
    ]
    bias = [
        float(Fraction(b) + sum(w * t for w, t in zip(row, shift, strict=True)))
        for row, b in zip(rows, form.biases[0].tolist(), strict=True)
    ]
    return ConvexForm((np.array(first), *form.weights[1:]), (np.array(bias), *form.biases[1:]), form.group_sizes)
