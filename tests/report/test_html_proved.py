"""What is printed as proved is proved: bounds are rounded outward, and sentences leave out what is not promised."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.certify.robustness_feature import FeatureRadii
from monolip.certify.robustness_results import CertifiedRadii
from monolip.report import plot_certificate, write_report
from monolip.report.html_groups import read_groups
from monolip.report.html_robustness import spread_of
from monolip.report.html_subject import distinct_names, subject_of
from monolip.report.html_text import DASH, MINUS, short_down, short_up

from ..estimators.tables import QUICK
from ..export.models import estimator
from .pages import SAVE, island, page


def number(text: str) -> float:
    return float(text.replace(",", "").replace(MINUS, "-").replace("∞", "inf"))


@given(st.floats(allow_nan=False), st.integers(1, 6))
def test_short_bounds_stay_on_their_side(value, digits):
    assert number(short_down(value, digits)) <= value <= number(short_up(value, digits))


def test_short_numbers_are_shown_as_they_are():
    for value, text in ((0.5, "0.5"), (2.0, "2"), (0.1, "0.1"), (-0.0, "0"), (1234567.0, "1,234,567")):
        assert short_down(value) == short_up(value) == text
    assert short_down(None) == short_up(None) == DASH


@pytest.mark.parametrize("kind", ["numbers", "logit", "softmax", "log"])
def test_every_printed_table_of_slopes_contains_what_is_proved(kind):
    model = estimator(kind)
    table, claims = (
        [(row.lower, row.upper) for row in part if row.lower is not None]
        for part in (model.slopes_, model.certificate_)
    )
    text = page(kind).read_text(encoding="utf-8")
    shown = [
        (table, re.findall(r"\[(\S+), (\S+)\](?:  +\S+)?$", str(model.slopes_), flags=re.M)),
        (claims, re.findall(r"\[(\S+), (\S+)\]", str(model.certificate_))),
        (claims, re.findall(r'<td class="num">(\S+) to (\S+)</td>', text)),
    ]
    for proved, cells in shown:
        assert len(cells) == len(proved)
        for (low, high), (lower, upper) in zip(cells, proved, strict=True):
            assert number(low) <= lower <= upper <= number(high)
            assert number(high) - number(low) <= (upper - lower) + 2e-3 * max(abs(lower), abs(upper))


def test_a_slope_that_is_asked_for_with_many_digits_is_not_excluded():
    x = np.linspace(0, 1, 200)[:, None]
    model = MonotonicRegressor(slopes={0: (1.23456, 1.23456)}, **QUICK).fit(x, 1.23456 * x[:, 0])
    low, high = re.findall(r"\[(\S+), (\S+)\]$", str(model.slopes_))[-1]
    assert float(low) <= 1.23456 <= float(high)
    model = MonotonicRegressor(slopes={0: (0.5, 2.0)}, **QUICK).fit(x, 1.2 * x[:, 0])
    assert "[0.5, 2]" in str(model.slopes_)


def test_how_far_an_answer_can_move_is_rounded_up(tmp_path):
    model = estimator("numbers")
    text = page("numbers").read_text(encoding="utf-8")
    subject = subject_of(model, None, None, None, None)
    spread = spread_of(subject)
    steep = {row.feature: max(abs(row.lower), abs(row.upper)) for row in model.certificate_ if row.lower is not None}
    total = sum(size * steep[name] for name, size in spread.items())
    found = re.findall(r'<th scope="row">± ([\d.]+)</th><td class="num">± ([\d.,e-]+)</td>', text)
    assert len(found) == 6
    assert all(r * total <= number(most) <= r * total * 1.0011 for r, most in ((float(r), most) for r, most in found))


def flat_model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    X.loc[::3, "b"] = np.nan
    y = X["a"] + 2.0 * X["b"].isna()
    return MonotonicRegressor(slopes={"b": (0.0, 0.0)}, **QUICK).fit(X, y), X, y


def test_a_flat_feature_that_may_be_missing_is_not_said_not_to_matter(tmp_path):
    model, X, _ = flat_model()
    row = X.iloc[[1]]
    assert model.predict(row)[0] != model.predict(row.assign(b=np.nan))[0]
    text = write_report(model, tmp_path / "r.html", **SAVE).read_text(encoding="utf-8")
    assert "The prediction is the same whatever the number." in text
    assert "does not depend on this" not in text


def test_that_weights_and_offsets_are_not_used_is_said(tmp_path):
    rng = np.random.default_rng(0)
    x, exposure = rng.normal(size=(80, 1)), rng.uniform(0.1, 9, 80)
    y = rng.poisson(exposure * np.exp(x[:, 0])).astype(float)
    model = MonotonicRegressor(loss="poisson", **QUICK).fit(x, y, offset=np.log(exposure))
    for more in ({}, {"held_out": True}, {"train": (x, y)}):
        text = write_report(model, tmp_path / "r.html", X=x, y=y, baselines=(), **more, **SAVE).read_text("utf-8")
        assert "(sample weights and offsets are not used" in text


@pytest.mark.parametrize("far", [1e200, -1.7e308])
def test_one_value_far_away_does_not_stop_the_report(tmp_path, far):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    label = np.where(X[:, 0] > 0, "yes", "no")
    model = MonotonicClassifier(monotonic_cst={0: {"yes": 1}}, **QUICK).fit(X, label)
    X[3, 1] = far
    path = write_report(model, tmp_path / "r.html", X=X, y=label, baselines=(), held_out=True, **SAVE)
    for feature in island(path, "page-data")["features"]:
        assert np.isfinite([feature["spread"], *feature["stops"]]).all()


def test_groups_are_told_apart_by_their_whole_names(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 1))
    names = ["x" * 60 + tail for tail in "abc"]
    groups = np.array(names, dtype=object)[np.arange(90) % 3]
    groups[:5] = None
    groups[5:8] = "missing"
    model = MonotonicRegressor(**QUICK).fit(X, X[:, 0])
    given = {"X": X, "y": X[:, 0], "groups": {"g": groups}, "baselines": (), "held_out": True}
    text = write_report(model, tmp_path / "r.html", **given, **SAVE).read_text(encoding="utf-8")
    section = text[text.index('id="groups"') :]
    heads = re.findall(r'<th scope="row">([^<]*)</th><td class="num">(\d+)</td>', section)
    assert sorted(int(rows) for _, rows in heads) == [3, 5, 27, 27, 28]
    assert len({name for name, _ in heads}) == 5
    assert read_groups([1, None], 2)["group"].tolist() == ["1", None]


@given(st.lists(st.sampled_from(["a\x01", "a\x02", "a\ufffd #0", "a\ufffd #1", "a\ufffd", "b", "b #2"]), unique=True))
def test_names_as_shown_are_distinct(names):
    shown = distinct_names(names, 12)
    assert len(set(shown)) == len(names)


def test_more_radius_rows_than_rows_cost_nothing(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 1))
    model = MonotonicClassifier(**QUICK).fit(X, X[:, 0] > 0)
    options = {**SAVE, "radius_rows": 10**12}
    text = write_report(model, tmp_path / "r.html", X=X, baselines=(), **options).read_text(encoding="utf-8")
    assert "On 30 rows." in text


def test_a_certificate_with_long_names_is_drawn():
    pytest.importorskip("matplotlib")
    x = pd.DataFrame({"n" * 200: np.linspace(0, 1, 60)})
    model = MonotonicRegressor(**QUICK).fit(x, x.iloc[:, 0])
    axis = plot_certificate(model)
    axis.figure.canvas.draw()
    assert max(len(label.get_text()) for label in axis.get_yticklabels()) <= 40


def test_a_median_of_proved_radii_is_rounded_down():
    radii = CertifiedRadii(np.array([1.23456, 1.23456]), np.zeros(2, dtype=np.int64), ("a",), np.ones(1), (), "L1", "")
    assert "median 1.234," in str(radii)
    sides = np.array([[1.99999]])
    assert " 1.999 " in str(FeatureRadii(sides, sides, ("a",), (), np.zeros(1, dtype=np.int64)))
