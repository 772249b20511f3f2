"""AuditReport: what an audit found, as numbers, as a data frame and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.errors import MissingExtraError
from monolip.rounding import share_text

__all__ = ["AuditReport", "AuditedFeature", "Counterexample"]

FloatArray = NDArray[np.float64]
NOT_A_PROOF = "No violation found is not a proof: the search tries many pairs, not all."
SHORTENED = "Pairs are shortened: each is the smallest step found that still shows at least half of the drop."


@dataclass(frozen=True)
class Counterexample:
    """Two rows that differ in one feature, scored the wrong way round.

    row: of X; the pair starts from it. changed: how many other columns were exchanged against values of other rows, or
    moved between and beyond the values of X.
    value_from -> value_to is a step in which the score should not fall (a decreasing feature steps down).
    size: "beyond rounding", or "rounding" where the drop is within what float arithmetic explains.
    """

    row: int
    changed: int
    feature: str
    output: Any
    value_from: Any
    value_to: Any
    before: float
    after: float
    drop: float
    size: str


@dataclass(frozen=True)
class AuditedFeature:
    """One (feature, output): the share of audited rows along which the score falls somewhere, and the worst fall.

    Shares are NaN where the time ended before the feature's turn.
    curve: values and scores along the feature at the row of the worst counterexample (or the first row), for pictures.
    """

    name: str
    output: Any
    direction: int
    share_affected: float
    share_beyond_rounding: float
    worst_drop: float
    curve: tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class AuditReport:
    """The result of `audit`.

    features: one entry per (feature, output) that has a direction. pairs: how many were compared.
    before, after: the rows of the counterexamples, in the type of X, so that they can be scored again.
    batch_dependent: share of rows whose score changes in a batch of another size. not_replayed: rounding-sized pairs
    that fell during the search and did not fall again in the batch of `before` and `after`; they are not listed.
    nan_scores: scores that were NaN during the search; no pair is formed with them. evaluations: rows scored in the
    search; later_evaluations: afterwards, to make what was found small, score it once more and draw a curve.
    """

    model: str
    features: tuple[AuditedFeature, ...]
    violations: tuple[Counterexample, ...]
    before: Any
    after: Any
    n_rows: int
    evaluations: int
    pairs: int
    seconds: float
    seed: int
    tolerance: float
    rounding: float
    batch_dependent: float
    not_replayed: int
    out_of_time: bool
    thresholds_read: int
    frame_backend: Any = None
    nan_scores: int = 0
    later_evaluations: int = 0

    @property
    def violated(self) -> bool:
        """Whether any pair falls, by however little (beyond the tolerance)."""
        return any(feature.worst_drop > 0 for feature in self.features)

    @property
    def beyond_rounding(self) -> bool:
        """Whether some pair falls by more than float arithmetic explains."""
        return any(feature.worst_drop > self.rounding for feature in self.features)

    @property
    def worst_drop(self) -> float:
        return max(feature.worst_drop for feature in self.features)

    @property
    def counterexamples(self) -> Any:
        """The violations as a data frame of the library X came in (arrays: pandas, else polars)."""
        backend: Any = self.frame_backend or _installed()
        names = ["row", "changed", "feature", "output", "value_from", "value_to", "before", "after", "drop", "size"]
        columns: dict[str, Any] = {name: [getattr(one, name) for one in self.violations] for name in names}
        if len({feature.output for feature in self.features}) == 1:
            del columns["output"]
        columns["from"], columns["to"] = columns.pop("value_from"), columns.pop("value_to")
        order = [name.removeprefix("value_") for name in names if name.removeprefix("value_") in columns]
        for name in ("from", "to"):  # values of several features: numbers where all are
            if not all(isinstance(value, int | float) for value in columns[name]):
                columns[name] = [str(value) for value in columns[name]]
        return nw.from_dict({name: columns[name] for name in order}, backend=backend).to_native()

    def __str__(self) -> str:
        lines = [self._headline(), *self._table()]
        first: dict[tuple[str, Any], Counterexample] = {}
        for one in sorted(self.violations, key=lambda one: (one.changed > 0, -one.drop)):
            first.setdefault((one.feature, one.output), one)
        shown = list(first.values())[:3]
        lines += [self._sentence(one) for one in shown]
        worst = {(feature.name, feature.output): feature.worst_drop for feature in self.features}
        if any(one.drop < worst[one.feature, one.output] for one in shown):
            lines.append(SHORTENED)
        if self.batch_dependent:
            lines.append(
                f"The same row scores differently in batches of other sizes ({self.batch_dependent:.0%} of rows), so "
                "scores cannot be replayed bit for bit; pairs were scored at equal places of equal batches."
            )
        if self.not_replayed:
            lines.append(f"{self.not_replayed} rounding-sized pairs fell in one batch and not in another: not listed.")
        if self.nan_scores:
            lines.append(f"{self.nan_scores:,} scores of moved or mixed rows were NaN: nothing is said of those rows.")
        if self.out_of_time:
            lines.append("Stopped by max_seconds: another run may find other pairs.")
        return "\n".join(lines if self.violated else [*lines, NOT_A_PROOF])

    __repr__ = __str__

    def _sentence(self, one: Counterexample) -> str:
        which = f" of {one.output!r}" if len({f.output for f in self.features}) > 1 else ""
        changed = f" with {one.changed} other columns changed" if one.changed else ""
        step = f"{one.feature} {one.value_from!r} -> {one.value_to!r}"
        return f"row {one.row}{changed}: {step}, score{which} {one.before!r} -> {one.after!r}"

    def _headline(self) -> str:
        if not self.violated:
            verdict = "no violation found"
        elif self.beyond_rounding:
            verdict = f"VIOLATED, worst drop {self.worst_drop:.3g}"
        else:
            verdict = f"violated by rounding only, worst drop {self.worst_drop:.3g}"
        silent = sum(feature.share_affected != feature.share_affected for feature in self.features)
        verdict += f", {silent} of {len(self.features)} not searched" if silent else ""
        what = "to shrink what was found and draw it" if self.violations else "to draw curves"
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows:,} rows"
        later = f", {self.later_evaluations:,} more {what}" if self.later_evaluations else ""
        return (
            f"Audit of {self.model}: {verdict} ({self.pairs:,} pairs from {rows}, "
            f"{self.evaluations:,} evaluations{later}, {self.seconds:.1f} s, seed {self.seed})"
        )

    def _table(self) -> list[str]:
        width = max(7, *(len(feature.name) for feature in self.features))
        several = len({feature.output for feature in self.features}) > 1
        lines = [
            f"{'feature':{width}}  direction   {'output  ' if several else ''}rows affected  beyond rounding  drop"
        ]
        for f in self.features:
            way = "increasing" if f.direction > 0 else "decreasing"
            which = f"{f.output!s:8}" if several else ""
            shares = f"{share_text(f.share_affected):>13}  {share_text(f.share_beyond_rounding):>15}"
            if f.share_affected != f.share_affected:
                shares = f"{'not searched':>13}  {'':15}"
            lines.append(f"{f.name:{width}}  {way}  {which}{shares}  {f.worst_drop:.3g}")
        return lines


def _installed() -> str:
    from importlib.util import find_spec

    for name in ("pandas", "polars", "pyarrow"):
        if find_spec(name) is not None:
            return name
    raise MissingExtraError("a data frame library (pandas)", "bench", "pip install pandas")
