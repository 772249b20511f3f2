"""The tables of Table 1's section, made from paper/results/table1.json."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.markdown import spread, table
from paper.table1.forms_table import forms_tables
from paper.table1.published import BESIDE, COLUMNS, OTHERS, PAPER, printed
from paper.table1.scores import standard_error
from paper.table1.summary import GUARANTEED, best_peer, difference, summary, verdict
from paper.table1.tasks import TASKS

__all__ = ["tables"]

FORMS = {"accuracy": ".2f", "rmse": ".4f", "mse": ".2f"}
PEERS = (*GUARANTEED[2:], "gradient penalty")
UNITS = {"accuracy": "accuracy, %", "rmse": "RMSE", "mse": "MSE"}


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    entries = {task.entry: numbers.get(task.entry) for task in TASKS}
    return {
        "table_data": _data(entries, numbers["missing"]),
        "table_paper": _paper(entries),
        **forms_tables(entries),
        "table_honest": _honest(entries),
        "table_difference": _difference(entries),
        "table_audit": _audit(entries),
        "table_auc": _auc(entries),
        "table_sizes": _sizes(entries),
        "table_published": _published(),
    }


def _published() -> str:
    head = ["method", *COLUMNS, "source", "parameters from", "selection"]
    rows = [[o.method, *o.cells(), o.source, o.counted or "not given", o.selection] for o in OTHERS]
    return table(head, rows)


def _label(entry: str, found: dict[str, Any] | None) -> str:
    return f"{entry} (substitute)" if found and found["substitute"] else entry


def _data(entries: dict[str, Any], missing: dict[str, str]) -> str:
    rows = []
    for entry, found in entries.items():
        if found is None:
            rows.append([entry, f"missing: {missing.get(entry, 'not run')}", "", "", "", ""])
        elif " mini" not in entry:
            source = found["substitute"] or "the paper's"
            rows.append(_described(_label(entry, found), found["data"], source))
            if "stated data" in found:
                rows[-1][0] += ", as published (`paper`)"
                rows.append(_described(f"{entry}, as stated (`honest`)", found["stated data"], "the same files"))
    return table(["data", "rows", "columns", "constrained", "target", "source"], rows)


def _described(label: str, data: dict[str, Any], source: str) -> list[str]:
    target = f"{100 * data['positive']:.1f} % positive" if "positive" in data else f"mean {data['mean']:.2f}"
    return [label, f"{data['rows']:,}", data["columns"], data["constrained"], target, source]


def _missing(entry: str, columns: int) -> list[str]:
    return [entry, "missing", *[""] * (columns - 2)]


def _size(entry: str) -> str:
    stated = PAPER[entry].parameters
    return "not stated" if stated is None else str(stated)


def _paper(entries: dict[str, Any]) -> str:
    """As published: best epoch and threshold on test."""
    rows = []
    for entry, found in entries.items():
        if found is None:
            rows.append([entry, _size(entry), "", BESIDE.get(entry, ""), printed(entry), "missing", "", "", "", "", ""])
            continue
        form, runs = FORMS[found["metric"]], found["paper"]
        ours = runs["monolip"]
        theirs = ["other data"] * 2 if found["substitute"] else [BESIDE.get(entry, ""), printed(entry)]
        cells = [spread(ours["values"], form), f"{np.mean(ours['last']):{form}}"]
        trees = [spread(runs[name]["values"], form) if name in runs else "not run" for name in PEERS]
        rows.append([_label(entry, found), _size(entry), ours["parameters"], *theirs, *cells, *trees])
        if "paper, stated task" in found:
            stated = found["paper, stated task"]["monolip"]
            cells = [spread(stated["values"], form), f"{np.mean(stated['last']):{form}}"]
            label = f"{entry}, stated columns and target"
            rows.append([label, _size(entry), stated["parameters"], "-", "-", *cells, "", "", "", ""])
    head = ["entry", "paper's parameters", "ours", "Certified or COMET: score, parameters", "paper's score", "ours"]
    head.append("same runs, last epoch, threshold 1/2")
    return table([*head, *PEERS[:-1], "gradient penalty (no guarantee)"], rows)


def _honest(entries: dict[str, Any]) -> str:
    rows = []
    for entry, found in entries.items():
        if found is None:
            rows.append(_missing(entry, 4 + len(GUARANTEED) + 1))
            continue
        form, honest = FORMS[found["metric"]], found["honest"]
        shown = {name: summary(honest[name]) for name in (*GUARANTEED, "gradient penalty") if honest.get(name)}
        best = (max if found["metric"] == "accuracy" else min)(shown[name].mean for name in GUARANTEED if name in shown)
        cells = []
        for name in (*GUARANTEED, "gradient penalty"):
            if name not in shown:
                cells.append("not run")
                continue
            cell = f"{shown[name].mean:{form}} ± {shown[name].error:{form}}"
            if shown[name].n != shown["monolip"].n:
                cell += f" ({shown[name].n} splits)"
            cells.append(f"**{cell}**" if shown[name].mean == best and name != "gradient penalty" else cell)
        blog = "day_errors" in honest["monolip"][0]
        repeats = f"{shown['monolip'].n} {'test days' if blog else 'splits'}"
        rows.append(
            [_label(entry, found), UNITS[found["metric"]], repeats, found["paper"]["monolip"]["parameters"], *cells]
        )
    return table(
        ["entry", "score", "over", "parameters of the small one", *GUARANTEED, "gradient penalty (no guarantee)"], rows
    )


VERDICTS = {"best": "ours is the best", "within": "within one standard error", "missed": "missed"}


def _difference(entries: dict[str, Any]) -> str:
    """The estimator alone: the better one of two would have two chances."""
    rows = []
    for entry, found in entries.items():
        if found is None:
            rows.append(_missing(entry, 6))
            continue
        metric, honest = found["metric"], found["honest"]
        form, peer = FORMS[metric], best_peer(honest, metric)
        gap, error = difference(honest["monolip"], honest[peer]), summary(honest["monolip"]).error
        sigmas = f"{abs(gap.mean) / gap.error:.1f}" if gap.error else ""
        cells = [f"{gap.mean:+{form}} ± {gap.error:{form}}", sigmas, f"{error:{form}}"]
        cells.append(VERDICTS[verdict(honest, metric)])
        rows.append([_label(entry, found), peer, *cells])
    head = [
        "entry",
        "best other monotone model",
        "monolip - its score, same rows",
        "in errors of that difference",
        "standard error of monolip",
        "verdict",
    ]
    return table(head, rows)


def _auc(entries: dict[str, Any]) -> str:
    """Area under the curve of the classifiers, on the same test rows."""
    rows = []
    for entry, found in entries.items():
        if found is None and PAPER[entry].metric == "accuracy":
            rows.append(_missing(entry, 2 + len(GUARANTEED)))
        if found is None or found["metric"] != "accuracy":
            continue
        cells = []
        for name in (*GUARANTEED, "gradient penalty"):
            values = [row["auc"] for row in found["honest"].get(name, [])]
            cells.append(f"{np.mean(values):.4f} ± {standard_error(values):.4f}" if values else "not run")
        rows.append([_label(entry, found), *cells])
    return table(["entry", *GUARANTEED, "gradient penalty"], rows)


def _sizes(entries: dict[str, Any]) -> str:
    """Weights and biases of the networks, leaves of the trees; the mean over splits."""
    rows = []
    for entry, found in entries.items():
        if found is None:
            rows.append(_missing(entry, 2 + len(GUARANTEED)))
            continue
        sizes = {
            name: [row["size"] for row in runs] for name, runs in found["honest"].items() if runs and "size" in runs[0]
        }
        cells = [f"{np.mean(sizes[name]):,.0f}" if name in sizes else "not run" for name in (*GUARANTEED, PEERS[-1])]
        rows.append([_label(entry, found), *cells])
    networks = [f"{name}, parameters" for name in GUARANTEED[:2]]
    trees = [f"{name}, leaves" for name in GUARANTEED[2:]]
    return table(["entry", *networks, *trees, "gradient penalty, parameters"], rows)


def _audit(entries: dict[str, Any]) -> str:
    rows = []
    for entry, found in entries.items():
        if found is None:
            rows.append(_missing(entry, 2 + len(GUARANTEED)))
            continue
        names = (*GUARANTEED, "gradient penalty")
        rows.append([_label(entry, found), *[_found((found["honest"].get(name) or [{}])[0]) for name in names]])
    return table(["entry", *GUARANTEED, "gradient penalty"], rows)


def _found(row: dict[str, Any]) -> str:
    drop, affected = row.get("worst_drop"), row.get("affected", 0.0)
    if drop is None:
        return "not run"
    if drop == 0:
        return "none found"
    return f"{drop:.3g} ({100 * affected:.0f} % of rows)" if affected else "none beyond rounding"
