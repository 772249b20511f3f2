"""Fits warn of every constraint that the data contradict, and not of noise, weak features and right constraints."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.errors import PromiseWarning

arrow = pytest.importorskip("pyarrow")
QUICK = {"max_iter": 1, "n_estimators": 1, "hidden_layer_sizes": (4,), "random_state": 0}


def rows(seed: int = 0, n: int = 600) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    x[::17, 1] = np.nan
    y = x[:, 0] - np.nan_to_num(x[:, 1]) + 0.5 * rng.normal(size=n)
    return arrow.table({"up": x[:, 0], "down": x[:, 1], "noise": x[:, 2]}), y


def warned(model: Any, X: Any, y: Any, **more: Any) -> str:
    """The text of the only warning about signs; "" without one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **more)
    found = [str(warning.message) for warning in caught if warning.category is PromiseWarning]
    assert len(found) <= 1
    return "".join(found)


def regressor(signs: Any, **more: Any) -> MonotonicRegressor:
    return MonotonicRegressor(monotonic_cst=signs, **QUICK, **more)


def classifier(signs: Any, **more: Any) -> MonotonicClassifier:
    return MonotonicClassifier(monotonic_cst=signs, **QUICK, **more)


def test_one_warning_lists_every_feature_and_begins_with_what_to_do():
    X, y = rows()
    assert warned(regressor({"up": -1, "down": 1, "noise": 1}), X, y) == (
        "Check the sign of 2 of the 3 constraints: the data contradict 'up' (decreasing asked, data increase), 'down' "
        "(increasing asked, data decrease). The constraints are kept all the same."
    )
    assert warned(regressor({"up": -1}), X, y).startswith("Check the sign of the constraint: the data contradict 'up'")


def test_a_wrong_class_lists_every_feature():
    """Six features that nearly repeat each other, as in a table of credit: none hides another one."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(800, 1))
    x = common + 0.5 * rng.normal(size=(800, 6))
    bad = common[:, 0] + rng.normal(size=800) > 0.8
    names = [f"late_{j}" for j in range(6)]
    X, y = arrow.table(dict(zip(names, x.T, strict=True))), np.where(bad, "bad", "good")
    text = warned(classifier({name: {"good": 1} for name in names}), X, y)
    assert text.startswith("Check the sign of 6 of the 6 constraints, or the class they are about, P(y = good): ")
    assert all(f"'{name}' (increasing asked, data decrease)" in text for name in names)
    assert text.endswith(
        "For P(y = bad) write for example monotonic_cst={'late_0': {'bad': 1}} (command line: --positive bad)."
    )
    assert warned(classifier({name: {"bad": 1} for name in names}), X, y) == ""
    for name in names:  # one alone, beside five right ones
        text = warned(classifier({other: {"bad": -1 if other == name else 1} for other in names}), X, y)
        assert "1 of the 6 constraints, or the class they are about, P(y = bad): " in text
        assert f"the data contradict '{name}' (decreasing asked, data increase" in text


def test_the_warning_names_the_line_of_the_fit_and_as_an_error_it_harms_no_model():
    X, y = rows()
    model = regressor({"up": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    before = model.predict(X)
    with pytest.warns(PromiseWarning) as caught:
        regressor({"up": -1}).fit(X, y)
    assert caught[0].filename == __file__
    model.set_params(monotonic_cst={"up": -1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PromiseWarning):
            model.fit(X, y)
    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize("seed", range(4))
def test_right_constraints_and_noise_are_not_listed(seed: int):
    X, y = rows(seed)
    for sign in (1, -1):
        assert warned(regressor({"up": 1, "down": -1, "noise": sign}), X, y) == ""


def test_what_is_true_only_beside_the_other_features():
    """y decreases with `area` alone, and increases where `rooms` is held fixed: neither sign is reported."""
    rng = np.random.default_rng(0)
    n = 1500
    rooms = rng.normal(size=n)
    area = -rooms + 0.5 * rng.normal(size=n)
    hidden = rng.normal(size=n)
    y = area + 3.0 * rooms + 0.3 * rng.normal(size=n)
    X = arrow.table({"rooms": rooms, "area": area, "noise": hidden})
    for sign in (1, -1):
        assert warned(regressor({"area": sign, "rooms": 1}), X, y) == ""
    # Small beside what another feature does: not to be seen alone, clear with the other one held fixed.
    y = 20.0 * rooms + hidden + rng.normal(size=n)
    assert "'noise' (decreasing asked, data increase" in warned(regressor({"noise": -1}), X, y)


@pytest.mark.parametrize(
    ("loss", "parameter"),
    [
        ("squared_error", None), ("absolute_error", None), ("huber", 0.5), ("quantile", 0.9),
        ("poisson", None), ("gamma", None), ("tweedie", 1.5),
    ],
)  # fmt: skip
def test_losses_and_offsets(loss: str, parameter: float | None):
    """An exposure that goes with a feature says nothing of the feature."""
    X, y = rows(3)
    up = np.asarray(X.column("up"))
    offset = -1.5 * up
    target = y + offset
    if loss in ("poisson", "gamma", "tweedie"):
        mean = np.exp(0.7 * up + offset)
        rng = np.random.default_rng(3)
        target = rng.poisson(mean) if loss != "gamma" else mean * rng.gamma(2.0, 0.5, len(up))
    more = {"loss": loss, "loss_parameter": parameter}
    assert "'up' (decreasing asked, data increase" in warned(regressor({"up": -1}, **more), X, target, offset=offset)
    assert warned(regressor({"up": 1}, **more), X, target, offset=offset) == ""
    assert "'up' (increasing" in warned(regressor({"up": 1}, **more), X, target)


def test_offsets_of_two_classes():
    X, _ = rows(5, 2000)
    up, rng = np.asarray(X.column("up")), np.random.default_rng(5)
    offset = -1.5 * up
    y = rng.random(len(up)) < 1.0 / (1.0 + np.exp(-(0.5 * up + offset)))
    assert warned(classifier({"up": 1}), X, y, offset=offset) == ""
    assert "'up' (decreasing asked, data increase" in warned(classifier({"up": -1}), X, y, offset=offset)
    assert "'up' (increasing asked, data decrease" in warned(classifier({"up": 1}), X, y)


def test_three_classes():
    X, y = rows(1)
    three = np.digitize(y, [-0.5, 0.5])
    assert warned(classifier({"up": {2: 1}, "down": {2: -1, 0: 1}}), X, three) == ""
    text = warned(classifier({"up": {2: -1}, "down": {2: 1, 0: -1}}), X, three)
    assert text.startswith("Check the sign of 3 of the 3 constraints, or the class they are about: ")
    for words in (
        "'up' (decreasing asked of P(y = 2), data increase)", "'down' (decreasing asked of P(y = 0), data increase)",
        "'down' (increasing asked of P(y = 2), data decrease)",
    ):  # fmt: skip
        assert words in text


def test_weights():
    """Rows without weight say nothing, and heavier ones say more."""
    X, y = rows()
    against = np.arange(len(y)) % 2 == 0
    y = np.where(against, -y, y)
    assert "'up'" in warned(regressor({"up": 1}), X, y, sample_weight=against.astype(float))
    assert warned(regressor({"up": -1}), X, y, sample_weight=against.astype(float)) == ""
    assert warned(regressor({"up": 1}), X, y) == ""
    assert "'up'" in warned(regressor({"up": 1}), X, y, sample_weight=np.where(against, 20.0, 1.0))


def test_copies_of_rows_in_one_group_say_no_more_than_one():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 1))
    y = 0.6 * x[:, 0] + rng.normal(size=30)
    X, y, group = np.repeat(x, 40, axis=0), np.repeat(y, 40), np.repeat(np.arange(30), 40)
    assert "'x0'" in warned(regressor([-1]), X, y)
    assert warned(regressor([-1]), X, y, groups=group) == ""


def test_ordered_categories_and_categories_beside_a_feature():
    rng = np.random.default_rng(0)
    n = 900
    grade, shop = rng.integers(0, 4, n), rng.integers(0, 5, n)
    price = rng.normal(size=n) - 3.0 * shop
    y = price + 6.0 * shop + 0.5 * grade + rng.normal(size=n)
    X = arrow.table({"grade": np.array(list("abcd"))[grade], "shop": np.array(list("vwxyz"))[shop], "price": price})
    order = {"categorical_features": {"grade": list("abcd"), "shop": None}}
    assert warned(regressor({"grade": 1, "price": 1}, **order), X, y) == ""
    assert "'grade' (decreasing asked, data increase" in warned(regressor({"grade": -1, "price": 1}, **order), X, y)


def test_slope_intervals_are_constraints_too():
    X, y = rows()
    assert "'up' (decreasing asked, data increase" in warned(
        MonotonicRegressor(slopes={"up": (-2.0, -0.1), "down": (-2.0, 2.0), "noise": (0.0, 0.0)}, **QUICK), X, y
    )
    assert warned(MonotonicRegressor(slopes={"up": (0.0, 2.0), "down": (-2.0, 0.0)}, **QUICK), X, y) == ""


def test_many_rows_and_many_columns():
    rng = np.random.default_rng(0)
    X, y = rows(4, 12_000)
    assert "'up'" in warned(regressor({"up": -1, "noise": 1}), X, y)
    wide = rng.normal(size=(200, 300))
    y = wide[:, 0] + 0.5 * rng.normal(size=200)
    text = warned(regressor([-1] + [1] * 299), wide, y)
    assert text.startswith("Check the sign of 1 of the 300 constraints: the data contradict 'x0' (")


def test_columns_without_an_answer():
    _, y = rows(2)
    odd = arrow.table({
        "same": np.ones(len(y)), "far": np.where(np.arange(len(y)) % 2 == 0, 1e300, -1e300),
        "whole": np.arange(len(y)), "gone": np.where(np.arange(len(y)) < 5, 1.0, np.nan),
    })  # fmt: skip
    assert warned(regressor({"same": 1, "far": 1, "whole": 1, "gone": 1}), odd, y) == ""
    assert warned(regressor([1]), np.arange(8.0)[:, None], -np.arange(8.0)) == ""


def test_the_rows_order_does_not_matter_and_the_answer_is_the_same_each_time():
    X, y = rows()
    first = warned(regressor({"up": -1, "down": 1}), X, y)
    turned = arrow.table({name: X.column(name).to_numpy()[::-1] for name in X.column_names})
    assert first == warned(regressor({"up": -1, "down": 1}), turned, y[::-1])
    assert first == warned(regressor({"up": -1, "down": 1}), X, y)


def test_streams_warn_before_they_train(tmp_path: Path):
    """Short ones, which are fitted as a table, and long ones, of which a sample is read."""
    from pyarrow import parquet

    for n in (1000, 300_000):
        X, y = rows(0, n)
        parquet.write_table(X.append_column("y", arrow.array(y)), tmp_path / "rows.parquet")
        with pytest.warns(PromiseWarning, match="the data contradict 'up' .*'down' ") as caught:
            regressor({"up": -1, "down": 1}).fit_stream(tmp_path / "rows.parquet", "y")
        assert sum(warning.category is PromiseWarning for warning in caught) == 1
