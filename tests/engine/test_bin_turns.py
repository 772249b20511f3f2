"""Many bins step by the gradients of several batches: the step of numpy, whatever the calls, always inside the box."""

from __future__ import annotations

import numpy as np
import pytest
from binned import problem

from monolip.engine._bin_turns import LENGTH, MANY_BINS, VERY_MANY_BINS, turn_length
from monolip.engine._training_layout import BIAS_AT, WIDTH
from monolip.engine.trainer import Trainer
from monolip.engine.training_options import TrainingOptions

TWO, FOUR = (MANY_BINS - 20, 20), (VERY_MANY_BINS - 30, 30)  # bins of each feature


def of_bins(trainer, flat):
    layout = trainer.problem.layout
    return layout.first_layer(np.asarray(flat, np.float64))[:, layout.binned]


def test_more_bins_step_less_often():
    counts = (1, MANY_BINS - 1, MANY_BINS, VERY_MANY_BINS - 1, VERY_MANY_BINS, 10**6)
    assert [turn_length.py_func(n) for n in counts] == [1, 1, 2, 2, 4, 4]


@pytest.mark.parametrize(("counts", "n_steps", "turns"), [(TWO, 9, (2, 2, 2, 2, 1)), (FOUR, 11, (4, 4, 3))], ids=str)
def test_a_gathered_step_is_that_of_numpy(counts, n_steps, turns):
    made = problem(counts=counts, double=True)
    options = TrainingOptions(n_steps=n_steps, batch_size=len(made.data.x), slope_rate=0.05)
    ours, other = Trainer(made, options), Trainer(made, options)
    own, o, mu = ours.state.stepped, options, made.means[made.layout.binned]
    at, width = made.layout.layers[0, [BIAS_AT, WIDTH]]
    lower, upper, done = of_bins(ours, own.lower), of_bins(ours, own.upper), 0
    for turn in turns:
        before = [of_bins(ours, a) for a in (own.params, own.first_moment, own.second_moment, ours.state.average)]
        gathered, h = 0.0, 0.0
        for _ in range(turn):
            assert np.array_equal(of_bins(ours, own.params), before[0])  # nothing moves until its turn
            other.state.stepped.params[:] = own.params
            g = other.gradient()
            gathered, h = gathered + of_bins(ours, g), h + g[at : at + width]
            ours.advance(1)
        done += turn
        w, m, v, average = before
        d, beta1, beta2 = gathered - np.outer(h, mu), o.beta1**turn, o.beta2**turn
        m, v = beta1 * m + (1 - beta1) * d, beta2 * v + (1 - beta2) * d**2
        direction = m / (1 - o.beta1**done) / (np.sqrt(v / (1 - o.beta2**done)) + o.epsilon)
        rate = o.slope_rate * ours.schedule[done - 1]
        w = np.clip((1 - rate * turn * o.slope_decay) * w - rate * turn**LENGTH * direction, lower, upper)
        share = (1 - o.averaging) / (1 - o.averaging**done)
        average = average + (1 - (1 - share) ** turn) * (w - average)
        for found, wanted in zip((own.params, own.first_moment, ours.state.average), (w, m, average), strict=True):
            np.testing.assert_allclose(of_bins(ours, found), wanted, rtol=0, atol=1e-8)
    assert ours.steps_done == n_steps


def test_a_gradient_asked_for_between_two_calls_is_that_of_the_whole_table():
    made = problem(counts=TWO, double=True)
    options = TrainingOptions(n_steps=8, batch_size=len(made.data.x))
    asked, other = Trainer(made, options), Trainer(made, options)
    asked.advance(3)  # one batch is gathered and not stepped by yet
    other.state.stepped.params[:] = asked.state.stepped.params
    np.testing.assert_allclose(asked.gradient(), other.gradient(), rtol=0, atol=1e-12)  # rows come in another order
    asked.advance(5)
    assert np.isfinite(asked.current()).all()
