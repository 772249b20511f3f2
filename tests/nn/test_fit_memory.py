"""A step in portions is the step of all rows; its memory stays with the process; processes share one vector."""

from __future__ import annotations

import platform
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from monolip import SlopeBounds
from monolip.nn.fit import Fit, fit
from monolip.nn.fit_gradients import GradientSum
from monolip.nn.fit_memory import rows_of_a_portion
from monolip.nn.fit_plan import FitPlan
from monolip.nn.fit_start import start_network


def fitted(loss: Any, rows: int, batch: int) -> Fit:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    y = {"squared": x[:, 0], "logistic": (x[:, 0] > 0).astype(float), "cross-entropy": rng.integers(0, 3, rows)}[loss]
    model = start_network(SlopeBounds([-2.0] * 3, [2.0] * 3), 3 if loss == "cross-entropy" else 1, (8, 8)).double()
    return fit(model, x, y, FitPlan(epochs=3, batch=batch, lanes=4, loss=loss, device="cpu"))


@pytest.mark.parametrize("portion", [7, 63])  # 64 rows in portions of 6 and 7; of 32
@pytest.mark.parametrize("loss", ["squared", "logistic", "cross-entropy"])
def test_portions_make_the_step_of_all_rows(loss: str, portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows, batch in ((515, 64), (64, 64)):  # shuffled batches; the whole table
        monkeypatch.undo()
        whole = fitted(loss, rows, batch)
        monkeypatch.setattr("monolip.nn.fit_steps.rows_of_a_portion", lambda model: portion)
        parts = fitted(loss, rows, batch)
        x = np.random.default_rng(1).normal(size=(100, 3))
        assert np.abs(whole.network.evaluate(x) - parts.network.evaluate(x)).max() < 1e-12
        assert np.abs(np.subtract(whole.losses, parts.losses)).max() < 1e-12


def test_small_batches_are_never_cut_and_wide_networks_keep_enough_rows() -> None:
    slopes = SlopeBounds([-2.0] * 3, [2.0] * 3)
    assert rows_of_a_portion(start_network(slopes)) > FitPlan().batch
    assert rows_of_a_portion(nn.Linear(3, 100_000)) == 256


COUNT = """
import resource
import numpy as np, torch
from monolip import SlopeBounds
from monolip.nn.fit import fit
from monolip.nn.fit_plan import FitPlan
from monolip.nn.fit_start import start_network

torch.set_num_threads(1)
x = np.random.default_rng(0).normal(size=(8192, 20)).astype(np.float32)
faults = []
model = start_network(SlopeBounds([-2.0] * 20, [2.0] * 20), hidden=(128, 128))
plan = FitPlan(epochs=12, batch=8192, lanes=4, device="cpu")
fit(model, x, x[:, 0], plan, on_epoch=lambda epoch: faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt))
print(int(np.median(np.diff(faults[4:]))))  # a heap may still grow once
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="how memory is kept is known of glibc")
def test_steps_do_not_fetch_their_memory_anew() -> None:
    """In a process of its own, for what others have freed before matters; thousands of pages a step without care."""
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < 100


def test_a_process_takes_the_mean_of_all_and_begins_as_rank_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monolip.nn.fit_gradients.rank_and_world", lambda: (1, 2))
    monkeypatch.setattr("torch.distributed.broadcast", lambda told, source: told.fill_(3.0))
    monkeypatch.setattr("monolip.nn.fit_gradients.FEW", 1)
    monkeypatch.setattr("torch.distributed.all_reduce", lambda mine: mine.add_(10.0))  # what the other one has
    network = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1, dtype=torch.float64), nn.Linear(2, 1)])
    network[2].weight.requires_grad_(False)
    network.register_buffer("constant", torch.zeros(2, 2).T)
    network.register_buffer("nothing", torch.zeros(0))
    gradients = GradientSum(network)
    assert all(bool((value == 3.0).all()) for value in (*network.parameters(), *network.buffers()))
    for _ in range(2):  # steps
        gradients.clear()
        for _ in range(2):  # portions
            network[0](torch.ones(1, 2)).backward()
            network[1](torch.ones(1, 2, dtype=torch.float64)).backward()
            network[2](torch.ones(1, 2)).backward()
        gradients.share()
    found = {name: parameter.grad for name, parameter in network.named_parameters()}
    assert found.pop("2.weight") is None
    assert all(bool((gradient == 11.0).all()) for gradient in found.values())
