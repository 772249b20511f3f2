"""A step of the compiled kernels is the step of plain numpy; what is fused into one pass changes no bit."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from binned import problem

from monolip.engine._emitter import BETA1, BETA2, EPSILON
from monolip.engine._row_steps import slope_columns
from monolip.engine._training_layout import BIAS_AT, BINS_AT, INPUT_AT, LANES, WIDTH
from monolip.engine._updates import put_rates
from monolip.engine.trainer import Trainer
from monolip.engine.training_options import TrainingOptions


class PlainSteps:
    """The same training in numpy, from gradients of the whole table."""

    def __init__(self, trainer):
        self.options, self.layout, self.problem = trainer.options, trainer.problem.layout, trainer.problem
        own = trainer.state.stepped
        self.w, self.lower, self.upper = (a.astype(np.float64) for a in (own.params, own.lower, own.upper))
        self.m, self.v, self.average = np.zeros((3, self.layout.size))
        self.t = 0

    def step(self, g, means, rate):
        o, layers, blocks = self.options, self.layout.layers, self.layout.blocks
        self.t += 1
        biases = [(layer[BIAS_AT], layer[BIAS_AT] + layer[WIDTH]) for layer in layers]
        direct, w = g.copy(), self.w.copy()
        slopes, box = self.layout.first_layer(w), [self.layout.first_layer(a) for a in (self.lower, self.upper)]
        h, mu = g[slice(*biases[0])], self.problem.means
        self.layout.put_first_layer(direct, self.layout.first_layer(g) - np.outer(h, mu))
        parts = []
        for k, layer in enumerate(layers[1:], 1):
            for row, rows, column, columns, at, stride in blocks[layer[1] : layer[2]]:
                places = at + np.arange(rows)[:, None] * stride + np.arange(columns)
                mean = means[layer[INPUT_AT] + column :][:columns]
                centred = g[places] - np.outer(g[biases[k][0] + row :][:rows], mean)
                direct[places] = centred - (centred * w[places]).sum(1, keepdims=True)
                parts.append((k, biases[k][0] + row + np.arange(rows), places, mean))
        self.m = o.beta1 * self.m + (1 - o.beta1) * direct
        self.v = o.beta2 * self.v + (1 - o.beta2) * direct**2
        lift1, lift2 = 1 / (1 - o.beta1**self.t), 1 / (1 - o.beta2**self.t)
        adam = self.m * lift1 / (np.sqrt(self.v * lift2) + o.epsilon)
        moved = (1 - rate * o.slope_rate * o.slope_decay) * slopes - rate * o.slope_rate * self.layout.first_layer(adam)
        new = np.clip(moved, *box)
        self.layout.put_first_layer(self.w, new)
        self.w[slice(*biases[0])] -= (new - slopes) @ mu
        for k, rows, places, mean in parts:
            speed = rate * (o.output_rate if k == len(layers) - 1 else o.mixing_rate)
            grown = np.maximum(w[places] * np.exp(np.clip(-speed * adam[places], -1, 1)), 1e-7)
            self.w[places] = grown / grown.sum(1, keepdims=True)
            self.w[rows] -= (self.w[places] - w[places]) @ mean
        for at, end in biases:
            self.w[at:end] -= rate * o.bias_rate * adam[at:end]
        share = (1 - o.averaging) / (1 - o.averaging**self.t)
        self.average += share * (self.w - self.average)


@pytest.mark.parametrize("settings", [
    {}, {"counts": ()}, {"counts": (8,), "hidden": (20, 6)}, {"outputs": 3, "hidden": (10, 4)}, {"hidden": ()},
    {"low": 0.5}, {"outputs": 2, "hidden": (34,)}, {"fan_in": None, "hidden": (40, 40, 8)},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("double", [True, False])
def test_a_step_is_the_step_of_numpy(settings, double):
    made = problem(**settings, double=double)
    n = len(made.data.x)
    options = TrainingOptions(n_steps=12, batch_size=n, slope_rate=0.05)
    ours, other = Trainer(made, options), Trainer(made, options)
    plain = PlainSteps(ours)
    kept = plain.w != 0
    for t in range(6):
        other.state.stepped.params[:] = ours.state.stepped.params
        g = other.gradient().astype(np.float64)
        ours.advance(1)
        plain.step(g, ours.state.stepped.means.astype(np.float64), float(ours.schedule[t]))
        own = ours.state.stepped
        found = (own.params, own.first_moment, ours.state.average)
        for a, b, scale in zip(
            found, (plain.w, plain.m, plain.average), (1.0, np.abs(plain.m).max(), 1.0), strict=True
        ):
            error = np.abs(a - b)[kept] / scale
            # single precision: where a gradient is little but rounding, so is its direction
            assert error.max() <= (1e-9 if double else 3e-3)
            assert np.quantile(error, 0.99) <= (1e-10 if double else 1e-4)
            assert np.median(error) <= (1e-12 if double else 1e-6)
        plain.w, plain.m, plain.v = (a.astype(np.float64) for a in (own.params, own.first_moment, own.second_moment))


CASES = [
    {}, {"counts": ()}, {"outputs": 3, "hidden": (10, 4)}, {"paper_form": True, "fan_in": None, "hidden": (8,)},
    {"hidden": (20, 12)}, {"counts": (90, 30)}, {"counts": (500, 60), "outputs": 2},
]  # fmt: skip


@pytest.mark.parametrize("settings", CASES, ids=str)
@pytest.mark.parametrize("batch_size", [20, 64, 100])
def test_how_steps_are_cut_into_calls_changes_no_bit(settings, batch_size):
    made = problem(**settings)
    options = TrainingOptions(n_steps=30, batch_size=batch_size)
    whole, cut = Trainer(made, options), Trainer(made, options)
    whole.advance(30)
    for steps in (1, 2, 7, 1, 19):
        cut.advance(steps)
        cut.loss(None)  # makes a table of the average
    for a, b in zip((*whole.state.stepped, whole.state.average), (*cut.state.stepped, cut.state.average), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("settings", [*CASES, {"low": 0.5, "hidden": (20, 12)}], ids=str)
def test_padding_stays_zero_and_slopes_in_their_box(settings):
    made = problem(**settings)
    trainer = Trainer(made, TrainingOptions(n_steps=60, slope_rate=5.0, slope_decay=0.3))
    own, layout, first = trainer.state.stepped, made.layout, slice(0, made.layout.layers[0, BIAS_AT])
    real = np.zeros(layout.size, bool)
    layout.put_first_layer(real, np.ones((len(layout.output_of_row), layout.n_features), bool))
    for _ in range(60):
        trainer.advance(1)
        assert ((own.params >= own.lower) & (own.params <= own.upper))[first].all()
        for flat in (own.params, trainer.state.average):
            assert not flat[first][~real[first]].any()


@pytest.mark.parametrize("double", [True, False])
def test_the_table_kept_up_while_slopes_step_has_the_bits_of_a_new_one(double):
    trainer = Trainer(problem(double=double), TrainingOptions(n_steps=9))
    trainer.advance(9)
    lanes = trainer.state.lanes
    kept = lanes.table.copy(), lanes.base.copy()
    lanes.table[:], lanes.base[:] = np.nan, np.nan
    trainer.loss(None, trainer.state.stepped.params)
    assert np.array_equal(kept[0], lanes.table)
    assert np.array_equal(kept[1], lanes.base)


def test_arrays_that_are_read_together_lie_apart_in_every_page():
    own, state = (trainer := Trainer(problem(), TrainingOptions(n_steps=1))).state.stepped, trainer.state
    at = trainer.problem.layout.layers[0, BINS_AT] * 4
    flat = [own.params, own.gradient, own.lower, own.upper, own.first_moment, own.second_moment, state.average]
    starts = [a.ctypes.data + at for a in flat] + [a.ctypes.data for a in (state.lanes.table, own.bin_sums)]
    places = np.sort(np.array(starts) % 4096)
    assert np.diff([*places, places[0] + 4096]).min() >= 256
    assert not any(start % LANES for start in starts)


def still(dtype, eps, lift1, lift2, rate=1.0):
    """Constants of a step that leaves moments as they are and makes w = 0 into -rate * direction."""
    step = np.zeros(16, dtype)
    step[[BETA1, BETA2, EPSILON]] = 1, 1, eps
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        put_rates.py_func(step, np.float64(rate), 0.0, lift1, lift2)
    return step


@numba.njit
def one_column(w, m, v, lower, upper, g, step, mean, size, sums):
    slope_columns(w, m, v, lower, upper, g, 0, step, mean, 0, size, 1, size, sums)


def directions(w, m, v, lower, upper, zeros, step):
    """w after a step, in place: the slopes of as many units, whose biases lie behind them."""
    longer = np.append(w, np.zeros_like(w))
    one_column(longer, m, v, lower, upper, np.zeros_like(longer), step, zeros, w.size, np.zeros(256, w.dtype))
    w[:] = longer[: w.size]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_without_a_root_are_right_to_a_millionth(dtype):
    rng, size, eps = np.random.default_rng(0), 1 << 14, 1e-8
    v = np.exp(rng.uniform(np.log(1e-37), np.log(1e37), size)).astype(dtype)
    v[:64] = 0.0
    m = (np.sqrt(v) * rng.uniform(-3, 3, size)).astype(dtype)
    w, zeros = np.zeros(size, dtype), np.zeros(size, dtype)
    widest = np.full(size, np.finfo(dtype).max, dtype)
    step = still(dtype, eps, 2.0, 1.5)
    directions(w, m.copy(), v.copy(), -widest, widest, zeros, step)
    m, length = m.astype(np.float64), v.astype(np.float64) * 1.5
    expected = -2 * m / (np.sqrt(length + eps**2) if dtype == np.float32 else np.sqrt(length) + eps)
    assert not w[:64].any()
    assert np.isfinite(w).all()
    assert np.abs(w[64:] / expected[64:] - 1)[np.abs(expected[64:]) > 1e-30].max() < (
        1e-6 if dtype == np.float32 else 1e-12
    )


def test_squares_that_overflow_keep_weights_in_their_box():
    w, m, v, zeros = np.zeros((4, 16), np.float32)
    v[:], m[:] = np.inf, 1e19
    step = still(np.float32, 1e-8, 1.0, 1.0)
    directions(w, m, v, zeros - 5, zeros + 5, zeros, step)
    assert (np.abs(w) < 2).all()


@pytest.mark.parametrize("rate", [0.0, 1e-30])
@pytest.mark.parametrize("eps", [0.0, 1e-8])
def test_a_rate_of_nothing_moves_nothing(rate, eps):
    w, zeros = np.zeros((2, 32), np.float32)
    v = np.geomspace(1e-38, 1e38, 32).astype(np.float32)
    v[:5] = 0.0
    directions(w, np.sqrt(v), v.copy(), zeros - 5, zeros + 5, zeros, still(np.float32, eps, 1.0, 1.0, rate))
    assert (np.abs(w) < 2).all()
    assert not w[:5].any()
    assert (np.abs(w[v < 1e30]) < 1e-4).all()
