"""plot_shapes draws every feature, with the cone of slopes that is proved."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from monolip.report import plot_shapes

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
    figure = plot_shapes(model, data[0] if with_rows else None)
    drawn = [axis for axis in figure.axes if axis.get_xlabel()]
    assert [axis.get_xlabel() for axis in drawn] == list(data[0])
    assert len(drawn[0].lines) == (101 if with_rows else 1)
    for line in drawn[0].lines:
        assert (np.diff(line.get_ydata()) >= 0).all()
    figure.savefig(tmp_path / "shapes.png")


def test_the_curve_lies_in_its_cone(model):
    (axis,) = plot_shapes(model, features=["income"]).axes
    (cone,) = axis.collections
    x, y = axis.lines[0].get_data()
    low, high = model.slopes_["income"]
    middle = len(x) // 2
    away = x - x[middle]
    edges = np.sort([y[middle] + low * away, y[middle] + high * away], axis=0)
    assert ((y >= edges[0] - 1e-9) & (y <= edges[1] + 1e-9)).all()
    assert cone.get_alpha() < 0.5
    assert axis.get_title() == f"slope in [{low:.3g}, {high:.3g}]"


def test_classes_are_drawn_by_their_logit(data):
    X, y = data
    three = MonotonicClassifier(monotonic_cst={"income": {2: 1}}, **QUICK).fit(X, np.digitize(y, [9.5, 10.5]))
    (axis,) = plot_shapes(three, features=["income"], output=2).axes
    assert (np.diff(axis.lines[0].get_ydata()) >= 0).all()
    assert axis.get_ylabel() == "logits"


def test_unknown_features_are_refused(model):
    with pytest.raises(InputError, match="features to draw must be known; got \\['wealth'\\]"):
        plot_shapes(model, features=["wealth"])
