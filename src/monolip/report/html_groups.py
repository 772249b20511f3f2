"""How it treats groups: metrics by a named column that is not a feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.frames import as_frame
from monolip.input_columns import is_missing
from monolip.report.html_chart import Chart, legend
from monolip.report.html_judging import Judgement
from monolip.report.html_metrics import loss_name
from monolip.report.html_subject import Subject, distinct_names
from monolip.report.html_text import Html, short_score, table, tag

__all__ = ["crumbled_groups", "groups_section", "read_groups", "without_groups"]

MOST_GROUPS, FEW = 20, 30
Groups = dict[str, NDArray[Any]]
FloatArray = NDArray[np.float64]


def without_groups(X: Any, groups: Any, features: tuple[str, ...]) -> tuple[Any, Any]:
    """X without the columns that groups names, and those columns: names of groups may point into X."""
    names = [groups] if isinstance(groups, str) else groups
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        return X, groups
    frame = as_frame(X)
    if not isinstance(frame, nw.DataFrame):
        raise InputError(
            f"groups by name are columns of X; got {names[0]!r} and X without names; pass the column itself."
        )
    absent = [name for name in names if name not in frame.columns]
    if absent and not isinstance(groups, str) and len(names) == len(frame):
        return X, groups  # a label for every row
    if absent:
        raise InputError(f"groups by name are columns of X; got {absent[0]!r}; X has {list(frame.columns)[:8]}.")
    found = {name: np.array(frame[name].to_list(), dtype=object) for name in names}
    kept = [name for name in frame.columns if name in features or name not in names]
    return frame.select(kept).to_native(), found


def read_groups(groups: Any, n_rows: int) -> Groups:
    """{name: labels, whole, None where missing}: of a mapping, a data frame, a named column or an array."""
    if groups is None:
        return {}
    frame = as_frame(groups, allow_series=True)
    if isinstance(frame, nw.DataFrame):
        found = {str(name): frame[name].to_list() for name in frame.columns}
    elif isinstance(frame, nw.Series):
        found = {str(frame.name or "group"): frame.to_list()}
    elif isinstance(groups, Mapping):
        found = {str(name): list(values) for name, values in groups.items()}
    else:
        found = {"group": np.asarray(groups).tolist()}
    for name, values in found.items():
        if len(values) != n_rows:
            raise InputError(
                f"groups have one entry per row of X; got {len(values)} in {name!r} for {n_rows}; match them."
            )
    whole = {name: [None if is_missing(v) else str(v) for v in values] for name, values in found.items()}
    return {name: np.array(values, dtype=object) for name, values in whole.items()}


def groups_section(subject: Subject, judgement: Judgement | None, groups: Groups) -> Html:
    if not groups:
        return Html("")
    if judgement is None:
        words = "Groups were named, but no answers: nothing can be measured. Pass --target, or y= to write_report."
        return tag("section", tag("h2", "How it treats groups"), tag("p", words), id="groups")
    parts = [_one(subject, judgement, name, labels[judgement.rows]) for name, labels in groups.items()]
    lead = f"Measured {judgement.how}. The model does not see a column unless it is also among its features."
    return tag("section", tag("h2", "How it treats groups"), tag("p", lead), *parts, id="groups")


def _one(subject: Subject, judgement: Judgement, name: str, labels: NDArray[Any]) -> Html:
    counts = Counter(labels.tolist())
    distinct = sorted(counts, key=lambda label: (-counts[label], label is None, label or ""))[:MOST_GROUPS]
    shown = distinct_names(["missing" if label is None else label for label in distinct], 40)
    lines = [_metrics(subject, judgement, np.array([label == one for one in labels.tolist()])) for label in distinct]
    small = [name for name, label in zip(shown, distinct, strict=True) if counts[label] < FEW]
    note = f"Fewer than {FEW} rows, so hardly more than an anecdote: {', '.join(small[:8])}." if small else ""
    left = len(counts) - len(shown)
    if left:
        rows_left = len(labels) - sum(counts[label] for label in distinct)
        note += f" {left:,} smaller groups with {rows_left:,} of {len(labels):,} rows are left out."
    rows = [[label, *(_cell(value) for value in line.values())] for label, line in zip(shown, lines, strict=True)]
    used = " (also a feature of the model)" if name in subject.names else ""
    body = [
        table(["group", *lines[0]], rows, f"Metrics by {name}"),
        tag("div", *_charts(subject, name, shown, lines), class_="charts"),
    ]
    few = tag("p", _crumbled(name, counts), class_="callout") if _crumbled(name, counts) else ""
    return tag("div", tag("h3", f"By {name}{used}"), few, *body, tag("p", note, class_="note") if note else "")


def crumbled_groups(groups: Groups) -> list[str]:
    """A sentence for each column most of whose rows would lie in groups too small to say anything, or in none shown."""
    return [words for name, labels in groups.items() if (words := _crumbled(name, Counter(labels.tolist())))]


def _crumbled(name: str, counts: Mapping[Any, int]) -> str:
    shown = sorted(counts.values(), reverse=True)[:MOST_GROUPS]
    n_rows = sum(counts.values())
    if 2 * sum(n for n in shown if n >= FEW) >= n_rows:
        return ""
    return (
        f"{name!r} has {len(counts):,} different values in {n_rows:,} rows: most rows are in groups of fewer than "
        f"{FEW} rows, or beyond the {MOST_GROUPS} largest groups, which are all that is shown. Merge values first: "
        "dates by year, numbers by range."
    )


def _metrics(subject: Subject, judgement: Judgement, inside: NDArray[np.bool_]) -> dict[str, float]:
    y, p = judgement.y[inside], judgement.main.predictions[inside]
    found: dict[str, float] = {"rows": float(inside.sum())}
    loss = float(judgement.main.losses[inside].mean())
    if len(subject.labels) == 2:
        positive, decided = subject.labels[subject.named], (p[:, 1] > 0.5) == bool(subject.named)
        y, p = subject.of_named(y, p)
        found[f"share {positive}"] = float((y == 1).mean())
        found[f"mean {subject.probability(subject.named)}"] = float(p[:, 1].mean())
        found[f"decided {positive}"] = float(decided.mean())
        found["false positive rate"] = float(decided[y == 0].mean()) if (y == 0).any() else np.nan
        found["false negative rate"] = float((~decided[y == 1]).mean()) if (y == 1).any() else np.nan
        found["accuracy"] = float((decided == (y == 1)).mean())
    elif subject.labels:
        found["accuracy"] = float((p.argmax(axis=1) == y).mean())
        found["mean P(decided class)"] = float(p.max(axis=1).mean())
    else:
        found |= {"mean observed": float(y.mean()), "mean predicted": float(p.mean())}
        found["mean error"] = float((p - y).mean())
    return {**found, loss_name(subject): loss}


def _cell(value: float) -> str:
    return f"{int(value):,}" if value > 1 and value.is_integer() else short_score(value)


def _charts(subject: Subject, name: str, shown: Sequence[str], lines: list[dict[str, float]]) -> list[Html]:
    """Observed beside predicted; of two classes also both kinds of error."""
    keys = [k for k in lines[0] if k.startswith(("share ", "mean P(", "mean observed", "mean predicted", "accuracy"))]
    pairs = [(keys[0], keys[1])]
    pairs += [("false positive rate", "false negative rate")] if len(subject.labels) == 2 else []
    return [_chart(subject, name, shown, lines, pair) for pair in pairs]


def _chart(
    subject: Subject, name: str, shown: Sequence[str], lines: list[dict[str, float]], pair: tuple[str, str]
) -> Html:
    one, two = (np.array([line[key] for line in lines]) for key in pair)
    known = ~np.isnan(one) & ~np.isnan(two)
    places, one, two = np.arange(len(shown), dtype=np.float64)[known], one[known], two[known]
    is_share = pair[0].startswith("share ")
    low, high = _wilson(one, np.array([line["rows"] for line in lines])[known]) if is_share else (one, one)
    ends = (0.0, 1.0) if not len(one) else (min(low.min(), two.min()), max(high.max(), two.max()))
    room = 0.08 * (ends[1] - ends[0] or abs(ends[1]) or 1.0)
    words = f"{pair[0]} and {pair[1]}"
    label = pair[0] if is_share else "rate" if "rate" in pair[0] else subject.target
    chart = Chart(f"{words} by {name}", (-0.5, len(shown) - 0.5), (ends[0] - room, ends[1] + room), x_names=shown,
                  x_label=name, y_label=label)  # fmt: skip
    chart.stems(places - 0.08, low, high, "ours thin")
    chart.points(places - 0.08, one, "ours", 4.0)
    chart.points(places + 0.08, two, "second", 4.0)
    keys = legend(("ours spot", pair[0] + (", ± two standard errors" if is_share else "")), ("second spot", pair[1]))
    return tag("figure", tag("figcaption", words[0].upper() + words[1:]), chart.render(), keys)


def _wilson(share: FloatArray, rows: FloatArray, z: float = 2.0) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval of a share: honest also where few rows are all alike."""
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * np.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return middle - half, middle + half
