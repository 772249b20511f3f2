r"""What may move in a sample and what is held fixed, and the model columns with a proved error.

A raw numeric feature moves its model columns together: u_j = phi_j(x_i), phi_j non-decreasing and piecewise linear.
Categories, missing values and features without slope bounds (those of a free branch) are held fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.frozen import FrozenNetwork
from monolip.input_columns import NumericColumn, numbers_of
from monolip.input_transform import names_of
from monolip.ordered import as_rows
from monolip.piecewise_linear import PiecewiseLinear
from monolip.raw_slopes import features_with_slopes

__all__ = [
    "Movable",
    "Samples",
    "held_names",
    "movable_features",
    "move_to",
    "raw_rows",
    "read_samples",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Movable:
    """One feature with a promise: its stretches lie between knots, (P - 1,); slopes: of each of its maps there, (P, m).

    first: its first model column. column: where it stands among the raw columns.
    """

    name: str
    column: int
    first: int
    knots: FloatArray
    slopes: FloatArray


@dataclass(frozen=True)
class Samples:
    """values: (n, movable), NaN where missing. inputs: of the trunks, (n, columns), true ones within +-error."""

    values: FloatArray
    inputs: FloatArray
    error: FloatArray

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[Any] | slice) -> Samples:
        return Samples(self.values[rows], self.inputs[rows], self.error[rows])


def movable_features(network: FrozenNetwork) -> tuple[Movable, ...]:
    """Every numeric feature that carries a promise."""
    if network.inputs is None:
        names = network.slopes.feature_names or tuple(f"x{i}" for i in range(network.n_features))
        return tuple(Movable(name, i, i, np.zeros(0), np.ones((1, 1))) for i, name in enumerate(names))
    found = []
    for i in features_with_slopes(network):
        maps = network.inputs.maps_of(i)
        knots, pieces = network.inputs.pieces_of(i)
        slopes = [[float(phi.slopes[p]) for phi, p in zip(maps, at, strict=True)] for at in pieces.tolist()]
        name, first = network.inputs.names[i], int(network.inputs.starts[i])
        found.append(Movable(name, i, first, knots, np.array(slopes)))
    return tuple(found)


def held_names(network: FrozenNetwork) -> tuple[str, ...]:
    """Features that no radius is about: categories, and what no slope bounds."""
    if network.inputs is None:
        free = tuple(f"free {i}" for i in range(network.n_free_features))
        return network.free_names or free
    moved = {feature.name for feature in movable_features(network)}
    return tuple(name for name in network.inputs.names if name not in moved)


def read_samples(network: FrozenNetwork, X: Any) -> Samples:
    """Rows of a table (or of model columns, where the network has no input transform)."""
    if network.inputs is None:
        rows = as_rows(X, network.n_features + network.n_free_features)
        _refuse_infinite(rows)
        return Samples(rows[:, : network.n_features], *_through_branch(network, rows, np.zeros_like(rows)))
    columns = network.inputs.in_order(_as_columns(network, X))
    blocks, errors, values = [], [], []
    moved = {feature.column for feature in movable_features(network)}
    for i, (column, given) in enumerate(zip(network.inputs.columns, columns, strict=True)):
        block = column.evaluate(given)  # also refuses what the column refuses
        error = np.zeros_like(block)
        if isinstance(column, NumericColumn) and network.inputs.starts[i + 1] <= network.n_features:
            x = numbers_of(given, column.name)
            _refuse_infinite(x)
            for j, phi in enumerate(column.maps):
                known = ~np.isnan(x)
                block[known, j], error[known, j] = _map_enclosure(phi, x[known])
            values += [x] if i in moved else []
        blocks.append(block)
        errors.append(error)
    lengths = {len(block) for block in blocks}
    if len(lengths) > 1:
        raise InputError(f"raw columns must have one length; got {sorted(lengths)}; pass columns of one table.")
    inputs, error = _through_branch(network, np.hstack(blocks), np.hstack(errors))
    return Samples(np.stack(values, axis=1) if values else np.zeros((len(inputs), 0)), inputs, error)


def raw_rows(network: FrozenNetwork, X: Any) -> list[tuple[Any, ...]]:
    """The rows of a table as tuples of raw values, in the order of the columns."""
    if network.inputs is None:
        return [tuple(row) for row in as_rows(X, network.n_features + network.n_free_features).tolist()]
    columns = network.inputs.in_order(_as_columns(network, X))
    lists = [column.tolist() if hasattr(column, "tolist") else list(column) for column in columns]
    return list(zip(*lists, strict=True))


def move_to(network: FrozenNetwork, samples: Samples, feature: Movable, y: FloatArray) -> Samples:
    """The same samples with one feature at y, (n,)."""
    inputs, error = samples.inputs.copy(), samples.error.copy()
    if network.inputs is None:
        inputs[:, feature.first], error[:, feature.first] = y, 0.0
    else:
        for j, phi in enumerate(network.inputs.maps_of(feature.column), start=feature.first):
            inputs[:, j], error[:, j] = _map_enclosure(phi, y)
    return Samples(samples.values, inputs, error)


def _as_columns(network: FrozenNetwork, X: Any) -> Any:
    """A matrix (or a list of rows) as columns; data frames and mappings stay."""
    if isinstance(X, dict) or names_of(X) is not None:
        return X
    table = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    assert network.inputs is not None
    if table.ndim != 2 or table.shape[1] != network.inputs.n_raw:
        raise InputError(
            f"X is a table of {network.inputs.n_raw} raw columns; got shape {table.shape}; pass rows by columns, in "
            f"the order {network.inputs.names[:5]} ..."
        )
    return list(table.T)


def _refuse_infinite(values: FloatArray) -> None:
    if np.isinf(values).any():
        raise InputError("a radius is measured from a finite point; got infinity; replace infinite values.")


def _map_enclosure(phi: PiecewiseLinear, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """phi(x) and a bound of its error: slope, difference, product and sum are rounded once each (u = 2^-53)."""
    at = np.searchsorted(phi.knots, x, "right")
    anchor, value, _, low, high = np.moveaxis(phi.pieces[at], -1, 0)
    slope = np.array([float(s) for s in phi.slopes])[at]
    with np.errstate(over="ignore", invalid="ignore"):
        away = x - anchor
        u = np.clip(value + away * slope, low, high)  # the true value lies between the ends as well
        error = 2.0**-50 * (np.abs(value) + np.abs(away * slope)) + np.abs(away) * 2.0**-1074 + 2.0**-1070
    return u, np.where(away == 0, 0.0, error)


def _through_branch(network: FrozenNetwork, rows: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Inputs of the trunks; outputs of a free branch are taken as evaluated: its inputs are held fixed."""
    if network.free_branch is None:
        return rows, error
    d = network.n_features
    free = network.free_branch.evaluate(rows[:, d:])
    if np.isnan(free).any():
        raise InputError("the free branch overflowed to NaN; its inputs are too large; scale them.")
    return np.hstack([rows[:, :d], free]), np.hstack([error[:, :d], np.zeros_like(free)])
