"""Who trains: the clock, the history, and seeds that are each member's own."""

from __future__ import annotations

import time

import numpy as np

from monolip import MonotonicRegressor
from monolip.engine.anchored import Anchored
from monolip.engine.architecture import Architecture
from monolip.engine.problem import Problem
from monolip.estimators._climber import Climber, Rung
from monolip.estimators._coach import Coach
from monolip.estimators._recipe import Recipe


def climbers(rng, number=2):
    x = rng.normal(size=(100, 2)).astype(np.float32)
    problem = Problem(x, x[:, 0], [0, -9], [9, 9], architecture=Architecture(hidden=(8,)))
    rows = np.arange(80, dtype=np.int32), np.arange(80, 100, dtype=np.int32)
    return [Climber(member, *rows, Anchored(problem, None, rows[0])) for member in range(number)]


def test_there_is_time_until_the_deadline():
    now = time.perf_counter()
    assert not Coach(64, 0).is_out_of_time(1e9)
    assert not Coach(64, 0, deadline=now + 10).is_out_of_time(4)
    assert Coach(64, 0, deadline=now + 10).is_out_of_time(12)
    assert Coach(64, 0, deadline=now).is_out_of_time()
    assert not Coach(64, 0, deadline=now + 10).is_out_of_time()
    assert Coach(64, 0, deadline=now + 10, interrupted=True).is_out_of_time()


def test_what_a_lack_of_time_leaves_out_is_remembered(rng):
    for deadline, seconds, short in ((None, 1e9, False), (10, 4, False), (10, 12, True)):
        coach = Coach(64, 0, deadline=None if deadline is None else time.perf_counter() + deadline)
        coach.is_out_of_time(seconds)
        assert not coach.short_of_time  # nothing was left out
        coach.is_out_of_time(seconds, wanted=True)
        assert coach.short_of_time is short
    coach = Coach(16, 0, deadline=time.perf_counter() + 10, interrupted=True)
    assert coach.is_out_of_time(wanted=True)
    assert not coach.short_of_time  # that was Ctrl-C
    coach = Coach(16, 0, deadline=time.perf_counter())
    coach.train(climbers(rng), 0, Rung(10**6, 0.3))
    assert coach.short_of_time


def test_members_that_train_one_after_the_other_share_the_time_that_is_left(rng):
    coach = Coach(16, 0, deadline=time.perf_counter() + 0.4)
    coach.train(climbers(rng, 4), 0, Rung(10**6, 0.3))
    seconds = [entry["seconds"] for entry in coach.history]
    assert len(seconds) == 4
    assert sum(seconds) < 3 * 0.4  # four times as long if each took all of it; a busy machine may be late


def test_a_fit_that_left_nothing_out_is_not_called_short_of_time(rng):
    x = rng.normal(size=(300, 2))
    model = MonotonicRegressor(monotonic_cst=[1, 0], random_state=0, max_time=600).fit(x, x[:, 0])
    assert not model._short_of_time
    coach = Coach(16, 0, deadline=time.perf_counter() - 1)
    members = climbers(rng)
    recipe = Recipe(members[0].anchored.problem, None, (), np.ones(2), 2, coach)
    assert len(recipe.run()[1]) == 2
    assert not coach.short_of_time  # there was nothing to train


def test_every_training_is_written_down_and_every_member_has_a_seed_of_its_own(rng):
    coach, members = Coach(16, 0), climbers(rng)
    coach.train(members, 0, Rung(20, 0.3))
    coach.train(members, 1, Rung(40, 0.1))
    seen = [(entry["member"], entry["n_steps"], entry["slope_decay"]) for entry in coach.history]
    assert seen == [(0, 20, 0.3), (1, 20, 0.3), (0, 40, 0.1), (1, 40, 0.1)]
    assert coach.spent == sum(entry["seconds"] for entry in coach.history) > 0
    assert all(len(member.networks) == 3 and len(member.losses) == 2 for member in members)
    assert not np.array_equal(members[0].networks[1].weights[0], members[1].networks[1].weights[0])


def test_a_finish_begins_where_it_is_told_and_nobody_judges_it(rng):
    coach, (member,) = Coach(16, 0), climbers(rng, 1)
    coach.train([member], 0, Rung(20, 0.3))
    coach.train([member], 1, Rung(40, 0.1))
    before = list(member.networks)
    coach.finish([member], 0, Rung(1, 0.3), 1, np.arange(100, dtype=np.int32))
    assert member.networks == before
    assert coach.history[-1]["holdout_loss"] is None
    near, far = (np.abs(member.finished.weights[0] - network.weights[0]).max() for network in before[1:])
    assert near < far  # one step from the first rung


def test_an_interrupt_ends_what_is_done_inside_and_no_more():
    coach = Coach(64, 0)
    with coach.interruptible():
        raise KeyboardInterrupt
    assert coach.interrupted
