"""Response curves with the cone of slopes that the model is proved to stay in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError, MissingExtraError
from monolip.estimators._base import MonotonicBase
from monolip.estimators._schema import Schema, table_like
from monolip.estimators._tables import RawTable
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, plain_value
from monolip.report._shape import Shape, shape_of, typical_row

__all__ = ["plot_shapes"]

FloatArray = NDArray[np.float64]
MAX_CURVES = 100
_MIDDLE = (0.25, 0.75)
_CURVE, _CONE, _MISSING = "tab:blue", "tab:orange", "tab:red"


def plot_shapes(
    model: Any,
    X: Any = None,
    *,
    features: Sequence[str] | str | None = None,
    output: int = 0,
    n_columns: int = 3,
) -> Any:
    """One panel a feature: f along the feature, other features fixed, in a cone of the slopes it provably has.

    Curves reach as far as the training data did; columns of one or two values and categories are points. A model with
    a state "missing" shows it at the right. The cone opens at the median.

    Args:
        model: a fitted MonotonicRegressor or MonotonicClassifier, or a FrozenNetwork that takes raw columns.
        X: rows to hold the other features at (up to 100 are drawn, with their mean); None: one typical row.
        features: a name or names to draw; None for all. output: which class's logit, for three or more classes.
        n_columns: panels side by side.

    Returns: the matplotlib figure. f is in the units of the slopes: target units, log units or log-odds.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    network = _network_of(model)
    assert network.inputs is not None
    wanted = _wanted(features, network.inputs.names)
    if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < network.n_outputs:
        raise InputError(f"output is a position from 0 to {network.n_outputs - 1}; got {output!r}; correct it.")
    table = typical_row(network) if X is None else _rows(model, network, X)
    across = max(1, min(n_columns, len(wanted)))
    rows = -(-len(wanted) // across)
    figure = Figure(figsize=(4.0 * across, 3.0 * rows + 0.2 + 0.8 / across), layout="constrained")
    axes = figure.subplots(rows, across, squeeze=False).ravel()
    for axis, name in zip(axes, wanted, strict=False):
        _panel(axis, network, table, network.inputs.names.index(name), int(output))
    for axis in axes[len(wanted) :]:
        axis.set_axis_off()
    _legend(figure, axes[: len(wanted)], across)
    return figure


def _network_of(model: Any) -> FrozenNetwork:
    if isinstance(model, MonotonicBase):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        network: FrozenNetwork = model.frozen_
        return network
    if isinstance(model, FrozenNetwork) and model.inputs is not None and not model.n_free_features:
        return model
    got = "one without an input transform" if isinstance(model, FrozenNetwork) else type(model).__name__
    raise InputError(
        "plot_shapes draws a fitted MonotonicRegressor or MonotonicClassifier, or a FrozenNetwork that takes raw "
        f"columns; got {got}; pass one (of a Pipeline: its last step)."
    )


def _wanted(features: Sequence[str] | str | None, names: tuple[str, ...]) -> list[str]:
    wanted = list(names) if features is None else [features] if isinstance(features, str) else list(features)
    unknown = [plain_value(name) for name in wanted if name not in names]
    if unknown or not wanted:
        raise InputError(f"features to draw must be known; got {unknown[:3]}; the features are {list(names[:8])}.")
    return wanted


def _panel(axis: Any, network: FrozenNetwork, table: RawTable, j: int, output: int) -> None:
    assert network.inputs is not None
    column, shape = network.inputs.columns[j], shape_of(network, table, j, output)
    is_category = isinstance(column, CategoryColumn)
    x = np.arange(len(shape.points)) if is_category else shape.points
    low, high = _limits(shape)
    if isinstance(column, CategoryColumn):
        axis.set_title("category" + (", ordered" if column.ordered else ""), fontsize=9)
    else:
        _cone(axis, network, j, output, shape)
    if shape.is_curve:
        for curve in shape.curves if len(shape.curves) > 1 else ():
            axis.plot(x, curve, color=_CURVE, alpha=0.12, linewidth=0.7)
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
    axis.set_ylabel(_unit(network, output))


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


def _cone(axis: Any, network: FrozenNetwork, j: int, output: int, shape: Shape) -> None:
    """All values that slopes in [lower, upper] allow, starting from the mean at the median of the data."""
    assert network.inputs is not None
    slopes = network.raw_slopes.for_output(output)
    at = (slopes.feature_names or ()).index(network.inputs.names[j])
    lower, upper = float(slopes.lower[at]), float(slopes.upper[at])
    axis.set_title(f"slope in [{lower:.3g}, {upper:.3g}]", fontsize=9)
    if shape.is_curve:
        away, start = shape.points - shape.points[shape.apex], shape.mean[shape.apex]
        edges = np.sort([start + lower * away, start + upper * away], axis=0)
        words = "slopes the model can have, from the median"
        axis.fill_between(shape.points, *edges, color=_CONE, alpha=0.15, linewidth=0, label=words)


def _mean_words(shape: Shape) -> str:
    return "model, mean over rows" if len(shape.curves) > 1 else "model, at a typical row"


def _unit(network: FrozenNetwork, output: int) -> str:
    link = network.link
    if link is None:
        return "f"
    return f"logit of {(link.labels or ())[output]!r}" if link.name == "softmax" else link.unit


def _legend(figure: Any, axes: Any, across: int) -> None:
    """One legend for all panels, each word once, as wide as the panels."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncol=across, fontsize=8, frameon=False)


def _rows(model: Any, network: FrozenNetwork, X: Any) -> RawTable:
    """Up to MAX_CURVES rows, spread evenly over the table."""
    assert network.inputs is not None
    own = network.inputs.names != tuple(f"x{j}" for j in range(network.inputs.n_raw))
    schema = getattr(model, "_schema", None) or Schema.of(network.inputs, named=own)
    table = table_like(X, schema, type(model).__name__)
    return table.take(np.unique(np.linspace(0, table.n_rows - 1, MAX_CURVES).astype(np.int64)))
