"""Contract with PyTorch: the same weights give the same losses and gradients, to 1e-10 in float64, 1e-5 in float32."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.engine.architecture import Architecture
from monolip.engine.losses import LOSSES, Loss
from monolip.engine.problem import Problem
from monolip.engine.trainer import Trainer
from monolip.engine.training_options import TrainingOptions

torch = pytest.importorskip("torch")

PARAMETERS = {"huber": 0.3, "pinball": 0.8, "softmax": 3.0, "tweedie": 1.3}
SHAPES = [
    Architecture(hidden=(), fan_in=None),
    Architecture(hidden=(6,), group_size=3),
    Architecture(hidden=(32, 32)),
    Architecture(hidden=(20, 12, 8), group_size=4, fan_in=5),
    Architecture(hidden=(2, 2), fan_in=None),
    Architecture(hidden=(8,) * 7, fan_in=4),
    Architecture(hidden=(70, 34), fan_in=None, group_size=2),
    Architecture(hidden=(12, 12), fan_in=None, paper_form=True),
]
TOLERANCE = {True: 1e-10, False: 1e-5}


def torch_loss(name, parameter, f, y):
    if name == "softmax":
        return torch.nn.functional.cross_entropy(parameter * f, y[:, 0].long(), reduction="none")
    e = f - y
    losses = {
        "squared": lambda: e**2,
        "absolute": lambda: e.abs(),
        "huber": lambda: torch.nn.functional.huber_loss(f, y, delta=parameter, reduction="none"),
        "pinball": lambda: torch.maximum(-parameter * e, (1 - parameter) * e),
        "logistic": lambda: torch.nn.functional.binary_cross_entropy_with_logits(f, y, reduction="none"),
        "poisson": lambda: f.exp() - y * f,
        "gamma": lambda: y * (-f).exp() + f,
        "tweedie": lambda: (
            ((2 - parameter) * f).exp() / (2 - parameter) - y * ((1 - parameter) * f).exp() / (1 - parameter)
        ),
    }
    return losses[name]().sum(1)


def torch_gradients(trainer, x, y, weight, offset):
    """Loss and gradients of dense float64 tensors that hold the trainer's weights."""
    problem = trainer.problem
    weights, biases = problem.layout.dense(trainer.state.stepped.params)
    tensors = [[torch.tensor(a, requires_grad=True) for a in part] for part in (weights, biases)]
    z = torch.tensor(x)
    for k, (w, b) in enumerate(zip(*tensors, strict=True)):
        z = z @ w.T + b
        if k < len(weights) - 1:
            z = z.reshape(len(x), -1, problem.architecture.group_size).sort(2)[0].reshape(len(x), -1)
    if problem.center is not None:
        z = z + torch.tensor(x) @ torch.tensor(problem.center).T
    losses = torch_loss(problem.loss.name, problem.parameter, z + torch.tensor(offset), torch.tensor(y))
    mean = (losses * torch.tensor(weight)).sum() / weight.sum()
    mean.backward()
    return mean.item(), [[t.grad.numpy() for t in part] for part in tensors]


def assert_same(trainer, x, y, weight, offset, tolerance):
    # sort pairs start with their hinge at a training row, a tie, where every order is a right gradient: move them off
    noise = np.random.default_rng(11).normal(0.0, 0.1, trainer.problem.layout.layers[0, 0])
    trainer.state.stepped.params[trainer.problem.layout.layers[0, 3] :][: len(noise)] += noise.astype(np.float32)
    value, expected = torch_gradients(trainer, x, y, weight, offset)
    assert trainer.loss(None, trainer.state.stepped.params) == pytest.approx(value, rel=10 * tolerance)
    got = trainer.problem.layout.dense(trainer.gradient())
    present = trainer.problem.layout.dense(np.ones(trainer.problem.layout.size))  # zeros where no block is
    scale = max(np.abs(g).max() for part in expected for g in part)
    for ours, theirs, mask in zip(got, expected, present, strict=True):
        for a, b, m in zip(ours, theirs, mask, strict=True):
            assert np.abs(a - b * m).max() <= tolerance * scale


def data(loss, n_outputs, n=150, d=5):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    y = rng.uniform(0.1, 1.0, (n, n_outputs)).astype(np.float32).astype(np.float64)
    if loss == "softmax":
        y = rng.integers(n_outputs, size=(n, 1)).astype(np.float64)
    return x, y, rng.integers(1, 4, n).astype(np.float64), np.round(rng.normal(size=(n, n_outputs)), 1)


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_has_the_gradient_of_torch(name, double):
    n_outputs = 3
    x, y, weight, offset = data(name, n_outputs)
    lower, upper = np.tile([[0.0, -2, -2, -2, -2]], (3, 1)), np.full((3, 5), 2.0)
    lower[1, 2], lower[2, 0] = 0.0, -1.0  # three trunks
    problem = Problem(
        x, y, lower, upper, loss=Loss(name, PARAMETERS.get(name)), architecture=Architecture(hidden=(8, 8), fan_in=4),
        sample_weight=weight, offset=offset, double=double,
    )  # fmt: skip
    assert_same(Trainer(problem, TrainingOptions(n_steps=1)), x, y, weight, offset, TOLERANCE[double])


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("architecture", SHAPES, ids=lambda a: f"{a.hidden}-{a.group_size}-{a.fan_in}")
def test_every_architecture_has_the_gradient_of_torch(architecture, double):
    x, y, weight, offset = data("squared", 4)
    lower, upper = np.full((4, 5), -1.0), np.full((4, 5), 2.0)
    lower[[0, 2], 1] = 0.0  # outputs 0 and 2 share a trunk, 1 and 3 the other
    problem = Problem(x, y, lower, upper, architecture=architecture, sample_weight=weight, offset=offset, double=double)
    trainer = Trainer(problem, TrainingOptions(n_steps=40))
    assert_same(trainer, x, y, weight, offset, TOLERANCE[double])
    trainer.advance(40)
    assert_same(trainer, x, y, weight, offset, TOLERANCE[double])


def with_bins(x, counts):
    """x and, after it, bins of other features; where each feature's begin and end."""
    rng, columns, bins = np.random.default_rng(8), [x], []
    for count in counts:
        edges = np.linspace(-1.5, 1.5, count + 1).astype(np.float32)
        u, begin = rng.normal(size=(len(x), 1)), sum(part.shape[1] for part in columns)
        columns.append((np.clip(u, edges[:-1], edges[1:]) - edges[:-1]).astype(np.float32))
        bins.append((begin, begin + count))
    return np.concatenate(columns, axis=1, dtype=np.float64), bins


@pytest.mark.parametrize("counts", [(), (3, 20)], ids=["plain", "bins"])
@pytest.mark.parametrize(
    ("width", "group_size"),
    [(0, 2), (1, 1), (2, 2), (3, 3), (8, 2), (12, 4), (16, 2), (26, 2), (31, 31), (32, 2), (32, 4), (48, 2), (52, 2),
     (64, 2), (72, 3)],
)  # fmt: skip
def test_every_first_width_has_the_gradient_of_torch(width, group_size, counts):
    """In single precision, whose registers hold most: whichever way the first layer goes, see `_training_layout`."""
    x, y, weight, offset = data("squared", 1)
    x, bins = with_bins(x, counts)
    shape = Architecture(hidden=(width, 2 * group_size) if width else (), group_size=group_size)
    lower, upper = np.full(x.shape[1], -1.0), np.full(x.shape[1], 2.0)
    problem = Problem(x, y, lower, upper, architecture=shape, sample_weight=weight, offset=offset, bins=bins)
    trainer = Trainer(problem, TrainingOptions(n_steps=30))
    assert_same(trainer, x, y, weight, offset, TOLERANCE[False])
    trainer.advance(30)
    assert_same(trainer, x, y, weight, offset, TOLERANCE[False])


def test_paper_form_steps_along_the_gradient_through_its_row_cap():
    rng = np.random.default_rng(3)
    raw = rng.normal(size=9)
    assert np.abs(raw).sum() > 1
    g = rng.normal(size=9)
    tensor = torch.tensor(raw, requires_grad=True)
    effective = tensor / tensor.abs().sum().clamp(min=1)
    (effective * torch.tensor(g)).sum().backward()
    from monolip.engine._updates import through_cap

    through_cap.py_func(g, raw, effective.detach().numpy())
    assert np.allclose(g, tensor.grad.numpy(), rtol=1e-12)
