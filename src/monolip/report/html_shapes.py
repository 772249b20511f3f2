"""What it learned: importance, and a response curve per feature in its certified cone, with the data's density."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._tables import RawColumn, RawTable
from monolip.input_columns import CategoryColumn
from monolip.report._shape import Shape, shape_of, typical_row
from monolip.report.html_chart import Chart, legend
from monolip.report.html_promises import ARROWS, focus_of, told_direction, told_scale, told_slope
from monolip.report.html_subject import Subject
from monolip.report.html_text import Html, plain, short, tag

__all__ = ["importance_of", "sample_rows", "shapes_section"]

FloatArray = NDArray[np.float64]
MOST_FEATURES, MOST_BARS = 24, 30
_ROWS, _SHUFFLED = 60, 2000


def sample_rows(subject: Subject, most: int = _ROWS) -> RawTable:
    """Rows spread evenly over the table, or one typical row."""
    if subject.table is None:
        return typical_row(subject.network)
    return subject.table.take(np.unique(np.linspace(0, subject.table.n_rows - 1, most).astype(np.int64)))


def importance_of(subject: Subject) -> FloatArray:
    """How much f moves, on average, when a column is shuffled; without rows: when it crosses its range. (features,)."""
    rows = sample_rows(subject, _SHUFFLED)
    if rows.n_rows == 1:
        shapes = [shape_of(subject.network, rows, j, focus_of(subject)).mean for j in range(len(subject.names))]
        return np.array([float(np.ptp(shape)) for shape in shapes])
    f, rng, found = subject.evaluate(rows), np.random.default_rng(0), []
    for j in range(len(subject.names)):
        mixed = rows.take(rng.permutation(rows.n_rows)).columns[j]
        columns = (*rows.columns[:j], RawColumn(mixed.name, mixed.values, mixed.categories, mixed.ordered, mixed.exact))
        other = RawTable((*columns, *rows.columns[j + 1 :]), rows.named, rows.n_rows)
        found.append(float(np.abs(subject.evaluate(other) - f).mean()))
    return np.array(found)


def shapes_section(subject: Subject, importance: FloatArray, heatmaps: Html) -> Html:
    order = np.argsort(-importance, kind="stable")
    shown = order[:MOST_FEATURES].tolist()
    curves = [_curve(subject, j) for j in shown]
    several = sample_rows(subject).n_rows > 1
    keys = legend(
        ("ours", "model, mean over rows" if several else "model, at a typical row"),
        *([("band", "middle half of the rows")] if several else []),
        ("cone", "where certified slopes allow it, from the median"),
        *([("density", "where the data is")] if several else []),
    )
    left = len(order) - len(shown)
    more = tag("p", f"The {left} features that matter least are not drawn.", class_="note") if left else ""
    of = f" of {subject.labels[focus_of(subject)]}" if subject.link == "softmax" else ""
    rest = "the others as they are in the rows" if several else "the others at a typical value"
    words = f"Curves show {told_scale(subject)}{of} along one feature, {rest}. The curve cannot leave its cone."
    return tag(
        "section",
        tag("h2", "What it learned"),
        _importance_bars(subject, importance, order[:MOST_BARS].tolist(), several),
        tag("h3", "Response curves"),
        tag("p", words),
        keys,
        tag("div", *curves, class_="charts"),
        more,
        heatmaps,
        id="shapes",
    )


def _importance_bars(subject: Subject, importance: FloatArray, shown: list[int], several: bool) -> Html:
    most = float(importance.max()) or 1.0
    items = []
    for j in shown:
        share = float(importance[j]) / most
        bar = tag("svg", tag("rect", width=f"{100 * share:.1f}", height="10", class_="ours"), viewBox="0 0 100 10",
                  preserveAspectRatio="none", class_="bar", aria_hidden="true")  # fmt: skip
        items.append(
            tag(
                "li",
                tag("span", subject.names[j], class_="name"),
                bar,
                tag("span", short(float(importance[j]), 3), class_="value"),
            )
        )
    how = "the column is shuffled between rows" if several else "it crosses its range at a typical row"
    words = f"How far {told_scale(subject)} moves on average when {how}."
    return tag("div", tag("h3", "Importance"), tag("p", words), tag("ul", *items, class_="bars"))


def _curve(subject: Subject, j: int) -> Html:
    network = subject.network
    assert network.inputs is not None
    column, name = network.inputs.columns[j], subject.names[j]
    output = focus_of(subject)
    shape = shape_of(network, sample_rows(subject), j, output, subject.span(j))
    if subject.is_turned:
        shape = replace(shape, curves=-shape.curves, missing=None if shape.missing is None else -shape.missing)
    is_category = isinstance(column, CategoryColumn)
    words = [plain(point, 14) if is_category else short(float(point)) for point in shape.points]
    x = np.arange(len(words), dtype=np.float64) if not shape.is_curve else shape.points
    names = None if shape.is_curve else words + (["missing"] if shape.missing is not None else [])
    low, high = _limits(shape)
    ends = (float(x[0]), float(x[-1])) if shape.is_curve else (-0.5, len(names or ()) - 0.5)
    direction = told_direction(subject, name, output)
    told = f"{name}, {direction}" if direction != "free" else name
    chart = Chart(f"Response curve of {told}", ends, (low, high), x_label=subject.with_unit(name),
                  y_label=told_scale(subject), x_names=names)  # fmt: skip
    if shape.is_curve:
        _density(chart, subject, j)
        _cone(chart, subject, name, shape)
        if len(shape.curves) > 1:
            low_half, high_half = np.quantile(shape.curves, (0.25, 0.75), axis=0)
            chart.area(x, low_half, high_half, "band")
        chart.line(x, shape.mean, "ours")
    else:
        _spots(chart, x, shape.curves, "ours")
    if shape.missing is not None and not shape.is_curve:
        _spots(chart, np.array([float(len(words))]), shape.missing[:, None], "missing")
    gone = (
        f" (missing: {short(float(shape.missing.mean()), 3)})" if shape.missing is not None and shape.is_curve else ""
    )
    return tag("figure", tag("figcaption", f"{ARROWS[direction]} {told}{gone}".strip()), chart.render())


def _spots(chart: Chart, x: FloatArray, values: FloatArray, class_: str) -> None:
    if len(values) > 1:
        low, high = np.quantile(values, (0.25, 0.75), axis=0)
        chart.stems(x, low, high, f"{class_} thick")
    chart.points(x, values.mean(axis=0), class_, 4.0)


def _cone(chart: Chart, subject: Subject, name: str, shape: Shape) -> None:
    label = subject.labels[focus_of(subject)] if subject.link == "softmax" else ""
    claim = subject.claims[name, label]
    if claim.lower is None or claim.upper is None:
        return
    away, start = shape.points - shape.points[shape.apex], shape.mean[shape.apex]
    low, high = told_slope(subject, claim.lower, claim.upper)
    with np.errstate(over="ignore"):  # far outside the picture
        edges = np.sort([start + low * away, start + high * away], axis=0).clip(-1e300, 1e300)
    chart.area(shape.points, edges[0], edges[1], "cone")


def _density(chart: Chart, subject: Subject, j: int) -> None:
    """A histogram along the floor, a sixth of the height."""
    if subject.table is None:
        return
    values = subject.table.columns[j].values
    values = values[~np.isnan(values) & (values >= chart.x_range[0]) & (values <= chart.x_range[1])]
    if not len(values):
        return
    counts, edges = np.histogram(values, bins=36, range=chart.x_range)
    low, high = chart.y_range
    tops = low + counts / counts.max() * (high - low) / 6
    chart.bars(edges[:-1], edges[1:], np.full(len(counts), low), tops, "density")


def _limits(shape: Shape) -> tuple[float, float]:
    drawn = [shape.mean]
    if len(shape.curves) > 1:
        drawn.append(np.quantile(shape.curves, (0.25, 0.75), axis=0).ravel())
    if shape.missing is not None and not shape.is_curve:
        drawn.append(np.quantile(shape.missing, (0.25, 0.75)))
    low, high = min(float(part.min()) for part in drawn), max(float(part.max()) for part in drawn)
    room = (high - low) or max(abs(high), 1.0) * 0.1
    return low - 0.22 * room, high + 0.15 * room
