"""Response curves with the cone of slopes that the model is proved to stay in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._tables import RawTable
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.report._model import (
    Intervals,
    certified_slopes,
    network_to_draw,
    rows_to_draw,
    unit_of,
    wanted_features,
    wanted_output,
)
from monolip.report._shape import Shape, shape_of, typical_row
from monolip.report.style import BLUE, ORANGE, RED, legend_below, panels, styled
from monolip.rounding import interval_text

__all__ = ["plot_shapes"]

FloatArray = NDArray[np.float64]
MAX_CURVES = 100
_MIDDLE = (0.25, 0.75)
_CURVE, _CONE, _MISSING = BLUE, ORANGE, RED


@styled
def plot_shapes(
    model: Any,
    X: Any = None,
    *,
    features: Sequence[str] | str | None = None,
    output: int = 0,
    n_columns: int = 3,
    figure: Any = None,
) -> Any:
    """One panel a feature: f along the feature, other features fixed, in a cone of its certified slopes.

    Curves reach as far as the training data did; columns of one or two values and categories are points. A model with
    a state "missing" shows it at the right. The cone opens at the median. With rows, each thin line is one of them.

    Args:
        model: a fitted MonotonicRegressor or MonotonicClassifier, or a FrozenNetwork that takes raw columns.
        X: rows to hold the other features at (up to 100 are drawn, with their mean); None: one typical row.
        features: a name or names to draw; None for all. output: which class's logit, for three or more classes.
        n_columns: panels side by side. figure: a matplotlib figure to draw in; None for a new one.

    Returns: the matplotlib axes, one a feature, shape (n,); axes[0].figure.savefig saves them.
    f is what slopes are of: the prediction, its logarithm, or log-odds, as the axis says.
    """
    network = network_to_draw(model, "plot_shapes")
    assert network.inputs is not None
    wanted, k = wanted_features(features, network.inputs.names), wanted_output(network, output)
    table = typical_row(network) if X is None else rows_to_draw(model, network, X, MAX_CURVES)
    proved = certified_slopes(model, network, k)
    axes = panels(len(wanted), n_columns, figure)
    for axis, name in zip(axes, wanted, strict=True):
        _panel(axis, network, table, network.inputs.names.index(name), k, proved)
    across = min(n_columns, len(wanted))
    axes[0].figure.suptitle(_title(table, is_narrow=across < 2), fontsize=10)
    legend_below(axes, across)
    return axes


def _title(table: RawTable, is_narrow: bool) -> str:
    rest = "at a typical row" if table.n_rows == 1 else f"as in {table.n_rows} rows"
    return f"What the model learned:{chr(10) if is_narrow else ' '}one feature moves, the others stay {rest}"


def _panel(axis: Any, network: FrozenNetwork, table: RawTable, j: int, output: int, proved: Intervals) -> None:
    assert network.inputs is not None
    column, shape = network.inputs.columns[j], shape_of(network, table, j, output)
    is_category = isinstance(column, CategoryColumn)
    x = np.arange(len(shape.points)) if is_category else shape.points
    low, high = _limits(shape)
    if isinstance(column, CategoryColumn):
        axis.set_title("category" + (", ordered" if column.ordered else ""), fontsize=9)
    elif column.name in proved:
        _cone(axis, *proved[column.name], shape)
    else:
        axis.set_title("free: nothing is certified", fontsize=9)
    if shape.is_curve:
        for at, curve in enumerate(shape.curves if len(shape.curves) > 1 else ()):
            axis.plot(x, curve, color=_CURVE, alpha=0.12, linewidth=0.7, label=None if at else "model, at each row")
        axis.plot(x, shape.mean, color=_CURVE, linewidth=2, label=_mean_words(shape))
    else:
        _points(axis, x, shape.curves, _CURVE, _mean_words(shape))
    width = float(x[-1] - x[0]) or 1.0
    if shape.missing is not None:
        _points(axis, np.array([x[-1] + _gap(shape, width)]), shape.missing[:, None], _MISSING, "missing value", "D")
    if not shape.is_curve:
        words = [str(point) if is_category else f"{point:g}" for point in shape.points]
        axis.set_xticks(x, words, rotation=45 if max(map(len, words)) > 3 else 0)
        axis.set_xlim(x[0] - 0.4 * width / len(x), x[-1] + 0.4 * width / len(x) + _gap(shape, width))
    axis.set_ylim(low, high)
    axis.set_xlabel(column.name)
    axis.set_ylabel(unit_of(network, output))


def _points(axis: Any, x: Any, values: FloatArray, color: str, label: str, marker: str = "o") -> None:
    """The mean at each place, and where the middle half of the rows lies."""
    mean = values.mean(axis=0)
    if len(values) > 1:
        words = "middle half of the rows" if marker == "o" else None
        axis.vlines(x, *np.quantile(values, _MIDDLE, axis=0), color=color, linewidth=1.2, label=words)
    axis.plot(x, mean, marker, color=color, label=label)


def _gap(shape: Shape, width: float) -> float:
    """Room at the right for a missing value."""
    if shape.missing is None:
        return 0.0
    return 0.08 * width if shape.is_curve else width / max(1, len(shape.points) - 1)


def _limits(shape: Shape) -> tuple[float, float]:
    """Every curve and every point, with a margin; the cone is cut instead."""
    spots = [] if shape.is_curve else [shape.curves]
    spots += [] if shape.missing is None else [shape.missing[:, None]]
    drawn = [shape.curves] if shape.is_curve else [shape.mean]
    drawn += [np.vstack([spot.mean(axis=0), np.quantile(spot, _MIDDLE, axis=0)]) for spot in spots]
    low, high = min(float(part.min()) for part in drawn), max(float(part.max()) for part in drawn)
    room = (high - low) or max(abs(high), 1.0) * 0.1
    margin = 0.08 if len(shape.curves) > 1 else 0.3
    return low - margin * room, high + margin * room


def _cone(axis: Any, lower: float, upper: float, shape: Shape) -> None:
    """All values that slopes in [lower, upper] allow, starting from the mean at the median of the data."""
    axis.set_title(f"certified slope {interval_text(lower, upper)}", fontsize=9)
    if shape.is_curve:
        away, start = shape.points - shape.points[shape.apex], shape.mean[shape.apex]
        edges = np.sort([start + lower * away, start + upper * away], axis=0)
        words = "where certified slopes allow it, from the median"
        axis.fill_between(shape.points, *edges, color=_CONE, alpha=0.15, linewidth=0, label=words)


def _mean_words(shape: Shape) -> str:
    return "model, mean over rows" if len(shape.curves) > 1 else "model, at a typical row"
