"""How well it predicts, on rows that were not learned from, beside an unconstrained network and boosted trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.estimators.calibration import measure_calibration
from monolip.report.html_chart import Chart, legend
from monolip.report.html_judging import Judged, Judgement
from monolip.report.html_metrics import loss_name
from monolip.report.html_subject import Subject
from monolip.report.html_text import MINUS, Html, join, short, short_score, table, tag

__all__ = ["cost_sentence", "quality_section"]

FloatArray = NDArray[np.float64]
_CLASSES = ("ours", "second", "third", "fourth")
_SHARES = (-0.02, 1.02)  # so that no point on an edge is cut
_MOST = 400  # points of a scatter


def quality_section(subject: Subject, judgement: Judgement | None) -> Html:
    if judgement is None:
        words = (
            "No rows with answers were given, so nothing is said about accuracy. Name a table and its --target on the "
            "command line, or pass X= and y= to write_report."
        )
        return tag("section", tag("h2", "How well it predicts"), tag("p", words), id="quality")
    parts: list[object] = [tag("p", f"Measured {judgement.how}.")]
    shown = judgement.compared or (judgement.main,)
    own_apart = bool(judgement.compared) and judgement.compared[0] is not judgement.main
    if own_apart:
        parts += [_metrics((judgement.main,), "Metrics of this model on held-out rows")]
        parts += [tag("p", f"Beside other models, measured {judgement.how_compared}.")]
    parts += [_metrics(shown, "Metrics side by side" if len(shown) > 1 else "Metrics")]
    cost = cost_sentence(subject, judgement)
    parts += [tag("p", cost, class_="callout")] if cost else []
    charts = _class_charts(subject, judgement) if subject.labels else _number_charts(subject, judgement)
    return tag("section", tag("h2", "How well it predicts"), *parts, tag("div", *charts, class_="charts"), id="quality")


def cost_sentence(subject: Subject, judgement: Judgement | None) -> str:
    """What the promises cost: the mean difference of losses, row by row, with its standard error."""
    if judgement is None or len(judgement.compared) < 2:
        return ""
    own, *others = judgement.compared
    return " ".join(_against(subject, own, other) for other in others)


def _against(subject: Subject, own: Judged, other: Judged) -> str:
    gap = own.losses - other.losses
    mean, error = float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))
    size = f"{short(abs(mean), 2)} ± {short(error, 1)} of {loss_name(subject)} per row"
    lower, measurable = "lower" if mean < 0 else "higher", abs(mean) > 2 * error
    if other.name == "unconstrained":
        lead = "Against the same network without them, the promises"
        if not measurable:
            return f"{lead} cost nothing measurable (loss {lower} by {size})."
        return f"{lead} {'gain' if mean < 0 else 'cost'} {size}."
    verdict = "no measurable difference" if not measurable else "better" if mean < 0 else "worse"
    return f"Against {other.name}: {verdict} (loss {lower} by {size})."


def _metrics(shown: tuple[Judged, ...], caption: str) -> Html:
    names = list(shown[0].metrics)
    rows: list[list[object]] = []
    for judged in shown:
        head = join([judged.name, tag("small", judged.words)])
        rows.append([head, *(short_score(judged.metrics[name]) for name in names)])
    return table(["model", *names], rows, caption)


def _class_charts(subject: Subject, judgement: Judgement) -> list[Html]:
    shown = judgement.compared or (judgement.main,)
    charts = [_calibration_chart(subject, judgement)]
    if len(subject.labels) == 2 and len(np.unique(judgement.y)) == 2:
        charts += [_ranking_chart(subject, judgement.y, shown, kind) for kind in ("ROC", "precision and recall")]
    elif len(subject.labels) > 2:
        charts.append(_confusion(subject, judgement))
    return charts


def _calibration_chart(subject: Subject, judgement: Judgement) -> Html:
    y, predictions = subject.of_named(judgement.y, judgement.main.predictions)
    found = measure_calibration(predictions, y)
    what = subject.probability(subject.named) if len(subject.labels) == 2 else "P(most probable class)"
    words = (
        f"Calibration: mean predicted against observed share in {len(found.bins)} bins, error {short(found.error, 3)}"
    )
    chart = Chart(words, _SHARES, _SHARES, x_label=f"mean predicted {what}", y_label="observed share")
    predicted, observed, rows = (np.array(column, dtype=np.float64) for column in zip(*found.bins, strict=True))
    error = np.sqrt(np.maximum(observed * (1 - observed), 0.25 / rows) / rows)
    chart.line([0, 1], [0, 1], "ideal")
    chart.stems(predicted, np.maximum(observed - error, 0), np.minimum(observed + error, 1), "ours thin")
    chart.line(predicted, observed, "ours thin")
    chart.points(predicted, observed, "ours")
    keys = legend(("ours", "this model, ± one standard error"), ("ideal", "perfect calibration"))
    return _figure("Calibration", chart.render(), keys)


def _ranking_chart(subject: Subject, y: FloatArray, shown: tuple[Judged, ...], kind: str) -> Html:
    from sklearn.metrics import precision_recall_curve, roc_curve

    roc = kind == "ROC"
    labels = ("false positive rate", "true positive rate") if roc else ("recall", "precision")
    named = ", ".join(judged.name for judged in shown)
    chart = Chart(f"{kind} curves of {named}", _SHARES, _SHARES, x_label=labels[0], y_label=labels[1])
    is_named = y == subject.named
    rate = float(np.mean(is_named))
    chart.line([0, 1], [0, 1] if roc else [rate, rate], "ideal")
    for judged, class_ in reversed(list(zip(shown, _CLASSES, strict=False))):
        score = judged.predictions[:, subject.named]
        if roc:
            a, b, _ = roc_curve(is_named, score)
        else:
            b, a, _ = precision_recall_curve(is_named, score)
            a, b = a[::-1], b[::-1]
        keep = np.unique(np.linspace(0, len(a) - 1, 160).astype(np.int64))
        chart.line(a[keep], b[keep], class_)
    keys = legend(*((class_, judged.name) for judged, class_ in zip(shown, _CLASSES, strict=False)))
    title = f"{'ROC curve' if roc else 'Precision and recall'} of {subject.labels[subject.named]}"
    return _figure(title, chart.render(), keys)


def _confusion(subject: Subject, judgement: Judgement) -> Html:
    labels = subject.labels[:12]
    decided = judgement.main.predictions.argmax(axis=1)
    counts = [
        [int(((judgement.y == i) & (decided == j)).sum()) for j in range(len(labels))] for i in range(len(labels))
    ]
    rows = [[f"is {label}", *(f"{count:,}" for count in line)] for label, line in zip(labels, counts, strict=True)]
    return table(["", *(f"predicted {label}" for label in labels)], rows, "Decisions, by true class")


def _number_charts(subject: Subject, judgement: Judgement) -> list[Html]:
    y, predicted = judgement.y, judgement.main.predictions
    keep = np.unique(np.linspace(0, len(y) - 1, _MOST).astype(np.int64))
    residual = y - predicted
    ends = float(min(y.min(), predicted.min())), float(max(y.max(), predicted.max()))
    one = Chart(f"Observed {subject.target} against predicted", ends, ends, x_label="predicted", y_label="observed")
    one.line(ends, ends, "ideal")
    one.points(predicted[keep], y[keep], "ours faint", 2.2)
    counts, edges = np.histogram(residual, bins=24)
    middle = float(np.median(np.abs(residual)))
    words = f"Residuals, observed minus predicted; half of them lie within ±{short(middle, 3)}"
    two = Chart(
        words, (edges[0], edges[-1]), (0, counts.max() * 1.05), x_label=f"observed {MINUS} predicted", y_label="rows"
    )
    two.bars(edges[:-1], edges[1:], np.zeros(len(counts)), counts, "ours")
    order = np.argsort(predicted, kind="stable")
    bins = [part for part in np.array_split(order, min(12, max(2, len(order) // 20))) if len(part)]
    at, quartiles = (
        [float(predicted[b].mean()) for b in bins],
        np.array([np.quantile(residual[b], (0.25, 0.5, 0.75)) for b in bins]),
    )
    room = float(np.abs(quartiles).max()) * 1.3
    three = Chart("Middle half of the residuals along the prediction", (min(at), max(at)), (-room, room),
                  x_label="predicted", y_label=f"observed {MINUS} predicted")  # fmt: skip
    three.line([min(at), max(at)], [0, 0], "ideal")
    three.area(at, quartiles[:, 0], quartiles[:, 2], "band")
    three.line(at, quartiles[:, 1], "ours")
    keys = legend(("ours", "median"), ("band", "middle half of the rows"))
    return [
        _figure("Observed and predicted", one.render()),
        _figure("Residuals", two.render()),
        _figure("Residuals along the prediction", three.render(), keys),
    ]


def _figure(title: str, picture: Html, keys: Html | None = None) -> Html:
    return tag("figure", tag("figcaption", title), picture, keys or "")
