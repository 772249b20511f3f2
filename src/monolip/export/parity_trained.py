"""How far an artefact in another arithmetic is from the model that was trained: rounding, in the units of f."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.parity_inputs import Network, columns_from_codes, n_raw_of, raw_columns_of
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_columns import FixedCategory
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn

__all__ = ["difference_from_trained"]

FloatArray = NDArray[np.float64]
Scores = Callable[[FloatArray], NDArray[Any]]


def difference_from_trained(scores: Scores, model: Any, network: Network, rows: int = 500) -> float | None:
    """max |artefact(x) - f(x)|, f the float64 network of the model, where training data lie and ranges were declared.

    None where the artefact holds the trained network itself, and the table of the report says all, or where the model
    is not known (integers without their source, a free branch).
    """
    trained = getattr(model, "frozen_", model)
    if not isinstance(trained, FrozenNetwork) or trained.digest == network.digest or trained.free_branch is not None:
        return None
    x = _usual_rows(trained, network, rows)
    f = trained.evaluate(x) if trained.inputs is None else trained.evaluate_raw(columns_from_codes(trained, x))
    return float(np.abs(np.asarray(scores(x), dtype=np.float64) - f).max())


def _usual_rows(trained: FrozenNetwork, network: Network, rows: int) -> FloatArray:
    rng = np.random.default_rng(0)
    columns = raw_columns_of(trained)
    declared = raw_columns_of(network) if isinstance(network, FixedPointNetwork) else []
    found = []
    for i in range(n_raw_of(trained)):
        column = columns[i] if columns else None
        if isinstance(column, CategoryColumn | FixedCategory):
            found.append(rng.integers(0, max(1, len(column.categories)), rows).astype(np.float64))
            continue
        low, high = (-1.0, 1.0) if column is None else _span(column)
        if declared:
            ends = _span(declared[i])
            low, high = (max(low, ends[0]), min(high, ends[1])) if low < ends[1] and high > ends[0] else ends
        found.append(rng.uniform(low, high, rows))
    return np.stack(found, axis=1)


def _span(column: Any) -> tuple[float, float]:
    """From the lowest to the highest training value, where known; else between the outer knots."""
    seen = getattr(column, "seen", None)
    ends = seen or np.concatenate([phi.knots for phi in column.maps])
    low, high = float(np.min(ends)), float(np.max(ends))
    low, high = max(low, -1e300), min(high, 1e300)  # so that no difference overflows
    return (low, high) if low < high else (low - 1.0, low + 1.0)
