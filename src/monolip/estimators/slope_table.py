"""What a fitted model guarantees, as a table: per raw feature (and class) the promise and the slopes it really has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._text import text_table
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.rounding import digits_up, interval_text, round_up

FloatArray = NDArray[np.float64]

__all__ = ["SlopeRow", "SlopeTable"]


class SlopeRow(NamedTuple):
    """lower, upper: exact bounds of df/dx in raw units (None for categories); probability: bound of |dP/dx|.

    promise: in words; promised: the interval that slopes= or max_slope= asked for, which the fit could not leave.
    """

    feature: str
    output: str
    promise: str
    lower: float | None
    upper: float | None
    probability: float | None
    promised: tuple[float, float] | None = None


@dataclass(frozen=True, repr=False)
class SlopeTable:
    """Rows for every raw feature and output; `table["income"]` gives (lower, upper) of a one-output model.

    The interval is proved: it is the smallest and largest slope of any first-layer unit on any piece of the feature's
    calibration, and every gradient of the network is an average of those. A promise of a direction holds bit for bit
    in `predict`. Between missing and present values nothing is promised unless missing="lowest" or "highest".
    """

    rows: tuple[SlopeRow, ...]
    unit: str

    @classmethod
    def of(cls, network: FrozenNetwork, capped: Collection[str] = ()) -> SlopeTable:
        """Read off a frozen network; capped: features whose promised interval is one that max_slope asked for.

        Every feature has such an interval; a generous one that nobody asked for is not worth printing.
        """
        assert network.inputs is not None
        assert network.link is not None
        rows = [row for j in range(network.inputs.n_raw) for row in _feature_rows(network, j, capped)]
        return cls(tuple(rows), network.link.unit)

    def __getitem__(self, feature: str) -> tuple[float, float]:
        found = [row for row in self.rows if row.feature == feature and row.lower is not None]
        if not found:
            raise KeyError(f"no slopes of {feature!r}; the features are {sorted({row.feature for row in self.rows})}")
        return min(row.lower for row in found if row.lower is not None), max(
            row.upper for row in found if row.upper is not None
        )

    def __iter__(self) -> Iterator[SlopeRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return text_table(self.cells)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *lines = ([f"<td>{escape(cell)}</td>" for cell in line] for line in self.cells)
        rows = ("<tr>" + "".join(line) + "</tr>" for line in (("".join(head).replace("td>", "th>"),), *lines))
        return "<table>" + "".join(rows) + "</table>"

    @property
    def cells(self) -> list[list[str]]:
        """The table as text, the head first; bounds rounded outward, so that what is printed is proved too."""
        classes = any(row.output for row in self.rows)
        odds = any(row.probability is not None for row in self.rows)
        head = ["feature", *(["class"] if classes else []), "promise", f"slope, {self.unit} per unit"]
        lines = [[*head, *(["|dP/dx| at most"] if odds else [])]]
        for row in self.rows:
            slope = "-" if row.lower is None or row.upper is None else interval_text(row.lower, row.upper, 4)
            asked = "" if row.promised is None else f" {interval_text(*row.promised, 4)}"
            line = [row.feature, *([row.output] if classes else []), row.promise + asked, slope]
            steepest = "-" if row.probability is None else f"{digits_up(row.probability, 4):.4g}"
            lines.append(line + ([steepest] if odds else []))
        return lines


def _feature_rows(network: FrozenNetwork, j: int, capped: Collection[str]) -> list[SlopeRow]:
    assert network.inputs is not None
    assert network.link is not None
    column, n = network.inputs.columns[j], network.n_outputs
    labels = [str(label) for label in network.link.labels or ()] if n > 1 else [""]
    bounds = network.bounds
    where = slice(network.inputs.starts[j], network.inputs.starts[j + 1])
    low = np.array([bounds.for_output(k).lower[where] for k in range(n)])
    high = np.array([bounds.for_output(k).upper[where] for k in range(n)])
    if isinstance(column, CategoryColumn):
        steps = max(len(column.categories) - 1, 1) if column.ordered else low.shape[1]
        words = _promises(low[:, :steps].min(1), high[:, :steps].max(1))
        kind = "ordered category" if column.ordered else "category"
        return [SlopeRow(column.name, o, f"{w} ({kind})", None, None, None) for o, w in zip(labels, words, strict=True)]
    m = len(column.maps)
    words = _promises(low[:, :m].min(1), high[:, :m].max(1))
    at = (network.raw_slopes.feature_names or ()).index(column.name)
    asked: list[tuple[float, float] | None] = [None] * n
    linear = column.maps[0].right_slope > 0  # an interval was asked for
    if network.raw_promise is not None and (linear or column.name in capped):
        words = ["bounded" if word == "free" else word for word in words]
        promises = [network.raw_promise.for_output(k) for k in range(n)]
        asked = [(float(p.lower[at]), float(p.upper[at])) for p in promises]
    slopes = [network.raw_slopes.for_output(k) for k in range(n)]
    least, most = [float(s.lower[at]) for s in slopes], [float(s.upper[at]) for s in slopes]
    steep = Fraction(max(most)) - Fraction(min(least)) if n > 1 else Fraction(max(abs(least[0]), abs(most[0])))
    probability = round_up(steep / 4) if network.link.labels else None
    return [SlopeRow(column.name, labels[k], words[k], least[k], most[k], probability, asked[k]) for k in range(n)]


def _promises(low: FloatArray, high: FloatArray) -> list[str]:
    """One output: the direction of f. Several: of P(class), rising if its logit's slope is never below another's."""
    words = []
    for k in range(len(low)):
        others = [j for j in range(len(low)) if j != k]
        floor, ceiling = max((high[j] for j in others), default=0.0), min((low[j] for j in others), default=0.0)
        rising, falling = low[k] >= floor, high[k] <= ceiling
        words.append({(1, 1): "flat", (1, 0): "increasing", (0, 1): "decreasing"}.get((rising, falling), "free"))
    return words
