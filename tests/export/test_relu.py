"""Dense layers and ReLU alone: the same function in exact arithmetic, and an honest report of what rounding costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from safetensors.numpy import load_file

from monolip import FrozenNetwork, SlopeBounds
from monolip.errors import CertificateError, FreezeError, InputError
from monolip.export.relu import relu_mlp, to_relu_mlp
from monolip.frozen import Trunk
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform
from monolip.piecewise_linear import PiecewiseLinear
from tests.export.models import estimator, frozen, two_track
from tests.make import paper

KINDS = [name for name in frozen() if name not in ("householder", "free branch")]


def in_fractions(lowered, x):
    """The lowering of one row without any rounding."""
    z = [Fraction(float(v)) for v in x]
    pairs = list(zip(lowered.weights, lowered.biases, strict=True))
    for k, (weight, bias) in enumerate(pairs):
        rows = zip(weight.tolist(), bias.tolist(), strict=True)
        z = [Fraction(b) + sum(Fraction(w) * v for w, v in zip(row, z, strict=True)) for row, b in rows]
        z = [max(v, Fraction(0)) for v in z] if k < len(pairs) - 1 else z
    return z


@pytest.mark.parametrize("name", KINDS)
def test_every_form_and_group_size_is_the_same_function(tmp_path, name):
    network = frozen()[name]
    report = to_relu_mlp(network, tmp_path / "f.safetensors", rows=300)
    assert report.max_difference < 1e-11
    assert not report.exact
    x = np.random.default_rng(0).normal(size=(20, 3))
    lowered = relu_mlp(network)
    exact = [[float(v) for v in in_fractions(lowered, row)] for row in x]
    assert np.allclose(exact, network.evaluate(x), rtol=0, atol=1e-13)


def test_paper_form_carries_its_residual():
    slopes = SlopeBounds([0.0, -1.5, -1.0], [2.0, 0.0, 1.0])
    form = paper(np.random.default_rng(2), [3, 6, 4, 1], 2, slopes, scale=2.0)
    network = FrozenNetwork(slopes, ((Trunk(form, (0,)),),))
    x = np.random.default_rng(0).normal(size=(50, 3))
    assert np.allclose(relu_mlp(network).evaluate(x), network.evaluate(x), rtol=0, atol=1e-13)


def test_maps_with_tails_indicators_and_shared_knots_become_units():
    maps = (
        PiecewiseLinear([0.0, 1.0], [0.0, 3.0], 0.5, 2.0),
        PiecewiseLinear([0.0, 2.0], [-1.0, 1.0]),
    )
    columns = (
        NumericColumn("p", maps, missing=(0.0, 0.0, 1.0), present=0.25),
        NumericColumn("q", (PiecewiseLinear([1.0], [0.0], 1.0, 1.0),)),
    )
    slopes = SlopeBounds([0.0] * 4, [1.0] * 4)
    form = (
        frozen()["convex"]
        .members[0][0]
        .form.__class__(([[0.5, 0.25, 1.0, 0.0], [0.0, 1.0, 0.5, 0.75]], [[0.25, 0.75]]), ([0.1, 0.2], [0.3]), (2,))
    )
    network = FrozenNetwork(slopes, ((Trunk(form, (0,)),),), inputs=InputTransform(columns))
    x = np.random.default_rng(0).uniform(-3, 5, (300, 2))
    assert np.allclose(relu_mlp(network).evaluate(x), network.evaluate_raw(list(x.T)), rtol=0, atol=1e-13)


def test_estimators_of_numbers_and_the_file(tmp_path):
    model = estimator("logit")
    for arithmetic, most in (("float64", 1e-11), ("float32", 1e-4)):
        report = to_relu_mlp(model, tmp_path / "f.safetensors", arithmetic=arithmetic, rows=200)
        assert report.max_difference < most
        stored = load_file(tmp_path / "f.safetensors")
        lowered = relu_mlp(model, arithmetic=arithmetic)
        assert {name: array.tolist() for name, array in stored.items()} == {
            name: array.tolist() for name, array in lowered.state_dict().items()
        }
        assert {array.dtype.name for array in stored.values()} == {arithmetic}


def test_four_units_a_pair():
    assert [w.shape for w in relu_mlp(two_track()).weights] == [(40, 4), (40, 40), (1, 40)]
    assert relu_mlp(two_track()).n_parameters == 1881


def test_torch_runs_the_state(tmp_path):
    torch = pytest.importorskip("torch")
    lowered = relu_mlp(two_track())
    shapes = [w.shape for w in lowered.weights]
    parts = [torch.nn.Linear(n, m, dtype=torch.float64) for m, n in shapes]
    layers = [layer for linear in parts for layer in (linear, torch.nn.ReLU())][:-1]
    network = torch.nn.Sequential(*layers)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in lowered.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(50, 4))
    found = network(torch.from_numpy(x)).detach().numpy()
    assert np.allclose(found, two_track().evaluate(x), rtol=0, atol=1e-13)


def test_refusals(tmp_path):
    for network, error, text in (
        (frozen()["householder"], CertificateError, "Householder"),
        (frozen()["free branch"], FreezeError, "free branch"),
        (estimator("numbers"), FreezeError, "category"),
    ):
        with pytest.raises(error, match=text):
            to_relu_mlp(network, tmp_path / "f.safetensors")
    with pytest.raises(InputError, match="float32 or float64"):
        relu_mlp(two_track(), arithmetic="fixed-point")
    with pytest.raises(InputError, match="4 features"):
        relu_mlp(two_track()).evaluate(np.zeros((2, 3)))
    assert not list(tmp_path.iterdir())


def test_without_a_transform_the_largest_numbers_give_no_score():
    """As the page on bad inputs says: nothing clamps them, and differences of infinities are NaN."""
    with np.errstate(all="ignore"):
        found = relu_mlp(two_track()).evaluate(np.full((1, 4), 1e308))
    assert not np.isfinite(found).any()
