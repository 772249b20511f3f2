"""f over two features, as a heat map; of two classes with the line where the decision changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from monolip.errors import InputError
from monolip.report._model import network_to_draw, rows_to_draw, unit_of, wanted_features, wanted_output
from monolip.report._shape import typical_row
from monolip.report._surface import surface_of
from monolip.report.style import HEAT, one_axis, styled

__all__ = ["plot_heatmap"]

_ROWS = 40


@styled
def plot_heatmap(
    model: Any, features: Sequence[str], X: Any = None, *, output: int = 0, cells: int = 40, axis: Any = None
) -> Any:
    """The mean of f over two features, where training data was; the others as in X, or at a typical row.

    Args:
        model: a fitted MonotonicRegressor or MonotonicClassifier, or a FrozenNetwork that takes raw columns.
        features: two names: along x, and along y.
        X: rows to hold the other features at (up to 40 are averaged); None: one typical row.
        output: which class's logit, for three or more classes. cells: of the grid, each way.
        axis: a matplotlib axis to draw on; None for a figure of its own.

    Returns: the matplotlib axis; its colour bar says what is shown (target units, log units or log-odds).
    """
    network = network_to_draw(model, "plot_heatmap")
    assert network.inputs is not None
    names = wanted_features(features, network.inputs.names)
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"a heat map has two features, one for each axis; got {names[:4]}; pass two names.")
    if isinstance(cells, bool) or not isinstance(cells, int | np.integer) or not 2 <= cells <= 500:
        raise InputError(f"cells is a number from 2 to 500; got {cells!r}; 40 is the default.")
    k = wanted_output(network, output)
    table = typical_row(network) if X is None else rows_to_draw(model, network, X, _ROWS)
    i, j = (network.inputs.names.index(name) for name in names)
    found = surface_of(network, table, i, j, k, cells=int(cells))
    axis = one_axis(axis, 5.0, 3.8)
    (x, x_words), (y, y_words) = _places(found.x), _places(found.y)
    mesh = axis.pcolormesh(x, y, found.values, cmap=HEAT, shading="nearest", rasterized=True)
    axis.figure.colorbar(mesh, ax=axis, label=unit_of(network, k))
    is_two_classes = network.link is not None and network.link.name == "logit"
    if is_two_classes and min(len(x), len(y)) > 1 and found.values.min() < 0 < found.values.max():
        axis.contour(x, y, found.values, levels=[0.0], colors=["black"], linewidths=3.0)
        axis.contour(x, y, found.values, levels=[0.0], colors=["white"], linewidths=1.4)
        axis.set_title("the line is where the decision changes")
    for words, set_ticks, place in ((x_words, axis.set_xticks, x), (y_words, axis.set_yticks, y)):
        if words is not None:
            set_ticks(place, words)
    axis.set_xlabel(names[0])
    axis.set_ylabel(names[1])
    axis.grid(False)
    return axis


def _places(points: Any) -> tuple[Any, list[str] | None]:
    """Where the cells stand, and their names where they are categories."""
    if points.dtype.kind == "f":
        return points, None
    return np.arange(len(points), dtype=np.float64), [str(point) for point in points]
