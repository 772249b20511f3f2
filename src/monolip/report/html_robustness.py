"""How robust it is: certified accuracy against radius, or how far a number can move; everything here is proved."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from monolip.certify.robustness import CertifiedRadii, certified_radius
from monolip.errors import InputError
from monolip.report.html_chart import Chart, legend
from monolip.report.html_promises import told_scale
from monolip.report.html_subject import Subject, rows_of
from monolip.report.html_text import Html, plain, short, short_down, short_up, table, tag
from monolip.rounding import round_up

__all__ = ["robustness_section", "spread_of"]

_NO_ROWS = (
    "Certified accuracy needs rows. Name a table and its --target on the command line, or pass X= and y= to "
    "write_report."
)
FloatArray = NDArray[np.float64]
_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)


def spread_of(subject: Subject) -> dict[str, float]:
    """Standard deviation of each numeric feature in the rows; without rows a quarter of the range in training."""
    assert subject.network.inputs is not None
    found = {}
    for j in subject.network.inputs.numeric:
        values = subject.numbers(j)
        seen = subject.seen(j)
        spread = _deviation(values) if len(values) > 1 else seen[-1] / 4 - seen[0] / 4
        found[subject.names[j]] = spread
    return found


def _deviation(values: FloatArray) -> float:
    """The standard deviation, finite for any finite values."""
    most = float(np.abs(values).max())
    return float(values.std()) if most < 1e150 else min(float((values / most).std()) * most, 1e300)


def robustness_section(subject: Subject, n_rows: int, is_held_out: bool) -> Html:
    spread = spread_of(subject)
    usable = any(value > 0 for value in spread.values())
    parts: list[Html] = []
    if not usable:
        parts = [tag("p", "No numeric feature can move, so there is no radius to speak of.")]
    elif not subject.labels:
        parts = [_movement(subject, spread)]
    elif subject.table is None:
        parts = [tag("p", _NO_ROWS)]
    else:
        parts = _certified(subject, spread, n_rows, is_held_out)
    return tag("section", tag("h2", "How robust it is"), *parts, id="robustness")


def _certified(subject: Subject, spread: dict[str, float], n_rows: int, is_held_out: bool) -> list[Html]:
    assert subject.table is not None
    rows = np.unique(np.linspace(0, subject.table.n_rows - 1, min(n_rows, subject.table.n_rows)).astype(np.int64))
    X = rows_of(subject.X, rows)
    source = subject.model if subject.model is not None else subject.network
    assert subject.network.inputs is not None
    own = {subject.network.inputs.names[subject.names.index(name)]: size for name, size in spread.items()}
    try:
        curves = {name: certified_radius(source, X, scale=own, method=name) for name in ("slopes", "local")}
    except InputError as error:
        return [tag("p", f"Radii could not be computed: {error}")]
    found = curves["local"]
    right = np.ones(len(rows), dtype=bool) if subject.y is None else found.decision == subject.y[rows]
    what = "certified share" if subject.y is None else "certified accuracy"
    middle = float(np.median(found.radius))
    words = (
        f"On {len(rows):,} rows. At radius r every moving feature may change at the same time, each by up to r "
        f"standard deviations, and the decision provably stays{'' if subject.y is None else ' and is right'}. "
        f"Half of the rows are safe to r = {short_down(middle, 3)}."
    )
    if subject.y is not None and not is_held_out:
        words += " The model may have learned from these rows: where the curve begins is no measure of its accuracy."
    if found.held:
        words += f" Held fixed: {', '.join(plain(name, 40) for name in found.held[:12])}."
    keys = legend(("ours", "proved row by row"), ("second", "from the slope table alone"), ("ideal", "nothing moved"))
    figure = tag("figure", tag("figcaption", what.capitalize()), _radius_chart(curves, right, what), keys)
    return [tag("p", words), tag("div", figure, _share_table(found, right, what), class_="charts")]


def _radius_chart(curves: dict[str, CertifiedRadii], right: NDArray[np.bool_], what: str) -> Html:
    finite = curves["local"].radius[np.isfinite(curves["local"].radius)]
    end = (float(np.quantile(finite, 0.98)) if len(finite) else 1.0) or 1.0
    chart = Chart(f"{what} against radius", (0, end), (0, 1), x_label="radius, in standard deviations", y_label=what)
    chart.line([0, end], [right.mean()] * 2, "ideal")
    for name, class_ in (("slopes", "second"), ("local", "ours")):
        at = np.linspace(0, end, 121)
        chart.line(at, curves[name].certified_accuracy(right, at), class_)
    return chart.render()


def _share_table(found: CertifiedRadii, right: NDArray[np.bool_], what: str) -> Html:
    shares = found.certified_accuracy(right, _SHARES)
    down = [math.floor(round(1000 * share, 6)) / 10 for share in shares.tolist()]  # a proved share, so rounded down
    rows = [[f"± {short(r)}", f"{share:.1f}%"] for r, share in zip(_SHARES, down, strict=True)]
    return table(["standard deviations", what], rows, "In numbers")


def _movement(subject: Subject, spread: dict[str, float]) -> Html:
    """A regressor makes no decision: how far can its answer move?"""
    steep = {name: max(abs(c.lower or 0.0), abs(c.upper or 0.0)) for (name, _), c in subject.claims.items()}
    total = sum((Fraction(size) * Fraction(steep[name]) for name, size in spread.items()), Fraction(0))
    rows = [[f"± {short(r)}", f"± {short_up(round_up(Fraction(r) * total))}"] for r in _SHARES]
    words = (
        "If every numeric feature is off by up to r standard deviations at the same time, the answer is off by at most "
        "this much, for every possible row. It is the sum of the proved slopes, so it is safe and often far from tight."
    )
    head = ["standard deviations", f"change of {told_scale(subject)}, at most"]
    return tag("div", tag("p", words), table(head, rows, "How far the answer can move"))
