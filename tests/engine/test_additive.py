"""The additive start against independent solvers, and a network trained around it against the sum it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from monolip.engine import additive
from monolip.engine._additive_fit import TOLERANCE
from monolip.engine._normal_sums import is_alike
from monolip.engine.additive import Additive, fit_additive, fit_additives
from monolip.engine.anchored import Anchored
from monolip.engine.architecture import Architecture
from monolip.engine.judging import mean_loss, outputs_of
from monolip.engine.problem import Problem
from monolip.engine.training import train
from monolip.engine.training_options import TrainingOptions

LOWER, UPPER = np.array([0.0, -np.inf, -0.2, 0.0]), np.array([np.inf, np.inf, 0.2, 0.0])
PENALTY = np.array([0.1, 1.0, 1.0, 1.0])


def table(rng, loss, n=400):
    x = rng.normal(size=(n, 4)).astype(np.float32)
    f = 0.7 * x[:, 0] - 0.5 * x[:, 1] + x[:, 2] + 0.3 * x[:, 3]
    noisy = f + 0.5 * rng.normal(size=n)
    return x, {
        "squared": noisy,
        "absolute": noisy,
        "pinball": noisy,
        "huber": noisy,
        "logistic": (rng.random(n) < 1 / (1 + np.exp(-f))).astype(float),
        "poisson": rng.poisson(np.exp(f)).astype(float),
        "gamma": rng.gamma(2.0, np.exp(f) / 2.0) + 1e-6,
        "tweedie": rng.poisson(np.exp(f)) * rng.gamma(1.0, 1.0, n),
    }[loss]


def problem(x, y, loss, **more):
    return Problem(x, y, LOWER, UPPER, loss=loss, architecture=Architecture(hidden=(8, 8)), double=True, **more)


def test_least_squares_inside_the_box_is_the_minimum(rng):
    x, y = table(rng, "squared")
    (found,) = fit_additive(problem(x, y, "squared"), None, PENALTY, [5.0])
    mean, middle = x.mean(0, dtype=np.float64), y.mean()
    design = np.vstack([x - mean, np.diag(np.sqrt(5.0 * PENALTY))])
    best = lsq_linear(design, np.concatenate([y - middle, np.zeros(4)]), (LOWER - 1e-12, UPPER + 1e-12), tol=1e-14)
    assert np.abs(found.slopes - best.x).max() < 1e-3
    assert found.constant == pytest.approx(middle - mean @ found.slopes, abs=1e-9)
    assert (found.slopes >= LOWER).all()
    assert (found.slopes <= UPPER).all()


@pytest.mark.parametrize("loss", ["logistic", "poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("weighted", [False, True])
def test_newton_steps_come_close_to_the_minimum(rng, loss, weighted):
    x, y = table(rng, loss)
    more = {"sample_weight": rng.uniform(0.5, 2.0, len(y)), "offset": 0.3 * rng.normal(size=len(y))} if weighted else {}
    learn = problem(x, y, loss, **more)
    found = fit_additive(learn, None, PENALTY, [3.0, 3.0, 3.0])[-1]
    rows = np.arange(len(y))

    def value(theta):
        start = Additive(np.append(theta[:3], 0.0), theta[3])
        return len(y) * start.loss(learn, rows) + 1.5 * PENALTY[:3] @ theta[:3] ** 2

    inside = [*zip(LOWER[:3], UPPER[:3], strict=True), (None, None)]
    best = minimize(value, np.zeros(4), bounds=inside, method="L-BFGS-B")
    reached = value(np.append(found.slopes[:3], found.constant))
    assert reached <= best.fun + 0.02 * abs(value(np.zeros(4)) - best.fun)
    assert found.slopes[3] == 0.0


@pytest.mark.parametrize("loss", ["absolute", "huber", "pinball"])
def test_robust_losses_start_at_least_squares_that_outliers_do_not_move(rng, loss):
    x, y = table(rng, loss)
    y[:4] = 1e9
    (found,) = fit_additive(problem(x, y, loss), None, PENALTY, [1.0])
    assert np.abs(found.slopes[:2] - [0.7, -0.5]).max() < 0.25
    assert abs(found.constant) < 1.0


def test_several_outputs_and_left_out_columns(rng):
    x, y = table(rng, "squared")
    two = Problem(x, np.stack([y, y], 1), np.stack([LOWER, LOWER]), np.stack([UPPER, UPPER]))
    assert fit_additive(two, None, PENALTY, [1.0]) == []
    found = fit_additive(problem(x, y, "squared"), None, np.array([0.1, np.inf, 1.0, 1.0]), [1.0, 10.0])
    assert len(found) == 2
    assert all(start.slopes[1] == 0.0 for start in found)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_a_network_around_a_start_is_the_sum_and_keeps_the_box(rng, loss):
    x, y = table(rng, loss)
    learn = problem(x, y, loss, offset=0.1 * rng.normal(size=len(y)))
    anchored = Anchored(learn, fit_additive(learn, None, PENALTY, [1.0])[0])
    options = TrainingOptions(n_steps=200, initial_slope=0.3, n_snapshots=1)
    result = train(anchored.problem, options, holdout=np.arange(100))
    f, rows = anchored.network(result.network), np.arange(100)
    both = outputs_of(f, learn, rows), outputs_of(result.network, anchored.problem, rows)
    assert np.abs(both[0] - both[1]).max() < 1e-9
    assert mean_loss(learn, rows, both[0]) == pytest.approx(result.snapshots[-1].holdout_loss, rel=1e-9)
    assert (f.weights[0] >= LOWER).all()
    assert (f.weights[0] <= UPPER).all()
    assert np.abs(outputs_of(anchored.linear(), learn, rows)[:, 0] - learn.data.offset[:100, 0]
                  - anchored.start.evaluate(x[:100])).max() < 1e-6  # fmt: skip


def test_the_loss_of_several_classes_is_the_trainers(rng):
    x, y = table(rng, "squared", 300)
    classes = np.digitize(y, [-0.5, 0.5])
    low, high = np.array([[-1.0, -9, -9, -9], [-9, -9, -9, -9], [0, -9, -9, -9]]), np.full((3, 4), 9.0)
    learn = Problem(x, classes, low, high, loss="softmax", architecture=Architecture(hidden=(8,)), double=True)
    result = train(learn, TrainingOptions(n_steps=50, n_snapshots=1), holdout=np.arange(60))
    found = mean_loss(learn, np.arange(60), outputs_of(result.network, learn, np.arange(60)))
    assert found == pytest.approx(result.snapshots[-1].holdout_loss, rel=1e-9)


@pytest.mark.parametrize("strength", [0.3, 3.0])
@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_a_rare_class_and_a_weak_penalty_do_not_throw_newton_off(loss, strength):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4000, 4))
    f = 3.0 * x[:, 0] - 7.5
    y = (rng.random(4000) < 1 / (1 + np.exp(-f))).astype(float) if loss == "logistic" else rng.poisson(np.exp(f - 2.0))
    learn = problem(x, y.astype(float), loss)
    (alone,) = fit_additive(learn, None, PENALTY, [strength])
    path = [s for s in (3000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3) if s >= strength]
    after_others = fit_additive(learn, None, PENALTY, path)[-1]
    rows, mean = np.arange(len(y)), y.mean()
    constant = Additive(np.zeros(4), float(np.log(mean / (1 - mean) if loss == "logistic" else mean)))
    assert alone.loss(learn, rows) < 0.8 * constant.loss(learn, rows)
    assert alone.loss(learn, rows) == pytest.approx(after_others.loss(learn, rows), rel=0.02)


LOSSES = ["squared", "logistic", "poisson", "absolute"]


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "tweedie"])
def test_several_starts_at_once_are_as_good_as_one_by_one(loss, rng):
    """Each leaves out other rows; what they share is how a step is found, not where it leads."""
    x, y = table(rng, loss, 400)
    learn, strengths = problem(x, y, loss), [300.0, 30.0, 3.0]
    rows = [np.flatnonzero(np.arange(400) % 8 != fold) for fold in range(4)] + [np.arange(400)]

    def cost(start, given, strength):
        return start.loss(learn, given) * len(given) + strength / 2 * float(PENALTY @ start.slopes**2)

    for mine, given in zip(fit_additives(learn, rows, PENALTY, strengths), rows, strict=True):
        alone = fit_additive(learn, given, PENALTY, strengths)
        for strength, one, other in zip(strengths, mine, alone, strict=True):
            least = cost(fit_additive(learn, given, PENALTY, [strength] * 12)[-1], given, strength)
            assert ((one.slopes >= LOWER) & (one.slopes <= UPPER)).all()
            too_much, allowed = cost(one, given, strength) - least, cost(other, given, strength) - least
            assert too_much <= 1.5 * allowed + 3e-4 * abs(least)


def test_robust_starts_at_once_have_quantiles_of_their_own_rows(rng):
    x, y = table(rng, "absolute", 400)
    learn, rows = problem(x, y, "absolute"), [np.arange(350), np.arange(50, 400)]
    for mine, given in zip(fit_additives(learn, rows, PENALTY, [3.0]), rows, strict=True):
        (alone,) = fit_additive(learn, given, PENALTY, [3.0])
        assert np.abs(mine[0].evaluate(x) - alone.evaluate(x)).max() < 1e-2
        assert abs(np.median((y - mine[0].evaluate(x))[given])) < 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_that_a_start_leaves_out_say_nothing(loss, rng):
    """The first start's curvature is all it may have of the others' rows, and of its own it has none."""
    x, y = table(rng, loss, 400)
    other = y.copy()
    other[:50] = 1 - y[:50] if loss == "logistic" else y[::-1][:50]
    rows = [np.arange(50, 400), np.concatenate([np.arange(50), np.arange(100, 400)])]
    first, second = (fit_additives(problem(x, t, loss), rows, PENALTY, [30.0, 3.0])[0] for t in (y, other))
    for one, two in zip(first, second, strict=True):
        assert np.allclose(one.slopes, two.slopes, rtol=1e-4, atol=1e-6)
        assert one.constant == pytest.approx(two.constant, rel=1e-4, abs=1e-6)


def test_sets_of_rows_that_have_nothing_in_common_are_fitted_as_well(rng):
    x, y = table(rng, "squared", 300)
    learn = problem(x, y, "squared")
    halves = [np.arange(150), np.arange(150, 300)]
    for mine, given in zip(fit_additives(learn, halves, PENALTY, [3.0]), halves, strict=True):
        alone = fit_additive(learn, given, PENALTY, [3.0])[0]
        assert np.abs(mine[0].evaluate(x) - alone.evaluate(x)).max() < 0.01


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_rows_that_outweigh_all_others_are_left_out_to_the_last_digit(loss, rng):
    """The others weigh a billionth: sums of all rows in single precision know nothing of them."""
    x, y = table(rng, loss, 200)
    weight, strengths = np.where(np.arange(200) < 2, 1e9, 1.0), [1e-3, 1e-6]
    learn = Problem(x, y, LOWER, UPPER, loss=loss, architecture=Architecture(hidden=(8, 8)), sample_weight=weight)
    rows = [np.arange(2, 200), np.arange(200)]
    together = fit_additives(learn, rows, PENALTY, strengths)[0]
    for one, alone in zip(together, fit_additive(learn, rows[0], PENALTY, strengths), strict=True):
        assert np.abs(one.evaluate(x) - alone.evaluate(x)).max() < 1e-3


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_a_start_that_knows_nothing_of_some_rows_does_not_lead_the_others_astray(loss, rng):
    """Rows that the first start leaves out are rare events to it, and have a curvature all of their own."""
    x = np.zeros((800, 4), np.float32)
    x[:, 0], x[:, 1] = rng.normal(size=800), np.arange(800) < 100
    f = np.where(x[:, 1] > 0, 0.0, -5.0) + x[:, 0] / 2
    y = rng.random(800) < 1 / (1 + np.exp(-f)) if loss == "logistic" else rng.poisson(np.exp(f))
    learn = problem(x, y.astype(float), loss)
    rows = [np.arange(100, 800), *(np.delete(np.arange(800), np.arange(at, at + 100)) for at in (100, 300, 600))]
    strengths = [3000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3]
    for mine, given in zip(fit_additives(learn, rows, PENALTY, strengths), rows, strict=True):
        alone = fit_additive(learn, given, PENALTY, strengths)
        for one, other in zip(mine, alone, strict=True):
            assert one.loss(learn, given) < other.loss(learn, given) + 1e-3


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
def test_curvature_without_a_bound_is_not_shared(loss, rng):
    x, y = table(rng, loss, 200)
    learn, rows = problem(x, y, loss), [np.arange(180), np.arange(20, 200)]
    for mine, given in zip(fit_additives(learn, rows, PENALTY, [30.0, 3.0]), rows, strict=True):
        for one, other in zip(mine, fit_additive(learn, given, PENALTY, [30.0, 3.0]), strict=True):
            assert np.array_equal(one.slopes, other.slopes)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_rows_left_out_far_away_take_their_mean_along(loss, rng):
    x, y = table(rng, loss, 400)
    x[:50, :2] += 20
    learn, rows = problem(x, y, loss), [np.arange(50, 400), np.arange(350), np.arange(400)]
    for mine, given in zip(fit_additives(learn, rows, PENALTY, [30.0, 3.0]), rows, strict=True):
        for one, other in zip(mine, fit_additive(learn, given, PENALTY, [30.0, 3.0]), strict=True):
            assert np.abs(one.slopes - other.slopes).max() < 2e-3
            assert one.constant == pytest.approx(other.constant, abs=2e-3)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_sets_of_rows_that_overlap_in_all_ways_are_fitted_as_well(loss, rng):
    """Of six sets any of 64 blocks of rows may be in some and not in others; all that is shared is the way there."""
    x, y = table(rng, loss, 600)
    learn, rows = problem(x, y, loss), [np.flatnonzero(rng.random(600) < 0.8) for _ in range(6)]
    strengths = [30.0, *[3.0] * 8]
    for mine, given in zip(fit_additives(learn, rows, PENALTY, strengths), rows, strict=True):
        alone = fit_additive(learn, given, PENALTY, strengths)[-1]
        assert (np.abs(mine[-1].evaluate(x) - alone.evaluate(x)) < TOLERANCE * np.abs(x).sum(axis=1) + TOLERANCE).all()


@pytest.mark.parametrize("limit", ["MAX_TOGETHER", "MAX_GRAMS", "MAX_COLUMNS", "MAX_ROWS"])
def test_too_much_for_one_is_fitted_one_by_one(limit, rng, monkeypatch):
    x, y = table(rng, "squared", 300)
    learn, rows = problem(x, y, "squared"), [np.arange(280), np.arange(20, 300), np.arange(300)]
    monkeypatch.setattr(
        additive, limit, {"MAX_TOGETHER": 2, "MAX_GRAMS": 16 * 5, "MAX_COLUMNS": 3, "MAX_ROWS": 290}[limit]
    )
    for mine, given in zip(fit_additives(learn, rows, PENALTY, [30.0, 3.0]), rows, strict=True):
        for one, other in zip(mine, fit_additive(learn, given, PENALTY, [30.0, 3.0]), strict=True):
            assert np.array_equal(one.slopes, other.slopes)
            assert one.constant == other.constant


@pytest.mark.parametrize("along", ["a column", "many rows"])
def test_curvature_is_shared_only_where_it_is_alike(along):
    """Of few rows that a column tells apart, or of many that none does."""
    x = np.zeros((400, 2), np.float32)
    x[:, 0] = np.linspace(-1, 1, 400)
    x[:8, 1] = 1.0
    apart = np.arange(400) < 8 if along == "a column" else np.arange(400) % 10 == 0
    weight, other = np.ones(400), np.full(400, 0.2)
    scaled = np.ascontiguousarray(((x - x.mean(axis=0)) * np.sqrt(0.2)).T).astype(np.float32)
    parts = np.empty((2, 400), np.float32)
    assert is_alike(scaled, weight, other.copy(), other, parts)
    assert is_alike(scaled, weight, np.where(np.arange(400) == 200, 0.05, other), other, parts)  # one row is few
    assert not is_alike(scaled, weight, np.where(apart, 0.05, other), other, parts)
    assert not is_alike(scaled, weight, np.where(apart, 0.8, other), other, parts)
    left_out = np.where(apart, 0.0, weight)
    assert is_alike(scaled, left_out, np.where(apart, 0.8, other), other, parts)  # rows that nobody learns from


@pytest.mark.parametrize("loss", ["logistic", "gamma"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_set_of_rows_without_any_weight_spoils_no_other(loss, rng):
    x, y = table(rng, loss, 300)
    weight = np.where(np.arange(300) < 50, 0.0, 1.0)
    learn = Problem(x, y, LOWER, UPPER, loss=loss, architecture=Architecture(hidden=(8, 8)), sample_weight=weight)
    mine = fit_additives(learn, [np.arange(50), np.arange(300)], PENALTY, [30.0, 3.0])[1]
    for one, other in zip(mine, fit_additive(learn, np.arange(300), PENALTY, [30.0, 3.0]), strict=True):
        assert np.abs(one.slopes - other.slopes).max() < 2e-3


def test_no_sets_of_rows_have_no_starts(rng):
    x, y = table(rng, "squared", 40)
    assert fit_additives(problem(x, y, "squared"), [], PENALTY, [3.0]) == []
