"""On a GPU, layer by layer: convolutions without TF32, autocast to the bit, a cache that is never stale."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from monolip import Norm
from monolip.nn import ConvexMLP, LipschitzConv2d, LipschitzLinear, LipschitzSequential, SlopeBounded

from .attack import jacobian, saturate_, slack, two_sided

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

FORMS = ["convex", "groupsort", "householder"]


def build(form):
    torch.manual_seed(0)
    if form == "convex":
        return ConvexMLP(two_sided(), hidden=(64, 64)).cuda()
    return saturate_(SlopeBounded.mlp(two_sided(), hidden=(64, 64), activation=form)).cuda()


@pytest.mark.parametrize("form", FORMS)
def test_slopes_stay_in_their_interval(form):
    model = build(form)
    x = torch.randn(500, 3, device="cuda")
    assert model.slopes.contains(jacobian(model, x), atol=slack(model.slopes, torch.float32))


def test_a_convolution_is_not_done_in_tf32_although_cudnn_would_by_default():
    torch.manual_seed(0)
    layer = LipschitzConv2d(32, 32, 3).cuda().eval()
    x = torch.randn(8, 32, 16, 16, device="cuda")
    assert torch.backends.cudnn.allow_tf32
    with torch.no_grad():
        exact = nn.functional.conv2d(x.double(), layer.effective_weight.double(), layer.bias.double())
        assert torch.equal(layer(x), exact.float())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_changes_no_bit(form, dtype):
    model, x = build(form).eval(), torch.randn(100, 3, device="cuda")
    plain = model(x)
    with torch.autocast("cuda", dtype=dtype):
        assert torch.equal(model(x), plain)
        with torch.no_grad():
            assert torch.equal(model(x), plain)


@torch.no_grad()
def test_the_cache_is_never_stale_and_follows_the_device():
    layer = LipschitzLinear(64, 64, Norm.LINF_TO_LINF).cuda().eval()
    x = torch.randn(4, 64, device="cuda")
    for write in (
        lambda w: w.mul_(0.5),
        lambda w: w.data[3, 5].add_(0.25),
        lambda w: setattr(w, "data", w.data.flip(0).clone()),
    ):
        layer(x)
        write(layer.weight)
        assert torch.equal(layer(x), nn.functional.linear(x, layer.effective_weight, layer.bias))
    layer.cpu()
    assert_close(layer(x.cpu()), nn.functional.linear(x.cpu(), layer.effective_weight, layer.bias))
    assert layer.cuda()(x).is_cuda


@torch.no_grad()
def test_a_captured_graph_sees_later_weights():
    g = LipschitzSequential(LipschitzLinear(8, 8, Norm.L1_TO_LINF), LipschitzLinear(8, 1, Norm.LINF_TO_LINF)).cuda()
    g.eval()
    x = torch.randn(4, 8, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        g(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = g(x)
    g.layers[0].weight.mul_(0.1)
    graph.replay()
    assert_close(y, g(x))
