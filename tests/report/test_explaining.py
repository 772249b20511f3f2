"""Reasons add up, agree with brute force and have the promised sign; bounds are never beaten, finds are real."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.errors import InputError
from monolip.report import explain_reasons
from monolip.report.explain_reasons import reasons_of
from monolip.report.explain_score import Score
from monolip.report.explaining import explain

arrow = pytest.importorskip("pyarrow")
N = 400


def table(seed: int = 0):
    rng = np.random.default_rng(seed)
    age = [None if gone else float(v) for gone, v in zip(rng.random(N) < 0.1, rng.integers(18, 80, N), strict=True)]
    columns = {
        "income": rng.normal(3, 1, N),
        "debt": rng.gamma(2, 1, N),
        "age": age,
        "use": rng.choice(["a", "b", "c"], N),
    }
    return columns, arrow.table(columns)


def target(columns) -> np.ndarray:
    bend = np.array([0.0 if a is None else np.sin(a / 10) for a in columns["age"]])
    return columns["debt"] * (columns["use"] == "a") - columns["income"] + bend + 0.5 * columns["debt"]


@pytest.fixture(scope="module")
def classifier() -> MonotonicClassifier:
    columns, rows = table()
    y = np.where(target(columns) + np.random.default_rng(1).normal(size=N) > -1.5, "bad", "good")
    return MonotonicClassifier(monotonic_cst={"debt": {"bad": 1}, "income": {"bad": -1}}, random_state=0).fit(rows, y)


@pytest.fixture(scope="module")
def regressor() -> MonotonicRegressor:
    columns, rows = table()
    return MonotonicRegressor(monotonic_cst={"debt": 1, "income": -1}, random_state=0).fit(rows, target(columns))


@pytest.fixture(scope="module")
def many() -> MonotonicClassifier:
    columns, rows = table()
    y = np.digitize(target(columns), [-2.5, -1.0])
    return MonotonicClassifier(monotonic_cst={"debt": {2: 1}}, random_state=0).fit(rows, y)


def row_of(rng: np.random.Generator) -> dict:
    age = None if rng.random() < 0.2 else float(rng.integers(18, 80))
    return {"income": rng.normal(3, 1), "debt": rng.gamma(2, 1), "age": age, "use": str(rng.choice(["a", "b", "c"]))}


def by_brute_force(score: Score, row: dict, reference: dict) -> dict[str, float]:
    """All orders, one by one: an oracle that shares nothing with the subsets of the library."""
    totals = dict.fromkeys(score.names, 0.0)
    for order in itertools.permutations(score.names):
        now, before = dict(reference), float(score.of_rows([reference])[0])
        for name in order:
            now[name] = row[name]
            after = float(score.of_rows([now])[0])
            totals[name] += after - before
            before = after
    return {name: total / math.factorial(len(score.names)) for name, total in totals.items()}


@pytest.mark.parametrize("which", ["classifier", "regressor", "many"])
def test_reasons_are_those_of_brute_force_and_add_up(which, request):
    model, rng = request.getfixturevalue(which), np.random.default_rng(0)
    score = Score.of(model)
    for _ in range(2):
        row, reference = row_of(rng), row_of(rng)
        why = explain(model, row, reference)
        assert abs(why.remainder) < 1e-12
        expected = by_brute_force(score, row, reference)
        assert {r.feature: r.effect for r in why.reasons} == pytest.approx(
            {n: v for n, v in expected.items() if any(r.feature == n for r in why.reasons)}, abs=1e-12
        )
        effects = [abs(reason.effect) for reason in why.reasons]
        assert effects == sorted(effects, reverse=True)


def test_scores_are_those_of_the_model(classifier, many):
    columns, rows = table()
    row = {name: (values[7] if not hasattr(values, "item") else values[7].item()) for name, values in columns.items()}
    f = classifier.decision_function(rows)[7]
    assert explain(classifier, row, row, label="good").score == f  # decision_function is of classes_[1]
    assert explain(classifier, row, row, label="bad").score == -f
    p = many.predict_proba(rows)[7]
    for k in range(3):
        assert explain(many, row, row, label=k).prediction == pytest.approx(p[k], rel=1e-12)


def test_a_promised_direction_decides_the_sign_of_every_effect(classifier):
    rng = np.random.default_rng(3)
    for _ in range(40):
        row, reference = row_of(rng), row_of(rng)
        effects = {r.feature: r.effect for r in explain(classifier, row, reference, label="bad").reasons}
        assert effects["debt"] * (row["debt"] - reference["debt"]) >= 0  # exactly: every term is a proved step
        assert effects["income"] * (row["income"] - reference["income"]) <= 0
    promises = {r.feature: r.promise for r in explain(classifier, row, reference, label="bad").reasons}
    assert promises["debt"] == "increasing"


def test_promises_are_told_in_the_words_of_the_slope_table(regressor):
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = MonotonicRegressor(monotonic_cst=[1, 0, 0], max_slope={"x1": 3.0}, max_iter=3, random_state=0)
    model.fit(X, X @ [1.0, 0.5, 0.2])
    rows = [dict(zip(("x0", "x1", "x2"), values, strict=True)) for values in ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))]
    told = {reason.feature: reason.promise for reason in explain(model, *rows).reasons}
    assert told == {row.feature: row.promise for row in model.slopes_}
    assert told == {"x0": "increasing", "x1": "bounded", "x2": "free"}


def test_sampled_orders_add_up_and_come_near(regressor, monkeypatch):
    score, rng = Score.of(regressor), np.random.default_rng(0)
    row, reference = row_of(rng), row_of(rng)
    exact, none = reasons_of(score, row, reference)
    assert set(none.values()) == {0.0}
    monkeypatch.setattr(explain_reasons, "EXACT_UP_TO", 0)
    monkeypatch.setattr(explain_reasons, "N_ORDERS", 64)
    sampled, errors = reasons_of(score, row, reference)
    difference = float(np.diff(score.of_rows([reference, row]))[0])
    assert sum(sampled.values()) == pytest.approx(difference, abs=1e-12)
    assert all(abs(sampled[n] - exact[n]) <= 6 * errors[n] + 1e-12 for n in exact)


@pytest.mark.parametrize(("which", "goal"), [("classifier", 0.5), ("regressor", -1.0), ("many", 0.4)])
def test_nothing_below_the_proved_change_is_enough_and_what_was_found_is(which, goal, request):
    model, rng = request.getfixturevalue(which), np.random.default_rng(5)
    score = Score.of(model)
    wanted, found = score.score_for(goal), 0
    for _ in range(2):
        row = row_of(rng)
        why = explain(model, row, row, goal=goal)
        above = why.score > wanted

        def reached(rows, above=above):
            return score.of_rows(rows) <= wanted if above else score.of_rows(rows) > wanted

        for change in why.changes:
            if change.side == "other":
                assert reached([{**row, change.feature: change.to}]).all()
                continue
            sign = 1 if change.side == "up" else -1
            far = min(change.at_least, 1e3)
            steps = np.unique(np.concatenate([np.linspace(0, far, 200), far * 2.0 ** -np.arange(40)]))
            assert not reached([{**row, change.feature: row[change.feature] + sign * s} for s in steps]).any()
            if change.to is not None:
                found += 1
                assert reached([{**row, change.feature: change.to}]).all()
                assert change.found >= change.at_least
        both = why.together
        if both is not None and both.changes is not None:
            assert reached([{**row, **{name: to for name, (_, to) in both.changes.items()}}]).all()
            assert both.size >= both.at_least
    assert found > 0


def test_random_combinations_below_the_proved_size_never_reach_the_goal(classifier):
    rng, score = np.random.default_rng(8), Score.of(classifier)
    row = {"income": 2.0, "debt": 3.0, "age": 40.0, "use": "a"}
    why = explain(classifier, row, row, goal=0.5, immutable=["age"])
    assert set(why.together.scale) == {"income", "debt"}
    moves = rng.dirichlet([1, 1, 0.2], 300)[:, :2] * rng.choice([-1, 1], (300, 2)) * min(why.together.at_least, 50)
    names = list(why.together.scale)
    rows = [
        {**row, **{n: row[n] + m * why.together.scale[n] for n, m in zip(names, move, strict=True)}} for move in moves
    ]
    side = why.score > why.goal
    assert ((score.of_rows(rows) > why.goal) == side).all()


def test_immutable_features_never_change_and_whole_numbers_stay_whole(classifier):
    rng = np.random.default_rng(2)
    for _ in range(2):
        row = row_of(rng)
        row["debt"] = float(rng.integers(1, 6))
        why = explain(classifier, row, row, goal=0.4, immutable=["income", "use"], whole=["debt", "age"])
        assert {change.feature for change in why.changes} <= {"debt", "age"}
        assert all(change.to is None or change.to == round(change.to) for change in why.changes)
        if why.together is not None and why.together.changes is not None:
            assert set(why.together.changes) <= {"debt", "age"}


def test_a_row_that_differs_in_nothing_has_no_reasons_and_missing_is_missing(classifier):
    row = {"income": 1.0, "debt": 1.0, "age": None, "use": None}
    assert explain(classifier, row, {**row, "age": float("nan")}).reasons == ()
    why = explain(classifier, row, {**row, "age": 30.0}, goal=0.9)
    assert [reason.feature for reason in why.reasons] == ["age"]
    assert "age" not in {change.feature for change in why.changes}  # a missing value does not move


@pytest.mark.parametrize(
    ("change", "options", "text"),
    [
        ({"debt": "much"}, {}, "finite number"),
        ({"debt": float("inf")}, {}, "finite number"),
        ({}, {"goal": 1.0}, "between 0 and 1"),
        ({}, {"label": "ugly"}, "one of the classes"),
        ({}, {"immutable": ["debts"]}, "immutable names features"),
    ],
)
def test_what_cannot_be_explained_is_refused(change, options, text, classifier):
    row = {"income": 1.0, "debt": 1.0, "age": 30.0, "use": "a"}
    with pytest.raises(InputError, match=text):
        explain(classifier, {**row, **change}, row, **options)


def test_a_model_without_numbers_and_one_of_vast_numbers():
    rng = np.random.default_rng(0)
    words = arrow.table({"use": rng.choice(["a", "b", "c"], 90)})
    y = [{"a": 0, "b": 1, "c": 2}[use] for use in words["use"].to_pylist()]
    model = MonotonicClassifier(random_state=0).fit(words, y)
    why = explain(model, {"use": "a"}, {"use": "b"}, label=2, goal=0.5)
    assert [change.to for change in why.changes] == ["c"]
    assert why.together is None
    vast = arrow.table({"x": rng.choice([-1e300, 0.0, 1e300], 90)})
    large = MonotonicRegressor(monotonic_cst=[1], random_state=0).fit(vast, np.sign(vast["x"].to_numpy()))
    why = explain(large, {"x": -1e300}, {"x": 0.0}, goal=0.5)
    assert any(change.to is not None for change in why.changes)
    assert why.reasons[0].effect < 0


def test_a_model_that_is_none_and_a_row_without_a_feature(classifier, regressor):
    row = {"income": 1.0, "debt": 1.0, "age": 30.0}
    with pytest.raises(InputError, match="needs a fitted estimator"):
        explain(object(), row, row)
    with pytest.raises(InputError, match="none for \\['use'\\]"):
        explain(classifier, row, row)
    with pytest.raises(InputError, match="belongs to a classifier"):
        explain(regressor, {**row, "use": "a"}, {**row, "use": "a"}, label=1)
