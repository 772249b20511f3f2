"""The pieces of the ReLU lowering: maps of numbers, trunks side by side, sorts by levels of comparators.

A value is carried as z = M h + c, h the ReLU units of the layer before; every stage gives new units and a new reading.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from monolip.convex import ConvexForm
from monolip.errors import FreezeError
from monolip.export.onnx_layers import comparators
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import NumericColumn
from monolip.paper_form import Rectify, Sort

__all__ = ["relu_inputs", "relu_members", "usual_inputs"]

FloatArray = NDArray[np.float64]
Layer = tuple[FloatArray, FloatArray]


def relu_inputs(network: FrozenNetwork) -> tuple[list[Layer], Layer]:
    """Layers (none or one) of the input transform, and the reading of model columns from its units."""
    if network.free_branch is not None:
        raise FreezeError("ReLU lowering has no free branch; got one; export ONNX, or the branch on its own.")
    if network.inputs is None:
        return [], (np.eye(network.n_features), np.zeros(network.n_features))
    units: dict[tuple[int, float, float], int] = {}  # (raw column, sign, offset) of relu(sign * x + offset)
    reading: list[dict[int, float]] = []
    offsets: list[float] = []
    for i, column in enumerate(network.inputs.columns):
        if not isinstance(column, NumericColumn):
            raise FreezeError(
                f"ReLU layers take numbers; got the category {column.name!r}; encode it as numbers first."
            )
        for phi in column.maps:
            terms, knots = {}, phi.knots.tolist()
            slopes = np.asarray(phi.pieces[:, 2])
            for knot, bend in zip(knots, np.diff(slopes).tolist(), strict=True):
                if bend:
                    terms[units.setdefault((i, 1.0, -knot), len(units))] = bend
            for sign in (1.0, -1.0) if phi.left_slope else ():  # x - k = relu(x - k) - relu(k - x)
                k = units.setdefault((i, sign, -sign * knots[0]), len(units))
                terms[k] = sign * phi.left_slope + terms.get(k, 0.0)
            reading.append(terms)
            offsets.append(float(phi.values[0]))
        if column.present is not None:
            reading.append({})
            offsets.append(column.present)
    weight = np.zeros((len(units), network.inputs.n_raw))
    read = np.zeros((len(reading), len(units)))
    for (i, sign, _), k in units.items():
        weight[k, i] = sign
    for row, terms in enumerate(reading):
        for k, value in terms.items():
            read[row, k] = value
    return [(weight, np.array([offset for _, _, offset in units]))], (read, np.array(offsets))


def relu_members(network: FrozenNetwork) -> tuple[list[Layer], Layer]:
    """Hidden layers over the model columns, all trunks side by side, and the reading of the outputs."""
    assert network.member_weights is not None, "set in __post_init__"
    shares = [w for w, member in zip(network.member_weights.tolist(), network.members, strict=True) for _ in member]
    trunks = [trunk for member in network.members for trunk in member]
    stages = [_trunk(trunk) for trunk in trunks]
    depth = max(len(layers) for layers, _ in stages)
    padded = [_padded(layers, read, depth) for layers, read in stages]
    layers = [_side_by_side([own[k] for own, _ in padded], shared=k == 0) for k in range(depth)]
    width = sum(read.shape[1] for _, (read, _) in padded) if depth else network.n_features
    out, shift, at = np.zeros((network.n_outputs, width)), np.zeros(network.n_outputs), 0
    for share, trunk, (_, (read, offset)) in zip(shares, trunks, padded, strict=True):
        rows, stop = list(trunk.outputs), at + read.shape[1]
        out[rows, at:stop] += share * read
        shift[rows] += share * offset
        at = stop if depth else 0
    return layers, (out, shift)


def usual_inputs(network: FrozenNetwork) -> FloatArray:
    """(low, high) per raw feature: all knots, and as much again on either side; +-1000 where there are none."""
    if network.inputs is None:
        return np.full((network.n_features, 2), (-1e3, 1e3))
    knots = [np.concatenate([phi.knots for phi in network.inputs.maps_of(i)]) for i in range(network.inputs.n_raw)]
    width = [max(float(k.max() - k.min()), 1.0) for k in knots]
    return np.array([(k.min() - w, k.max() + w) for k, w in zip(knots, width, strict=True)])


def _trunk(trunk: Trunk) -> tuple[list[Layer], Layer]:
    """Layers over the model columns; in paper form the residual travels beside the units."""
    form = trunk.form
    extra = 0 if isinstance(form, ConvexForm) else form.n_outputs
    first = form.weights[0] if isinstance(form, ConvexForm) else np.vstack([form.weights[0] * form.radius, form.center])
    read, offset = first, np.concatenate([form.biases[0], np.zeros(extra)])
    layers: list[Layer] = []
    for k, weight in enumerate(form.weights[1:]):
        if isinstance(form, ConvexForm):
            activation: object = Sort(form.group_sizes[k])
        else:
            activation = form.activations[k]
        for units, reading in _stages(activation, len(read) - extra, extra):
            layers.append((units @ read, units @ offset))
            read, offset = reading, np.zeros(len(reading))
        grown = np.zeros((len(weight) + extra, weight.shape[1] + extra))
        grown[: len(weight), : weight.shape[1]] = weight
        grown[len(weight) :, weight.shape[1] :] = np.eye(extra)
        read, offset = grown @ read, grown @ offset + np.concatenate([form.biases[k + 1], np.zeros(extra)])
    if isinstance(form, ConvexForm):
        return layers, (read, offset)
    mix = np.hstack([np.diag(form.scale), np.eye(extra)])
    return layers, (mix @ read, mix @ offset)


def _stages(activation: object, width: int, extra: int) -> list[tuple[FloatArray, FloatArray]]:
    """Pairs (units from values, values from units), one per level of comparators; `extra` values are only carried."""
    if isinstance(activation, Rectify):
        units, reading = _carried(width + extra)
        n = width + extra
        keep = [k for k in range(2 * n) if k < n or k >= n + width]
        return [(units[keep], reading[:, keep])]
    assert isinstance(activation, Sort), "others have no certificate"
    size, found = activation.group_size, []
    for level in _levels(size):
        units, reading = _carried(width + extra)
        n = width + extra
        for start in range(0, width, size):
            for i, j in ((start + a, start + b) for a, b in level):
                units[i], units[n + i] = 0.0, 0.0
                units[i, [i, j]], units[n + i, [i, j]] = (1.0, -1.0), (-1.0, 1.0)  # relu(d), relu(-d)
                reading[i], reading[j] = 0.0, 0.0
                reading[i, [j, n + j, n + i]] = (1.0, -1.0, -1.0)  # b - relu(-d)
                reading[j, [j, n + j, i]] = (1.0, -1.0, 1.0)  # b + relu(d)
        found.append((units, reading))
    return found


def _carried(n: int) -> tuple[FloatArray, FloatArray]:
    """z = relu(z) - relu(-z)."""
    return np.vstack([np.eye(n), -np.eye(n)]), np.hstack([np.eye(n), -np.eye(n)])


def _levels(size: int) -> list[list[tuple[int, int]]]:
    """Comparators that may work at the same time, in as few levels as their order allows."""
    busy, levels = [0] * size, []  # type: list[int], list[list[tuple[int, int]]]
    for i, j in comparators(size):
        level = max(busy[i], busy[j])
        if level == len(levels):
            levels.append([])
        levels[level].append((i, j))
        busy[i] = busy[j] = level + 1
    return levels


def _padded(layers: list[Layer], read: Layer, depth: int) -> tuple[list[Layer], Layer]:
    """As many layers as the deepest trunk: outputs are carried on."""
    out = list(layers)
    weight, offset = read
    while len(out) < depth:
        units, reading = _carried(len(weight))
        out.append((units @ weight, units @ offset))
        weight, offset = reading, np.zeros(len(reading))
    return out, (weight, offset)


def _side_by_side(layers: Sequence[Layer], shared: bool) -> Layer:
    """One layer: stacked over shared inputs, or block by block."""
    bias = np.concatenate([b for _, b in layers])
    if shared:
        return np.vstack([w for w, _ in layers]), bias
    out = np.zeros((len(bias), sum(w.shape[1] for w, _ in layers)))
    row = column = 0
    for weight, _ in layers:
        out[row : row + weight.shape[0], column : column + weight.shape[1]] = weight
        row, column = row + weight.shape[0], column + weight.shape[1]
    return out, bias
