"""On a GPU: TF32 cannot break the promise silently, and moving between devices changes nothing but the device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from monolip import SlopeBounds
from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; there: make test-cuda")


@pytest.fixture
def tf32() -> Iterator[None]:
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision("highest")


def networks() -> list[torch.nn.Module]:
    torch.manual_seed(0)
    slopes = SlopeBounds.from_monotonic_cst([1, -1, *[0] * 62], 1.0)
    convex = ConvexMLP(slopes, hidden=(256, 256))
    return [convex, SlopeBounded(LipschitzMLP(64, hidden=(256, 256)), slopes)]


@pytest.mark.parametrize("k", [0, 1])
def test_evaluation_ignores_tf32(k: int, tf32: None) -> None:
    model = networks()[k].eval()
    x = torch.randn(4096, 64) * 10
    with torch.no_grad():
        reference = model.double()(x.double())
        on_gpu = model.float().cuda()(x.cuda()).cpu().double()
    assert ((on_gpu - reference).abs() / reference.abs().clamp(min=1.0)).max().item() < 1e-5


@pytest.mark.parametrize("k", [0, 1])
def test_training_under_tf32_and_autocast_freezes_into_a_kept_promise(k: int, tf32: None) -> None:
    model = networks()[k].cuda().train()
    x = torch.randn(4096, 64, device="cuda")
    y = -x[:, :1] + x[:, 1:2]  # asks for the opposite of what is promised
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(50):
        optimiser.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = (model(x) - y).square().mean()
        loss.backward()
        optimiser.step()
    frozen = model.freeze()  # proved in exact arithmetic, or it would raise
    rows = x.double().cpu().numpy()[:500]
    above = rows.copy()
    above[:, 0] = np.nextafter(above[:, 0], np.inf)
    assert (frozen.evaluate(above) >= frozen.evaluate(rows)).all()


@pytest.mark.parametrize("k", [0, 1])
def test_the_eval_cache_follows_a_move_between_devices(k: int) -> None:
    model = networks()[k].eval()
    x = torch.randn(8, 64)
    with torch.no_grad():
        before = model(x)
        on_gpu = model.cuda()(x.cuda()).cpu()
        after = model.cpu()(x)
    assert torch.equal(before, after)
    assert torch.allclose(before, on_gpu, atol=1e-5)


@pytest.mark.parametrize("k", [0, 1])
def test_compiled_on_the_gpu_equals_eager(k: int) -> None:
    model = networks()[k].cuda().eval()
    x = torch.randn(256, 64, device="cuda")
    with torch.no_grad():
        assert torch.allclose(torch.compile(model, fullgraph=True)(x), model(x), atol=1e-5)
