"""A forest beside the network: it never sees a feature with a promise, and is added only where rows held out gain."""

from __future__ import annotations

import pickle
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from monolip.errors import InputError, PromiseWarning, SlopeError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, WithFreeForest
from monolip.estimators._leftover import Leftover, best_share, is_hopeless
from monolip.estimators._tables import read_table

QUICK = {"n_estimators": 1, "max_iter": 20, "random_state": 0}
SMALL = {"n_trees": 5, "cv": 2, "random_state": 0}


def jumps(rng, n=800):
    """Column a rises, b jumps fifteen times, c is a category that says something, d is missing at times."""
    d = rng.normal(size=n)
    d[::7] = np.nan
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.uniform(size=n), "c": rng.choice(list("uvw"), n), "d": d})
    f = X.a + 2 * (np.floor(15 * X.b) % 2) + (X.c == "v") + 0.5 * X.d.isna()
    return X, (f + 0.1 * rng.normal(size=n)).to_numpy()


def regressor(**more):
    return WithFreeForest(MonotonicRegressor(**{"monotonic_cst": {"a": 1}, **QUICK, **more}), **SMALL)


def classifier(**more):
    return WithFreeForest(MonotonicClassifier(**{"monotonic_cst": {"a": 1}, **QUICK, **more}), **SMALL)


@pytest.mark.filterwarnings("ignore:too few rows", "ignore:.*of the rows have features")
@parametrize_with_checks(
    [WithFreeForest(MonotonicRegressor(**QUICK), **SMALL), WithFreeForest(MonotonicClassifier(**QUICK), **SMALL)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "rows are drawn in random batches, and parts by position",
    },
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_jumps_are_found(rng):
    X, y = jumps(rng, 2000)
    model = regressor().set_params(n_trees=30).fit(X[:1500], y[:1500])
    assert model.share_ > 0
    assert model.gain_ > 0.2
    assert model.free_features_ == ("b", "c", "d")
    alone = np.mean((model.estimator_.predict(X[1500:]) - y[1500:]) ** 2)
    assert np.mean((model.predict(X[1500:]) - y[1500:]) ** 2) < 0.8 * alone


@pytest.mark.parametrize("make", [regressor, classifier])
def test_promised_directions_hold_bit_for_bit(make, rng):
    X, y = jumps(rng)
    model = make().fit(X, y if make is regressor else y > np.median(y))
    assert model.share_ > 0
    steps = np.concatenate(
        [np.linspace(-4, 4, 400), [-1e300, 1e300, 0.0, np.nextafter(0.0, 1.0), np.nextafter(1.0, 2)]]
    )
    steps.sort()
    for k in range(10):
        rows = pd.concat([X.iloc[[k]]] * len(steps), ignore_index=True).assign(a=steps)
        outputs = (
            [model.predict(rows)]
            if make is regressor
            else [model.decision_function(rows), model.predict_proba(rows)[:, 1]]
        )
        for found in outputs:
            assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize(
    ("asked", "free"),
    [
        ({"monotonic_cst": {"a": 1, "b": -1}}, ("c", "d")),
        ({"monotonic_cst": {"a": 1}, "slopes": {"d": (-1.0, 2.0)}}, ("b", "c")),
        ({"monotonic_cst": {"a": 1}, "max_slope": {"b": 3.0}}, ("c", "d")),
        ({"max_slope": 2.0}, ()),
        ({"monotonic_cst": {"a": 0}}, ("a", "b", "c", "d")),
    ],
)
def test_a_forest_sees_nothing_that_was_asked_for(asked, free, rng):
    X, y = jumps(rng, 300)
    with nullcontext() if free else pytest.warns(UserWarning, match="promised of every feature"):
        model = regressor(**asked).fit(X, y)
    assert model.free_features_ == free
    if model.forest_ is not None:
        assert model.forest_.n_features == len(free)
    if not free:
        assert model.forest_ is None
        assert model.share_ == 0.0


@pytest.mark.parametrize("make", [regressor, classifier])
def test_noise_leaves_the_estimator_as_it_is(make, rng):
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + rng.normal(size=500)
    model = make(monotonic_cst=[1, 0, 0]).fit(X, y if make is regressor else y > 0)
    assert model.share_ == model.gain_ == 0.0
    assert model.forest_ is None
    assert model.predict(X).tobytes() == model.estimator_.predict(X).tobytes()


def test_categories_missing_values_and_units_do_not_matter(rng):
    X, y = jumps(rng)
    model = regressor().fit(X, y)
    other = X.assign(b=1e299 * X.b, d=1e-280 * X.d)  # beyond float32, which scikit-learn's trees work in
    assert model.share_ > 0
    assert regressor().fit(other, y).share_ > 0
    strange = X.head(4).assign(c=["new", "u", None, "v"], b=[np.nan, -1e308, 1e308, 0.5])
    assert np.isfinite(model.predict(strange)).all()
    assert model.predict(X[["d", "c", "b", "a"]]).tobytes() == model.predict(X).tobytes()


def test_any_table(rng):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, y = jumps(rng, 300)
    found = regressor().fit(X, y).predict(X).tobytes()
    assert regressor().fit(polars.from_pandas(X), y).predict(X).tobytes() == found
    assert regressor().fit(pyarrow.Table.from_pandas(X), y).predict(polars.from_pandas(X)).tobytes() == found


def test_the_same_seed_gives_the_same_bits_also_after_a_pickle(rng):
    X, y = jumps(rng)
    model = regressor().fit(X, y)
    found = model.predict(X).tobytes()
    assert regressor().fit(X, y).predict(X).tobytes() == found
    assert pickle.loads(pickle.dumps(model)).predict(X).tobytes() == found


def test_weights_and_offsets_count(rng):
    X, y = jumps(rng)
    weight, offset = rng.uniform(0.5, 2.0, len(y)), rng.normal(size=len(y))
    model = regressor().fit(X, y + offset, sample_weight=weight, offset=offset)
    assert model.share_ > 0
    np.testing.assert_allclose(model.predict(X, offset=offset), model.predict(X) + offset, rtol=1e-12, atol=1e-12)
    assert np.mean((model.predict(X) - y) ** 2) < 0.5 * np.var(y)


def test_scikit_learn_knows_what_it_is(rng):
    X, y = jumps(rng, 300)
    assert is_regressor(regressor())
    assert is_classifier(classifier())
    assert not hasattr(regressor(), "predict_proba")
    assert classifier().fit(X, y > 0).classes_.tolist() == [False, True]
    search = GridSearchCV(regressor(), {"estimator__n_bins": [0, 8], "n_trees": [2]}, cv=2).fit(X, y)
    assert search.best_params_["n_trees"] == 2
    assert cross_val_score(classifier(), X, y > 1, cv=2).mean() > 0.6


def test_what_cannot_be_meant_is_refused(rng):
    X, y = jumps(rng, 100)
    three = classifier(monotonic_cst=None)
    for model, target, words in (
        (regressor(loss="quantile"), y, "squared_error"),
        (three, np.arange(100) % 3, "Only binary classification .* 3 classes"),
        (WithFreeForest("ridge"), y, "MonotonicRegressor"),
        (regressor().set_params(n_trees=0), y, "n_trees"),
        (regressor().set_params(cv=1), y, "cv is None, a splitter"),
        (regressor().set_params(cv="four"), y, "cv is None, a splitter"),
        (regressor().set_params(min_samples_leaf=0.5), y, "min_samples_leaf"),
    ):
        with pytest.raises(InputError, match=words):
            model.fit(X, target)
    with pytest.raises(SlopeError):
        regressor(monotonic_cst={"zz": 1}).fit(X, y)
    for groups, words in (
        ([1, 2], "2 for 100 rows"),
        ("a", "one column"),
        (7, "one column"),
        (np.zeros((100, 2)), "one column"),
        (X[["a", "b"]], "one column"),
        ([{}] * 100, "unhashable"),
        (["a"] * 99 + [None], "none for row 99"),
        ([np.nan] + [1.0] * 99, "none for row 0"),
    ):
        with pytest.raises(InputError, match=words):
            regressor().fit(X, y, groups=groups)
    with pytest.raises(InputError, match=r"pass fit\(groups=\)"):
        regressor().set_params(cv=GroupKFold(2)).fit(X, y)
    with pytest.raises(InputError) as told:
        regressor().set_params(cv=list(KFold(3).split(X))).fit(X, y)
    assert len(str(told.value)) < 400
    with pytest.raises(InputError, match="made by calling it"):
        WithFreeForest(MonotonicRegressor).fit(X, y)


def test_what_takes_networks_says_that_this_is_none(rng, tmp_path):
    from monolip.certify import certified_radius, certify, compile_fixed_point
    from monolip.export import to_c, to_json
    from monolip.report import explain, plot_shapes, write_report

    X, y = jumps(rng, 300)
    model = regressor().fit(X, y)
    for call in (
        lambda: certify(model),
        lambda: compile_fixed_point(model),
        lambda: certified_radius(model, X),
        lambda: to_c(model, tmp_path / "m.h"),
        lambda: to_json(model, tmp_path / "m.json"),
        lambda: explain(model, X.iloc[0].to_dict(), X.iloc[1].to_dict()),
        lambda: plot_shapes(model),
        lambda: write_report(model, tmp_path / "m.html"),
    ):
        with pytest.raises(InputError, match=r"model\.estimator_ is the network alone"):
            call()


@pytest.mark.parametrize("name", ["certificate_", "slopes_", "frozen_", "predict_stream"])
def test_what_speaks_of_the_network_alone_says_so(name):
    with pytest.raises(AttributeError, match=f"estimator_.{name} is that of f alone"):
        getattr(regressor(), name)


def test_too_few_rows_have_no_forest(rng):
    X, y = jumps(rng, 6)
    with pytest.warns(UserWarning, match="too few rows") as told:
        assert regressor().fit(X, y).forest_ is None
    assert told[0].filename == __file__
    X, y = jumps(rng, 60)
    with pytest.warns(UserWarning, match="too few rows"):
        assert classifier().fit(X, np.arange(60) < 3).forest_ is None
    X, y = jumps(rng, 300)
    with pytest.warns(UserWarning, match="groups"):
        assert regressor().fit(X, y, groups=np.arange(300) % 5).forest_ is None


def test_a_share_needs_a_gain_beyond_chance(rng):
    y, f = rng.normal(size=400), np.zeros(400)
    left = Leftover(y, np.ones(400), np.zeros(400), False)
    assert best_share(left, f, y, y) == (1.0, pytest.approx(1.0))
    assert best_share(left, f, 2 * y, 2 * y)[0] == 0.5
    assert best_share(left, f, -y, -y) == (0.0, 0.0)
    assert best_share(left, f, f, f) == (0.0, 0.0)
    assert best_share(left, f, *rng.normal(size=(2, 400))) == (0.0, 0.0)
    assert best_share(left, f, *np.full((2, 400), np.nan)) == (0.0, 0.0)


def test_more_trees_are_credited_with_what_halves_save_over_each(rng):
    y = rng.normal(size=4000)
    left, f = Leftover(y, np.ones(4000), np.zeros(4000), False), np.zeros(4000)
    noise = rng.normal(size=(6, 4000))  # of six trees that predict y: halves of two judge, two more will come
    judges, every = [noise[k : k + 2].mean(axis=0) for k in (0, 2)], noise.mean(axis=0)
    told = best_share(left, f, y + judges[0], y + judges[1], 1 - 4 / 6)
    true = best_share(left, f, y + every, y + every)
    assert told[0] == true[0]
    assert told[1] == pytest.approx(true[1], abs=0.02)
    assert told[1] > best_share(left, f, y + judges[0], y + judges[1])[1] + 0.02
    wild = 100.0 * noise[0]
    assert best_share(left, f, wild, -wild, 0.9)[1] <= 1.0


def test_rows_that_lose_end_it_early(rng):
    y, every = rng.normal(size=400), np.arange(400)
    left, f = Leftover(y, np.ones(400), np.zeros(400), False), np.zeros(400)
    assert is_hopeless(left, f, -y, -y)
    assert is_hopeless(left.at(every < 100), f[:100], -y[:100], -y[:100])
    assert not is_hopeless(left, f, y, y)
    assert not is_hopeless(left, f, f, f)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_rows_that_come_again_are_no_gain_where_groups_say_so(make, rng):
    X = np.repeat(rng.normal(size=(150, 4)), 6, axis=0)  # noise, every row six times
    y = np.repeat(rng.normal(size=150), 6)
    y = y if make is regressor else y > 0
    groups = np.repeat(np.arange(150), 6)
    model = make(monotonic_cst=[1, 0, 0, 0])
    with pytest.warns(UserWarning, match=r"100% of the rows .*groups=") as told:
        assert model.fit(X, y).gain_ > 0.5, "learned by heart"
    assert told[0].filename == __file__
    assert model.fit(X, y, groups=groups).share_ == 0.0
    assert model.fit(X, y, groups=groups.astype(str)).share_ == 0.0


def test_a_splitter_says_which_rows_are_held_out(rng):
    X, y = jumps(rng)
    model = regressor().set_params(cv=ShuffleSplit(2, test_size=0.2, random_state=0)).fit(X, y)
    assert model.share_ > 0
    assert 0 < model.gain_ < 1


def test_a_contradicted_promise_is_told_once_and_to_who_asked(rng):
    X, y = jumps(rng)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        regressor(monotonic_cst={"a": -1}).fit(X, y)
    found = [one for one in told if one.category is PromiseWarning]
    assert len(found) == 1
    assert found[0].filename == __file__


def test_a_threshold_is_that_of_the_sum(rng):
    X, y = jumps(rng)
    model = classifier().fit(X, y > np.median(y))
    found = model.threshold(X, rate=0.25)
    assert np.mean(model.decision_function(X) >= found.value) == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_no_bit(n_jobs, rng):
    X, y = jumps(rng)
    alone, several = (regressor().set_params(n_jobs=jobs, n_trees=30).fit(X, y) for jobs in (1, n_jobs))
    assert (alone.share_, alone.gain_) == (several.share_, several.gain_)
    for _ in range(3):
        assert alone.predict(X).tobytes() == several.predict(X).tobytes()


@pytest.mark.parametrize("unit", [1e-200, 1e-12, 1e-8, 1e8, 1e150, 1e180])
def test_the_unit_of_a_target_does_not_matter(unit, rng):
    X, y = jumps(rng)
    plain, other = regressor().fit(X, y), regressor().fit(X, y * unit)
    assert plain.share_ > 0
    assert (other.share_, other.gain_) == (plain.share_, pytest.approx(plain.gain_, rel=0.05))


def test_class_weights_count_for_the_forest_as_well(rng):
    X, y = jumps(rng)
    rare = y > np.quantile(y, 0.85)
    by_class = classifier(class_weight={False: 1.0, True: 4.0}).fit(X, rare)
    by_row = classifier().fit(X, rare, sample_weight=np.where(rare, 4.0, 1.0))
    assert (by_class.share_, by_class.gain_) == (by_row.share_, pytest.approx(by_row.gain_))
    assert by_class.predict_proba(X)[:, 1].mean() > 1.3 * classifier().fit(X, rare).predict_proba(X)[:, 1].mean()


def test_weights_of_zero_are_rows_that_are_not_there(rng):
    X, y = jumps(rng)
    weight = np.zeros(len(y))
    weight[0] = 1.0
    with pytest.warns(UserWarning, match="too few rows"):
        assert regressor().fit(X, y, sample_weight=weight).forest_ is None
    weight[:20] = 1.0
    assert classifier().fit(X, np.arange(len(y)) % 2 == 0, sample_weight=weight).n_features_in_ == 4
    weight = np.where(np.arange(len(y)) % 2, rng.uniform(0.5, 2.0, len(y)), 0.0)
    model = regressor().fit(X, y, sample_weight=weight)
    assert model.share_ > 0
    assert all(np.isfinite(tree.value).all() for tree in model.forest_.trees)


def test_what_was_never_seen_is_taken_for_the_usual(rng):
    X = pd.DataFrame({"a": rng.normal(size=900), "b": rng.permutation(900) % 9, "c": rng.choice(list("uvvvw"), 900)})
    y = 6.0 * (X.b % 2) + 6.0 * (X.c == "u")
    model = regressor().fit(X, y)
    rows = X.head(4).assign(c=["new", "v", None, "v"], b=[4.0, np.nan, 4.0, 4.0])
    found = model._columns.encode(read_table(rows))
    assert (found == found[0]).all()


def test_text_in_a_column_of_numbers_is_told_by_its_name(rng):
    X, y = jumps(rng)
    model = regressor().fit(X, y)
    for wrong in (["x"] * 5, pd.Categorical([1, 2, 3, 4, 5])):
        with pytest.raises(InputError, match="numeric column 'b'"):
            model.predict(X.head().assign(b=wrong))


@pytest.mark.parametrize("where", ["f", "part", "forest"])
def test_ctrl_c_ends_with_the_estimator_alone(where, rng, monkeypatch):
    X, y = jumps(rng)
    fits = []
    original = MonotonicRegressor.fit

    def fit(self, *data):
        fits.append(original(self, *data))
        fits[-1]._interrupted = where == ("f" if len(fits) == 1 else "part")
        return fits[-1]

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(MonotonicRegressor, "fit", fit)
    if where == "forest":
        monkeypatch.setattr("monolip.estimators._forest_worth.grow", interrupt)
    with nullcontext() if where == "f" else pytest.warns(UserWarning, match="without a forest"):
        model = regressor().fit(X, y)
    assert (model.share_, model.gain_, model.forest_) == (0.0, 0.0, None)
    assert len(fits) == (1 if where == "f" else 2)
    assert model.predict(X).tobytes() == fits[0].predict(X).tobytes()


def test_a_warning_about_names_is_given_once(rng):
    X, y = jumps(rng)
    model = regressor().fit(X.drop(columns="c"), y)
    with pytest.warns(UserWarning, match="feature names") as told:
        model.predict(X.drop(columns="c").to_numpy())
    assert len(told) == 1


@pytest.mark.parametrize("wrong", [{"n_jobs": "2"}, {"n_jobs": 0}, {"random_state": "a"}, {"random_state": -1}])
def test_threads_and_seeds_that_cannot_be_meant_are_refused_at_once(wrong, rng):
    X, y = jumps(rng, 100)
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is None"):
        regressor().set_params(**wrong).fit(X, y)


def test_a_fitted_classifier_stays_one(rng):
    X, y = jumps(rng, 300)
    model = classifier().fit(X, y > 0)
    model.set_params(estimator=MonotonicRegressor())
    assert model.predict_proba(X).shape == (300, 2)
    assert not is_classifier(WithFreeForest(None))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("weight", [1e-4, 1e-6, 1e-20])
def test_rare_weights_do_not_make_a_gain_of_noise(seed, weight):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(800, 3))
    y = X[:, 0] + 2 * (np.floor(15 * X[:, 1]) % 2) > 1.2
    f = MonotonicClassifier(monotonic_cst=[1, 0, 0], class_weight={0: weight, 1: 1.0}, random_state=seed)
    model = WithFreeForest(f, random_state=seed).fit(X, y)
    assert 0.0 <= model.gain_ <= 1.0
    Z = rng.uniform(size=(4000, 3))
    truth = Z[:, 0] + 2 * (np.floor(15 * Z[:, 1]) % 2) > 1.2
    losses = [
        np.average(
            np.logaddexp(0.0, np.where(truth, -1, 1) * one.decision_function(Z)), weights=np.where(truth, 1, weight)
        )
        for one in (model, model.estimator_)
    ]
    assert losses[0] <= 1.2 * losses[1]


def test_a_part_that_leaves_one_class_is_left_out(rng):
    X, y = jumps(rng)
    y = y > np.median(y)
    groups = np.where(y, 0, rng.integers(1, 60, len(y)))  # one customer has all of one class
    with pytest.warns(UserWarning, match="too few rows"):
        model = classifier().fit(X, y, groups=groups)
    assert model.forest_ is None
    order = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match="too few rows"):
        classifier().set_params(cv=KFold(2)).fit(X.iloc[order], y[order])
    weight = np.where(np.arange(len(y)) < len(y) // 2, 0.0, 1.0)
    with pytest.warns(UserWarning, match="too few rows"):  # all kept rows, or all held out, weigh nothing
        classifier().set_params(cv=KFold(2)).fit(X, y, sample_weight=weight)


def test_splitters_see_the_table_and_may_give_masks(rng):
    class BySign:
        def split(self, X, y=None, groups=None):
            mask = X["a"].to_numpy() > 0
            yield mask, ~mask
            yield ~mask, mask

    X, y = jumps(rng)
    assert regressor().set_params(cv=BySign()).fit(X, y).share_ > 0

    class Wrong:
        def split(self, X, y=None, groups=None):
            yield np.array([0, 10**6]), np.array([1])

    with pytest.raises(InputError, match="cv splits the rows; got Wrong"):
        regressor().set_params(cv=Wrong()).fit(X, y)

    class Given:
        def __init__(self, *parts):
            self.parts = parts

        def split(self, X, y=None, groups=None):
            return iter(self.parts)

    for part, words in (
        ((0, 1), "not one column"),
        ((np.zeros((3, 2), int), [1]), "not one column"),
        ((None, [1]), "not one column"),
        ((range(400), range(300, 500)), "keeps some of them"),
    ):
        with pytest.raises(InputError, match=words):
            regressor().set_params(cv=Given(part)).fit(X, y)
    parts = (tuple(range(400)), slice(400, 800)), (np.arange(400, 800), np.array([]))
    assert regressor().set_params(cv=Given(*parts)).fit(X, y).share_ > 0
    halves = Given((range(400), range(400, 800)))
    with pytest.raises(InputError, match="groups stay together; got Given"):
        regressor().set_params(cv=halves).fit(X, y, groups=np.arange(800) % 40)
    for wrong in ({"cv": KFold}, {"min_samples_leaf": 10**30}, {"n_trees": 10**9}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            regressor().set_params(**wrong).fit(X, y)


def test_ctrl_c_while_the_table_is_read_again_keeps_the_estimator(rng, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    X, y = jumps(rng)
    monkeypatch.setattr("monolip.estimators.with_forest.read_table", interrupt)
    with pytest.warns(UserWarning, match="without a forest"):
        model = regressor().fit(X, y)
    assert model.forest_ is None
    assert len(model.predict(X)) == len(y)


def test_class_weights_have_any_unit(rng):
    X, y = jumps(rng)
    found = {
        (model.share_, round(model.gain_, 6))
        for size in (1e-200, 1.0, 1e200)
        for model in [classifier(class_weight={False: size, True: size}).fit(X, y > np.median(y))]
    }
    assert len(found) == 1
    assert found.pop()[0] > 0


@pytest.mark.parametrize("make", [MonotonicRegressor, MonotonicClassifier])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_is_no_gain(make, seed):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=600), rng.integers(0, 3, 600), rng.integers(0, 2, 600)]  # halves of a forest agree
    y = X[:, 0] + rng.normal(size=600)  # the free features are noise
    f = make(monotonic_cst=[1, 0, 0], **QUICK)
    model = WithFreeForest(f, random_state=seed).fit(X, y if make is MonotonicRegressor else y > 0)
    assert model.gain_ < 0.05
    left = Leftover(y, np.ones(600), np.zeros(600), False)
    one = 1e-3 * rng.normal(size=600)
    assert best_share(left, np.zeros(600), one, one * (1 + 1e-16), 2 / 3)[1] < 0.01


def test_one_row_that_weighs_more_than_all_others_judges_nothing(rng):
    X = rng.uniform(size=(300, 2))
    for seed in range(6):
        y = X[:, 0] + np.random.default_rng(seed).normal(size=300)
        weight = np.r_[1e10, np.ones(299)]
        model = regressor(monotonic_cst=[1, 0]).set_params(cv=4, random_state=seed).fit(X, y, sample_weight=weight)
        assert model.share_ == 0.0
        few = ShuffleSplit(1, test_size=3, random_state=seed)
        assert regressor(monotonic_cst=[1, 0]).set_params(cv=few).fit(X, y).share_ == 0.0


def test_names_of_groups_may_be_anything(rng):
    X, y = jumps(rng)
    number = np.arange(800) // 4
    for groups in (
        [(int(g), "a") for g in number], pd.Series(number, index=number), pd.DataFrame({"g": number}), number[:, None],
        number.astype(str), [int(g) if g % 2 else str(g) for g in number],
    ):  # fmt: skip
        found = regressor().fit(X, y, groups=groups)
        assert (found.share_, found.gain_) == (pytest.approx(1.0, abs=0.5), pytest.approx(0.4, abs=0.4))


def test_equal_rows_of_few_values_are_no_copies(rng):
    X = np.c_[rng.integers(0, 10, 800), rng.integers(0, 8, 800), rng.integers(0, 4, 800)].astype(float)
    y = X[:, 0] + 3 * ((X[:, 1] * X[:, 2]) % 3) + rng.normal(size=800)
    assert regressor(monotonic_cst=[1, 0, 0]).fit(X, y).share_ > 0  # without a warning


def test_warnings_as_errors_leave_the_model_whole(rng, monkeypatch):
    X, y = jumps(rng)
    model = regressor()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="another row"):
            model.fit(pd.concat([X, X], ignore_index=True), np.r_[y, y])
    assert model.share_ > 0
    assert len(model.predict(X)) == 800
