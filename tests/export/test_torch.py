"""Exported programs of torch: the promised bits, any number of rows, and no strings."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

from monolip import FrozenNetwork, SlopeBounds
from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import FreezeError, InputError, MissingExtraError
from monolip.export.onnx_parity import reference_scores
from monolip.export.onnx_source import network_for
from monolip.export.torch import to_torch, torch_module
from monolip.frozen import Trunk
from tests.export.models import RANGES, estimator, frozen, table
from tests.make import convex
from tests.raw_networks import numbered, plain_network, raw_columns, raw_rows

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["convex", "per output", "L1 to L1", "free branch", "slope set"])
def test_modules_give_the_scores_of_every_form(name):
    network = frozen()[name]
    x = np.random.default_rng(0).normal(size=(40, network.n_features + network.n_free_features))
    with torch.no_grad():
        found = torch_module(network, in_order=True)(torch.from_numpy(x)).numpy()
        fast = torch_module(network)(torch.from_numpy(x)).numpy()
    if network.free_branch is None:
        assert np.array_equal(found, network.evaluate(x))
    assert np.allclose(found, network.evaluate(x), rtol=0, atol=1e-14)
    assert np.allclose(fast, network.evaluate(x), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("arithmetic", "in_order"), [("float32", False), ("float64", True), ("fixed-point", False)])
def test_exported_programs_are_measured_and_load_again(tmp_path, arithmetic, in_order):
    network = frozen()["two outputs"]
    options = {"arithmetic": arithmetic, "in_order": in_order, "input_ranges": RANGES}
    report = to_torch(network, tmp_path / "f.pt2", rows=100, **options)
    assert report.passed
    assert report.exact == (arithmetic != "float32")
    assert [path.name for path in tmp_path.iterdir()] == ["f.pt2"]
    loaded = torch.export.load(tmp_path / "f.pt2").module()
    x = torch.ones((5, 3), dtype=torch.float32 if arithmetic == "float32" else torch.float64)
    assert loaded(x).shape == (5, 2)
    assert torch.isnan(loaded(x * float("nan"))).all()


def small():
    """One hidden layer of four: what compilers chew in seconds."""
    slopes = SlopeBounds([0.0, -1.0], [2.0, 1.0])
    return FrozenNetwork(slopes, ((Trunk(convex(np.random.default_rng(0), [2, 4, 1], 2, slopes), (0,)),),))


FORMS = [("float32", True), ("float64", True), ("float64", False), ("fixed-point", False)]


@pytest.mark.parametrize(("arithmetic", "in_order"), FORMS)
@pytest.mark.parametrize("format", ["torchscript", pytest.param("aotinductor", marks=pytest.mark.slow)])
def test_compiled_programs_give_the_promised_bits_in_any_batch(tmp_path, arithmetic, in_order, format):
    options = {"arithmetic": arithmetic, "in_order": in_order, "input_ranges": [(-3, 3)] * 2, "format": format}
    report = to_torch(small(), tmp_path / "f.pt", rows=300, **options)
    assert report.exact == (in_order or arithmetic == "fixed-point")
    assert report.passed
    assert report.max_difference == 0.0 if report.exact else report.max_difference < 1e-12
    load = torch.jit.load if format == "torchscript" else torch._inductor.aoti_load_package
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = load(str(tmp_path / "f.pt"))
    kind = torch.float32 if arithmetic == "float32" else torch.float64
    x = torch.linspace(-2, 2, 14, dtype=kind).reshape(7, 2)
    if report.exact:
        assert all(torch.equal(loaded(x[k : k + 1]), loaded(x)[k : k + 1]) for k in range(7))
    assert torch.isnan(loaded(x * float("nan"))).all()


def test_unknown_formats_and_orders_of_integers_are_refused(tmp_path):
    with pytest.raises(InputError, match="format is one of"):
        to_torch(small(), tmp_path / "f.pt", format="pickle")
    with pytest.raises(InputError, match="in_order is about floats"):
        to_torch(small(), tmp_path / "f.pt", arithmetic="fixed-point", in_order=True, input_ranges=[(-3, 3)] * 2)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow  # importing Inductor takes seconds
def test_a_compiler_that_fails_is_an_error_and_leaves_no_file(tmp_path, monkeypatch):
    def fail(*args, **options):
        raise RuntimeError("g++: not found")

    monkeypatch.setattr(torch._inductor, "aoti_compile_and_package", fail)
    with pytest.raises(InputError, match=r"working C\+\+ compiler; got g\+\+: not found"):
        to_torch(small(), tmp_path / "f.pt", format="aotinductor")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_fixed_point_probabilities_bit_for_bit_and_torchscript():
    model = estimator("logit")
    X = table()[["a", "b", "g"]].to_numpy(copy=True)
    module = torch_module(model, arithmetic="fixed-point", predictions=True)
    with torch.no_grad():
        _, found = module(torch.from_numpy(X))
        traced = torch.jit.trace(module, torch.from_numpy(X[:4]))
        _, again = traced(torch.from_numpy(X))
    assert np.array_equal(found.numpy(), compile_fixed_point(model.frozen_).predict(list(X.T)))
    assert torch.equal(found, again)


@pytest.mark.parametrize(("arithmetic", "in_order"), [("float32", True), ("float64", True), ("fixed-point", False)])
@pytest.mark.parametrize("seed", range(3))
def test_raw_columns_give_the_bits_of_python(arithmetic, in_order, seed):
    rng = np.random.default_rng(seed)
    network = network_for(numbered(plain_network(rng)), arithmetic)
    columns = raw_columns(raw_rows(rng, 300), network)
    kind = np.float32 if arithmetic == "float32" else np.float64
    given = np.stack(columns, axis=1).astype(kind)
    with torch.no_grad():
        found = torch_module(network, arithmetic=arithmetic, in_order=in_order)(torch.from_numpy(given)).numpy()
    assert np.array_equal(found, reference_scores(network, list(given.astype(np.float64).T), arithmetic))


FORMATS = ["torchscript", "export", pytest.param("aotinductor", marks=pytest.mark.slow)]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("arithmetic", "in_order"), [("float64", True), ("fixed-point", False)])
def test_programs_are_measured_and_keep_the_bits(tmp_path, arithmetic, in_order, format):
    source = numbered(plain_network(np.random.default_rng(3)))
    options = {"arithmetic": arithmetic, "in_order": in_order, "format": format}
    report = to_torch(source, tmp_path / "f.pt2", rows=100, **options)
    assert (report.exact, report.passed, report.max_difference) == (True, True, 0.0)
    if format != "torchscript":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = torch.jit.load(str(tmp_path / "f.pt2"))
    columns = raw_columns(raw_rows(np.random.default_rng(4), 300), source)
    network = network_for(source, arithmetic)
    found = loaded(torch.from_numpy(np.stack(columns, axis=1))).numpy()
    assert np.array_equal(found, reference_scores(network, columns, arithmetic))


def test_refusals(tmp_path, monkeypatch):
    with pytest.raises(FreezeError, match="strings"):
        to_torch(estimator("strings"), tmp_path / "f.pt2")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[torch\]" in a checkout'):
        to_torch(frozen()["convex"], tmp_path / "f.pt2")
    assert not list(tmp_path.iterdir())
