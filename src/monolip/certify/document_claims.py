"""What a certificate claims about a network, feature by feature, as the JSON its document carries.

A direction is a sign: where all first-layer weights of the model columns that a feature moves have one sign, the
evaluated network follows it bit for bit (Theorem 4, docs/theory.md). A slope interval is `ExactSlopes`, rounded out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.directions import joined
from monolip.certify.exact_slopes import ExactSlopes, Interval, layer_norms
from monolip.errors import CertificateError
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.rounding import round_down, round_up

__all__ = ["claims_of"]

FloatArray = NDArray[np.float64]
Words = list[list[str]]  # of every output, of every model column
Ends = tuple[FloatArray, FloatArray, FloatArray | None]  # model columns at the lowest, the highest and a missing value


def claims_of(network: FrozenNetwork) -> dict[str, Any]:
    """{"model", "raw", "norms", "limit"}: see checker/SPECIFICATION.md."""
    slopes, words = ExactSlopes.of(network), _words(network)
    limits = [trunk.form.clamp_limit for member in network.members for trunk in member]
    return {
        "model": _model_entries(network, slopes, words),
        "raw": None if network.inputs is None else _raw_entries(network, slopes, words),
        "norms": [[[norm.hex() for norm in layer_norms(t.form)] for t in member] for member in network.members],
        "limit": min(limits).hex() if network.is_convex else None,
    }


def _words(network: FrozenNetwork) -> Words:
    """The sign of every model column for every output: all its first-layer weights are >= 0, <= 0, 0, or neither."""
    n_outputs, width = network.n_outputs, network.bounds.n_features
    low, high = np.full((n_outputs, width), np.inf), np.full((n_outputs, width), -np.inf)
    for trunk in (trunk for member in network.members for trunk in member):
        first = trunk.form.weights[0]
        for k in trunk.outputs:
            low[k], high[k] = np.minimum(low[k], first.min(axis=0)), np.maximum(high[k], first.max(axis=0))
    if not network.is_convex:
        return [["none"] * width for _ in range(n_outputs)]
    word = {(True, True): "flat", (True, False): "increasing", (False, True): "decreasing"}
    signs = np.stack([low >= 0, high <= 0], axis=-1).tolist()
    return [[word.get(tuple(pair), "none") for pair in output] for output in signs]


def _model_entries(network: FrozenNetwork, slopes: ExactSlopes, words: Words) -> list[dict[str, Any]]:
    names = network.bounds.feature_names or [None] * network.bounds.n_features
    free = network.free_names or [None] * network.n_free_features
    promised = [
        _entry(network, name, [word[j] for word in words], slopes.of_column(j), "refused")
        for j, name in enumerate(names[: network.n_features])
    ]
    return promised + [_entry(network, name, ["none"] * network.n_outputs, None, None) for name in free]


def _raw_entries(network: FrozenNetwork, slopes: ExactSlopes, words: Words) -> list[dict[str, Any]]:
    assert network.inputs is not None
    starts, entries = network.inputs.starts.tolist(), []
    for i, column in enumerate(network.inputs.columns):
        if starts[i + 1] > network.n_features:  # through the free branch
            entries.append(_entry(network, column.name, ["none"] * network.n_outputs, None, None))
            continue
        own = [word[starts[i] : starts[i + 1]] for word in words]
        directions, place = _directions(own, _ends(column))
        numeric = isinstance(column, NumericColumn)
        entries.append(_entry(network, column.name, directions, slopes.of_raw(i) if numeric else None, place))
    return entries


def _entry(
    network: FrozenNetwork, name: str | None, directions: list[str], slopes: list[Interval] | None, missing: str | None
) -> dict[str, Any]:
    softmax = network.link is not None and network.link.name == "softmax"
    other = "no promise" if slopes is None else "slope interval"
    return {
        "name": name,
        "promise": [other if word == "none" else word for word in directions],
        "real": None if slopes is None else [_hex(pair, name) for pair in slopes],
        "differences": [_hex(pair, name) for pair in _differences(slopes)] if slopes and softmax else None,
        "missing": missing,
    }


def _differences(slopes: Sequence[Interval]) -> list[Interval]:
    """For each output k an interval that holds the slopes of f_k - f_j for every other j: P(k) follows its sign."""
    result = []
    for k, (low, high) in enumerate(slopes):
        others = [pair for j, pair in enumerate(slopes) if j != k]
        result.append((low - max(b for _, b in others), high - min(a for a, _ in others)))
    return result


def _hex(pair: Interval, name: str | None) -> list[str]:
    low, high = round_down(pair[0]), round_up(pair[1])
    if not (math.isfinite(low) and math.isfinite(high)):
        raise CertificateError(
            f"a certified slope is a finite float; {name!r} has slopes from {low} to {high}; rescale that feature."
        )
    return [low.hex(), high.hex()]


def _directions(words: Words, ends: Ends | None) -> tuple[list[str], str | None]:
    """Per output the direction of a raw feature with such model columns, and where a missing value stands in it."""
    if ends is None:
        return ["none"] * len(words), None
    low, high, missing = ends
    found = [joined(w for w, moved in zip(own, low < high, strict=True) if moved) for own in words]
    if missing is None:
        return found, "refused"
    apart = ~((missing == low) & (missing == high))
    wider = [joined(w for w, moved in zip(own, apart, strict=True) if moved) for own in words]
    directed = [(a, b) for a, b in zip(found, wider, strict=True) if a != "none"]
    if all(a == b for a, b in directed) and any(a != "flat" for a, _ in directed):
        if (missing <= low).all():
            return found, "lowest"
        if (missing >= high).all():
            return found, "highest"
    return found, "state"


def _ends(column: NumericColumn | CategoryColumn) -> Ends | None:
    """Model columns at the lowest and the highest value, and where it is missing; None without an order."""
    if isinstance(column, CategoryColumn):
        n = len(column.categories)
        return (column.table[0], column.table[n - 1], column.table[-1]) if column.ordered and n else None
    indicator = [] if column.present is None else [column.present]
    low = [-np.inf if phi.left_slope else phi.values[0] for phi in column.maps] + indicator
    high = [np.inf if phi.right_slope else phi.values[-1] for phi in column.maps] + indicator
    return np.array(low), np.array(high), None if column.missing is None else np.array(column.missing)
