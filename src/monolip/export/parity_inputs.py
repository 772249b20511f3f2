"""Inputs that find what random ones miss: knots and their neighbours, infinities, denormals, the largest floats.

Raw rows are float64, one number per raw column; a category is its code: 0 .. n - 1, n for unseen, n + 1 for missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.certificate import Certificate
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_columns import FixedCategory
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn

__all__ = [
    "Network",
    "columns_from_codes",
    "directions_of",
    "invalid_rows",
    "n_raw_of",
    "parity_inputs",
    "raw_columns_of",
    "steps_along",
]

FloatArray = NDArray[np.float64]
Network = FrozenNetwork | FixedPointNetwork
Direction = tuple[int, int, int]  # raw column, output, +1 (rising), -1 (falling) or 0 (flat)

_EXTREME = np.array([np.inf, 1.7976931348623157e308, 1e300, 3.4028235e38, 1e30, 1e9, 1e-30, 1e-40, 1e-310, 5e-324, 0.0])
_SIGNS = {"increasing": 1, "decreasing": -1, "flat": 0}


def raw_columns_of(network: Network) -> list[Any]:
    """Raw columns in order; empty where a network takes model columns as they are."""
    if network.inputs is None:
        return []
    free = network.free.inputs.columns if isinstance(network, FixedPointNetwork) and network.free else ()
    return [*network.inputs.columns, *free]


def n_raw_of(network: Network) -> int:
    columns = raw_columns_of(network)
    if columns or isinstance(network, FixedPointNetwork):
        return len(columns)
    return network.n_features + network.n_free_features


def columns_from_codes(network: Network, rows: FloatArray) -> Any:
    """What evaluate_raw takes, from rows with codes: lists of labels for categories."""
    given = []
    for column, values in zip(raw_columns_of(network), rows.T, strict=True):
        if isinstance(column, CategoryColumn | FixedCategory):
            n = len(column.categories)
            labels = [*column.categories, _unseen(column.categories), None]
            known = np.where(np.isin(values, np.arange(n + 2)), values, np.where(np.isnan(values), n + 1, n))
            given.append([labels[int(code)] for code in known])
        else:
            given.append(values)
    return given


def _unseen(categories: Sequence[Any]) -> Any:
    """A label that is not among them: a string, or where all are numbers one that float32 holds."""
    if any(isinstance(label, str) for label in categories):
        return next(name for k in count() if (name := "unseen" + " " * k) not in categories)
    return next(number for k in count() if (number := k + 0.5) not in categories)


def invalid_rows(network: Network, rows: FloatArray) -> NDArray[np.bool_]:
    """Rows with NaN in a column that has no rule for it; Python refuses these."""
    columns = raw_columns_of(network)
    if not columns:
        return np.asarray(np.isnan(rows).any(axis=1))
    strict = [not isinstance(c, CategoryColumn | FixedCategory) and c.missing is None for c in columns]
    return np.asarray(np.isnan(rows[:, strict]).any(axis=1))


def directions_of(network: Network, certificate: Certificate) -> list[Direction]:
    """What the certificate claims bit for bit, by position."""
    claims = certificate.document["claims"]
    columns = raw_columns_of(network)
    entries = claims["raw"] if columns else claims["model"]
    places = {column.name: i for i, column in enumerate(columns)}
    found = []
    for j, entry in enumerate(entries):
        at = places[entry["name"]] if columns else j
        found += [(at, k, _SIGNS[word]) for k, word in enumerate(entry["promise"]) if word in _SIGNS]
    return found


def parity_inputs(network: Network, kind: str, rows: int, rng: np.random.Generator) -> FloatArray:
    """Raw rows of one kind, "random", "boundary" or "extreme"; missing values where they have a rule."""
    return np.stack([_values(network, i, kind, rows, rng) for i in range(n_raw_of(network))], axis=1)


def steps_along(
    network: Network, i: int, kind: str, rows: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Pairs of rows that differ in raw column i only, which is lower in the first; a third are one ulp apart."""
    low, columns = parity_inputs(network, kind, rows, rng), raw_columns_of(network)
    high = low.copy()
    if columns and isinstance(columns[i], CategoryColumn | FixedCategory):
        codes = np.sort(rng.integers(0, max(1, len(columns[i].categories)), (rows, 2)), axis=1)
        low[:, i], high[:, i] = codes.T
        return low, high
    a = np.nan_to_num(low[:, i], nan=0.0, posinf=np.inf, neginf=-np.inf)
    b = np.nan_to_num(_values(network, i, kind, rows, rng), nan=0.0, posinf=np.inf, neginf=-np.inf)
    with np.errstate(over="ignore"):  # the neighbour of the largest float is infinite, which is meant
        b[::3] = np.nextafter(a[::3], np.inf)
        b[1::3] = np.nextafter(a[1::3].astype(np.float32), np.float32(np.inf)).astype(np.float64)
    low[:, i], high[:, i] = np.minimum(a, b), np.maximum(a, b)
    return low, high


def _values(network: Network, i: int, kind: str, rows: int, rng: np.random.Generator) -> FloatArray:
    columns = raw_columns_of(network)
    if not columns:
        return _numbers(np.array([-1.0, 0.0, 1.0]), kind, rows, rng)
    column = columns[i]
    if isinstance(column, CategoryColumn | FixedCategory):
        return rng.integers(0, len(column.categories) + 2, rows).astype(np.float64)
    x = _numbers(np.unique(np.concatenate([phi.knots for phi in column.maps])), kind, rows, rng)
    if column.missing is not None:
        x[rng.random(rows) < 0.1] = np.nan
    return x


def _numbers(knots: FloatArray, kind: str, rows: int, rng: np.random.Generator) -> FloatArray:
    low, high = max(float(knots[0]), -1e300), min(float(knots[-1]), 1e300)  # so that no difference overflows
    width = high - low or max(1.0, abs(low))
    if kind == "random":
        return rng.uniform(low - width, high + width, rows)
    if kind == "extreme":
        return rng.choice(np.concatenate([_EXTREME, -_EXTREME, knots[[0, -1]]]), rows)
    x = rng.choice(knots, rows)
    with np.errstate(over="ignore"):  # the step beyond the largest number is infinity
        x[::3] = np.nextafter(x[::3], np.inf)
        x[1::3] = np.nextafter(x[1::3], -np.inf)
    return x
