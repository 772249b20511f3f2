"""Boosted trees beside the network: directions hold for the sum, bounds that were asked for too, and rows decide."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _adding_boosted, _fitting, _tree_efforts
from monolip.estimators._adding_boosted import Blended
from monolip.estimators._blending import EXPECTED, MOST, Share, of_constant, share_of
from monolip.estimators._boosting import CodedRows
from monolip.estimators._free_columns import FreeColumns
from monolip.estimators._leftover import Leftover
from monolip.estimators._tree_efforts import Look

QUICK = {"n_estimators": 2, "max_iter": 20, "random_state": 0, "trees": True, "n_bins": 8}
DIRECTIONS = {"a": 1, "b": -1}


def steps(rng, n=900):
    """a rises and b falls in steps, more in one half of c; d is missing at times, e is a category."""
    d = rng.normal(size=n)
    d[::7] = np.nan
    X = pd.DataFrame({"a": rng.uniform(size=n), "b": rng.uniform(size=n), "c": rng.uniform(size=n), "d": d})
    X["e"] = rng.choice(list("uvw"), n)
    f = np.floor(6 * X.a) * (1 + 2 * (X.c > 0.5)) - 2 * np.floor(4 * X.b) + 2 * (X.e == "v") + X.d.isna()
    return X, (f + 0.3 * rng.normal(size=n)).to_numpy()


def regressor(**more):
    return MonotonicRegressor(**{"monotonic_cst": DIRECTIONS, **QUICK, **more})


def classifier(**more):
    return MonotonicClassifier(**{"monotonic_cst": DIRECTIONS, **QUICK, **more})


def fitted(make, rng, **more):
    X, y = steps(rng)
    return make(**more).fit(X, y if make is regressor else y > np.median(y)), X


def answers(model, rows, exact=False):
    return (
        model.predict(rows, exact=exact)
        if isinstance(model, MonotonicRegressor)
        else model.predict_proba(rows, exact=exact)[:, 1]
    )


@pytest.mark.parametrize("make", [regressor, classifier])
def test_directions_hold_bit_for_bit_on_both_sides_of_every_jump(make, rng):
    model, X = fitted(make, rng)
    assert {"a", "b"} <= set(model.tree_features_)
    forest = model.frozen_.inputs.forest
    for k, name in enumerate("ab"):
        cuts = forest.jumps(forest.reads.index(k))
        at = np.sort(np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), [-1e300, 1e300]]))
        for row in range(6):
            rows = pd.concat([X.iloc[[row]]] * len(at), ignore_index=True).assign(**{name: at})
            for exact in (False, True):
                assert (DIRECTIONS[name] * np.diff(answers(model, rows, exact)) >= 0).all()


@pytest.mark.parametrize("make", [regressor, classifier])
def test_the_certificate_proves_directions_of_the_whole(make, rng):
    model, _ = fitted(make, rng)
    assert model.certificate_.check().startswith("PROVED")
    words = {row.feature: row.promise for row in model.slopes_}
    assert words["a"] == "increasing (trees)"
    assert words["b"] == "decreasing (trees)"
    assert words["c"] == "free (trees)"


@pytest.mark.parametrize(
    ("asked", "unread"),
    [
        ({"slopes": {"d": (-2.0, 2.0)}}, {"d"}),
        ({"max_slope": {"a": 50.0, "d": 3.0}}, {"a", "d"}),
    ],
)
def test_what_has_an_interval_or_a_cap_is_read_by_no_tree(asked, unread, rng):
    model, _ = fitted(regressor, rng, **asked)
    assert model.tree_features_
    assert not unread & set(model.tree_features_)
    for name in unread:
        low, high = model.slopes_[name]
        assert np.isfinite([low, high]).all()


def test_slopes_that_stay_away_from_zero_are_not_shrunk(rng):
    X, y = steps(rng)
    model = regressor(monotonic_cst=None, slopes={"a": (5.0, 30.0)}).fit(X, y)
    assert model.slopes_["a"][0] >= 5.0
    assert model.certificate_.check().startswith("PROVED")


def test_a_cap_on_all_slopes_leaves_nothing_to_read_and_says_so(rng):
    X, y = steps(rng, 300)
    with pytest.warns(UserWarning, match="every feature is bounded, capped or flat") as told:
        assert regressor(max_slope=9.0).fit(X, y).tree_features_ == ()
    assert told[0].filename == __file__


def test_steps_are_found_and_free_alone_leaves_slopes_of_the_others(rng):
    X, y = steps(rng, 3000)
    model, free, none = (regressor(trees=word).fit(X[:2000], y[:2000]) for word in (True, "free", False))
    found, before = (np.mean((m.predict(X[2000:]) - y[2000:]) ** 2) for m in (model, none))
    assert found < 0.9 * before
    assert model.trees_gain_ > 0.05
    assert not {"a", "b"} & set(free.tree_features_)
    assert (none.tree_features_, none.trees_gain_) == ((), 0.0)


def test_auto_is_for_who_asks_for_directions_and_looks_at_noise_of_many_features_only(rng, monkeypatch):
    X = rng.normal(size=(600, 10))
    y = X[:, 0] + rng.normal(size=600)
    looked = []
    original = _adding_boosted.boostings
    monkeypatch.setattr(_adding_boosted, "boostings", lambda *given: looked.append(given[3]) or original(*given))
    MonotonicRegressor(random_state=0).fit(X, y)
    assert not looked
    MonotonicRegressor(random_state=0, monotonic_cst=[1, 0, 0]).fit(X[:, :3], y)
    assert not looked
    model = MonotonicRegressor(random_state=0, monotonic_cst=[1] + [0] * 9).fit(X, y)
    assert looked == [_tree_efforts.QUICK.pace]
    assert model.trees_gain_ < 0.1


def test_many_rows_are_sketched_and_have_trees_for_steps_but_not_for_noise(rng, monkeypatch):
    """Four rows in five have a 0; of the others every second number is worth a step, and no network finds that."""
    looked, original = [], _adding_boosted.boostings
    monkeypatch.setattr(_adding_boosted, "boostings", lambda *given: looked.append(given[3]) or original(*given))
    rng = np.random.default_rng(1)
    a = np.where(rng.random(6000) < 0.8, 0.0, rng.integers(1, 60, 6000))
    X = np.column_stack([a, rng.normal(size=(6000, 2))])
    noise, directions = rng.normal(size=6000), [0, 1, 0]
    model = MonotonicRegressor(monotonic_cst=directions, random_state=0).fit(X, X[:, 1] + 1.5 * (a % 2) + noise)
    assert looked == [_tree_efforts.SKETCH.pace, _tree_efforts.MANY_ROWS.pace]
    assert "x0" in model.tree_features_
    assert model.trees_gain_ > 0.03
    model = MonotonicRegressor(monotonic_cst=directions, random_state=0).fit(X, X[:, 1] + noise)
    assert looked[2:] == [_tree_efforts.SKETCH.pace]
    assert not model.tree_features_


@pytest.mark.parametrize("make", [regressor, classifier])
def test_compiled_predictions_have_the_bits_of_the_frozen_network(make, rng):
    model, X = fitted(make, rng)
    rows = pd.concat([X, X.head(4).assign(e=["new", "u", None, "v"], b=[np.nan, -1e308, 1e308, 0.5])])
    expected = model.frozen_.evaluate_raw({name: rows[name].to_numpy() for name in rows})[:, 0]
    found = model.predict(rows) if make is regressor else model.decision_function(rows)
    assert found.tobytes() == expected.tobytes()


def test_threads_files_and_pickles_change_no_bit(rng, tmp_path):
    X, y = steps(rng)
    model = regressor().fit(X, y)
    for n_jobs in (1, 2, -1):
        assert regressor(n_jobs=n_jobs).fit(X, y).frozen_ == model.frozen_
    model.save(tmp_path / "m.safetensors")
    for again in (MonotonicRegressor.load(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(model))):
        assert again.predict(X).tobytes() == model.predict(X).tobytes()
        assert (again.tree_features_, again.trees_gain_) == (model.tree_features_, model.trees_gain_)


def test_a_warm_start_keeps_the_boosted_trees(rng):
    X, y = steps(rng)
    model = regressor(warm_start=True).fit(X, y)
    before, gain, read = model.frozen_.inputs.forest, model.trees_gain_, model.tree_features_
    model.set_params(n_estimators=3).fit(X, y)
    assert (len(model.frozen_.members), model.tree_features_, model.trees_gain_) == (3, read, gain)
    after = model.frozen_.inputs.forest
    assert np.array_equal(before.thresholds[: before.roots[5]], after.thresholds[: after.roots[5]])


def test_verbose_tells_of_them(rng, capsys):
    X, y = steps(rng)
    model = regressor(verbose=1).fit(X, y)
    told = f"fit: trees stand beside the network: rows held out have {model.trees_gain_:.1%} less loss by them"
    assert told in capsys.readouterr().err
    regressor(verbose=1, trees=False).fit(X, y)
    assert "trees stand" not in capsys.readouterr().err


def test_a_warm_start_that_has_no_room_for_them_says_so(rng, monkeypatch):
    X, y = steps(rng)
    model = regressor(warm_start=True).fit(X, y)
    assert model.tree_features_
    monkeypatch.setattr(_adding_boosted, "least_factor", lambda network: 1.0)
    with pytest.warns(UserWarning, match="no room to shrink beside boosted trees.*the model has none any more"):
        model.set_params(n_estimators=3).fit(X, y)
    assert not {"a", "b"} & set(model.tree_features_)


def test_weights_count_and_offsets_leave_them_out(rng):
    X, y = steps(rng)
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    wrong = np.where(weight == 0.0, 1e6, y)
    model = regressor().fit(X, wrong, sample_weight=weight)
    assert np.mean((model.predict(X) - y) ** 2) < 0.5 * np.var(y)
    offset = rng.normal(size=len(y))
    model, same = regressor().fit(X, y + offset, offset=offset), regressor().fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), atol=1e-6)
    with pytest.warns(UserWarning, match="know of no offset"):
        odds = classifier().fit(X, y > np.median(y), offset=offset)
    assert not {"a", "b"} & set(odds.tree_features_), "boosted trees of two classes know of no offset"


@pytest.mark.parametrize("missing", ["lowest", "highest"])
def test_what_is_missing_has_its_place_among_the_steps(missing, rng):
    X, y = steps(rng)
    X.loc[::5, "a"] = np.nan
    model = regressor(missing={"a": missing}).fit(X, y)
    assert "a" in model.tree_features_
    grid = pd.concat([X.iloc[[3]]] * 50, ignore_index=True).assign(a=np.linspace(-2, 3, 50))
    known, gone = model.predict(grid), model.predict(grid.iloc[[0]].assign(a=np.nan))[0]
    assert gone <= known.min() if missing == "lowest" else gone >= known.max()
    claims = {claim.feature: claim for claim in model.certificate_}
    assert claims["a"].missing == missing


@pytest.mark.parametrize("weight", [1e-16, 1e-18])
def test_a_class_that_weighs_next_to_nothing_is_no_error(weight, rng):
    X, y = steps(rng, 300)
    label = y > np.median(y)
    for word in ("auto", "free", True):
        model = classifier(trees=word).fit(X, label, sample_weight=np.where(label, 1.0, weight))
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [({"early_stopping": False}, "early_stopping=False holds"), ({}, "too few rows"), ({"max_slope": 3.0}, "bounded")],
)
def test_trees_that_cannot_be_judged_are_told_also_where_every_feature_has_a_direction(given, said, rng):
    X, y = steps(rng, 12 if not given else 200)
    with pytest.warns(UserWarning, match=said):
        assert regressor(**given).fit(X[["a", "b"]], y).tree_features_ == ()


def test_trees_never_come_with_a_loss(rng):
    for seed in range(6):
        r = np.random.default_rng(seed)
        X = r.normal(size=(120, 3))
        model = regressor(monotonic_cst=[1, 0, 0]).fit(X, X[:, 0] + r.standard_t(2, size=120))
        assert bool(model.tree_features_) == (model.trees_gain_ > 0)


@pytest.mark.parametrize(("wanted", "gain", "parts"), [("auto", -0.02, 1), ("auto", -0.004, 4), (True, -0.02, 4)])
def test_a_first_part_that_clearly_loses_ends_it_unless_any_gain_will_do(wanted, gain, parts, rng, monkeypatch):
    heard = []

    def share(left, f, g):
        heard.append(len(f))
        return Share(0.3, gain, 0.01, gain)

    monkeypatch.setattr(_adding_boosted, "share_of", share)
    look = Look(_tree_efforts.FEW_ROWS, least=0.0 if wanted is True else _tree_efforts.WORTH)
    monkeypatch.setattr(_adding_boosted, "look_for_trees", lambda *_: look)
    model = fitted(regressor, rng, n_estimators=4, trees=wanted)[0]
    assert len(heard) == parts
    assert "a" not in model.tree_features_


@pytest.mark.parametrize(
    ("effort", "gain", "error", "of_all", "taken"),
    [
        ("FEW_ROWS", 0.02, 0.03, 0.01, True),
        ("FEW_ROWS", 0.02, 0.05, 0.01, False),
        ("FEW_ROWS", 0.004, 0.001, 0.01, False),
        ("FEW_ROWS", 0.02, 0.01, 0.0001, False),  # the last digit of a function without noise is worth no jumps
        ("BRISK", 0.02, 0.03, 0.01, True),
        ("QUICK", 0.02, 0.03, 0.01, False),  # it is rough
        ("SKETCH", 0.02, 0.03, 0.01, False),
        ("SKETCH", 0.02, 0.01, 0.01, True),
        ("QUICK", 0.02, 0.01, 0.01, True),
        ("QUICK", 0.02, 0.01, 0.0001, False),
    ],
)
def test_trees_are_taken_for_a_gain_beyond_half_its_error(effort, gain, error, of_all, taken, rng, monkeypatch):
    monkeypatch.setattr(_adding_boosted, "share_of", lambda *_: Share(0.3, gain, error, gain))
    monkeypatch.setattr(_adding_boosted, "of_constant", lambda *_: of_all)
    monkeypatch.setattr(
        _adding_boosted, "look_for_trees", lambda *_: Look(getattr(_tree_efforts, effort), of_all=0.0002)
    )
    monkeypatch.setattr(_adding_boosted, "WORTH_OF_GAINED", 0.0)
    model = fitted(regressor, rng, trees="auto", max_iter=2)[0]
    assert ("a" in model.tree_features_) is taken


FOLLOWED = Look(_tree_efforts.BRISK, then=_tree_efforts.FEW_ROWS, much=_tree_efforts.MUCH_BY_TREES)


@pytest.mark.parametrize(("gain", "paces"), [(0.08, ["BRISK"]), (0.12, ["BRISK", "FEW_ROWS"])])
def test_few_trees_that_gain_much_are_followed_by_more(gain, paces, rng, monkeypatch):
    looked, original = [], _adding_boosted.boostings
    monkeypatch.setattr(_adding_boosted, "boostings", lambda *given: looked.append(given[3]) or original(*given))
    monkeypatch.setattr(_adding_boosted, "share_of", lambda *_: Share(0.3, gain, 0.01, gain))
    monkeypatch.setattr(_adding_boosted, "look_for_trees", lambda *_: FOLLOWED)
    monkeypatch.setattr(_adding_boosted, "WORTH_OF_GAINED", 0.0)
    assert "a" in fitted(regressor, rng, trees="auto", max_iter=2)[0].tree_features_
    assert looked == [getattr(_tree_efforts, pace).pace for pace in paces]


@pytest.mark.parametrize(("gains", "kept"), [((0.3, 0.2), 0.3), ((0.2, 0.3), 0.3), ((0.2, None), 0.2)])
def test_of_few_trees_and_more_the_better_ones_are_kept(gains, kept, rng, monkeypatch):
    original, taken = _adding_boosted._grown, iter(gains)

    def grown(whole, *given):
        found, gain = original(whole, *given), next(taken)
        return Blended(whole) if gain is None else found._replace(share=found.share._replace(gain=gain))

    monkeypatch.setattr(_adding_boosted, "_grown", grown)
    monkeypatch.setattr(_adding_boosted, "share_of", lambda *_: Share(0.3, 0.12, 0.01, 0.12))
    monkeypatch.setattr(_adding_boosted, "look_for_trees", lambda *_: FOLLOWED)
    monkeypatch.setattr(_adding_boosted, "WORTH_OF_GAINED", 0.0)
    blended = []
    blend = _fitting.blend_boosted
    monkeypatch.setattr(_fitting, "blend_boosted", lambda *given: blended.append(blend(*given)) or blended[0])
    fitted(regressor, rng, trees="auto", max_iter=2)
    assert blended[0].share.gain == kept
    assert blended[0].trees is not None


@pytest.mark.parametrize("wanted", ["auto", True, "free"])
def test_targets_too_large_for_trees_are_told_and_have_none(wanted, rng):
    """Weights as large as 1e153 leave no room for inputs as large as that: the sum of the trees would be cut off.

    Networks of twenty passes leave fifteen jumps to any trees: a gain of a sixth and more, whatever the machine rounds.
    """
    X = rng.uniform(size=(400, 6))
    y = np.floor(6 * X[:, 0]) * (1 + 2 * (X[:, 2] > 0.5)) + 2 * (X[:, 1] > 0.6) + 4 * (np.floor(15 * X[:, 4]) % 2)
    y = y / 4 + 0.03 * rng.normal(size=400)
    few = {"monotonic_cst": [1, 1, 0, 0, 0, 0], "max_iter": 20, "n_bins": 8, "random_state": 0}
    for size, has in ((1e100, True), (1e153, False), (1e199, False)):
        model = MonotonicRegressor(trees=wanted, **few)
        with nullcontext() if has else pytest.warns(UserWarning, match="so large that trees"):
            model.fit(X, size * y)
        assert bool(model.tree_features_) is has
        alone = MonotonicRegressor(trees=False, **few).fit(X, size * y)
        errors = [np.std(one.predict(X) / size - y) for one in (model, alone)]
        assert errors[0] < 0.9 * errors[1] if has else np.array_equal(model.predict(X), alone.predict(X))
        assert errors[1] < 0.4 * np.std(y)


def test_ctrl_c_while_it_is_asked_who_looks_loses_no_fit(rng, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_adding_boosted, "look_for_trees", interrupt)
    with pytest.warns(UserWarning, match="interrupted"):
        model = fitted(regressor, rng, trees="auto", max_iter=2)[0]
    assert "a" not in model.tree_features_


def test_rows_in_a_periodic_order_hide_no_values(rng):
    n = 40_000
    x = np.where(np.arange(n) % 2 == 0, 0.0, rng.uniform(0, 10, n))
    coded = CodedRows(FreeColumns((0,), x[:, None], ((0.0, 0.0),)), np.ones(1, np.int64))
    assert len(coded.edges[0]) > 25


def test_what_stands_for_missing_values_is_that_of_all_rows(rng, monkeypatch):
    """Boosted trees may see a part of the rows that lacks no value; the forest beside them has seen all."""
    monkeypatch.setattr(_adding_boosted, "MOST_NUMBERS", 2000)
    X, y = steps(rng, 3000)
    X["d"] = rng.normal(size=3000)
    X.loc[[1500, 1600], "d"] = np.nan
    model = regressor().fit(X, y)
    forest = model.frozen_.inputs.forest
    assert forest.stands[forest.reads.index(3)][0] == -np.finfo(np.float64).max


def test_ctrl_c_ends_without_boosted_trees(rng, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    X, y = steps(rng)
    free = regressor(trees="free").fit(X, y)
    monkeypatch.setattr(_adding_boosted, "boostings", interrupt)
    with pytest.warns(UserWarning, match="fit was interrupted"):
        model = regressor().fit(X, y)
    assert model.frozen_ == free.frozen_


def test_no_time_is_left_for_trees(rng):
    with pytest.warns(UserWarning, match="trees=True, but max_time left no time for them; the model has none"):
        model = regressor(trees=True, max_time=0.0).fit(*steps(rng))
    assert model.tree_features_ == ()
    assert regressor(trees="auto", max_time=0.0).fit(*steps(rng)).tree_features_ == ()  # nobody asked


def test_losses_and_classes_without_trees_are_told(rng):
    X, y = steps(rng, 200)
    with pytest.raises(InputError, match="got loss='quantile'; leave trees=True out"):
        regressor(loss="quantile").fit(X, y)
    with pytest.raises(InputError, match="3 classes"):
        classifier(monotonic_cst=None).fit(X, np.arange(200) % 3)


def test_calibration_is_that_of_rows_neither_learned(rng):
    X, y = steps(rng, 1600)
    model = classifier().fit(X, y > np.median(y))
    fresh, truth = steps(rng, 4000)
    assert model.calibration_.log_loss == pytest.approx(
        model.calibration(fresh, truth > np.median(y)).log_loss, rel=0.5
    )


# how much of them ----------------------------------------------------------------------------------------------------


def leftover(y, is_class=False, groups=None):
    return Leftover(np.asarray(y, float), np.ones(len(y)), is_class, groups)


@pytest.mark.parametrize("is_class", [False, True])
def test_many_rows_decide_the_share_and_few_hardly_move_it(is_class, rng):
    f, g = rng.normal(size=(2, 20000))
    best = 0.5 * f + 0.5 * g
    y = best > rng.logistic(size=20000) if is_class else best + rng.normal(size=20000)
    found = share_of(leftover(y, is_class), f, g)
    assert 0.4 < found.share < 0.52, "of numbers, one step from f, which errs towards f"
    assert found.of_loss > 0.01
    left = leftover(y, is_class)
    gained = left.losses(f).sum() - left.losses(f + found.share * (g - f)).sum()
    assert of_constant(found, left, f) == pytest.approx(gained / left.without_features())
    few = share_of(leftover(rng.normal(size=3)), np.zeros(3), 1e-6 * np.ones(3))
    assert few.share == pytest.approx(EXPECTED, abs=0.01)


def test_the_share_stays_where_a_blend_is_one(rng):
    y = rng.normal(size=500)
    assert share_of(leftover(y), y, rng.normal(size=500)).share < 0.05
    assert share_of(leftover(y), rng.normal(size=500), y).share == MOST
    assert share_of(leftover(y), -y, 3 * y).share <= MOST
    same = share_of(leftover(y), y, y)
    assert (same.share, same.gain) == (0.0, 0.0)
    flat = leftover(np.ones(500))
    assert of_constant(share_of(flat, np.zeros(500), np.ones(500)), flat, np.zeros(500)) == 0.0, "it has no loss"
    assert share_of(leftover(y), np.full(500, np.nan), y).share == 0.0


def test_rows_of_one_group_tell_once(rng):
    f, noise = rng.normal(size=40), rng.normal(size=40)
    y, g = f + 0.7 * noise + rng.normal(size=40), f + noise  # more than EXPECTED is wanted
    once = share_of(leftover(y), f, g)
    many, many_f, many_g = (np.repeat(part, 25) for part in (y, f, g))
    grouped = share_of(leftover(many, groups=np.repeat(np.arange(40), 25)), many_f, many_g)
    apart = share_of(leftover(many), many_f, many_g)
    assert grouped.share == pytest.approx(once.share)
    assert grouped.error == pytest.approx(once.error)
    assert apart.error < 0.3 * once.error
    assert abs(apart.share - EXPECTED) > 1.02 * abs(once.share - EXPECTED)


# codes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_values", [1, 2, 63, 64, 65, 5000])
def test_codes_are_in_order_and_trees_ask_for_numbers_between(n_values, rng):
    numbers = rng.permutation(np.arange(6000) % n_values).astype(float)[:, None]
    coded = CodedRows(FreeColumns((0,), numbers, ((0.0, 0.0),)), np.zeros(1, np.int64))
    order = np.argsort(numbers[:, 0], kind="stable")
    assert (np.diff(coded.codes[order, 0].astype(int)) >= 0).all()
    assert min(n_values, 50) <= len(np.unique(coded.codes)) <= 64
    edges = coded.edges[0]
    assert (np.diff(edges) > 0).all()
    for code, edge in enumerate(edges, 1):
        assert ((numbers[:, 0] >= edge) == (coded.codes[:, 0] >= code)).all()
