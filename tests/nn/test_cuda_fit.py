"""fit on a GPU: recorded, compiled and narrow steps end in the same promise; auto chooses by work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from monolip import SlopeBounds
from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded
from monolip.nn.fit import Fit, fit
from monolip.nn.fit_device import choose_device
from monolip.nn.fit_plan import FitPlan

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; there: make test-cuda")

SLOPES = SlopeBounds.from_monotonic_cst([1, -1, 0, 0], 2.0)


def table(rows: int = 4096) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(rows, 4)).astype(np.float32)
    return x, -x[:, 0] + np.abs(x[:, 2])  # asks for the opposite of what is promised of the first feature


def fitted(model: Any = None, **options: Any) -> Fit:
    torch.manual_seed(0)
    model = ConvexMLP(SLOPES, hidden=(64, 64)) if model is None else model
    return fit(model, *table(), FitPlan(**{"epochs": 6, "batch": 512, "device": "cuda", **options}))


@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16"])
@pytest.mark.parametrize("compiled", [False, True])
def test_every_way_of_stepping_learns_and_keeps_the_promise(precision: str, compiled: bool) -> None:
    done = fitted(precision=precision, compiled=compiled)
    reference = fitted(device="cpu")
    assert done.losses[-1] == pytest.approx(reference.losses[-1], rel=0.05)
    low, high = done.network.slope_range
    assert (low >= SLOPES.lower).all()
    assert (high <= SLOPES.upper).all()
    rows = table(500)[0].astype(np.float64)
    above = rows.copy()
    above[:, 0] = np.nextafter(above[:, 0], np.inf)
    assert (done.network.evaluate(above) >= done.network.evaluate(rows)).all()


def test_recorded_steps_are_those_of_the_cpu() -> None:
    done = []
    for device in ("cuda", "cpu"):
        torch.manual_seed(0)
        model = ConvexMLP(SLOPES, hidden=(16, 16), dtype=torch.float64)
        done.append(fitted(model, device=device, epochs=2))
    on_gpu, on_cpu = done
    # torch's fused Adam reads its rate in float32 on a GPU: each step differs by up to 6e-8 of itself
    assert on_gpu.losses == pytest.approx(on_cpu.losses, rel=1e-7)
    x = table(200)[0]
    assert np.allclose(on_gpu.network.evaluate(x), on_cpu.network.evaluate(x), atol=1e-6)


def test_full_batches_and_paper_form_are_recorded_too() -> None:
    full = fitted(batch=4096, epochs=60)
    assert full.losses[-1] < full.losses[0]
    losses = []
    for device in ("cuda", "cpu"):
        torch.manual_seed(0)
        model = SlopeBounded(LipschitzMLP(4, hidden=(32, 32)), SLOPES)
        losses.append(fitted(model, device=device).losses)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_precision_switches_are_put_back_and_auto_goes_by_work() -> None:
    fitted(precision="tf32", epochs=1)
    assert torch.get_float32_matmul_precision() == "highest"
    small, wide = ConvexMLP(SLOPES, hidden=(8, 8)), ConvexMLP(SLOPES, hidden=(1024, 1024))
    assert choose_device(FitPlan(), small, 64, steps=100).type == "cpu"
    assert choose_device(FitPlan(), small, 64, steps=100_000).type == "cuda"
    assert choose_device(FitPlan(), wide, 8192, steps=100).type == "cuda"
