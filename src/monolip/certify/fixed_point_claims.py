r"""What a FixedPointNetwork claims, derived from its integers alone, and the document a checker derives it from again.

For x <= x' in one raw feature, everything else equal, f in its own units:

    increasing, decreasing, flat    f(x) <= f(x'), >= or =, bit for bit, for every pair of numbers
    f(x') - f(x)  in  [lower, upper] (x' - x) -+ margin      inside the declared range; margin: one input step of every
                                                             model column, and one output unit
    a bound of the right sign (lower <= 0, upper >= 0) also holds beyond the range, where inputs are clamped
"""

from __future__ import annotations

import json
import platform
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip._version import __version__
from monolip.certify.certificate import Certificate
from monolip.certify.directions import joined
from monolip.certify.document import FORMAT, VERSION, encode, seal
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_columns import FixedCategory, FixedNumeric
from monolip.fixed_point_file import take_apart
from monolip.rounding import round_down, round_up

__all__ = [
    "certify_fixed_point",
    "fixed_point_claims",
    "fixed_point_directions",
    "fixed_point_document",
    "rows_of_output",
]

IntArray = NDArray[np.int64]

ARITHMETIC = "X = V + rint(fl(fl(x - k) * rate)), clamped; z = floor((W z + b) / 2^shift); SPECIFICATION.md, section 8"
STEP = 1 + Fraction(1, 2**19)  # |X(x') - X(x) - exact difference| in units: two roundings to nearest, and float ones


def fixed_point_directions(network: FixedPointNetwork) -> list[tuple[list[str], str | None]]:
    """Per raw column with a promise: its direction in each output, and the place of missing values in that order.

    Directions: "increasing", "decreasing", "flat" or "none"; places: "lowest", "highest", "state" (no place) or
    "refused"; None for categories without an order.
    """
    words = [[_word(row) for row in rows_of_output(network, k).T] for k in range(network.n_outputs)]
    return [
        _directions(column, [row[start : start + column.n_model] for row in words])
        for column, start in zip(network.inputs.columns, network.inputs.starts, strict=False)
    ]


def _word(weights: IntArray) -> str:
    if not weights.any():
        return "flat"
    return "increasing" if (weights >= 0).all() else "decreasing" if (weights <= 0).all() else "none"


def _directions(column: FixedNumeric | FixedCategory, words: list[list[str]]) -> tuple[list[str], str | None]:
    if isinstance(column, FixedCategory) and not (column.ordered and column.categories):
        return ["none"] * len(words), None
    if isinstance(column, FixedCategory):
        ends = [tuple(map(int, c)) for c in zip(column.table[-1], column.table[0], column.table[-3], strict=True)]
    else:
        low, high = (row.tolist() for row in column.evaluate([column.low, column.high]))
        ends = list(zip(column.missing or low, low, high, strict=True))
    moving = [joined([w for w, (_, low, high) in zip(own, ends, strict=True) if low < high]) for own in words]
    wider = [joined([w for w, end in zip(own, ends, strict=True) if len(set(end)) > 1]) for own in words]
    agree = bool({"increasing", "decreasing"} & set(moving))
    agree = agree and all(v in ("none", w) for v, w in zip(moving, wider, strict=True))
    if isinstance(column, FixedNumeric) and column.missing is None:
        return moving, "refused"
    if agree and all(m <= low for m, low, _ in ends):
        return moving, "lowest"
    return moving, "highest" if agree and all(m >= high for m, _, high in ends) else "state"


def fixed_point_claims(network: FixedPointNetwork) -> dict[str, Any]:
    """Everything claimed, as JSON: numbers are hexadecimal floats, rounded outwards. Outputs of softmax also apart."""
    features: list[dict[str, Any]] = []
    for (words, place), column, start in zip(
        fixed_point_directions(network), network.inputs.columns, network.inputs.starts[:-1], strict=True
    ):
        bounds = []
        if isinstance(column, FixedNumeric):
            bounds = [_bounds(network, column, start, k) for k in range(network.n_outputs)]
        other = "slope interval" if bounds else "no promise"
        pairs = [(low, high) for low, high, _ in bounds]
        features.append(
            {
                "name": column.name,
                "promise": [other if word == "none" else word for word in words],
                "missing": place,
                "real": _written(pairs),
                "differences": _written(_apart(pairs)) if network.link.name == "softmax" else None,
                "margin": [round_up(margin).hex() for _, _, margin in bounds] or None,
            }
        )
    nothing = dict.fromkeys(("missing", "real", "differences", "margin"))
    for name in network.free.inputs.names if network.free else ():
        features.append({"name": name, "promise": ["no promise"] * network.n_outputs, **nothing})
    return {"raw": features, "carriers": list(network.carriers)}


def _written(pairs: list[tuple[Fraction, Fraction]]) -> list[list[str]] | None:
    return [[round_down(low).hex(), round_up(high).hex()] for low, high in pairs] or None


def _apart(pairs: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Slopes of each output less those of any other: what moves its probability."""
    rest = [pairs[:k] + pairs[k + 1 :] for k in range(len(pairs))]
    return [(a - max(d for _, d in r), b - min(c for c, _ in r)) for (a, b), r in zip(pairs, rest, strict=True)]


def rows_of_output(network: FixedPointNetwork, k: int) -> IntArray:
    """Rows of every trunk that gives output k: the change of f lies between their extremes."""
    shift = network.format.shift
    trunks = [trunk for member in network.members for trunk in member if k in trunk.outputs]
    return np.vstack([trunk.rows_of(trunk.outputs.index(k), shift) for trunk in trunks])


def _bounds(
    network: FixedPointNetwork, column: FixedNumeric, start: int, k: int
) -> tuple[Fraction, Fraction, Fraction]:
    """lower, upper, margin of one feature and output, in units of f per raw unit and in units of f."""
    units = np.unique(rows_of_output(network, k)[:, start : start + len(column.maps)], axis=0)
    per = Fraction(2) ** (-network.link.unit - network.format.shift)
    lower, upper = (end * per for end in _extremes(units, stretches(column)))
    if network.format.saturate:  # between layers a clamp could stop any movement
        lower, upper = min(lower, Fraction(0)), max(upper, Fraction(0))
    most = max(sum(map(abs, row)) for row in units.tolist())
    margin = (most * STEP + (1 << network.format.shift)) * per
    return lower, upper, margin


def _extremes(units: IntArray, slopes: list[tuple[Fraction, ...]]) -> tuple[Fraction, Fraction]:
    """Lowest and highest of  `sum_j units[u, j] slopes[p][j]`, exactly; floats only choose which sums are worth it."""
    rates = np.array([[float(s) for s in stretch] for stretch in slopes])
    rates = rates / (rates.max() or 1.0)  # no product overflows
    wide, listed = units.astype(np.float64), units.tolist()
    sums, error = wide @ rates.T, np.abs(wide) @ rates.T * 2.0**-45  # far above what 50 roundings can do

    def exact(chosen: NDArray[np.bool_]) -> set[Fraction]:
        pairs = ((listed[u], slopes[p]) for u, p in np.argwhere(chosen).tolist())
        return {sum((w * s for w, s in zip(*pair, strict=True) if w and s), Fraction(0)) for pair in pairs}

    low, high = sums - error, sums + error
    return min(exact(low <= high.min())), max(exact(high >= low.max()))


def stretches(column: FixedNumeric) -> list[tuple[Fraction, ...]]:
    """Exact slopes of all maps on each stretch between knots; equal stretches once."""
    left_ends = np.unique(np.concatenate([phi.knots for phi in column.maps]))
    left_ends = left_ends[:-1] if left_ends.size > 1 else left_ends
    at = [[phi.slopes[p] for p in np.searchsorted(phi.knots, left_ends, "right").tolist()] for phi in column.maps]
    return list(dict.fromkeys(zip(*at, strict=True)))


def fixed_point_document(network: FixedPointNetwork) -> dict[str, Any]:
    """The sealed document of kind fixed-point: the network's file as JSON, and its claims; all that a checker needs.

    The digest is that of the file. Tensors are integers but for knots and the free branch.
    """
    structure, tensors = take_apart(network)
    return seal(
        {
            "format": FORMAT,
            "version": VERSION,
            "kind": "fixed-point",
            "digest": network.digest,
            "structure": json.loads(json.dumps(structure)),  # tuples become lists, as in a file
            "tensors": {name: encode(array) for name, array in sorted(tensors.items())},
            "claims": fixed_point_claims(network),
            "arithmetic": ARITHMETIC,
            "versions": {"monolip": __version__, "numpy": np.__version__, "python": platform.python_version()},
        }
    )


def certify_fixed_point(network: FixedPointNetwork) -> Certificate:
    """The certificate of kind fixed-point: directions of the deployed integers, slopes up to a margin, no overflow.

    `check()` runs the independent checker on it.
    """
    return Certificate(fixed_point_document(network))
