"""What is fed to a model keeps the type of X; directions per class; torch, ONNX and boosting libraries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from monolip.certify import audit
from monolip.certify.audit_table import Steps, read_table
from monolip.certify.audit_thresholds import thresholds_of
from monolip.errors import InputError, MissingExtraError, SlopeError

RNG = np.random.default_rng(1)
N = 300
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "k": RNG.integers(0, 5, N), "flag": RNG.random(N) > 0.5})
FRAME["grade"] = pd.Categorical.from_codes(RNG.integers(0, 3, N), ["low", "mid", "high"], ordered=True)
FRAME["town"] = ["u", "v", "w"] * (N // 3)
FRAME.loc[::7, "a"] = np.nan
FRAME["small"] = RNG.normal(size=N).astype(np.float32)
CST = {"a": 1, "k": 1, "flag": 1, "grade": 1, "small": -1}
QUICK = {"max_evaluations": 20_000, "max_rows": 60}


def test_pandas_frames_keep_their_types_and_missing_values():
    def predict(frame):
        assert isinstance(frame, pd.DataFrame)
        pd.testing.assert_series_equal(frame.dtypes, FRAME.dtypes)
        dip = 0.5 * (frame["k"] == 3) + 1.0 * (frame["grade"] == "mid") - 2.0 * frame["flag"]
        return frame["a"].fillna(0.0) + dip - frame["small"] * (frame["town"] == "u")

    report = audit(predict, FRAME, CST, **QUICK)
    found = {one.feature: one for one in report.violations}
    assert set(found) == {"k", "grade", "flag"}
    assert (found["k"].value_from, found["k"].value_to) == (3, 4)
    assert (found["grade"].value_from, found["grade"].value_to) == ("mid", "high")
    assert (found["flag"].value_from, found["flag"].value_to) == (0, 1)
    table = report.counterexamples
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == ["row", "changed", "feature", "from", "to", "before", "after", "drop", "size"]
    assert isinstance(report.before, pd.DataFrame)
    assert (predict(report.before) > predict(report.after)).all()
    untouched = report.violations[[one.changed for one in report.violations].index(0)]
    assert untouched.row < N


def test_polars_frames_keep_their_types():
    frame = pl.DataFrame({"a": FRAME["a"].to_numpy(), "k": FRAME["k"].to_numpy()}).with_columns(
        pl.Series("grade", FRAME["grade"].astype(str).tolist(), dtype=pl.Enum(["low", "mid", "high"])),
        pl.when(pl.col("k") == 2).then(None).otherwise(pl.col("k")).alias("gaps"),
    )

    def predict(given):
        assert isinstance(given, pl.DataFrame)
        assert given.schema == frame.schema
        return (given["grade"] == "mid").to_numpy() * 1.0 + given["gaps"].fill_null(0).to_numpy()

    report = audit(predict, frame, {"grade": 1, "gaps": 1}, **QUICK)
    assert {one.feature for one in report.violations} == {"grade"}
    assert isinstance(report.counterexamples, pl.DataFrame)
    assert isinstance(report.after, pl.DataFrame)


def test_nullable_types_of_pandas_stay_nullable():
    frame = pd.DataFrame(
        {
            "count": pd.array([1, None, 3, 4] * 9, dtype="Int64"),
            "flag": pd.array([True, None, False, False] * 9, dtype="boolean"),
            "size": pd.array([0.5, None, 1.5, 2.5] * 9, dtype="Float32"),
        },
        index=[5] * 36,
    )

    def predict(given):
        pd.testing.assert_series_equal(given.dtypes, frame.dtypes)
        return sum(-given[name].astype("Float64").fillna(0.0).to_numpy(float) for name in given)

    report = audit(predict, frame, {"count": 1, "flag": 1, "size": 1}, **QUICK)
    assert {one.feature for one in report.violations} == {"count", "flag", "size"}
    assert all(1 <= one.value_from < one.value_to <= 4 for one in report.violations if one.feature == "count")


def test_counterexamples_lie_in_the_data_where_they_can():
    x = RNG.normal(size=(N, 2))
    report = audit(lambda given: -given[:, 0], x, [1, 0], **QUICK)
    ends = [value for one in report.violations for value in (one.value_from, one.value_to)]
    assert x[:, 0].min() <= min(ends)
    assert max(ends) <= x[:, 0].max()


def test_a_column_without_an_order_is_refused_by_name():
    with pytest.raises(InputError, match="town"):
        audit(lambda frame: np.zeros(len(frame)), FRAME, {"town": 1})
    empty = FRAME.assign(a=np.nan)
    with pytest.raises(InputError, match="none in 'a'"):
        audit(lambda frame: np.zeros(len(frame)), empty, {"a": 1})
    with pytest.raises(InputError, match="shape"):
        audit(lambda x: x, np.zeros(3), [1])
    with pytest.raises(InputError, match="some rows"):
        audit(lambda x: x, np.zeros((0, 3)), [1, 0, 0])


def three(x):
    """Three probabilities; that of class "c" falls in x0 above 1."""
    z = np.stack([-x[:, 0], 0 * x[:, 0], np.minimum(x[:, 0], 2 - x[:, 0])], axis=1)
    p = np.exp(z)
    return p / p.sum(axis=1, keepdims=True)


class Three:
    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, x):
        return three(x)


class Two:
    """P("bad") falls in x0 above 0; one_column: a model that gives the second one's alone."""

    classes_ = np.array(["bad", "good"])

    def __init__(self, one_column=False):
        self.one_column = one_column

    def predict_proba(self, x):
        bad = 1 / (1 + np.exp(np.where(x[:, 0] > 0, 1.0, -1.0)))
        return 1 - bad if self.one_column else np.column_stack([bad, 1 - bad])


@pytest.mark.parametrize("one_column", [False, True])
def test_of_two_classes_the_one_that_directions_name_is_audited(one_column):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    for asked, output, found in (
        ({0: {"bad": 1}}, "bad", True),
        ({0: {"bad": -1}}, "bad", False),
        ({0: {"good": -1}}, "good", True),
        ({0: 1}, "good", False),
    ):
        report = audit(Two(one_column), rows, asked, max_evaluations=4000, max_rows=20)
        assert report.violated == found
        assert [(one.output, one.direction) for one in report.features] == [
            (output, next(iter(asked[0].values())) if isinstance(asked[0], dict) else asked[0])
        ]
        if found:
            assert report.violations[0].drop == pytest.approx(np.tanh(0.5), abs=1e-9)


def test_several_classes_are_audited_class_by_class():
    x = RNG.normal(size=(N, 2))
    report = audit(Three(), x, {"x0": {"c": 1, "a": -1}}, **QUICK)
    by_class = {feature.output: feature for feature in report.features}
    assert by_class["c"].worst_drop > 0.1
    assert by_class["a"].worst_drop < 1e-15  # a softmax rounds
    assert by_class["a"].share_beyond_rounding == 0
    assert "'c'" in str(report)
    assert "output" in report.counterexamples
    with pytest.raises(SlopeError, match="class"):
        audit(Three(), x, [1, 0], **QUICK)
    with pytest.raises(SlopeError, match="'z'"):
        audit(Three(), x, {"x0": {"z": 1}}, **QUICK)
    with pytest.raises(SlopeError, match="per class"):
        audit(Three(), x, {"x0": {"c": 1}, "x1": 1}, **QUICK)
    columns = audit(three, x, np.array([[-1, 0, 1], [0, 0, 0]]), **QUICK)
    assert columns.features[1].worst_drop == pytest.approx(by_class["c"].worst_drop, rel=0.2)


def test_steps_count_along_the_number_line():
    for dtype in (np.float32, np.float64):
        steps = Steps(np.dtype(dtype), float(np.finfo(dtype).min), float(np.finfo(dtype).max))
        values = np.array([-1.5, -0.0, 0.0, 1.0, 3e-30, float(np.finfo(dtype).max)]).astype(dtype).astype(float)
        up = steps.moved(values, 1)
        np.testing.assert_array_equal(up[[0, 3, 4]], np.nextafter(values[[0, 3, 4]].astype(dtype), dtype(np.inf)))
        assert up[1] == up[2] == np.finfo(dtype).smallest_subnormal
        assert np.isfinite(up[-1])
        np.testing.assert_array_equal(steps.value(steps.place(values)), values)
        assert np.isnan(steps.moved(np.array([np.nan]), 1)).all()
    assert Steps(np.dtype(np.int64), 0, 5).moved(np.array([5.0, 1.0]), 1).tolist() == [5.0, 2.0]


def test_torch_modules_are_scored_in_their_own_format_and_use_their_gradients():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1))
    report = audit(net, RNG.normal(size=(N, 3)), [1, 1, 1], **QUICK)
    assert report.beyond_rounding
    assert net.training
    assert report.before.dtype == np.float32
    with torch.no_grad():
        before, after = (net.eval()(torch.tensor(x)) for x in (report.before, report.after))
    assert (before > after).all()
    assert read_table(torch.zeros(2, 3), None, np.dtype(np.float32)).frame.dtype == np.float32


def test_a_gradient_finds_a_narrow_fall():
    def model(x):
        return x[:, 0] - 0.3 * np.exp(-((x[:, 1] - 3.3) ** 2) * 40) * np.tanh(4 * x[:, 0])

    def slope(x):
        bump = np.exp(-((x[:, 1] - 3.3) ** 2) * 40)
        return np.stack([1 - 1.2 * bump / np.cosh(4 * x[:, 0]) ** 2, np.zeros(len(x))], axis=1)

    x = np.random.default_rng(5).normal(size=(N, 2))
    x[:, 1] = np.linspace(-3.3, 3.3, N)
    assert audit(model, x, [1, 0], gradient=slope, max_rows=40, max_evaluations=40_000).violated


def test_onnx_needs_its_extra_and_refuses_damaged_files(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"not a model")
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match=r'pip install "\.\[onnx\]" in a checkout'):
            audit(path, np.zeros((3, 2)), [1, 0])
    else:
        with pytest.raises(InputError, match="onnxruntime must be able"):
            audit(path, np.zeros((3, 2)), [1, 0])


class Session:
    """What onnxruntime's sessions look like, for a float32 model with a label and probabilities as dicts."""

    class Input:
        name, type = "X", "tensor(float)"

    def get_inputs(self):
        return [self.Input()]

    def run(self, _, feed):
        x = feed["X"]
        assert x.dtype == np.float32
        p = 1 / (1 + np.exp(-np.minimum(x[:, 0], 1 - x[:, 0])))
        return [(p > 0.5).astype(np.int64), [{0: 1 - value, 1: value} for value in p.tolist()]]


def test_an_onnx_session_is_audited_by_its_probabilities():
    report = audit(Session(), RNG.normal(size=(50, 2)), {0: {1: 1}}, **QUICK)
    assert report.beyond_rounding
    assert report.before.dtype == np.float32


def test_thresholds_of_boosting_libraries_are_read():
    x = RNG.normal(size=(400, 3))
    y = x[:, 0] + x[:, 1] ** 2
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    models = [
        lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(x, y),
        xgboost.XGBRegressor(n_estimators=5, n_jobs=1).fit(x, y),
        xgboost.XGBRegressor(n_estimators=5, n_jobs=1).fit(frame, y),
    ]
    for model in models:
        found = thresholds_of(model, ("a", "b", "c"))
        assert len(found[0]) > 5
        assert x[:, 0].min() < found[0][0] < found[0][-1] < x[:, 0].max()
    assert thresholds_of(None, ("a",)) == {}


@pytest.mark.parametrize("kind", ["xgboost quantile", "xgboost absolute", "lightgbm multiclass", "lightgbm linear"])
def test_silent_violations_of_boosting_libraries_are_found(kind):
    x = np.random.default_rng(0).normal(size=(600, 4))
    y = x[:, 0] + np.sin(2 * x[:, 1]) - 0.8 * x[:, 2] + 0.5 * np.random.default_rng(1).standard_t(3, size=600)
    cst = {"x0": 1, "x2": -1}
    if kind.startswith("xgboost"):
        xgboost = pytest.importorskip("xgboost")
        objective = "reg:quantileerror" if "quantile" in kind else "reg:absoluteerror"
        given = {"quantile_alpha": 0.9} if "quantile" in kind else {}
        model = xgboost.XGBRegressor(
            objective=objective, monotone_constraints=(1, 0, -1, 0), n_estimators=40, n_jobs=1, **given
        ).fit(x, y)
    else:
        lightgbm = pytest.importorskip("lightgbm")
        common = {"monotone_constraints": [1, 0, -1, 0], "n_estimators": 40, "n_jobs": 1, "verbose": -1}
        if "linear" in kind:
            model = lightgbm.LGBMRegressor(linear_tree=True, **common).fit(x, y)
        else:
            model = lightgbm.LGBMClassifier(**common).fit(x, np.digitize(y, [-0.5, 0.5]))
            cst = {"x0": {2: 1}, "x2": {2: -1}}
    report = audit(model, x, cst, **QUICK)
    assert report.beyond_rounding
    assert report.worst_drop > 0.05


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_nothing_is_found_in_squared_error_boosting(kind):
    library = pytest.importorskip(kind)
    x = np.random.default_rng(0).normal(size=(600, 4))
    y = x[:, 0] + np.sin(2 * x[:, 1]) - 0.8 * x[:, 2]
    common = {"n_estimators": 40, "n_jobs": 1, "monotone_constraints": (1, 0, -1, 0)}
    if kind == "xgboost":
        model = library.XGBRegressor(**common).fit(x, y)
        booster = audit(model.get_booster(), x, [1, 0, -1, 0], **QUICK)
        assert not booster.violated
        assert booster.thresholds_read > 20
    else:
        model = library.LGBMRegressor(verbose=-1, **common).fit(x, y)
    assert not audit(model, x, [1, 0, -1, 0], **QUICK).violated


@pytest.mark.parametrize("direction", [1, -1])
def test_a_real_onnx_file_is_audited_by_onnxruntime(tmp_path, direction, rng):
    pytest.importorskip("onnxruntime")
    from monolip import MonotonicRegressor
    from monolip.export import to_onnx

    X = rng.normal(size=(200, 2))
    model = MonotonicRegressor(monotonic_cst=[1, 0], max_iter=3, random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2)
    path = tmp_path / "model.onnx"
    to_onnx(model, path, arithmetic="float64", in_order=True)
    report = audit(str(path), X, [direction, 0], max_evaluations=5000)
    assert bool(len(report.counterexamples)) is (direction == -1)


def test_a_missing_string_reaches_onnx_as_missing(tmp_path, rng):
    pytest.importorskip("onnxruntime")
    pd = pytest.importorskip("pandas")
    from monolip import MonotonicRegressor
    from monolip.certify.audit_onnx import onnx_scores, open_session
    from monolip.export import to_onnx

    city = rng.choice(["a", "b", None], 300)
    X = pd.DataFrame({"dose": rng.normal(size=300), "city": city})
    y = X["dose"] + np.where(city == "a", 2.0, np.where(city == "b", -1.0, 5.0))  # None is what it is, not unseen
    model = MonotonicRegressor(monotonic_cst={"dose": 1}, max_iter=3, random_state=0).fit(X, y)
    to_onnx(model, tmp_path / "m.onnx", arithmetic="float64", in_order=True)
    found = onnx_scores(open_session(tmp_path / "m.onnx"), X)
    assert np.array_equal(found.ravel(), model.predict(X))


def test_one_input_of_strings_is_a_column(tmp_path, rng):
    pytest.importorskip("onnxruntime")
    pd = pytest.importorskip("pandas")
    from monolip import MonotonicRegressor
    from monolip.export import to_onnx

    order = ["lo", "mid", "hi"]
    X = pd.DataFrame({"g": pd.Categorical(rng.choice(order, 200), order, ordered=True)})
    y = X["g"].cat.codes + 0.1 * rng.normal(size=200)
    model = MonotonicRegressor(monotonic_cst={"g": 1}, max_iter=3, random_state=0).fit(X, y)
    to_onnx(model, tmp_path / "m.onnx", arithmetic="float64", in_order=True)
    assert not audit(str(tmp_path / "m.onnx"), X, {"g": 1}, max_evaluations=2000).violated
    assert audit(str(tmp_path / "m.onnx"), X, {"g": -1}, max_evaluations=2000).violated


@pytest.mark.parametrize(
    ("kind", "column", "words"),
    [
        ("tensor(int64)", [1.0, np.nan], "no missing values in 'a'.*row 1; fill"),
        ("tensor(int64)", [1.0, 1.5], "got 1.5; pass values"),
        ("tensor(bool)", [True, None], "no missing values in 'a'"),
        ("tensor(complex64)", [1.0, 2.0], "wants tensor.complex64. in 'a'"),
        ("tensor(uint8)", [1.0, 300.0], "tensor.uint8. in 'a'; got"),
        ("tensor(int64)", ["x", "y"], "got object; pass"),
    ],
)
def test_what_an_onnx_input_cannot_hold_is_refused(kind, column, words):
    from monolip.certify.audit_onnx import _tensor

    with pytest.raises(InputError, match=words):
        _tensor(np.array(column, dtype=object), "a", kind)


def test_numbers_reach_onnx_in_its_own_types():
    from monolip.certify.audit_onnx import _tensor

    assert _tensor(np.array([True, False]), "a", "tensor(bool)").dtype == np.bool_
    assert _tensor(np.array([1.0, 2.0]), "a", "tensor(int32)").tolist() == [1, 2]
    assert np.isnan(_tensor(np.array([1.0, None], dtype=object), "a", "tensor(float)")[1])


def test_strings_in_an_input_of_numbers_are_refused():
    from monolip.certify.audit_onnx import _tensor

    with pytest.raises(InputError, match="reads numbers in 'a'; got"):
        _tensor(np.array(["x", "y"], dtype=object), "a", "tensor(float)")
