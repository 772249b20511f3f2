"""Half precision, autocast and TF32 cannot break a promise silently: they are refused, or the layer upcasts."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from monolip import Norm, SlopeBounds, SlopeSet
from monolip.errors import PrecisionError
from monolip.nn import (
    ConvexMLP,
    Householder,
    LipschitzConv2d,
    LipschitzLinear,
    LipschitzMLP,
    LipschitzSequential,
    MixingLinear,
    SlopeBounded,
    SlopeLinear,
    WithFreeBranch,
)
from monolip.nn.precision import may_be_reduced

from .attack import saturate_, two_sided


def models():
    """Every kind of network over three features, at saturated weights."""
    torch.manual_seed(0)
    ordered = SlopeSet(SlopeBounds.from_monotonic_cst([1, 1, 0], 2.0)).at_least(0, 1).in_l2_ball(2.0)
    columns = SlopeBounds([[0.0, -1.0], [-1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 2.0], [1.0, 1.0]])
    made = {
        "paper": SlopeBounded(LipschitzMLP(3, hidden=(8, 8)), two_sided()),
        "householder": SlopeBounded.mlp(two_sided(), hidden=(8, 8), activation="householder", bound=3.0),
        "L1": SlopeBounded.mlp(two_sided(), hidden=(8, 8), norms=Norm.L1_TO_L1),
        "lipschitz": LipschitzMLP(3, hidden=(8, 8), bound=2.0),
        "convex": ConvexMLP(two_sided(), hidden=(8, 8)),
        "set": ConvexMLP(ordered, hidden=(8, 8)),
        "columns": ConvexMLP(columns, 2, hidden=(8, 8)),
    }
    for name, model in made.items():
        saturate_(model, 1e3 if name not in ("convex", "columns") else 5.0)
    return made


KINDS = list(models())


@pytest.fixture(params=KINDS)
def model(request):
    return models()[request.param]


@pytest.fixture
def matmul_precision():
    yield torch.set_float32_matmul_precision
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    "convert",
    [
        lambda m: m.half(),
        lambda m: m.bfloat16(),
        lambda m: m.to(torch.float16),
        lambda m: m.to(dtype=torch.bfloat16),
        lambda m: m.to(torch.zeros(1, dtype=torch.float16)),
        lambda m: m.type(torch.float16),
        lambda m: m.to(torch.float8_e4m3fn),
        lambda m: m.to(torch.float8_e5m2),
        pytest.param(
            lambda m: m.to(torch.complex64), marks=pytest.mark.filterwarnings("ignore:Complex modules:UserWarning")
        ),
    ],
)
def test_conversion_below_float32_is_refused_and_leaves_the_module_unchanged(model, convert):
    before = {name: tensor.clone() for name, tensor in (*model.named_parameters(), *model.named_buffers())}
    with pytest.raises(PrecisionError, match="float32 or float64 parameters"):
        convert(model)
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        assert_close(tensor, before[name], rtol=0, atol=0)
    assert model(torch.randn(2, 3)).dtype == torch.float32


def test_a_free_branch_is_left_alone_when_its_network_refuses():
    f = WithFreeBranch(ConvexMLP(two_sided(3)), nn.Linear(5, 2), 2)
    with pytest.raises(PrecisionError, match="float32 or float64"):
        f.half()
    assert f.branch.weight.dtype == torch.float32
    f.branch.half()  # what carries no promise may have any type
    y = f(torch.randn(4, 1), torch.randn(4, 5).half())
    assert y.dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize(
    "build",
    [
        lambda dtype: LipschitzLinear(2, 2, Norm.L1_TO_LINF, dtype=dtype),
        lambda dtype: LipschitzMLP(2, dtype=dtype),
        lambda dtype: ConvexMLP(two_sided(2), dtype=dtype),
        lambda dtype: LipschitzConv2d(1, 1, 3, dtype=dtype),
        lambda dtype: Householder(4, dtype=dtype),
        lambda dtype: MixingLinear(2, 2, dtype=dtype),
        lambda dtype: SlopeLinear(SlopeSet(two_sided(2)), 2, dtype=dtype),
    ],
)
def test_a_constrained_layer_cannot_be_built_in_half_precision(build, dtype):
    with pytest.raises(PrecisionError, match="float32 or float64"):
        build(dtype)


def test_a_parameter_replaced_by_a_half_one_is_refused_at_the_next_call(model):
    parameter = next(p for name, p in model.named_parameters() if name.endswith("weight"))
    parameter.data = parameter.data.half()
    for mode in (model.train, model.eval):
        mode()
        with pytest.raises(PrecisionError, match="keep this module in float32"), torch.no_grad():
            model(torch.randn(2, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32])
def test_inputs_of_other_types_are_upcast(model, dtype):
    x = (4 * torch.randn(20, 3)).to(dtype)
    assert model(x).dtype == torch.float32
    assert torch.equal(model(x), model(x.float()))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_changes_no_bit(model, dtype, training):
    model.train(training)
    x = torch.randn(50, 3)
    plain = model(x)
    with torch.autocast("cpu", dtype=dtype):
        cast = model(x)
        with torch.no_grad():
            cached = copy.deepcopy(model)(x)  # a cache filled under autocast
        assert nn.functional.linear(torch.randn(1, 2), torch.randn(2, 2)).dtype == dtype, "autocast is on"
    assert cast.dtype == torch.float32
    assert torch.equal(cast, plain)
    assert torch.equal(cached, plain)


def test_autocast_changes_no_bit_of_a_convolution():
    torch.manual_seed(0)
    g = LipschitzSequential(
        LipschitzConv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), LipschitzLinear(4 * 36, 2, Norm.LINF_TO_LINF)
    )
    x = torch.randn(2, 1, 8, 8)
    plain = g(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(g(x), plain)


@pytest.mark.parametrize("precision", ["medium", "high"])
def test_where_float32_products_may_be_reduced_evaluation_is_done_in_float64(model, precision, matmul_precision):
    x = torch.randn(50, 3)
    model.eval()
    exact = copy.deepcopy(model).double()(x.double())
    matmul_precision(precision)
    assert may_be_reduced("cpu")
    result = model(x)
    assert result.dtype == torch.float32
    assert_close(result.double(), exact, rtol=1e-5, atol=1e-5)
    linear = next(m for m in model.modules() if isinstance(m, LipschitzLinear | SlopeLinear))
    z = torch.randn(4, linear.weight.shape[1])
    wide = nn.functional.linear(z.double(), linear.effective_weight.double(), linear.bias.double())
    assert torch.equal(linear(z), wide.float())


def test_torchs_newer_switches_are_seen_as_well_and_never_crash_a_call(model):
    model.eval()
    x = torch.randn(10, 3)
    plain = model(x)
    matmul = getattr(torch.backends.mkldnn, "matmul", None)
    if matmul is None:
        pytest.skip("this torch has only set_float32_matmul_precision")
    matmul.fp32_precision = "bf16"
    try:
        assert may_be_reduced("cpu")
        assert_close(model(x), plain, rtol=1e-5, atol=1e-5)
    finally:
        matmul.fp32_precision = "none"


def test_convolutions_ask_the_switch_of_convolutions():
    assert may_be_reduced("cuda", convolution=True) is torch.backends.cudnn.allow_tf32
    assert not may_be_reduced("cpu", convolution=True)
    conv = getattr(torch.backends.mkldnn, "conv", None)
    if conv is None:
        pytest.skip("this torch has no switch for convolutions on CPU")
    conv.fp32_precision = "bf16"
    try:
        assert may_be_reduced("cpu", convolution=True)
        layer, x = LipschitzConv2d(2, 3, 3).eval(), torch.randn(1, 2, 6, 6)
        wide = nn.functional.conv2d(x.double(), layer.effective_weight.double(), layer.bias.double())
        assert torch.equal(layer(x), wide.float())
    finally:
        conv.fp32_precision = "none"
