r"""Integers that lost the model are refused: compared with the network they came from where its data lay.

    max |integers - network|  <=  part * (largest - smallest output)      over POINTS points, of all outputs

Points are drawn between knots (they are quantiles of the training data), or around the median where a line has none.
It is a measurement, no proof: what is proved (directions, slopes up to a margin) holds of coarse integers as well.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.fixed_point_columns import Range, declared_ranges, float_columns
from monolip.errors import FreezeError
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_format import PRESETS
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, NumericColumn

__all__ = ["OTHER", "PART", "require_nearness"]

FloatArray = NDArray[np.float64]

PART, OTHER = {"wide": 1e-3}, 2e-2  # of the spread of outputs: default models have 3e-7 in wide, 2e-3 in narrow
POINTS = 200
_LEAST = 2.0**-40  # of |f|: what the floats themselves resolve is not asked of integers
_LEAST_LOG = 1e-3  # of log-odds and logarithms: a model that is constant on that scale


def require_nearness(frozen: FrozenNetwork, network: FixedPointNetwork, input_ranges: Any, headroom: int) -> None:
    """Raise FreezeError (with headroom, or a format of one's own: warn) where integers are too coarse for the model."""
    columns, free = float_columns(frozen)
    rng = np.random.default_rng(0)
    spans = declared_ranges(columns, input_ranges)
    raw = [_draw(column, span, rng) for column, span in zip(columns, spans, strict=True)]
    raw += [_draw(column, None, rng) for column in (free.columns if free else ())]
    inputs = np.stack(raw, axis=1) if frozen.inputs is None else frozen.inputs.evaluate(raw)
    true = frozen.evaluate(inputs)
    found = network.link.scores(network.evaluate_raw(raw))
    least = _LEAST_LOG if network.link.name in ("log", "logit", "softmax") else _LEAST * float(np.abs(true).max())
    spread, away = max(float(np.ptp(true, axis=0).max()), least), float(np.abs(found - true).max())
    part = PART.get(network.format.name, OTHER)
    if away <= part * spread:
        return
    problem = (
        f"integers stay within {part:g} of the spread of outputs; got {away:.3g} where outputs spread over "
        f"{spread:.3g}, in format {network.format.name!r}; declare the range that matters by "
        "input_ranges={column: (low, high)}, remove outliers from columns with slopes, or use a wider format."
    )
    if PRESETS.get(network.format.name) == network.format and not headroom:
        raise FreezeError(problem)
    warnings.warn(problem, RuntimeWarning, stacklevel=4)


def _draw(column: NumericColumn | CategoryColumn, span: Range | None, rng: np.random.Generator) -> NDArray[Any]:
    """Raw values near where data were, inside the declared range: shape (POINTS,)."""
    if isinstance(column, CategoryColumn):
        labels = np.array([*column.categories, None], dtype=object)
        return np.asarray(labels[rng.integers(0, max(len(labels) - 1, 1), POINTS)])
    knots = np.unique(np.concatenate([phi.knots for phi in column.maps]))
    if knots.size > 2:
        values = np.interp(rng.uniform(0, knots.size - 1, POINTS), np.arange(knots.size), knots)
    elif column.seen is not None:
        low, middle, high = column.seen[0], column.seen[len(column.seen) // 2], column.seen[-1]
        near = [v for v in (middle - low, high - middle) if v > 0]
        width = min(near, default=0.0)  # an outlier on one side says nothing about the data
        values = middle + width * rng.uniform(-1, 1, POINTS)
        values = np.clip(values, low, high)
    else:
        values = rng.uniform(*(span or (-1.0, 1.0)), POINTS)
    return np.asarray(values if span is None else np.clip(values, *span))
