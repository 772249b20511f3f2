"""Bins as table lookups are the same function, the same gradient and the same promise as bins as columns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from monolip.engine.architecture import Architecture
from monolip.engine.members import Member, train_members
from monolip.engine.ordered import evaluate_ordered
from monolip.engine.problem import Problem
from monolip.engine.trainer import Trainer
from monolip.engine.training import train
from monolip.engine.training_options import TrainingOptions
from monolip.errors import InputError

COUNTS = (3, 1, 8, 40)  # bins of each feature


def table(n=300, seed=0, extra=2):
    """Columns u, bins of u, u, bins, ... and some plain ones; with ties at edges, tails, and an empty bin."""
    rng = np.random.default_rng(seed)
    columns, bins = [], []
    for count in COUNTS:
        u = np.round(rng.normal(size=n), 1)
        edges = np.quantile(u, np.linspace(0.1, 0.9, count + 1))
        columns.append(u)
        bins.append((len(columns), len(columns) + count))
        columns += [np.clip(u, a, b) - (a + b) / 2 for a, b in itertools.pairwise(edges)]
    columns += list(rng.normal(size=(extra, n)))
    x = np.stack(columns, 1).astype(np.float32).astype(np.float64)
    return x, np.sin(x[:, 0]) + x[:, -1] * x[:, 4], bins


def problems(x, y, bins, outputs=3, **settings):
    lower, upper = np.full((outputs, x.shape[1]), -2.0), np.full((outputs, x.shape[1]), 3.0)
    lower[0, :4] = 0.0  # a trunk of its own
    target = np.stack([y, -y, 2 * y][:outputs], 1)
    return [Problem(x, target, lower, upper, bins=b, **settings) for b in (bins, ())]


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("hidden", [(), (6,), (32, 32), (20, 12, 8), (70, 34)])
@pytest.mark.parametrize("mixed", [False, True])
def test_the_same_loss_and_gradient_as_columns(hidden, double, mixed, monkeypatch):
    if mixed:
        monkeypatch.setattr("monolip.engine.problem.CACHE_BYTES", 0)
    x, y, bins = table()
    packed, plain = problems(x, y, bins, architecture=Architecture(hidden=hidden, fan_in=8), double=double)
    assert packed.data.codes.shape == (300, len(COUNTS))
    tolerance = 1e-10 if double else 1e-5
    first = Trainer(packed, TrainingOptions(n_steps=30))
    for _ in range(2):  # at the start, and after some steps
        start = first.network(first.state.stepped.params.copy())
        moved = start._replace(biases=(start.biases[0] + 0.01 * np.arange(len(start.biases[0])), *start.biases[1:]))
        trainers = [Trainer(p, TrainingOptions(n_steps=1), start=moved) for p in (packed, plain)]
        assert trainers[0].loss(None) == pytest.approx(trainers[1].loss(None), rel=10 * tolerance)
        got, expected = (t.problem.layout.dense(t.gradient()) for t in trainers)
        scale = max(np.abs(g).max() for part in expected for g in part)
        for ours, theirs in zip((*got[0], *got[1]), (*expected[0], *expected[1]), strict=True):
            assert np.abs(ours - theirs).max() <= tolerance * scale
        first.advance(30)


def test_the_same_start_and_nearly_the_same_training():
    x, y, bins = table()
    packed, plain = problems(x, y, bins, double=True)
    ours, theirs = (Trainer(p, TrainingOptions(n_steps=200, batch_size=100)) for p in (packed, plain))
    for a, b in zip(ours.network().weights, theirs.network().weights, strict=True):
        assert np.array_equal(a, b)
    for trainer in (ours, theirs):
        trainer.advance(200)
    # Adam follows even a gradient that is nothing but rounding, so weights drift apart where they do not matter
    assert ours.loss(None) == pytest.approx(theirs.loss(None), rel=0.02)
    assert ours.loss(None) < 0.5 * Trainer(plain, TrainingOptions(n_steps=1)).loss(None)


def options(seed):
    return TrainingOptions(n_steps=200, slope_rate=50.0, slope_decay=0.0, averaging=0.0, seed=seed)


def test_the_promise_holds_and_threads_change_no_bit():
    x, y, bins = table()
    packed, _ = problems(x, y, bins, architecture=Architecture(hidden=(16, 8)))
    members = [Member(options(s), holdout=np.arange(50)) for s in range(3)]
    one, two = (train_members(packed, members, n_threads=n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert all(np.array_equal(p, q) for p, q in zip(a.network.weights, b.network.weights, strict=True))
        first = a.network.weights[0]
        assert (first >= -2).all()
        assert (first <= 3).all()
        assert (first[:16, :4] >= 0).all()
        assert first.min() == -2.0  # a rate this high reaches the box
    f = evaluate_ordered(*one[0].network[:3], x[:50], 1e6)
    target = np.stack([y, -y, 2 * y], 1)[:50]
    assert one[0].snapshots[one[0].best].holdout_loss == pytest.approx(((f - target) ** 2).sum(1).mean(), rel=1e-4)


def test_training_goes_on_from_a_network():
    x, y, bins = table()
    packed, _ = problems(x, y, bins)
    first = train(packed, TrainingOptions(n_steps=100))
    again = Trainer(packed, TrainingOptions(n_steps=1), start=first.network)
    assert again.loss(None) == pytest.approx(first.snapshots[-1].training_loss, rel=1e-5)


def test_paper_form_takes_bins_as_columns():
    x, y, bins = table()
    packed, _ = problems(x, y, bins, architecture=Architecture(hidden=(8,), fan_in=None, paper_form=True))
    assert packed.data.codes.shape[1] == 0
    train(packed, TrainingOptions(n_steps=5))


@pytest.mark.parametrize("bins", [[(3, 1)], [(0, 4), (2, 6)], [(5, 9), (1, 3)], [(-1, 2)], [(90, 900)]])
def test_ranges_that_are_none_are_refused(bins):
    x, y, _ = table(50)
    with pytest.raises(InputError, match="ascending and apart; got"):
        problems(x, y, bins)


def test_columns_that_are_no_bins_are_refused():
    x, y, bins = table(50)
    x[7, 2] += 1e-3  # neither the largest value nor the smallest, beside a bin that is partly filled
    x[7, 1] = (x[:, 1].min() + x[:, 1].max()) / 2
    x[7, 3] = x[:, 3].max()
    with pytest.raises(InputError, match="those before one are full, and those after it empty; got a row"):
        problems(x, y, bins)
    x[:, 0] = np.nan
    with pytest.raises(InputError, match="finite"):
        problems(x, y, bins)


def test_rows_come_back_as_they_were_and_linear_functions_agree(monkeypatch):
    x, y, bins = table()
    slopes = np.random.default_rng(1).normal(size=x.shape[1])
    for cache in (10**9, 0):
        monkeypatch.setattr("monolip.engine.problem.CACHE_BYTES", cache)
        packed, plain = problems(x, y, bins, double=True)
        rows = np.array([3, 200, 7])
        for problem in (packed, plain):
            places = problem.places(rows)
            back = problem.rows_at(places)
            kept = rows if problem.mixed is None else problem.mixed[places]
            assert np.array_equal(back, x[kept])
            assert problem.linear(slopes, places) == pytest.approx(x[kept] @ slopes, abs=1e-12)
        everything = np.arange(300) if packed.mixed is None else packed.mixed
        assert packed.linear(slopes) == pytest.approx((x @ slopes)[everything], abs=1e-12)
