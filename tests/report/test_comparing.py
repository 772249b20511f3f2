"""A comparison is fair: same folds, same directions, rows that nobody saw; what is missing is named."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.errors import InputError, MissingExtraError
from monolip.report import comparing, comparing_folds, comparing_models
from monolip.report.comparing import compare
from monolip.report.comparing_models import PEERS, USUAL, Lesson, read_matrix
from monolip.report.comparing_scores import scores_of

arrow = pytest.importorskip("pyarrow")


def table(n: int = 240, seed: int = 0):
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=n), rng.normal(size=n), rng.choice(["x", "y", None], n)
    y = a - b + (c == "x") + 0.5 * rng.normal(size=n)
    return arrow.table({"a": a, "b": b, "c": c}), y


@pytest.mark.parametrize(
    "kind", ["two", pytest.param("regression", marks=pytest.mark.slow), pytest.param("three", marks=pytest.mark.slow)]
)
def test_every_model_is_judged_on_every_row_once(kind):
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    X, y = table()
    labels = {"regression": y, "two": np.where(y > 0, "yes", "no"), "three": np.digitize(y, [-1, 1])}[kind]
    cst = {"two": {"a": {"yes": 1}, "b": {"yes": -1}}, "regression": {"a": 1, "b": -1}, "three": {"a": {2: 1}}}[kind]
    done = []
    found = compare(
        X, labels, cst, classification=kind != "regression", n_folds=2, on_progress=lambda *now: done.append(now[:2])
    )
    assert set(found.scores) == {"monolip", *USUAL}
    assert done == [(k, 8) for k in range(8)]
    assert found.constrained is (kind != "three")
    metric = "RMSE" if kind == "regression" else "log loss"
    assert all(len(scores[metric]) == 2 for scores in found.scores.values())
    assert found.against("XGBoost", metric)[0] == pytest.approx(
        found.mean("monolip", metric)[0] - found.mean("XGBoost", metric)[0]
    )
    assert len(found.cells) == 5
    constant = scores_of(labels, _constant(labels), None if kind == "regression" else np.unique(labels).tolist())
    assert all(found.mean(name, metric)[0] < constant[metric] for name in found.scores)


def _constant(y):
    if y.dtype.kind == "f":
        return np.full(len(y), y.mean())
    counts = np.unique(y, return_counts=True)[1]
    return np.tile(counts / counts.sum(), (len(y), 1))


@pytest.mark.parametrize("name", PEERS)
def test_trees_get_the_same_directions_and_keep_them(name):
    if comparing_models.missing_package(name):
        pytest.skip(f"{name} is not installed")
    X, y = table()
    matrix = read_matrix(X, {"a": 1, "b": -1, "c": 1}, [])
    assert matrix.signs == (1, -1, 0)  # codes have no order
    assert matrix.codes == (2,)
    assert np.isnan(matrix.x[:, 2]).sum() == sum(v is None for v in X["c"].to_pylist())
    codes = (y > 0).astype(np.int64)
    predict = PEERS[name](Lesson(matrix, np.arange(len(y)), codes, None, 2, 0, 1))
    rows = np.repeat(matrix.x[:1], 50, axis=0)
    rows[:, 0] = np.linspace(-3, 3, 50)
    found = np.asarray(predict(rows))
    found = found[:, 1] if found.ndim == 2 else found
    assert (np.diff(found) >= 0).all()
    assert found[-1] > found[0]


def test_no_model_sees_the_rows_it_is_judged_on(monkeypatch):
    """A model that remembers its training rows: honest folds give it nothing to remember."""
    X, y = table()
    seen: list[set[float]] = []

    def parrot(lesson):
        known = {tuple(row[:2]) for row in lesson.matrix.x[lesson.rows]}
        seen.append(known)
        return lambda x: np.array([float(tuple(row[:2]) in known) for row in x])

    monkeypatch.setitem(comparing.PEERS, "Parrot", parrot)
    found = compare(X, y, classification=False, n_folds=3, models=["Parrot"])
    assert len(set.union(*seen)) == len(y)
    assert found.scores["Parrot"]["MAE"].mean() == pytest.approx(np.abs(y).mean(), rel=0.05)  # it knew none: all zeros


def test_directions_that_name_a_class_are_turned_for_trees():
    assert comparing._second_class({"a": {"lo": 1}, "b": {"hi": 1}, "c": -1}, ["hi", "lo"]) == {
        "a": 1,
        "b": -1,
        "c": -1,
    }


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(comparing_models, "find_spec", lambda name: None)
    X, y = table(60)
    absent = ["LightGBM", "XGBoost", "CatBoost"]
    found = compare(X, y, classification=False, n_folds=2, models=[*absent, "HistGradientBoosting"])
    assert found.missing == {name: f"pip install {name.lower()}" for name in absent}
    assert set(found.scores) == {"monolip", "HistGradientBoosting"}
    with pytest.raises(MissingExtraError, match=r"needs LightGBM and CatBoost, .*; run: pip install lightgbm catboost"):
        compare(X, y, classification=False, n_folds=2, models=["LightGBM", "CatBoost"])  # with nobody


def test_what_cannot_be_compared_is_refused():
    X, y = table(40)
    with pytest.raises(InputError, match="folds are at least 2"):
        compare(X, y, classification=False, n_folds=9)
    with pytest.raises(InputError, match="compared with"):
        compare(X, y, classification=False, models=["CART"])
    with pytest.raises(InputError, match="at least two classes"):
        compare(X, np.ones(40), classification=True)


def test_scores_against_scikit_learn():
    from sklearn import metrics

    rng = np.random.default_rng(0)
    y, p, w = rng.integers(0, 2, 50), rng.random(50), rng.random(50)
    two = scores_of(y, np.column_stack([1 - p, p]), [0, 1], w)
    assert two["AUC"] == pytest.approx(metrics.roc_auc_score(y, p, sample_weight=w))
    assert two["log loss"] == pytest.approx(metrics.log_loss(y, p, sample_weight=w))
    assert two["Brier score"] == pytest.approx(metrics.brier_score_loss(y, p, sample_weight=w))
    assert np.isnan(scores_of(np.zeros(3, int), np.full((3, 2), 0.5), [0, 1])["AUC"])
    t, f = rng.normal(size=50), rng.normal(size=50)
    numbers = scores_of(t, f, None, w)
    assert numbers["R2"] == pytest.approx(metrics.r2_score(t, f, sample_weight=w))
    assert numbers["RMSE"] == pytest.approx(metrics.mean_squared_error(t, f, sample_weight=w) ** 0.5)


def test_scores_that_are_not_perfect_are_not_printed_so():
    scores = {"monolip": {"R2": np.array([0.99999, 0.999992]), "RMSE": np.array([0.25, 0.35])}}
    seconds = {"monolip": np.ones(2)}
    found = comparing.Comparison(scores, seconds, {}, True, 10)
    assert found.cells[1][1].startswith("0.999991 ±")
    scores["monolip"]["R2"][:] = 1.0
    assert found.cells[1][1] == "1 ±0"


def copies(n: int = 60, times: int = 4, seed: int = 0):
    """Every row some times, with an answer that only knowing its copies tells."""
    rng = np.random.default_rng(seed)
    a, b = np.repeat(rng.normal(size=(2, n)), times, axis=1)
    return arrow.table({"a": a, "b": b}), np.repeat(rng.normal(size=n), times), np.repeat(np.arange(n), times)


def test_rows_of_one_group_are_never_torn_apart():
    X, y, groups = copies()
    for target, classes in ((y, False), ((y > 0).astype(int), True)):
        folds = comparing_folds.folds_of(target, classes, 3, 0, groups)
        assert np.array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(len(y)))
        for train, test in folds:
            assert not np.isin(groups[test], groups[train]).any()
            assert len(train) + len(test) == len(y)
    lesson = Lesson(read_matrix(X, None, ()), np.arange(len(y)), y, None, 0, 0, 1, groups)
    learn, watch = lesson.inner()
    assert not np.isin(watch[0][:, 0], learn[0][:, 0]).any()  # every group has an `a` of its own


@pytest.mark.parametrize("name", PEERS)
def test_copies_in_one_fold_say_what_copies_in_many_hide(name):
    if comparing_models.missing_package(name, True):
        pytest.skip(f"{name} is not installed, or too old for it")
    X, y, groups = copies()
    torn, whole = (
        compare(
            X, y, {"a": 1}, classification=False, n_folds=2, models=[name], groups=given, parameters={"max_iter": 5}
        )
        for given in (None, groups)
    )
    assert whole.mean(name, "RMSE")[0] > 0.9 * y.std()  # there is nothing to learn
    assert torn.mean(name, "RMSE")[0] < whole.mean(name, "RMSE")[0]


def test_folds_that_groups_do_not_allow_are_refused():
    X, y, groups = copies()
    with pytest.raises(InputError, match="5 folds for 2 groups; use fewer"):
        compare(X, y, classification=False, groups=np.arange(len(y)) % 2, models=["HistGradientBoosting"])
    with pytest.raises(InputError, match="a name for each row; got 3"):
        compare(X, y, classification=False, groups=[1, 2, 3], models=["HistGradientBoosting"])
    rare = (groups == 0).astype(int)  # a class that lives in one group
    with pytest.raises(InputError, match="rows of every class to learn from"):
        compare(X, rare, classification=True, n_folds=2, groups=groups, models=["HistGradientBoosting"])


def test_what_trees_stop_on_is_counted_in_rows_and_leaves_every_class_to_learn():
    rng = np.random.default_rng(0)
    sizes = np.r_[600, np.full(5, 80)]
    groups, n = np.repeat(np.arange(6), sizes), 1000
    X = read_matrix(arrow.table({"a": rng.normal(size=n), "b": np.arange(n)}), None, ())
    classes = np.isin(groups, [2, 4]).astype(np.int64)
    for seed in range(20):
        lesson = Lesson(X, np.arange(n), classes, None, 2, seed, 1, groups)
        learn, watch = lesson.inner()
        assert 0 < len(watch[0]) <= 0.15 * n
        assert set(learn[1]) == {0, 1}
        assert not np.isin(groups[watch[0][:, 1].astype(int)], groups[learn[0][:, 1].astype(int)]).any()


@pytest.mark.parametrize("name", ["LightGBM", "HistGradientBoosting"])
def test_groups_of_one_class_each_are_compared_fairly(name):
    if comparing_models.missing_package(name, True):
        pytest.skip(f"{name} is not installed, or too old for it")
    X, y = table()
    yes = y > 0.5
    groups = yes * 2 + np.arange(len(y)) % 2
    with pytest.warns(UserWarning, match="rows are of one group"):  # there are two to learn from
        found = compare(X, yes, {"a": 1}, classification=True, groups=groups, n_folds=2, models=[name])
    assert found.mean(name, "log loss")[0] < 3.0  # of trees that have seen one class only it was 18


def test_weights_and_tables_that_cannot_be_compared_are_refused():
    X, y, groups = copies()
    given = {"classification": False, "n_folds": 2, "models": ["HistGradientBoosting"]}
    with pytest.raises(InputError, match=r"one number for each row; got \(3,\) for 240 rows"):
        compare(X, y, weight=[1, 2, 3], **given)
    fold = comparing_folds.folds_of(y, False, 2, 0, groups)[0][1]
    with pytest.raises(InputError, match="weights are all 0"):
        compare(X, y, weight=~np.isin(np.arange(len(y)), fold), groups=groups, **given)
    with pytest.raises(InputError, match="of a data frame; got ndarray"):
        compare(np.zeros((240, 2)), y, **given)


def test_trees_stop_on_a_whole_group_of_some_size_where_there_is_one():
    """Few large groups, and a stray row with a group of its own: that row alone would end training anywhere."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(5), 400)
    groups[0] = 77
    X = read_matrix(arrow.table({"a": rng.normal(size=2000), "b": np.arange(2000)}), None, ())
    for classes, y in ((0, rng.normal(size=2000)), (2, rng.integers(0, 2, 2000))):
        learn, watch = Lesson(X, np.arange(2000), y, None, classes, 0, 1, groups).inner()
        kept, seen = (groups[part[0][:, 1].astype(int)] for part in (learn, watch))
        assert len(seen) >= 399
        assert not np.isin(seen, kept).any()
    two = Lesson(X, np.arange(2000), y, None, 0, 0, 1, (groups > 1).astype(int))
    assert len(two.inner()[1][0]) == 799  # not the others, which are more than half
