"""Training keeps its promise at every step, whatever it is asked to learn."""

from __future__ import annotations

import _thread
import signal
from threading import Event, Timer

import numpy as np
import pytest

from monolip.engine.additive import Additive
from monolip.engine.anchored import Anchored
from monolip.engine.architecture import Architecture
from monolip.engine.losses import Loss
from monolip.engine.members import Member, train_members
from monolip.engine.ordered import evaluate_ordered
from monolip.engine.problem import Problem
from monolip.engine.trainer import Trainer
from monolip.engine.training import train
from monolip.engine.training_options import TrainingOptions
from monolip.engine.ulp_search import search_decreases
from monolip.errors import StructureError


def wave(n=600, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.maximum(x[:, 0], 0) + np.sin(x[:, 1]) + 0.1 * rng.normal(size=n)


def assert_promise(network, lower, upper, rows_of_output=None):
    first, *later = network.weights
    lower, upper = np.atleast_2d(lower), np.atleast_2d(upper)
    assert (first >= lower.min(0)).all()
    assert (first <= upper.max(0)).all()
    for k, weight in enumerate(later):
        if network.center is None:
            assert (weight >= 0).all()
            assert np.abs(weight.sum(1) - 1).max() < 1e-5
        else:
            assert np.abs(weight).sum(1).max() < 1 + 1e-5, k


def slopes_at(network, x, k):
    """The gradient of output k at each row: products of weights along the sorted path."""
    step = 1e-6
    f = evaluate_ordered(*network[:3], x, 1e6)
    out = []
    for j in range(x.shape[1]):
        up = x.copy()
        up[:, j] += step
        out.append((evaluate_ordered(*network[:3], up, 1e6)[:, k] - f[:, k]) / step)
    return np.array(out).T


BOXES = [
    ([0.0, -3.0, -3.0], [6.0, 3.0, 3.0]),
    ([0.0, 1.0, -1.0], [0.0, 1.0, -1.0]),  # flat, fixed slopes
    ([0.1, -0.7, 2.0], [0.1000001, -0.6, np.inf]),  # narrower than float32, negative, without a cap
]


@pytest.mark.parametrize("paper_form", [False, True])
@pytest.mark.parametrize(("lower", "upper"), BOXES)
def test_weights_stay_in_box_and_on_simplex_after_every_chunk(lower, upper, paper_form):
    x, y = wave()
    if paper_form:
        upper = np.minimum(upper, 5.0)
    shape = Architecture(hidden=(8, 8), fan_in=4, paper_form=paper_form)
    problem = Problem(x, 1e3 * y, lower, upper, architecture=shape)  # a target far out of reach: everything saturates
    trainer = Trainer(problem, TrainingOptions(n_steps=150, slope_rate=1.0, mixing_rate=5.0))
    center = np.zeros(3) if problem.center is None else problem.center
    for _ in range(10):
        trainer.advance(15)
        for params in (trainer.current(), trainer.state.stepped.params):
            assert_promise(trainer.network(params), lower - center, upper - center)


def test_outputs_keep_their_own_intervals():
    x, y = wave()
    lower, upper = np.full((3, 3), -2.0), np.full((3, 3), 2.0)
    lower[1, 0], upper[2, 0] = 0.0, 0.0
    targets = np.stack([y, -y, y], 1)
    for hidden in [(), (8, 4)]:
        shape = Architecture(hidden=hidden, fan_in=4)
        result = train(Problem(x, targets, lower, upper, architecture=shape), TrainingOptions(n_steps=300))
        for k in range(3):
            slopes = slopes_at(result.network, x[:100], k)
            assert (slopes >= lower[k] - 1e-6).all()
            assert (slopes <= upper[k] + 1e-6).all()
        assert slopes_at(result.network, x[:100], 0)[:, 0].max() > 0.4


def test_a_decreasing_target_leaves_an_increasing_feature_flat_never_negative():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(800, 2))
    result = train(Problem(x, -2.0 * x[:, 0], [0.0, -4.0], [8.0, 4.0]), TrainingOptions(n_steps=800))
    line = np.stack([np.linspace(-3, 3, 500), np.zeros(500)], 1)
    f = evaluate_ordered(*result.network[:3], line, 1e6)[:, 0]
    assert (np.diff(f) >= 0).all()
    assert f[-1] - f[0] < 0.3
    assert search_decreases(*result.network[:3], n_pairs=200_000, directions=[1, 0]).decreases == 0


def test_it_learns_what_it_is_allowed_to():
    x, y = wave(1500)
    result = train(Problem(x, y, [0.0, -8, -8], [8.0, 8, 8]), TrainingOptions(n_steps=1500))
    test_x, test_y = wave(1000, seed=1)
    error = evaluate_ordered(*result.network[:3], test_x, 1e6)[:, 0] - test_y
    assert np.mean(error**2) < 0.03 < 0.05 * np.var(test_y) + 0.03
    paper = Architecture(hidden=(32, 32), fan_in=None, paper_form=True)
    result = train(Problem(x, y, [0.0, -8, -8], [8.0, 8, 8], architecture=paper), TrainingOptions(n_steps=1500))
    f = evaluate_ordered(*result.network[:3], test_x, 1e6)[:, 0] + test_x @ result.network.center[0]
    assert np.mean((f - test_y) ** 2) < 0.1


@pytest.mark.parametrize(
    ("loss", "low", "high"),
    [("pinball", 0.55, 0.65), ("poisson", 0.95, 1.05), ("gamma", 0.95, 1.05), ("tweedie", 0.9, 1.1)],
)
def test_losses_estimate_what_they_are_for(loss, low, high):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, 1))
    rate = np.exp(0.5 * x[:, 0])
    y = {"gamma": rng.gamma(2.0, rate / 2), "pinball": rng.random(3000)}.get(loss, rng.poisson(rate).astype(float))
    problem = Problem(x, y, [0.0], [4.0], loss=Loss(loss, 0.6 if loss == "pinball" else None))
    f = evaluate_ordered(*train(problem, TrainingOptions(n_steps=600)).network[:3], x, 1e6)[:, 0]
    got = np.mean(f) if loss == "pinball" else np.mean(np.exp(f)) / np.mean(rate)
    assert low < got < high


def test_an_offset_is_an_exposure():
    rng = np.random.default_rng(3)
    exposure = rng.uniform(0.1, 10.0, 2000)
    x = rng.normal(size=(2000, 2))
    problem = Problem(x, rng.poisson(3.0 * exposure), [0, 0], [1, 1], loss="poisson", offset=np.log(exposure))
    f = evaluate_ordered(*train(problem, TrainingOptions(n_steps=400)).network[:3], x, 1e6)
    assert np.exp(f).mean() == pytest.approx(3.0, rel=0.05)


def test_same_seed_same_bits_in_any_chunks_and_threads():
    x, y = wave()
    problem = Problem(x, y, [0.0, -3, -3], [3.0, 3, 3])
    members = [Member(TrainingOptions(n_steps=200, seed=s), np.arange(500), np.arange(500, 600)) for s in range(4)]
    alone = train_members(problem, members, n_threads=1)
    together = train_members(problem, members, n_threads=3)
    for a, b in zip(alone, together, strict=True):
        assert all(np.array_equal(p, q) for p, q in zip(a.network.weights, b.network.weights, strict=True))
    assert not np.array_equal(alone[0].network.weights[0], alone[1].network.weights[0])
    whole, pieces = (Trainer(problem, TrainingOptions(n_steps=60)) for _ in range(2))
    whole.advance(60)
    for _ in range(20):
        pieces.advance(3)
    assert np.array_equal(whole.current(), pieces.current())


def test_problems_of_one_shape_share_a_layout_and_trainings_of_one_length_a_schedule():
    x, y = wave()
    shapes = [(8, 8), [8, 8], (8, 4)]
    one, two, other = (Problem(x, y, [0.0] * 3, [3.0] * 3, architecture=Architecture(hidden=h)) for h in shapes)
    assert one.layout is two.layout
    assert one.layout is not other.layout
    before = [table.copy() for table in (one.layout.layers, one.layout.blocks)]
    bits = [train(problem, TrainingOptions(n_steps=30)).network.weights[0].tobytes() for problem in (one, two, one)]
    assert len(set(bits)) == 1
    assert all(np.array_equal(a, b) for a, b in zip(before, (one.layout.layers, one.layout.blocks), strict=True))
    for n_steps in (30, 5000):
        options = TrainingOptions(n_steps=n_steps)
        expected = 0.5 * (1 + np.cos(np.pi * np.arange(n_steps) / n_steps))
        assert np.array_equal(options.schedule(one.dtype), expected.astype(one.dtype))
    assert (TrainingOptions(n_steps=30, cosine=False).schedule(one.dtype) == 1).all()


def test_small_trainings_are_one_call_and_steps_of_large_ones_come_one_by_one():
    x, y = wave()
    steps: list[int] = []
    problem = Problem(x, y, [0.0, -3, -3], [3.0, 3, 3])
    options = TrainingOptions(n_steps=50, n_snapshots=1)
    train(problem, options, on_progress=lambda progress: steps.append(progress.step))
    assert steps == [50]
    wide = Problem(x, y, [0.0, -3, -3], [3.0, 3, 3], architecture=Architecture(hidden=(1024, 1024), fan_in=None))
    train(wide, TrainingOptions(n_steps=3, n_snapshots=1), on_progress=lambda progress: steps.append(progress.step))
    assert steps[:2] == [50, 1]


def test_the_best_snapshot_is_restored_and_patience_ends_training():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(120, 5)), rng.normal(size=120)  # nothing to learn: it can only overfit
    problem = Problem(x, y, np.full(5, -9.0), np.full(5, 9.0))
    rows = np.arange(60)
    options = TrainingOptions(n_steps=2000, n_snapshots=20, patience=3, slope_decay=0.0)
    result = train(problem, options, index=rows, holdout=rows + 60)
    losses = [s.holdout_loss for s in result.snapshots]
    assert result.stopped == "patience"
    assert result.best == int(np.argmin(losses)) == len(losses) - 4
    f = evaluate_ordered(*result.network[:3], x[60:], 1e6)[:, 0]
    assert np.mean((f - y[60:]) ** 2) == pytest.approx(min(losses), rel=1e-4)


@pytest.fixture
def ctrl_c_works():
    """A process started in the background ignores SIGINT, and Python then never raises KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_works")
def test_interrupted_training_returns_the_best_so_far():
    x, y = wave()
    problem = Problem(x, y, [0.0, -3, -3], [3.0, 3, 3])
    seen = []

    def press_ctrl_c(progress):
        seen.append(progress.step)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    result = train(problem, TrainingOptions(n_steps=10**6), holdout=np.arange(50), on_progress=press_ctrl_c)
    assert result.stopped == "interrupted"
    assert result.snapshots[-1].step >= seen[-1] > 0
    assert_promise(result.network, [0.0, -3, -3], [3.0, 3, 3])
    stop = Event()
    stop.set()
    assert train(problem, TrainingOptions(n_steps=10**6), stop=stop).stopped == "interrupted"
    assert train(problem, TrainingOptions(n_steps=10**6, time_limit=0.2)).stopped == "time"


@pytest.mark.usefixtures("ctrl_c_works")
def test_interrupted_members_all_return_their_best():
    x, y = wave()
    problem = Problem(x, y, [0.0, -3, -3], [3.0, 3, 3])
    Timer(0.4, _thread.interrupt_main).start()
    results = train_members(problem, [Member(TrainingOptions(n_steps=10**6, seed=s)) for s in range(3)], n_threads=2)
    assert {result.stopped for result in results} == {"interrupted"}
    for result in results:
        assert_promise(result.network, [0.0, -3, -3], [3.0, 3, 3])


def test_large_tables_are_mixed_and_rows_keep_their_numbers(monkeypatch):
    x, y = wave(400)
    options = TrainingOptions(n_steps=150)
    rows, holdout = np.arange(0, 400, 2), np.arange(1, 400, 2)
    monkeypatch.setattr("monolip.engine.problem.CACHE_BYTES", 0)
    mixed = Problem(x, y, [0.0, -3, -3], [3.0, 3, 3], sample_weight=1 + np.abs(y), offset=y)
    monkeypatch.undo()
    plain = Problem(x, y, [0.0, -3, -3], [3.0, 3, 3], sample_weight=1 + np.abs(y), offset=y)
    assert mixed.run > plain.run == 1
    trainer = Trainer(mixed, options, rows)
    trainer.advance(150)
    for part in (rows, holdout, [7]):
        assert trainer.loss(part) == pytest.approx(Trainer(plain, options).loss(part, trainer.current()), rel=1e-5)
    seen = np.sort(trainer.state.order)
    assert np.array_equal(seen, mixed.places(rows))  # shuffling loses no row and takes no other


@pytest.mark.parametrize("paper_form", [False, True])
def test_training_goes_on_from_a_network(paper_form):
    x, y = wave()
    lower, upper = np.array([[0.0, -2, -2], [-2, -2, -2], [0, -2, -2]]), np.full((3, 3), 2.0)
    shape = Architecture(hidden=(8, 8), fan_in=4, paper_form=paper_form)
    problem = Problem(x, np.stack([y, -y, 2 * y], 1), lower, upper, architecture=shape)
    first = train(problem, TrainingOptions(n_steps=100))
    again = Trainer(problem, TrainingOptions(n_steps=1), start=first.network)
    assert again.loss(None) == pytest.approx(first.snapshots[-1].training_loss, rel=1e-5)
    more = train(problem, TrainingOptions(n_steps=400), start=first.network)
    assert more.snapshots[-1].training_loss < first.snapshots[-1].training_loss
    with pytest.raises(StructureError, match="same architecture"):
        train(Problem(x, y, lower[0], upper[0]), start=first.network)


def test_the_box_of_flat_parameters_lies_inside_the_slope_intervals_and_follows_them(rng):
    x, y = wave()
    lower, upper = -rng.random(3) * 1e-3 - 0.1, rng.random(3) / 3
    problem = Problem(x, y, lower, upper)
    low, high = problem.flat_box()
    assert problem.flat_box()[0] is low  # made once
    first = problem.layout.first_layer
    assert low.dtype == high.dtype == np.float32
    assert (first(low) >= lower).all()
    assert (first(high) <= upper).all()
    assert np.allclose([first(low)[0], first(high)[-1]], [lower, upper], atol=1e-7)
    around = Anchored(problem, Additive(np.array([0.05, -0.01, 0.1]), 0.0)).problem
    moved = first(around.flat_box()[1])
    assert np.allclose(moved, upper - [0.05, -0.01, 0.1], atol=1e-7)
    assert problem.flat_box()[0] is low


@pytest.mark.parametrize("averaging", [0.99, 0.0])
def test_a_finished_trainer_still_knows_what_it_learned(rng, averaging):
    x = rng.normal(size=(200, 3))
    problem = Problem(x, x[:, 0], [0, -1, -1], [1, 1, 1], architecture=Architecture(hidden=(8,)))
    trainer = Trainer(problem, TrainingOptions(n_steps=60, averaging=averaging))
    trainer.advance(40)
    before, loss = trainer.current(), trainer.loss(None)
    trainer.finish(50)
    assert len(trainer.index) == 50
    assert trainer.loss(None) == loss
    assert trainer.steps_done == 40
    assert np.array_equal(trainer.current(), before)


def test_row_numbers_that_nobody_can_change_are_looked_up_once(rng, monkeypatch):
    x = rng.normal(size=(200, 3))
    monkeypatch.setattr("monolip.engine.problem.CACHE_BYTES", 0)
    problem = Problem(x, x[:, 0], [0, -1, -1], [1, 1, 1])
    fixed, free = np.arange(0, 200, 3, dtype=np.int32), np.arange(0, 200, 3, dtype=np.int32)
    fixed.setflags(write=False)
    assert problem.places(fixed) is problem.places(fixed)
    assert np.array_equal(problem.places(free), problem.places(fixed))
    free[:] = np.arange(len(free))
    assert np.array_equal(np.sort(problem.rows_kept(problem.places(free))), free)  # as it is now
    part = free[:10]
    part.setflags(write=False)  # its numbers can still be changed by who holds all of them
    problem.places(part)
    free += 100
    assert np.array_equal(np.sort(problem.rows_kept(problem.places(part))), free[:10])
