"""What a fitted model guarantees, as a table: per raw feature (and class) what was promised and what is certified."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.certify.certificate import Certificate
from monolip.errors import SlopeError
from monolip.estimators._text import text_table
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.monotonic_cst import feature_index
from monolip.rounding import digits_up, interval_text, round_up
from monolip.slopes import SlopeBounds, promise_word

FloatArray = NDArray[np.float64]

__all__ = ["SlopeRow", "SlopeTable", "numeric_promises", "promises_of_numbers"]


class SlopeRow(NamedTuple):
    """lower, upper: certified bounds of df/dx in raw units; probability: bound of |dP/dx|.

    None of both for categories. promise: what was asked for, as a word; promised: the interval that slopes= or
    max_slope= asked for, which the fit could not leave. What is certified lies inside what was promised, and is mostly
    far tighter.
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
    """Rows for every raw feature and output; `table["income"]` gives (lower, upper), `table[0]` those of the first.

    Promised is what was asked for before the fit; certified what is proved of the network that came out, the interval
    of the certificate. A promise of a direction holds bit for bit in `predict`. Between missing and present values
    nothing is promised unless missing="lowest" or "highest". Of two classes it is about `label`, the class that
    constraints name, else the second: about its probability, in words P(target = label), which its head says. labels:
    of the columns that the model was fitted on, where they are no names and no positions.
    """

    rows: tuple[SlopeRow, ...]
    unit: str
    label: Any = None
    labels: tuple[Hashable, ...] | None = None
    probability: str | None = None

    @classmethod
    def of(
        cls,
        network: FrozenNetwork,
        capped: Collection[str] = (),
        certificate: Certificate | None = None,
    ) -> SlopeTable:
        """Read off a frozen network; capped: features whose promised interval is one that max_slope asked for.

        Every feature has such an interval; a generous one that nobody asked for is not worth printing. certificate: of
        this network; without one, the smallest and largest slope of any first-layer unit on any piece of a feature's
        calibration, which is proved too, sooner found and wider.
        """
        assert network.inputs is not None
        assert network.link is not None
        proved = [] if certificate is None else [(claim.lower, claim.upper) for claim in certificate]
        rows = [row for j in range(network.inputs.n_raw) for row in _feature_rows(network, j, capped, proved)]
        link = network.link
        if link.labels is None or link.positive is None:
            return cls(tuple(rows), link.unit)
        return cls(tuple(rows), link.unit, link.labels[link.positive], probability=link.probability())

    def __getitem__(self, key: Hashable) -> tuple[float, float]:
        """Return (lower, upper) of a feature, over all classes; key: its name, position or label, as in `slopes=`."""
        feature = self._feature(key)
        found = [row for row in self.rows if row.feature == feature and row.lower is not None]
        if not found:
            raise KeyError(f"no slopes of {feature!r}; the features are {sorted({r.feature for r in self.rows})}")
        return min(row.lower for row in found if row.lower is not None), max(
            row.upper for row in found if row.upper is not None
        )

    def _feature(self, key: Hashable) -> Hashable:
        """Return the name of a feature."""
        names = tuple(dict.fromkeys(row.feature for row in self.rows))
        if key in names:
            return key
        try:
            return names[feature_index(key, names, len(names), self.labels)]
        except SlopeError as error:
            raise KeyError(f"no slopes of {key!r}; {error}") from None

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
        unit = {"log units": "log of the prediction"}.get(self.unit, self.unit)
        promised = "promised" if self.probability is None else f"promised of {self.probability}"
        head = ["feature", *(["class"] if classes else []), promised, f"certified slope, {unit} per unit"]
        lines = [[*head, *(["|dP/dx| at most"] if odds else [])]]
        for row in self.rows:
            slope = "-" if row.lower is None or row.upper is None else interval_text(row.lower, row.upper)
            asked = "" if row.promised is None else f" {interval_text(*row.promised)}"
            line = [row.feature, *([row.output] if classes else []), row.promise + asked, slope]
            steepest = "-" if row.probability is None else f"{digits_up(row.probability, 4):.4g}"
            lines.append(line + ([steepest] if odds else []))
        return lines


def _feature_rows(network: FrozenNetwork, j: int, capped: Collection[str], proved: Sequence[Any]) -> list[SlopeRow]:
    assert network.inputs is not None
    assert network.link is not None
    column, n = network.inputs.columns[j], network.n_outputs
    labels = [str(label) for label in network.link.labels or ()] if n > 1 else [""]
    if isinstance(column, CategoryColumn):
        low, high = _box(network, j)
        steps = max(len(column.categories) - 1, 1) if column.ordered else low.shape[1]
        words = _promises(low[:, :steps].min(1).tolist(), high[:, :steps].max(1).tolist())
        kind = "ordered category" if column.ordered else "category"
        return [SlopeRow(column.name, o, f"{w} ({kind})", None, None, None) for o, w in zip(labels, words, strict=True)]
    linear = column.maps[0].right_slope > 0  # an interval was asked for
    has_interval = network.raw_promise is not None and (linear or column.name in capped)
    words = numeric_promises(network, j, has_interval)
    asked = _interval(network.raw_promise, column.name, n) if network.raw_promise and has_interval else [None] * n
    pairs = proved[j * n : (j + 1) * n] or _interval(network.raw_slopes, column.name, n)
    least, most = [low for low, _ in pairs], [high for _, high in pairs]
    steep = Fraction(max(most)) - Fraction(min(least)) if n > 1 else Fraction(max(abs(least[0]), abs(most[0])))
    probability = round_up(steep / 4) if network.link.labels else None
    return [SlopeRow(column.name, labels[k], words[k], least[k], most[k], probability, asked[k]) for k in range(n)]


def numeric_promises(network: FrozenNetwork, j: int, has_interval: bool = False) -> list[str]:
    """The word for what is promised of numeric raw feature j, for every output."""
    return next(promises_of_numbers(network, [j], has_interval))


def promises_of_numbers(
    network: FrozenNetwork, features: Sequence[int], has_interval: bool = False
) -> Iterator[list[str]]:
    """`numeric_promises` of several features."""
    inputs = network.inputs
    assert inputs is not None
    boxes = [network.bounds.for_output(k) for k in range(network.n_outputs)]
    lower, upper = [box.lower.tolist() for box in boxes], [box.upper.tolist() for box in boxes]
    starts = inputs.starts.tolist()
    for j in features:  # the column after the maps says whether the value is there
        maps = slice(starts[j], starts[j] + len(inputs.maps_of(j)))
        yield _promises([min(low[maps]) for low in lower], [max(high[maps]) for high in upper], has_interval)


def _box(network: FrozenNetwork, j: int) -> tuple[FloatArray, FloatArray]:
    """What the model columns of raw feature j are held to, (outputs, columns) each."""
    assert network.inputs is not None
    where = slice(network.inputs.starts[j], network.inputs.starts[j + 1])
    boxes = [network.bounds.for_output(k) for k in range(network.n_outputs)]
    return np.array([box.lower[where] for box in boxes]), np.array([box.upper[where] for box in boxes])


def _interval(bounds: SlopeBounds, name: str, n_outputs: int) -> list[tuple[float, float]]:
    at = (bounds.feature_names or ()).index(name)
    each = [bounds.for_output(k) for k in range(n_outputs)]
    return [(float(one.lower[at]), float(one.upper[at])) for one in each]


def _promises(low: Sequence[float], high: Sequence[float], has_interval: bool = False) -> list[str]:
    """One output: the direction of f. Several: of P(class), rising if its logit's slope is never below another's."""
    words = []
    for k in range(len(low)):
        others = [j for j in range(len(low)) if j != k]
        floor, ceiling = max((high[j] for j in others), default=0.0), min((low[j] for j in others), default=0.0)
        words.append(promise_word(bool(low[k] >= floor), bool(high[k] <= ceiling), has_interval))
    return words
