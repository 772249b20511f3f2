"""trees="free": they never see a feature with a promise, and are added only where rows held out gain by it."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from monolip.errors import FrozenFileError, InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _adding_forest, _forest, _forest_worth
from monolip.estimators._free_columns import FreeColumns
from monolip.estimators._prediction import Predictor
from monolip.estimators._tables import read_table
from monolip.input_columns import CategoryColumn

QUICK = {"n_estimators": 1, "max_iter": 20, "random_state": 0, "trees": "free"}


def jumps(rng, n=800):
    """Column a rises, b jumps fifteen times, c is a category that says something, d is missing at times."""
    d = rng.normal(size=n)
    d[::7] = np.nan
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.uniform(size=n), "c": rng.choice(list("uvw"), n), "d": d})
    f = X.a + 2 * (np.floor(15 * X.b) % 2) + (X.c == "v") + 0.5 * X.d.isna()
    return X, (f + 0.1 * rng.normal(size=n)).to_numpy()


def regressor(**more):
    return MonotonicRegressor(**{"monotonic_cst": {"a": 1}, **QUICK, **more})


def classifier(**more):
    return MonotonicClassifier(**{"monotonic_cst": {"a": 1}, **QUICK, **more})


@pytest.mark.filterwarnings("ignore:trees='free', but", "ignore:.*of the rows have features")
@parametrize_with_checks(
    [MonotonicRegressor(**QUICK)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "rows are drawn in random batches",
        "check_sample_weight_equivalence_on_sparse_data": "rows are drawn in random batches",
    },
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_jumps_are_found(rng):
    X, y = jumps(rng, 2000)
    model = regressor().fit(X[:1500], y[:1500])
    alone = regressor(trees=False).fit(X[:1500], y[:1500])
    assert model.trees_gain_ > 0.2
    assert model.tree_features_ == ("b", "c", "d")
    assert (alone.trees_gain_, alone.tree_features_) == (0.0, ())
    found, before = (np.mean((m.predict(X[1500:]) - y[1500:]) ** 2) for m in (model, alone))
    assert found < 0.8 * before


def test_auto_adds_one_where_rows_gain_much(rng):
    X, y = jumps(rng, 2000)
    y = y + 4 * X.a * X.b  # something for networks to find
    default = MonotonicRegressor(monotonic_cst={"a": 1}, random_state=0, max_iter=20, n_bins=8)
    assert default.fit(X, y).tree_features_ == ("b", "c", "d")
    assert default.set_params(trees=False).fit(X, y).tree_features_ == ()
    assert MonotonicRegressor(random_state=0, max_iter=20, n_bins=8).fit(X, y).tree_features_ == (), "nothing promised"
    smooth = X.a + np.sin(6 * X.b)
    exact = MonotonicRegressor(monotonic_cst={"a": 1}, random_state=0).fit(X, smooth)
    assert exact.tree_features_ == (), "the last digit is worth no jumps"
    noise = MonotonicRegressor(monotonic_cst={"a": 1}, random_state=0).fit(X, X.a + rng.normal(size=2000))
    assert noise.tree_features_ == ()


@pytest.mark.parametrize("make", [regressor, classifier])
def test_promised_directions_hold_bit_for_bit(make, rng):
    X, y = jumps(rng)
    model = make().fit(X, y if make is regressor else y > np.median(y))
    assert model.tree_features_
    extremes = [-1e300, 1e300, 0.0, np.nextafter(0.0, 1.0), np.nextafter(1.0, 2)]
    steps = np.sort(np.concatenate([np.linspace(-4, 4, 400), extremes]))
    for k in range(10):
        rows = pd.concat([X.iloc[[k]]] * len(steps), ignore_index=True).assign(a=steps)
        for exact in (False, True):
            found = (
                model.predict(rows, exact=exact) if make is regressor else model.predict_proba(rows, exact=exact)[:, 1]
            )
            assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("make", [regressor, classifier])
def test_what_is_proved_is_about_the_whole_model(make, rng):
    X, y = jumps(rng)
    model = make().fit(X, y if make is regressor else y > np.median(y))
    assert model.certificate_.check().startswith("PROVED")
    assert model.certificate_.digest == model.frozen_.digest
    words = {row.feature: row.promise for row in model.slopes_}
    assert words == {"a": "increasing", "b": "free (trees)", "c": "free (category, trees)", "d": "free (trees)"}
    assert model.slopes_["a"][0] >= 0
    with pytest.raises(KeyError, match="trees read it, and it jumps; fit with trees=False"):
        model.slopes_["b"]


@pytest.mark.parametrize("make", [regressor, classifier])
def test_compiled_predictions_have_the_bits_of_the_frozen_network(make, rng):
    X, y = jumps(rng, 700)
    model = make().fit(X, y if make is regressor else y > np.median(y))
    rows = pd.concat([X, X.head(4).assign(c=["new", "u", None, "v"], b=[np.nan, -1e308, 1e308, 0.5])])
    network, table = model.frozen_, read_table(rows)
    columns = {name: rows[name].to_numpy() for name in rows}
    expected = network.evaluate_raw(columns)
    for n_threads in (1, 2):
        assert (model._predictor.evaluate(table, n_threads) == expected).all()
        exact = model._predictor.evaluate_exact(table, n_threads)
        assert (exact == model._predictor.exact.evaluate_raw(columns)).all()
    assert model._predictor._integers is not None, "the quick way serves forests, too"
    assert (Predictor(network).evaluate(read_table(rows.iloc[[3]])) == expected[3]).all()
    assert (model.model_columns(rows) == network.inputs.evaluate(columns)).all()


@pytest.mark.parametrize(
    ("asked", "free"),
    [
        ({"monotonic_cst": {"a": 1, "b": -1}}, ("c", "d")),
        ({"monotonic_cst": {"a": 1}, "slopes": {"d": (-1.0, 2.0)}}, ("b", "c")),
        ({"monotonic_cst": {"a": 1}, "max_slope": {"d": 3.0}}, ("b", "c")),
        ({"monotonic_cst": {"a": 0}}, ("a", "b", "c", "d")),
    ],
)
def test_trees_see_nothing_that_was_asked_for(asked, free, rng):
    X, y = jumps(rng, 800)
    assert regressor(**asked).fit(X, y).tree_features_ in (free, ())
    y = y + 3.0 * (np.floor(9 * X["d"].fillna(0)) % 2) + 3.0 * (X["c"] == "u") * (np.floor(20 * X["b"]) % 2)
    assert regressor(**asked).fit(X, y).tree_features_ == free


def test_no_feature_is_free_under_a_cap_for_all(rng):
    X, y = jumps(rng, 300)
    with pytest.warns(UserWarning, match="something is promised of every feature") as told:
        assert regressor(max_slope=2.0).fit(X, y).tree_features_ == ()
    assert told[0].filename == __file__


@pytest.mark.parametrize("make", [regressor, classifier])
def test_noise_leaves_the_network_as_it_is(make, rng):
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + rng.normal(size=500)
    y = y if make is regressor else y > 0
    model, alone = (make(monotonic_cst=[1, 0, 0], trees=wanted).fit(X, y) for wanted in ("free", False))
    assert model.frozen_ == alone.frozen_


def test_categories_missing_values_and_units_do_not_matter(rng):
    X, y = jumps(rng)
    model = regressor().fit(X, y)
    other = X.assign(b=1e299 * X.b, d=1e-280 * X.d)
    assert regressor().fit(other, y).tree_features_
    strange = X.head(4).assign(c=["new", "u", None, "v"], b=[np.nan, -1e308, 1e308, 0.5])
    assert np.isfinite(model.predict(strange)).all()
    assert model.predict(X[["d", "c", "b", "a"]]).tobytes() == model.predict(X).tobytes()


@pytest.mark.parametrize("unit", [1e-200, 1e-12, 1e8, 1e150])
def test_the_unit_of_a_target_does_not_matter(unit, rng):
    X, y = jumps(rng)
    plain, other = regressor().fit(X, y), regressor().fit(X, y * unit)
    assert other.trees_gain_ == pytest.approx(plain.trees_gain_, rel=0.05)
    np.testing.assert_allclose(other.predict(X) / unit, plain.predict(X), rtol=0.2, atol=0.2)


def test_what_was_never_seen_is_taken_for_the_usual(rng):
    X = pd.DataFrame({"a": rng.normal(size=900), "b": rng.permutation(900) % 9, "c": rng.choice(list("uvvvw"), 900)})
    y = 6.0 * (X.b % 2) * (X.c == "v") + 6.0 * (X.c == "u")
    forest = regressor(n_bins=0).fit(X, y).frozen_.inputs.forest
    assert forest is not None
    assert forest.stands == ((4.0, 0.0), (1.0, 1.0))


def test_the_same_seed_gives_the_same_bits_for_any_threads_also_after_a_pickle(rng):
    X, y = jumps(rng)
    model = regressor().fit(X, y)
    for n_jobs in (1, 2, -1):
        assert regressor(n_jobs=n_jobs).fit(X, y).frozen_ == model.frozen_
    assert pickle.loads(pickle.dumps(model)).predict(X).tobytes() == model.predict(X).tobytes()


def test_weights_and_offsets_count(rng):
    X, y = jumps(rng)
    weight, offset = rng.uniform(0.5, 2.0, len(y)), rng.normal(size=len(y))
    weight[::5] = 0.0
    model = regressor().fit(X, y + offset, sample_weight=weight, offset=offset)
    assert model.tree_features_
    np.testing.assert_allclose(model.predict(X, offset=offset), model.predict(X) + offset, rtol=1e-12, atol=1e-12)
    assert np.mean((model.predict(X) - y) ** 2) < 0.5 * np.var(y)
    assert regressor().fit(X[weight > 0], (y + offset)[weight > 0], weight[weight > 0], offset[weight > 0]).trees_gain_


def test_class_weights_count_for_the_trees_as_well(rng):
    X, y = jumps(rng)
    rare = y > np.quantile(y, 0.85)
    by_class = classifier(class_weight={False: 1.0, True: 4.0}).fit(X, rare)
    by_row = classifier().fit(X, rare, sample_weight=np.where(rare, 4.0, 1.0))
    assert by_class.frozen_ == by_row.frozen_
    assert by_class.predict_proba(X)[:, 1].mean() > 1.3 * classifier().fit(X, rare).predict_proba(X)[:, 1].mean()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("weight", [1e-4, 1e-6, 1e-20])
def test_rare_weights_do_not_make_a_gain_of_noise(seed, weight):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(800, 3))
    y = X[:, 0] + 2 * (np.floor(15 * X[:, 1]) % 2) > 1.2
    same = {"monotonic_cst": [1, 0, 0], "class_weight": {0: weight, 1: 1.0}, "random_state": seed}
    model, alone = (MonotonicClassifier(trees=wanted, **same).fit(X, y) for wanted in ("free", False))
    assert 0.0 <= model.trees_gain_ <= 1.0
    Z = rng.uniform(size=(4000, 3))
    truth = Z[:, 0] + 2 * (np.floor(15 * Z[:, 1]) % 2) > 1.2
    side, share = np.where(truth, -1, 1), np.where(truth, 1, weight)
    losses = [np.average(np.logaddexp(0.0, side * m.decision_function(Z)), weights=share) for m in (model, alone)]
    assert losses[0] <= 1.2 * losses[1]


def test_too_few_rows_have_no_forest(rng):
    X, y = jumps(rng, 12)
    with pytest.warns(UserWarning, match="too few rows") as told:
        assert regressor().fit(X, y).tree_features_ == ()
    assert told[0].filename == __file__
    X, y = jumps(rng, 60)
    with pytest.warns(UserWarning, match="too few rows"):
        assert classifier().fit(X, np.arange(60) < 3).tree_features_ == ()
    with pytest.warns(UserWarning, match="too few rows"):
        regressor(early_stopping=False).fit(*jumps(rng, 300))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [regressor, classifier])
def test_rows_that_come_again_are_no_gain_where_groups_say_so(make, seed):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(150, 4)), 6, axis=0)  # noise, every row six times
    y = np.repeat(rng.normal(size=150), 6)
    y = y if make is regressor else y > 0
    groups = np.repeat(np.arange(150), 6)
    model = make(monotonic_cst=[1, 0, 0, 0])
    with pytest.warns(UserWarning, match=r"100% of the rows .*groups=.*trees=False") as told:
        assert model.fit(X, y).trees_gain_ > 0.3, "learned by heart"
    assert told[0].filename == __file__
    assert model.fit(X, y, groups=groups).tree_features_ == ()
    assert model.fit(X, y, groups=groups.astype(str)).tree_features_ == ()


def test_equal_rows_of_few_values_are_no_copies(rng):
    X = np.c_[rng.integers(0, 10, 800), rng.integers(0, 8, 800), rng.integers(0, 4, 800)].astype(float)
    y = X[:, 0] + 3 * ((X[:, 1] * X[:, 2]) % 3) + rng.normal(size=800)
    assert regressor(monotonic_cst=[1, 0, 0]).fit(X, y).tree_features_  # without a warning


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("seed", range(3))
def test_halves_that_agree_are_no_gain(make, seed):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=600), rng.integers(0, 3, 600), rng.integers(0, 2, 600)]
    y = X[:, 0] + rng.normal(size=600)  # the free features are noise
    model = make(monotonic_cst=[1, 0, 0], random_state=seed).fit(X, y if make is regressor else y > 0)
    assert model.trees_gain_ < 0.05


def test_warm_starts_keep_the_forest_and_learn_it_anew(rng):
    X, y = jumps(rng)
    model = regressor(warm_start=True).fit(X, y)
    before, gain = model.frozen_, model.trees_gain_
    model.set_params(n_estimators=3).fit(X, y)
    assert len(model.frozen_.members) == 3
    assert model.trees_gain_ == gain > 0
    assert model.tree_features_ == ("b", "c", "d")
    old, new = before.inputs.forest, model.frozen_.inputs.forest
    assert not np.array_equal(old.values, new.values)
    plain = regressor(warm_start=True, trees=False).fit(X, y).set_params(n_estimators=2).fit(X, y)
    assert plain.tree_features_ == ()


def test_files_hold_the_forest(tmp_path, rng):
    X, y = jumps(rng)
    for model in (regressor().fit(X, y), classifier().fit(X, y > np.median(y))):
        model.save(tmp_path / "m.safetensors")
        again = type(model).load(tmp_path / "m.safetensors")
        rows = X.assign(c=["new", None, *X.c[2:]])
        assert again.predict(rows).tobytes() == model.predict(rows).tobytes()
        assert (again.tree_features_, again.trees_gain_) == (model.tree_features_, model.trees_gain_)
        assert again.get_params() == model.get_params()
        assert str(again.slopes_) == str(model.slopes_)


@pytest.mark.parametrize("gain", ["many", 2.0, -0.1, True, None])
def test_a_gain_that_cannot_be_is_refused(gain, tmp_path, rng):
    from monolip.estimators._facts import Facts

    written = Facts([], 1, forest_gain=0.5).written() | {"forest_gain": gain}
    with pytest.raises(FrozenFileError, match="malformed facts"):
        Facts.read(written, ["a"], tmp_path)


@pytest.mark.parametrize("wanted", ["yes", 1, None, 0.5, ["auto"]])
def test_what_cannot_be_meant_is_refused(wanted, rng):
    with pytest.raises(InputError, match="trees is 'auto', 'free', True or False"):
        regressor(trees=wanted).fit(*jumps(rng, 60))


def test_losses_and_classes_without_a_forest_are_told(rng):
    X, y = jumps(rng, 200)
    for loss in ("quantile", "absolute_error", "huber"):
        with pytest.raises(InputError, match="leave trees='free' out"):
            regressor(loss=loss).fit(X, y)
    with pytest.raises(InputError, match="3 classes"):
        classifier(monotonic_cst=None).fit(X, np.arange(200) % 3)
    assert regressor(loss="quantile", trees="auto").fit(X, y).tree_features_ == ()


def test_ctrl_c_ends_with_the_network_alone(rng, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    X, y = jumps(rng)
    alone = regressor(trees=False).fit(X, y)
    monkeypatch.setattr(_adding_forest, "grow_free_forest", interrupt)
    with pytest.warns(UserWarning, match="fit was interrupted"):
        model = regressor().fit(X, y)
    assert model.frozen_ == alone.frozen_


def test_no_time_is_left_for_a_forest(rng):
    X, y = jumps(rng)
    with pytest.warns(UserWarning, match="trees='free', but max_time left no time for them; the model has none"):
        model = regressor(trees="free", max_time=0.0).fit(X, y)
    assert model.tree_features_ == ()


def test_warnings_as_errors_leave_the_model_before_whole(rng):
    X, y = jumps(rng)
    model = regressor().fit(X, y)
    before = model.frozen_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="another row"):
            model.fit(pd.concat([X, X], ignore_index=True), np.r_[y, y])
    assert model.frozen_ == before


def test_calibration_is_that_of_rows_neither_learned(rng):
    X, y = jumps(rng, 1600)
    codes = y > np.median(y)
    model = MonotonicClassifier(monotonic_cst={"a": 1}, random_state=0, max_iter=20, n_bins=8, trees="free")
    alone = MonotonicClassifier(monotonic_cst={"a": 1}, random_state=0, max_iter=20, n_bins=8, trees=False)
    with_trees, without = (m.fit(X, codes).calibration_.log_loss for m in (model, alone))
    fresh, truth = jumps(rng, 4000)
    assert with_trees < 0.95 * without
    assert with_trees > 0.5 * model.calibration(fresh, truth > np.median(y)).log_loss


def test_recalibrated_and_scaled_models_keep_trees_and_promises(rng):
    X, y = jumps(rng, 900)
    model = classifier().fit(X, y > np.median(y))
    before = model.decision_function(X)
    model.recalibrate(X, rng.permutation(y > np.median(y)))  # noise: everything becomes flat
    assert model.tree_features_ == ("b", "c", "d")
    assert np.ptp(model.decision_function(X)) < 0.5 * np.ptp(before)
    assert model.certificate_.check().startswith("PROVED")


def test_a_stream_of_few_rows_is_a_fit_with_its_forest(rng, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = jumps(rng)
    parquet.write_table(pyarrow.Table.from_pandas(X.assign(y=y)), tmp_path / "t.parquet")
    model, stream = regressor().fit(X, y), regressor().fit_stream(tmp_path / "t.parquet", "y")
    assert stream.frozen_ == model.frozen_
    stream.predict_stream(tmp_path / "t.parquet", tmp_path / "p.parquet")
    found = parquet.read_table(tmp_path / "p.parquet")["prediction"].to_numpy()
    assert found.tobytes() == model.predict(X).tobytes()


def test_tables_without_promise_are_judged_by_few_trees_only(rng, monkeypatch):
    X = rng.normal(size=(3000, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=3000)  # networks gain much, trees nothing
    grown = []
    original = _forest.grow_trees
    monkeypatch.setattr(_forest, "grow_trees", lambda *given: grown.append(len(given[3])) or original(*given))
    model = MonotonicRegressor(monotonic_cst=[1, 0, 0, 0], random_state=0).fit(X, y)
    assert model.tree_features_ == ()
    assert grown == [_forest_worth.SCOUTS]
    MonotonicRegressor(monotonic_cst=[1, 0, 0, 0], random_state=0, trees="free").fit(X, y)
    assert grown[1:] == [_forest_worth.JUDGES]


def test_trees_of_wide_tables_see_fewer_rows(rng, monkeypatch):
    X = rng.normal(size=(400, 8))
    y = X[:, 0] + np.floor(X[:, 1]) * np.floor(X[:, 2])
    most, original = [], _forest.grow_trees
    monkeypatch.setattr(_forest, "MOST_NUMBERS", 700)
    monkeypatch.setattr(_forest, "grow_trees", lambda *given: most.append(given[5]) or original(*given))
    MonotonicRegressor(monotonic_cst=[1] + [0] * 7, random_state=0, trees="free").fit(X, y)
    assert set(most) == {100}  # of seven features without a promise


def test_a_warm_start_refuses_other_groups_and_another_free_forest(rng):
    X = rng.normal(size=(200, 2))
    y, groups = X[:, 0] + rng.normal(size=200), np.arange(200) // 4
    model = MonotonicRegressor(monotonic_cst=[1, 0], n_estimators=2, max_iter=2, warm_start=True, random_state=0).fit(
        X, y
    )
    model.set_params(n_estimators=4)
    with pytest.raises(InputError, match=r"a different y \(or its weights, offset or groups\)"):
        model.fit(X, y, groups=groups)
    with pytest.raises(InputError, match="a different trees"):
        model.set_params(trees=False).fit(X, y)
    assert model.set_params(trees="auto").fit(X, y).n_estimators_ == 4


@pytest.mark.parametrize("word", ["lowest", "highest"])
def test_what_is_missing_counts_as_asked_in_trees_too(word, rng):
    """Where nothing was missing in training."""
    X = rng.uniform(size=(600, 2))
    y = X[:, 0] + 3 * (np.floor(9 * X[:, 1]) % 2)
    model = MonotonicRegressor(monotonic_cst=[1, 0], missing={"x1": word}, trees="free", random_state=0).fit(X, y)
    assert model.tree_features_ == ("x1",)
    edge = X[:, 1].min() if word == "lowest" else X[:, 1].max()
    inputs = model.frozen_.inputs
    numbers = inputs.forest.numbers(inputs.columns, [np.zeros(2), np.array([np.nan, edge])])
    gone, there = inputs.forest.evaluate(numbers)
    assert gone == there


@pytest.mark.parametrize("gone", [False, True])
def test_missing_labels_of_ordered_categories_count_as_asked_in_trees_too(gone, rng):
    column = CategoryColumn("c", ("lo", "mid", "hi"), np.cumsum(np.ones((5, 1)), axis=0), ordered=True)
    labels = np.append(rng.choice(["lo", "mid", "hi"], 60), [None] * gone).astype(object)
    table = read_table(pd.DataFrame({"c": labels}))
    for word, low, high in (("lowest", -np.inf, -1), ("highest", 3, np.inf), ("state", -np.inf, -1 if gone else 2)):
        free = FreeColumns.of(table, [column], [0], [word])
        assert low <= free.stands[0][0] <= high
        assert not gone or free.numbers[-1, 0] == free.stands[0][0]
