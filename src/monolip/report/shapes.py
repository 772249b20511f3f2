"""Response curves with the cone of slopes that the model is proved to stay in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError, MissingExtraError
from monolip.estimators._prediction import Predictor
from monolip.estimators._schema import table_like
from monolip.estimators._tables import RawColumn, RawTable
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn

__all__ = ["plot_shapes"]

FloatArray = NDArray[np.float64]
MAX_CURVES = 100


def plot_shapes(
    model: Any, X: Any = None, *, features: Sequence[str] | None = None, output: int = 0, n_columns: int = 3
) -> Any:
    """One panel a feature: f along the feature, other features fixed, in a cone of the slopes it provably has.

    Args:
        model: a fitted MonotonicRegressor or MonotonicClassifier.
        X: rows to hold the other features at (up to 100 are drawn, with their mean); None: one typical row.
        features: names to draw; None for all. output: which class's logit, for three or more classes.
        n_columns: panels side by side.

    Returns: the matplotlib figure. f is in the units of the slopes: target units, log units or log-odds.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    network: FrozenNetwork = model.frozen_
    assert network.inputs is not None
    names = list(network.inputs.names)
    wanted = names if features is None else list(features)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise InputError(f"features to draw must be known; got {unknown[:3]}; the features are {names[:8]}.")
    table = _typical(network) if X is None else _sample(table_like(X, model._schema, type(model).__name__))
    rows = -(-len(wanted) // n_columns)
    figure = Figure(figsize=(4.0 * min(n_columns, len(wanted)), 3.0 * rows), layout="constrained")
    axes = figure.subplots(rows, min(n_columns, len(wanted)), squeeze=False).ravel()
    for axis, name in zip(axes, wanted, strict=False):
        _panel(axis, network, table, names.index(name), output)
    for axis in axes[len(wanted) :]:
        axis.set_axis_off()
    return figure


def _panel(axis: Any, network: FrozenNetwork, table: RawTable, j: int, output: int) -> None:
    assert network.inputs is not None
    assert network.link is not None
    column = network.inputs.columns[j]
    if isinstance(column, CategoryColumn):
        labels = np.array(column.categories[:30], dtype=object)
        mean = _curves(network, table, j, labels, output).mean(axis=0)
        axis.bar(range(len(labels)), mean - mean.min(), bottom=mean.min(), color="tab:gray")
        axis.set_xticks(range(len(labels)), [str(label) for label in labels], rotation=45)
        axis.set_title("category" + (", ordered" if column.ordered else ""), fontsize=9)
    else:
        knots = network.inputs.pieces_of(j)[0]
        low, high = (knots[0] - 1, knots[0] + 1) if knots.size == 1 else (knots[0], knots[-1])
        grid = np.unique(np.concatenate([np.linspace(low, high, 120), knots]))
        curves = _curves(network, table, j, grid, output)
        for curve in curves if len(curves) > 1 else ():
            axis.plot(grid, curve, color="tab:blue", alpha=0.12, linewidth=0.7)
        mean = curves.mean(axis=0)
        _cone(axis, network, j, output, grid, mean)
        axis.plot(grid, mean, color="tab:blue", linewidth=2)
    axis.set_xlabel(column.name)
    axis.set_ylabel(network.link.unit)


def _cone(axis: Any, network: FrozenNetwork, j: int, output: int, grid: FloatArray, mean: FloatArray) -> None:
    """All values that slopes in [lower, upper] allow, starting from the middle of the curve."""
    slopes = network.raw_slopes.for_output(output)
    at = (slopes.feature_names or ()).index(network.inputs.names[j])  # type: ignore[union-attr]
    lower, upper = float(slopes.lower[at]), float(slopes.upper[at])
    middle = len(grid) // 2
    away = grid - grid[middle]
    edges = np.stack([mean[middle] + lower * away, mean[middle] + upper * away])
    room = max(float(np.ptp(mean)), 1e-9)
    axis.fill_between(grid, edges.min(axis=0), edges.max(axis=0), color="tab:orange", alpha=0.15, linewidth=0)
    axis.set_ylim(mean.min() - 0.3 * room, mean.max() + 0.3 * room)
    axis.set_title(f"slope in [{lower:.3g}, {upper:.3g}]", fontsize=9)


def _curves(network: FrozenNetwork, table: RawTable, j: int, points: NDArray[Any], output: int) -> FloatArray:
    """f at each point for each row of the table, shape (rows, points)."""
    columns = []
    for i, column in enumerate(table.columns):
        values = np.tile(points, table.n_rows) if i == j else np.repeat(column.values, len(points))
        columns.append(RawColumn(column.name, values))
    crossed = RawTable(tuple(columns), table.named, table.n_rows * len(points))
    return Predictor(network).evaluate(crossed)[:, output].reshape(table.n_rows, len(points))


def _sample(table: RawTable) -> RawTable:
    return table.take(np.unique(np.linspace(0, table.n_rows - 1, MAX_CURVES).astype(np.int64)))


def _typical(network: FrozenNetwork) -> RawTable:
    """The middle knot of every number and the first category: needs no data."""
    assert network.inputs is not None
    columns = []
    for i, column in enumerate(network.inputs.columns):
        if isinstance(column, CategoryColumn):
            columns.append(RawColumn(column.name, np.array(column.categories[:1], dtype=object)))
        else:
            knots = network.inputs.pieces_of(i)[0]
            columns.append(RawColumn(column.name, knots[knots.size // 2][None]))
    return RawTable(tuple(columns), True, 1)
