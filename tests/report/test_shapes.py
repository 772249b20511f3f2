"""plot_shapes draws every feature, with the cone of slopes that is proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from monolip.report import plot_certificate, plot_shapes
from monolip.rounding import interval_text

from ..estimators.tables import QUICK, credit

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def data():
    return credit(150)


@pytest.fixture(scope="module")
def model(data):
    return MonotonicRegressor(monotonic_cst={"income": 1}, **QUICK).fit(*data)


@pytest.mark.parametrize("with_rows", [False, True])
def test_one_panel_a_feature_and_increasing_curves_where_promised(model, data, with_rows, tmp_path):
    drawn = plot_shapes(model, data[0] if with_rows else None)
    assert [axis.get_xlabel() for axis in drawn] == list(data[0])
    assert len(drawn[0].lines) == (101 if with_rows else 1)
    for line in drawn[0].lines:
        assert (np.diff(line.get_ydata()) >= 0).all()
    drawn[0].figure.savefig(tmp_path / "shapes.png")


def test_figures_print_the_bounds_that_the_table_prints(model):
    drawn = plot_shapes(model, features=["income", "debt", "age"])
    beside = [label.get_text() for label in plot_certificate(model).child_axes[0].get_yticklabels()]
    rows = {line.split()[0]: line for line in str(model.slopes_).splitlines()}
    for axis in drawn:
        slope = axis.get_title().removeprefix("certified slope ")
        assert slope in rows[axis.get_xlabel()]
        assert slope in beside


def test_curves_end_where_the_training_data_did_and_none_is_clipped(model, data):
    for axis in plot_shapes(model, data[0], features=["income", "debt", "age"]):
        seen, curves = data[0][axis.get_xlabel()], [line for line in axis.lines if len(line.get_xdata()) > 1]
        low, high = axis.get_ylim()
        for curve in curves:
            assert (curve.get_xdata()[0], curve.get_xdata()[-1]) == (seen.min(), seen.max())
            assert low < curve.get_ydata().min() <= curve.get_ydata().max() < high


def test_the_curve_lies_in_its_cone_which_opens_at_the_median(model, data):
    (axis,) = plot_shapes(model, features="income")
    (cone,) = axis.collections
    x, y = axis.lines[0].get_data()
    low, high = model.slopes_["income"]
    middle = int(np.flatnonzero(x == np.sort(data[0]["income"])[75])[0])
    away = x - x[middle]
    edges = np.sort([y[middle] + low * away, y[middle] + high * away], axis=0)
    assert ((y >= edges[0] - 1e-9) & (y <= edges[1] + 1e-9)).all()
    corners = cone.get_paths()[0].vertices
    assert np.isclose(corners[np.isclose(corners[:, 0], x[middle]), 1], y[middle]).all()
    assert axis.get_title() == f"certified slope {interval_text(low, high)}"
    words = [text.get_text() for text in axis.figure.legends[0].get_texts()]
    assert "where certified slopes allow it, from the median" in words


def test_categories_flags_and_missing_values_are_points(data):
    X, y = data
    X = X.assign(owner=np.arange(150) % 3 == 0, city=X["city"].where(np.arange(150) > 20))
    model = MonotonicRegressor(monotonic_cst={"income": 1}, **QUICK).fit(X, y)
    for rows in (None, X):
        axes = {axis.get_xlabel(): axis for axis in plot_shapes(model, rows)}
        for name, count in (("grade", 3), ("city", 3), ("owner", 2)):
            points, low, high = axes[name].lines[0].get_ydata(), *axes[name].get_ylim()
            assert len(points) == count
            assert ((points > low) & (points < high)).all()
        for name in ("age", "city"):
            missing = axes[name].lines[-1]
            assert missing.get_marker() == "D"
            assert missing.get_xdata()[0] > axes[name].lines[0].get_xdata()[-1]
        assert "missing value" in [text.get_text() for text in axes["age"].figure.legends[0].get_texts()]
        assert axes["income"].lines[-1].get_marker() != "D"


def test_classes_are_drawn_by_their_logit(data):
    X, y = data
    three = MonotonicClassifier(monotonic_cst={"income": {2: 1}}, **QUICK).fit(X, np.digitize(y, [9.5, 10.5]))
    (axis,) = plot_shapes(three, features=["income"], output=2)
    assert (np.diff(axis.lines[0].get_ydata()) >= 0).all()
    assert axis.get_ylabel() == "logit of 2"
    with pytest.raises(InputError, match="output is a position from 0 to 2; got 3"):
        plot_shapes(three, output=3)
    two = MonotonicClassifier(**QUICK).fit(X, np.where(y > 10, "good", "bad"))
    assert plot_shapes(two, features="income")[0].get_ylabel() == "log-odds of P(y = good)"


def test_a_frozen_network_is_drawn_as_its_estimator_is(model, data):
    ours, frozen = (plot_shapes(it, data[0], features="debt")[0].lines[-1].get_ydata() for it in (model, model.frozen_))
    assert np.array_equal(ours, frozen)


def test_what_cannot_be_drawn_is_refused(model):
    for features in (["wealth"], "wealth"):
        with pytest.raises(InputError, match="features to draw must be known; got \\['wealth'\\]"):
            plot_shapes(model, features=features)
    with pytest.raises(NotFittedError):
        plot_shapes(MonotonicRegressor())
    bare = replace(model.frozen_, inputs=None, raw_promise=None)
    with pytest.raises(InputError, match="a FrozenNetwork that takes raw columns; got one without an input transform"):
        plot_shapes(bare)
    with pytest.raises(InputError, match="got LinearRegression; pass one"):
        plot_shapes(LinearRegression())


def test_a_network_that_does_not_know_its_training_data_is_drawn_over_the_rows_or_its_knots(model, data):
    inputs = model.frozen_.inputs
    columns = tuple(replace(c, seen=None) if hasattr(c, "seen") else c for c in inputs.columns)
    network = replace(model.frozen_, inputs=replace(inputs, columns=columns))
    rows = data[0][:100]
    line = plot_shapes(network, rows, features="debt")[0].lines[-1].get_xdata()
    assert (line[0], line[-1]) == (rows["debt"].min(), rows["debt"].max())
    line = plot_shapes(network, features="debt")[0].lines[-1].get_xdata()
    assert line[-1] == inputs.pieces_of(1)[0][-1]
