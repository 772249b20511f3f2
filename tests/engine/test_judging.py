"""Networks of any width are judged by what they are, and no kernel writes beyond its arrays."""

from __future__ import annotations

import numpy as np
import pytest
from binned import problem

from monolip.engine.architecture import Architecture
from monolip.engine.judging import JudgedRows, mean_loss, row_losses
from monolip.engine.losses import Loss
from monolip.engine.problem import Problem
from monolip.engine.trainer import Trainer
from monolip.engine.training_options import TrainingOptions

HIDDEN = [(2, 2), (16,), (30, 6), (32, 32), (64, 64), (100, 20), (128, 32), (256, 256), (520, 8)]
CASES = [
    *({"hidden": hidden} for hidden in HIDDEN),
    *({"hidden": hidden, "counts": ()} for hidden in ((32, 32), (256, 16))),
    {"hidden": (256, 128), "outputs": 3},
    {"hidden": (128, 128), "double": True},
    {"hidden": (192, 64), "fan_in": None},
]


def trained(case):
    made = problem(**case)
    trainer = Trainer(made, TrainingOptions(n_steps=6, batch_size=100))
    trainer.advance(6)
    return made, trainer


def in_numpy(network, x):
    """(n, outputs), from float64 arrays."""
    z = x
    for k, (w, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        z = z @ w.T + b
        if k < len(network.group_sizes):
            z = np.sort(z.reshape(len(z), -1, network.group_sizes[k]), axis=2).reshape(len(z), -1)
    return z


@pytest.mark.parametrize("case", CASES, ids=str)
def test_outputs_are_those_of_the_network(case):
    made, trainer = trained(case)
    rows = JudgedRows(made, np.arange(97))
    x = made.rows_at(rows.places).astype(np.float64)
    network = trainer.network()
    wanted = in_numpy(network, x)
    size = np.abs(wanted).max()
    for _ in range(2):  # the second time in scratch that has been used
        np.testing.assert_allclose(
            rows.outputs(network), wanted, rtol=0, atol=(1e-9 if made.dtype == float else 1e-4) * size
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_write_into_their_own_arrays_only(case):
    """Arrays lie apart in one piece of memory, and what is between them stays zero."""
    made, trainer = trained(case)
    rows = JudgedRows(made, np.arange(97))
    rows.outputs(trainer.network())
    state = trainer.state
    for arrays in ([*state.stepped, *state.lanes, state.average], [*rows._lanes]):
        whole = next(a for a in arrays if a.dtype == made.dtype and a.size).base
        owned = np.zeros(whole.size, bool)
        for array in arrays:
            if array.base is whole:
                at = array.ctypes.data - whole.ctypes.data
                owned[at : at + array.nbytes] = True
        assert owned.any()
        assert not whole[~owned].any()


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_losses_row_by_row_are_those_of_all_rows(rng, loss):
    outputs = 3 if loss == "softmax" else 1
    x, weight = rng.normal(size=(60, 2)).astype(np.float32), rng.uniform(0.5, 2, 60)
    y = {"squared": x[:, 0], "logistic": x[:, 0] > 0, "softmax": rng.integers(0, outputs, 60)}[loss].astype(float)
    task = Problem(
        x, y, [[-9, -9]] * outputs, [[9, 9]] * outputs, loss=Loss(loss), architecture=Architecture(hidden=()),
        sample_weight=weight,
    )  # fmt: skip
    rows = np.arange(5, 50)
    f = rng.normal(size=(45, outputs)).astype(np.float32)
    judged = JudgedRows(task, rows)
    each = judged.losses(f)
    assert each.shape == (45,)
    assert float(judged.weight @ each / judged.weight.sum()) == pytest.approx(mean_loss(task, rows, f))
    alone = [row_losses(task, judged.places[k : k + 1], f[k : k + 1])[0] for k in range(45)]
    np.testing.assert_array_equal(alone, each)
    if loss == "softmax":
        classes, g = task.data.y[judged.places, 0].astype(int), f.astype(float)
        np.testing.assert_allclose(each, np.log(np.exp(g).sum(1)) - g[np.arange(45), classes], rtol=1e-5)
