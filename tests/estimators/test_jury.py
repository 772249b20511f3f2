"""Rows held out decide: which loss they count, when a path ends, and how sure they must be to leave the start."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.engine.anchored import Anchored
from monolip.engine.architecture import Architecture
from monolip.engine.judging import JudgedRows, mean_loss, outputs_of, row_losses
from monolip.engine.losses import Loss
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.estimators._climber import Climber
from monolip.estimators._jury import Jury

START = [1.0]


def problem(rng, n=60, loss="squared", weight=None, outputs=1):
    x = rng.normal(size=(n, 2)).astype(np.float32)
    y = {"squared": x[:, 0], "logistic": x[:, 0] > 0, "softmax": rng.integers(0, outputs, n)}[loss]
    return Problem(
        x, y.astype(float), [[-9, -9]] * outputs, [[9, 9]] * outputs, loss=Loss(loss),
        architecture=Architecture(hidden=()), sample_weight=weight,
    )  # fmt: skip


def constant(value):
    return NetworkArrays((np.zeros((1, 2)),), (np.array([value]),), (), None, None)


class Fixed(Climber):
    """A member that says what it is told after a rung, on the rows it holds out."""

    def __init__(self, task, rows, anchored=True):
        super().__init__(0, rows, rows, Anchored(task, None, rows))
        self.anchored.start = object() if anchored else None
        self.says = 0.0

    @property
    def says(self):
        return self.networks[-1]

    @says.setter
    def says(self, value):
        self.networks.append(value)  # one more rung

    def network(self, rung):
        return constant(self.networks[rung])


def jury(curve, many=False):
    """As if one row had been held out, or two that do not agree."""
    found = Jury(None, 2, False, many)
    found.curve = list(curve)
    found._losses = [np.array([loss - k, loss + k]) for k, loss in enumerate(curve)]
    found._weight = np.ones(2)
    return found


@pytest.mark.parametrize(
    ("curve", "many", "over"),
    [
        ([1.0, 1.1], False, False),  # one rung alone never ends a path
        ([1.0, 1.1, 1.2], False, True),  # no better than the start
        ([1.0, 0.95, 0.945], False, True),  # few rows, and half a percent is noise
        ([1.0, 0.95, 0.93], False, False),
        ([1.0, 1.1, 1.2], True, False),  # many rows: short rungs do not tell yet
        ([1.0, 1.1, 1.2, 1.3, 1.4], True, True),
        ([1.0, 1.1, 1.2, 1.3, 0.999], True, True),
        ([1.0, 0.9, 0.8, 0.7, 0.6, 0.5], True, False),
        ([1.0, 0.9, 0.8, 0.7, 0.6, 0.5999], True, True),  # a long rung that gains next to nothing
        ([1.0, 0.6, 0.601], False, False),  # much was learned: one short rung is forgiven,
        ([1.0, 0.6, 0.601, 0.602], False, True),  # two are not,
        ([1.0, 0.6, 0.7], False, True),  # nor one that is much worse,
        ([1.0, 0.3, 0.4], False, False),  # unless there is hardly any noise
        ([1.0, 0.9, 0.8, 0.7, 0.6, 0.598], False, False),
        ([1.0, 0.9, 0.8, 0.7, 0.6, 0.599], False, True),
        ([-1.0, -1.001, -1.002], False, True),  # losses can be negative
        ([-1.0, -1.1, -1.2], False, False),
    ],
)
def test_when_a_path_ends(curve, many, over):
    assert bool(jury(curve, many).is_done()) is over


def test_without_noise_a_bad_short_rung_is_forgiven():
    found = jury([1.0, 0.95, 1.1])
    assert found.is_done()
    found.quiet = True
    assert not found.is_done()
    found.curve.append(1.1)
    assert found.is_done()


def test_a_small_gain_on_which_many_rows_agree_is_one():
    found = jury([1.0, 1.1, 1.2, 1.3, 0.999], True)
    found._losses = [np.full(2, loss) for loss in found.curve]
    assert not found.is_done()


def test_a_loss_below_zero_is_gained_upon_alike():
    assert not jury([-1.0, -1.0, -1.0]).gained_much(2)
    assert jury([-1.0, -1.2]).gained_much(1)
    assert jury([1.0, 0.8]).gained_much(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_count_by_the_power_of_one_and_a_half(rng, weighted):
    weight = rng.uniform(0.1, 3, 60) if weighted else None
    task, rows = problem(rng, weight=weight), np.arange(10, 40, dtype=np.int32)
    found, member = Jury(task, 1, False, False), Fixed(task, rows)
    found.hear([member])
    where = task.rows_kept(task.places(rows))
    y = task.data.y[task.places(rows), 0]
    share = np.ones(30) if weight is None else weight[where]
    assert found.curve == pytest.approx([np.average(np.abs(y) ** 1.5, weights=share)], rel=1e-5)


def test_other_losses_are_judged_as_they_are(rng):
    task, rows = problem(rng, loss="logistic"), np.arange(60, dtype=np.int32)
    found, member = Jury(task, 1, False, False), Fixed(task, rows)
    member.says = 0.3
    found.hear([member])
    assert found.curve == pytest.approx([mean_loss(task, rows, outputs_of(constant(0.3), task, rows))])


@pytest.mark.parametrize(("says", "anchored", "best"), [(0.45, True, 1), (0.02, True, 0), (0.02, False, 1)])
def test_what_is_not_clearly_better_than_the_start_is_noise(rng, says, anchored, best):
    """Targets around 0.05 with a spread of 1: a constant of 0.02 is a little better than 0 on these rows, by chance."""
    x = np.zeros((200, 1), np.float32)
    y = rng.normal(size=200)
    y += (0.05 if says < 0.1 else 0.5) - y.mean()
    task = Problem(x, y, [-9], [9], architecture=Architecture(hidden=()))
    found, member = Jury(task, 1, False, False), Fixed(task, np.arange(200, dtype=np.int32), anchored)
    member.network = lambda _: NetworkArrays((np.zeros((1, 1)),), (np.array([member.says]),), (), None, None)
    for member.says in (0.0, says):
        found.hear([member])
    assert found.curve[1] < found.curve[0]
    assert found.best() == best


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_losses_row_by_row_are_those_of_all_rows(rng, loss):
    outputs = 3 if loss == "softmax" else 1
    weight = rng.uniform(0.5, 2, 60)
    task, rows = problem(rng, loss=loss, weight=weight, outputs=outputs), np.arange(5, 50)
    f = rng.normal(size=(45, outputs)).astype(np.float32)
    judged = JudgedRows(task, rows)
    each = judged.losses(f)
    assert each.shape == (45,)
    assert float(judged.weight @ each / judged.weight.sum()) == pytest.approx(mean_loss(task, rows, f))
    alone = [row_losses(task, judged.places[k : k + 1], f[k : k + 1])[0] for k in range(45)]
    np.testing.assert_array_equal(alone, each)
    if loss == "softmax":
        y = task.data.y[judged.places, 0].astype(int)
        g = f.astype(float)
        expected = np.log(np.exp(g).sum(1)) - g[np.arange(45), y]
        np.testing.assert_allclose(each, expected, rtol=1e-5)
