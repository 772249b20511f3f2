"""TemperatureCrossEntropy: cross-entropy of scaled outputs, and errors that say what to do."""

import pytest
import torch

from monolip.errors import InputError, StructureError
from monolip.nn import TemperatureCrossEntropy


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(5,), (2, 3), ()])
def test_it_is_cross_entropy_of_the_scaled_outputs(reduction, shape):
    torch.manual_seed(0)
    f, y = torch.randn(*shape, 4, dtype=torch.float64) / 50, torch.randint(4, shape)
    each = -torch.log_softmax(256.0 * f, -1).gather(-1, y[..., None])[..., 0]
    expected = {"mean": each.mean(), "sum": each.sum(), "none": each}[reduction]
    assert torch.allclose(TemperatureCrossEntropy(256.0, reduction=reduction)(f, y), expected)


def test_a_temperature_of_one_is_torch_s_own_loss():
    f, y = torch.randn(6, 3), torch.randint(3, (6,))
    assert torch.equal(TemperatureCrossEntropy(1.0)(f, y), torch.nn.functional.cross_entropy(f, y))


def test_sure_answers_have_no_loss_left_and_no_overflow():
    f = torch.tensor([[1e30, 0.0]], requires_grad=True)
    loss = TemperatureCrossEntropy(256.0)(f, torch.tensor([0]))
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert bool((f.grad == 0).all())


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("inf"), float("nan"), True, "256", None])
def test_refused_temperatures(temperature):
    with pytest.raises(StructureError, match=r"must be positive and finite; got .*; pass a number"):
        TemperatureCrossEntropy(temperature)


def test_refused_reduction():
    with pytest.raises(StructureError, match=r'"mean", "sum" or "none"; got \'max\'; pass one'):
        TemperatureCrossEntropy(reduction="max")


@pytest.mark.parametrize("shapes", [((5, 3), (4,)), ((5,), (5,)), ((5, 1), (5,)), ((), ())])
def test_refused_shapes(shapes):
    with pytest.raises(InputError, match="one row of at least 2 classes for each label; got shapes"):
        TemperatureCrossEntropy()(torch.zeros(shapes[0]), torch.zeros(shapes[1], dtype=torch.long))
