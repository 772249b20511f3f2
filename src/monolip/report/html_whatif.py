"""The live panel: a slider and a field for every feature, with what is proved about raising it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.report._shape import typical_row
from monolip.report.html_promises import answer_words, direction_of, told_direction, told_scale, told_slope
from monolip.report.html_robustness import spread_of
from monolip.report.html_scorer import scorer_data
from monolip.report.html_subject import Subject
from monolip.report.html_text import DASH, Html, plain, short_down, short_up, tag

__all__ = ["page_data", "whatif_section"]

FloatArray = NDArray[np.float64]
MOST_OPTIONS, OPEN_FIELDS = 500, 14
_STOPS = 41


def page_data(subject: Subject, importance: FloatArray) -> dict[str, Any]:
    """What the scripts read: the scorer's tables, the features, the words. No row of the user's data is in it."""
    spread = spread_of(subject)
    start = typical_row(subject.network)
    features = [_feature(subject, j, spread, start.columns[j].values[0]) for j in range(len(subject.names))]
    f = subject.evaluate(start)
    level = subject.predictions(f)
    middle = float(np.median(subject.y)) if subject.y is not None and not subject.labels else None
    threshold = 0.5 if subject.labels else _tidy(middle if middle is not None else float(level[0]))
    return {
        "scorer": scorer_data(subject.network),
        "features": features,
        "order": _order(importance),
        "link": subject.link,
        "labels": list(subject.labels),
        "named": subject.named,
        "about": subject.about,
        "turned": subject.is_turned,
        "probabilities": [plain(subject.probability(k), 80) for k in range(len(subject.labels))],
        "answer": plain(answer_words(subject), 80),
        "scale": plain(subject.scale, 80),
        "threshold": threshold,
    }


def _feature(subject: Subject, j: int, spread: dict[str, float], start: Any) -> dict[str, Any]:
    assert subject.network.inputs is not None
    column, name = subject.network.inputs.columns[j], subject.names[j]
    outputs = range(subject.network.n_outputs)
    labels = subject.labels if subject.link == "softmax" else ("",)
    common: dict[str, Any] = {
        "name": name,
        "unit": subject.unit(name),
        "directions": [direction_of(subject, name, k) for k in outputs],
    }
    if isinstance(column, CategoryColumn):
        shown = [plain(label, 60) for label in column.categories[:MOST_OPTIONS]]
        return {**common, "n": len(column.categories), "options": shown, "start": 0}
    claims = [subject.claims[name, label] for label in labels]
    stops = _stops(subject, j)
    return {
        **common,
        "slopes": [[claim.lower, claim.upper] for claim in claims],
        "stops": stops,
        "whole": all(float(stop).is_integer() for stop in [*stops, float(start)]),
        "spread": spread[name],
        "missing": _asks_missing(subject, j),
        "start": _tidy(float(start)),
    }


def _tidy(value: float) -> float:
    """Four digits: a start for people; whole numbers stay."""
    return value if value.is_integer() else float(f"{value:.4g}")


def _stops(subject: Subject, j: int) -> list[float]:
    """Places along the slider: quantiles of the rows, so that half of it covers half of them; else an even grid."""
    values, seen = subject.numbers(j), subject.seen(j)
    if len(values) >= 20:
        whole = bool((values == np.round(values)).all())
        found = np.quantile(values, np.linspace(0, 1, _STOPS), method="nearest" if whole else "linear")
        found = np.unique(np.concatenate([found, [seen[0], seen[-1]]]))
    else:
        found = np.array(seen) if len(seen) < 3 else np.linspace(seen[0], seen[-1], _STOPS)
    if len(found) == 1:
        found = found[0] + np.array([-1.0, 0.0, 1.0])
    return [float(v) for v in found]


def _order(importance: FloatArray) -> list[int]:
    return [int(j) for j in np.argsort(-importance, kind="stable")]


def whatif_section(subject: Subject, importance: FloatArray) -> Html:
    """Fields in the order of importance; beyond the first ones they are folded away."""
    order = _order(importance)
    fields = [_field(subject, j) for j in order[:OPEN_FIELDS]]
    rest = [_field(subject, j) for j in order[OPEN_FIELDS:]]
    if rest:
        fields.append(tag("details", tag("summary", f"{len(rest)} features that matter less"), *rest, class_="more"))
    buttons = [
        tag("button", "Start again", type="button", id="reset"),
        tag("button", "Random row", type="button", id="random"),
    ]
    lead = (
        "Move a slider or type a value. The network in this file answers, here in your browser, with the same bits as "
        "Python. Nothing leaves this page."
    )
    return tag(
        "section",
        tag("h2", "What if"),
        tag("p", lead),
        tag("noscript", tag("p", "This panel needs scripts to be allowed; everything else on the page does not.")),
        tag("div", tag("form", *fields, tag("p", *buttons), id="fields", autocomplete="off"), _result(subject),
            class_="whatif"),
        id="whatif",
    )  # fmt: skip


def _result(subject: Subject) -> Html:
    bars = ""
    if subject.labels:
        rows = [
            tag("li", tag("span", label, class_="name"), tag("span", tag("span", class_="fill"), class_="track"),
                tag("span", class_="value"))
            for label in (subject.labels if len(subject.labels) > 2 else [])
        ]  # fmt: skip
        bars = (
            tag("ul", *rows, class_="bars classes", id="classes")
            if rows
            else tag("div", tag("div", class_="fill"), class_="track", id="gauge")
        )
    decide: Html | str = ""
    if subject.link != "softmax":
        words = f"Decide {subject.labels[subject.named]} above" if subject.labels else "Compare with"
        limits = {"min": "0", "max": "1"} if subject.labels else {}
        field = tag("input", type="number", step="any", id="threshold", **limits)
        decide = tag("p", tag("label", words, " ", field), class_="decide")
    return tag(
        "div",
        tag(
            "div",
            tag("p", _capital(answer_words(subject).removeprefix("the ")), class_="answer-name", id="answer-name"),
            tag("output", DASH, id="answer", aria_live="polite", for_="fields"),
            bars,
            tag("p", tag("span", id="decision", class_="decision"), " ", tag("span", id="change", class_="note")),
            class_="card score",
        ),
        tag(
            "div",
            decide,
            tag("h3", "Nearest flip"),
            tag("p", id="radius", class_="note"),
            tag("ol", id="flips"),
            tag("details", tag("summary", "All digits"), tag("pre", id="exact", tabindex="0", aria_label="All digits")),
            class_="card flips",
        ),
        class_="result",
    )


def _field(subject: Subject, j: int) -> Html:
    assert subject.network.inputs is not None
    column, name = subject.network.inputs.columns[j], subject.names[j]
    unit = subject.unit(name)
    label = tag("label", name, tag("small", f" {unit}") if unit else "", for_=f"value-{j}")
    told = _hint(subject, j)
    proved = any(direction_of(subject, name, k) != "free" for k in range(subject.network.n_outputs))
    hint = tag("p", tag("span", "proved", class_="badge") if proved else "", told, class_="hint", id=f"hint-{j}")
    if isinstance(column, CategoryColumn):
        n = len(column.categories)
        options = [tag("option", plain(c, 60), value=str(k)) for k, c in enumerate(column.categories[:MOST_OPTIONS])]
        options.append(tag("option", "any other", value=str(n)))
        options += [tag("option", "missing", value=str(n + 1))] if _asks_missing(subject, j) else []
        inputs = tag("select", *options, id=f"value-{j}", aria_describedby=f"hint-{j}")
    else:
        told_by = {"aria_describedby": f"hint-{j}"}
        ends = {"min": "0", "max": "1000", "step": "1"}
        slider = tag("input", type="range", id=f"slider-{j}", aria_label=f"{name}, slider", **ends, **told_by)
        number = tag("input", type="number", step="any", id=f"value-{j}", aria_describedby=f"hint-{j}")
        gone = tag("label", tag("input", type="checkbox", id=f"missing-{j}"), "missing", class_="missing")
        inputs = tag("div", slider, number, gone if _asks_missing(subject, j) else "", class_="inputs")
    return tag("div", label, inputs, hint, class_="field", data_feature=str(j))


def _asks_missing(subject: Subject, j: int) -> bool:
    """Whether "missing" means something of its own: values were missing in training, or a rule was asked for."""
    assert subject.network.inputs is not None
    column = subject.network.inputs.columns[j]
    if isinstance(column, CategoryColumn):  # the last row of its table is "missing", the one before "any other"
        return not np.array_equal(column.table[-1], column.table[-2])
    claim = subject.claims[subject.names[j], subject.labels[0] if subject.link == "softmax" else ""]
    return _may_miss(column) and (column.present is not None or claim.missing in ("lowest", "highest"))


def _may_miss(column: NumericColumn) -> bool:
    return column.missing is not None


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _flat_words(subject: Subject, j: int) -> str:
    """A flat feature may still matter by being missing (or, of an ordered category, unknown)."""
    assert subject.network.inputs is not None
    column = subject.network.inputs.columns[j]
    if isinstance(column, CategoryColumn):
        return "{} is the same in every known category." if column.ordered else "{} does not depend on this."
    return "{} is the same whatever the number." if _may_miss(column) else "{} does not depend on this."


def _hint(subject: Subject, j: int) -> str:
    name = subject.names[j]
    words = {
        "increasing": "{} cannot fall if you raise this.",
        "decreasing": "{} cannot rise if you raise this.",
        "flat": _flat_words(subject, j),
    }
    found = []
    for k in range(subject.network.n_outputs):
        direction = told_direction(subject, name, k)
        if direction in words:
            found.append(words[direction].format(answer_words(subject, k)))
    if found:
        return " ".join(_capital(words) for words in found[:3])
    claim = subject.claims[name, subject.labels[0] if subject.link == "softmax" else ""]
    if claim.lower is None or claim.upper is None:
        return "Free: no direction is promised for this category."
    if subject.link == "softmax":
        return "No direction is promised; its slopes are bounded."
    low, high = told_slope(subject, claim.lower, claim.upper)
    slopes = f"{short_down(low, 3)} to {short_up(high, 3)}"
    return f"No direction is promised. One unit more moves {told_scale(subject)} by {slopes} (certified)."
