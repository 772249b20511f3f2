"""Heat maps of the pairs of features that act together the most."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.report._surface import Surface, surface_of
from monolip.report.html_chart import Chart, worded_ticks
from monolip.report.html_promises import focus_of, told_scale
from monolip.report.html_shapes import sample_rows
from monolip.report.html_subject import Subject
from monolip.report.html_text import Html, plain, short, tag

__all__ = ["LEVELS", "heatmaps"]

FloatArray = NDArray[np.float64]
LEVELS = 12  # colours, classes h0 .. h11 of the style sheet
_CANDIDATES, _SHOWN, _ROWS = 5, 3, 20


def heatmaps(subject: Subject, importance: FloatArray) -> Html:
    """The three strongest pairs among the five features that matter most."""
    best = np.argsort(-importance, kind="stable")[:_CANDIDATES].tolist()
    rows, output = sample_rows(subject, _ROWS), focus_of(subject)
    pairs = [
        (surface_of(subject.network, rows, i, j, output, cells=9).interaction, i, j) for i, j in combinations(best, 2)
    ]
    chosen = sorted(pairs, key=lambda pair: -pair[0])[:_SHOWN]
    if not chosen:
        return Html("")
    spans = {j: subject.span(j) for j in best}
    maps = []
    for _, i, j in chosen:
        found = surface_of(subject.network, rows, i, j, output, spans=(spans[i], spans[j]))
        maps.append(_map(subject, replace(found, values=-found.values) if subject.is_turned else found, i, j))
    words = f"{told_scale(subject)} over two features, averaged over rows: the pairs that act together the most."
    if subject.link == "logit":
        words += " The line is where the decision changes."
    return tag("div", tag("h3", "Pairs"), tag("p", words[0].upper() + words[1:]), tag("div", *maps, class_="charts"))


def _map(subject: Subject, found: Surface, i: int, j: int) -> Html:
    names = subject.names[i], subject.names[j]
    low, high = float(found.values.min()), float(found.values.max())
    width, height = len(found.x), len(found.y)
    words = f"Heat map of {names[0]} and {names[1]}: from {short(low, 3)} to {short(high, 3)}"
    chart = Chart(
        words, (0, width), (0, height), x_label=subject.with_unit(names[0]), y_label=subject.with_unit(names[1]),
        x_ticks=_ticks(found.x), y_ticks=_ticks(found.y),
    )  # fmt: skip
    levels = np.clip(((found.values - low) / ((high - low) or 1.0) * LEVELS).astype(np.int64), 0, LEVELS - 1)
    for level in range(LEVELS):
        rows, columns = np.nonzero(levels == level)
        if len(rows):
            chart.bars(columns - 0.02, columns + 1.02, rows - 0.02, rows + 1.02, f"h{level}")
    if subject.link == "logit":
        _boundary(chart, found.values > 0)
    return tag("figure", tag("figcaption", f"{names[0]} and {names[1]}"), chart.render(), _colour_bar(low, high))


def _ticks(places: NDArray[Any]) -> list[tuple[float, str]]:
    """The axes count cells: where round numbers, or some of the names, stand."""
    n = len(places)
    if places.dtype.kind == "f" and n > 2:
        low, high = float(places[0]), float(places[-1])
        return [((v - low) / (high - low) * (n - 1) + 0.5, words) for v, words in worded_ticks(low, high)]
    shown = range(0, n, -(-n // 6))
    return [(k + 0.5, short(float(places[k])) if places.dtype.kind == "f" else plain(places[k], 8)) for k in shown]


def _boundary(chart: Chart, above: NDArray[np.bool_]) -> None:
    """Edges of cells across which the sign changes: light on dark, so that it shows on every colour."""
    upright = [([c + 1, c + 1], [r, r + 1]) for r, c in np.argwhere(above[:, 1:] != above[:, :-1]).tolist()]
    level = [([c, c + 1], [r + 1, r + 1]) for r, c in np.argwhere(above[1:] != above[:-1]).tolist()]
    for class_ in ("boundary back", "boundary"):
        for x, y in upright + level:
            chart.line(x, y, class_)


def _colour_bar(low: float, high: float) -> Html:
    cells = [tag("rect", x=str(10 * k), width="10.5", height="8", class_=f"h{k}") for k in range(LEVELS)]
    size = {"viewBox": f"0 0 {10 * LEVELS} 8", "preserveAspectRatio": "none"}
    bar = tag("svg", *cells, class_="scale", aria_hidden="true", **size)
    return tag("div", tag("span", short(low, 3)), bar, tag("span", short(high, 3)), class_="colours")
