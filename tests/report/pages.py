"""Reports of small models with every kind of column and link, written once."""

from __future__ import annotations

import json
import re
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from monolip import MonotonicClassifier
from monolip.export.parity_inputs import columns_from_codes, parity_inputs
from monolip.report import write_report

from ..estimators.tables import QUICK, credit
from ..export.models import estimator
from ..raw_networks import plain_network

__all__ = ["KINDS", "TABLES", "answers", "credit_page", "hostile_page", "island", "network_of", "page"]

KINDS = ("numbers", "strings", "logit", "first", "softmax", "log")
TABLES = ("table", "table logit")
SAVE = {"check": False, "radius_rows": 6, "folds": 2}


@cache
def table(kind: str):
    """A random network over numbers, a category and missing values, with steep bins."""
    return plain_network(np.random.default_rng(11), "logit" if kind.endswith("logit") else "identity")


def network_of(kind: str):
    return table(kind) if kind in TABLES else estimator(kind).frozen_


@cache
def page(kind: str) -> Path:
    """Without rows: what a model alone can say."""
    model = table(kind) if kind in TABLES else estimator(kind)
    return write_report(model, Path(tempfile.mkdtemp()) / f"{kind}.html", **SAVE)


@cache
def credit_page() -> Path:
    """With everything: rows, targets, groups, baselines, radii, units."""
    X, y = credit(260)
    label = np.where(y > 10, "good", "bad")
    model = MonotonicClassifier(
        monotonic_cst={"income": {"good": 1}, "debt": {"good": -1}, "grade": {"good": 1}}, **QUICK
    ).fit(X, label)
    return write_report(
        model, Path(tempfile.mkdtemp()) / "credit.html", X=X, y=label, groups={"region": np.arange(260) % 3},
        title="Credit scoring", units={"income": "€", "debt": "€"}, **SAVE,
    )  # fmt: skip


HOSTILE = ["</script><img src=x onerror=alert(1)>", "\"><svg onload='alert(2)'>", "${alert(3)}", "a\u202eb\x00&amp;'"]


@cache
def hostile_page() -> Path:
    """Every string that a user can choose tries to become markup or a script."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=HOSTILE[:3])
    X[HOSTILE[3]] = rng.choice(["</select><script>alert(4)</script>", "'; alert(5); //", "<b>"], 120)
    label = "</title><script>alert(6)</script>"
    y = pd.Series(np.where(X.iloc[:, 0] + 0.3 * rng.normal(size=120) > 0, label, "<!--"), name="<script>alert(0)//")
    model = MonotonicClassifier(monotonic_cst={HOSTILE[0]: {label: 1}}, **QUICK).fit(X, y)
    groups = {"<script>alert(7)</script>": np.where(X.iloc[:, 1] > 0, "<i>x</i>", "</td>")}
    return write_report(
        model, Path(tempfile.mkdtemp()) / "hostile.html", X=X, y=y, groups=groups, title="<script>alert(8)</script>",
        target="</p><script>alert(9)</script>", units={HOSTILE[1]: "<script>"}, **SAVE,
    )  # fmt: skip


def island(path: Path, name: str):
    """The JSON that the page carries under a name."""
    found = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', path.read_text(encoding="utf-8"))
    assert len(found) == 1
    return json.loads(found[0])


def answers(kind: str, n: int, seed: int = 0):
    """(rows as the page takes them, f, predictions) of random, boundary and extreme inputs, by Python."""
    from monolip.report.html_scorer import page_rows

    network, rng = network_of(kind), np.random.default_rng(seed)
    rows = np.concatenate([parity_inputs(network, name, n, rng) for name in ("random", "boundary", "extreme")])
    rows = np.where(np.isinf(rows), np.sign(rows) * np.finfo(float).max, rows)  # JSON has no infinity
    f = network.evaluate_raw(columns_from_codes(network, rows))
    return page_rows(network, rows), f, np.asarray(network.link.apply(f)).reshape(len(f), -1)
