"""fit in one process: batches that do not depend on processes, checkpoints that lose nothing, messages that help."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from monolip import SlopeBounds, SlopeSet
from monolip.certify import certify
from monolip.errors import CheckpointError, InputError, PrecisionError
from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded
from monolip.nn.fit import Epoch, Fit, fit
from monolip.nn.fit_device import choose_device, pays_to_compile, work_of_a_step
from monolip.nn.fit_lanes import Lanes
from monolip.nn.fit_loss import MeanLoss, narrow_forward
from monolip.nn.fit_plan import FitPlan
from monolip.nn.fit_start import start_network

SLOPES = SlopeBounds.from_monotonic_cst([1, -1, 0], 2.0)


def table(rows: int = 515) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)
    return x, np.maximum(x[:, 0], x[:, 2]) + x[:, 1]  # rises in the second feature, of which the opposite is promised


def fitted(epochs: int = 3, model: Any = None, **options: Any) -> Fit:
    how = {name: options.pop(name) for name in ("checkpoint", "checkpoint_seconds", "on_epoch") if name in options}
    model = start_network(SLOPES, hidden=(8, 8)) if model is None else model
    plan = FitPlan(epochs=epochs, batch=64, lanes=4, **options)
    return fit(model, *table(), plan, **how)


@given(
    rows=st.integers(8, 300), pieces=st.integers(1, 40), epoch=st.integers(0, 3), world=st.sampled_from([1, 2, 4, 8])
)
def test_batches_are_the_same_for_any_number_of_processes(rows: int, pieces: int, epoch: int, world: int) -> None:
    plan = FitPlan(batch=8 * pieces, lanes=8, seed=5)
    whole = Lanes(plan, rows).order(epoch)
    parts = [Lanes(plan, rows, rank, world) for rank in range(world)]
    joined = np.concatenate([part.order(epoch) + part.rows.start for part in parts], axis=1)
    assert np.array_equal(whole, joined)
    assert len(np.unique(whole)) == whole.size, "no row twice in an epoch"
    assert whole.size > rows - whole.shape[1] - 8, "all rows but what fills no batch"
    assert [part.rows.stop for part in parts[:-1]] == [part.rows.start for part in parts[1:]]
    assert parts[0].rows.start == 0
    assert parts[-1].rows.stop == rows


def test_epochs_have_other_orders_and_rows_left_over_take_turns() -> None:
    lanes = Lanes(FitPlan(batch=64, lanes=4), 515)
    first, second = lanes.order(0), lanes.order(1)
    assert not np.array_equal(first, second)
    assert set(range(515)) - set(first.ravel()) != set(range(515)) - set(second.ravel())


@pytest.mark.parametrize("loss", ["squared", "logistic", "cross-entropy"])
def test_every_loss_is_learned_and_the_promise_certified(loss: str) -> None:
    x, y = table()
    target = {"squared": y, "logistic": (y > 0.5).astype(float), "cross-entropy": (y > 0.5).astype(np.int64)}[loss]
    model = start_network(SLOPES, 2 if loss == "cross-entropy" else 1, (8, 8))
    done = fit(model, x, target, FitPlan(epochs=5, batch=64, lanes=4, loss=loss))  # type: ignore[arg-type]
    assert done.losses[-1] < 0.9 * done.losses[0]
    low, high = done.network.slope_range
    lower, upper = done.network.slopes.lower, done.network.slopes.upper
    assert (low.reshape(-1, 3) >= lower).all()
    assert (high.reshape(-1, 3) <= upper).all()
    assert certify(done.network).digest == done.network.digest
    assert done.device == "cpu"


@pytest.mark.parametrize("stop", [1, 2])
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(tmp_path: Path, stop: int) -> None:
    class PowerCutError(Exception):
        pass

    def cut(epoch: Epoch) -> None:
        if epoch.number == stop:
            raise PowerCutError

    path = tmp_path / "fit.safetensors"
    with pytest.raises(PowerCutError):
        fitted(checkpoint=path, on_epoch=cut)
    numbers: list[int] = []
    again = fitted(checkpoint=path, on_epoch=lambda epoch: numbers.append(epoch.number))
    straight = fitted()
    assert again.network.digest == straight.network.digest
    assert again.losses == straight.losses
    assert numbers == list(range(stop + 1, 4)), "no epoch twice"
    assert fitted(checkpoint=path).network.digest == straight.network.digest, "nothing left to do"
    assert not list(tmp_path.glob(".monolip-*")), "no litter"


def test_a_fit_with_frozen_parameters_goes_on_as_well(tmp_path: Path) -> None:
    def half_frozen() -> Any:
        model = start_network(SLOPES, hidden=(8, 8))
        next(model.parameters()).requires_grad_(False)
        return model

    def cut(epoch: Epoch) -> None:
        if epoch.number == 1:
            raise InterruptedError

    straight = fitted(model=half_frozen())
    with pytest.raises(InterruptedError):
        fitted(model=half_frozen(), checkpoint=tmp_path / "fit", on_epoch=cut)
    assert fitted(model=half_frozen(), checkpoint=tmp_path / "fit").network.digest == straight.network.digest
    with pytest.raises(CheckpointError, match="no complete optimiser state of parameter 0"):
        fitted(checkpoint=tmp_path / "fit")  # all of it is to be trained now
    fitted(checkpoint=tmp_path / "whole")
    with pytest.raises(CheckpointError, match="parameter 0, which is frozen now"):
        fitted(model=half_frozen(), checkpoint=tmp_path / "whole")


def test_short_epochs_need_not_all_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    home = import_module("monolip.nn.fit")
    original = home.save_state

    def save(path: Any, model: Any, optimiser: Any, plan: FitPlan, n_rows: int, losses: list[float]) -> None:
        written.append(len(losses))
        original(path, model, optimiser, plan, n_rows, losses)

    monkeypatch.setattr(home, "save_state", save)
    fitted(epochs=5, checkpoint=tmp_path / "a")
    assert written == [1, 2, 3, 4, 5]
    written.clear()
    straight = fitted(epochs=5, checkpoint=tmp_path / "b", checkpoint_seconds=3600.0)
    assert written == [1, 5], "the first, and the last"
    assert fitted(epochs=5, checkpoint=tmp_path / "b").network.digest == straight.network.digest


@pytest.mark.parametrize("change", ["plan", "promise", "shape", "rows", "cut", "zeros", "empty"])
def test_a_checkpoint_of_something_else_is_refused_by_name(tmp_path: Path, change: str) -> None:
    path = tmp_path / "fit.safetensors"
    fitted(epochs=2, checkpoint=path)
    data = path.read_bytes()
    model, rows, plan = start_network(SLOPES, hidden=(8, 8)), 515, FitPlan(epochs=2, batch=64, lanes=4)
    if change == "plan":
        plan = FitPlan(epochs=2, batch=64, lanes=4, rate=0.5)
    elif change == "promise":
        model = start_network(SlopeBounds.from_monotonic_cst([1, 1, 0], 2.0), hidden=(8, 8))
    elif change == "shape":
        model = start_network(SLOPES, hidden=(16, 8))
    elif change == "rows":
        rows = 400
    else:
        path.write_bytes({"cut": data[: len(data) // 2], "zeros": bytes(len(data)), "empty": b"x"}[change])
    with pytest.raises(CheckpointError, match=r"fit\.safetensors|differs") as caught:
        fit(model, *(part[:rows] for part in table()), plan, checkpoint=path)
    assert str(caught.value).count(";") >= 2, "rule; what was got; what to do"


def test_narrow_products_change_the_loss_little_and_reach_every_parameter() -> None:
    model = ConvexMLP(SlopeBounds([-1.0] * 3, [1.0] * 3), 2, (8, 8))
    x = torch.randn(64, 3)
    assert (narrow_forward(model, x) - model(x)).abs().max() < 0.05
    narrow_forward(model, x).square().mean().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in model.parameters())
    with pytest.raises(PrecisionError, match="ConvexMLP"):
        MeanLoss(LipschitzMLP(3), FitPlan(precision="bf16"))


def test_paper_form_and_slope_sets_are_fitted_too() -> None:
    ball = SlopeSet(SLOPES, l2_radius=1.0)
    for model in (SlopeBounded(LipschitzMLP(3, hidden=(8, 8)), SLOPES), ConvexMLP(ball, hidden=(8, 8))):
        assert fitted(epochs=2, model=model).network.slopes == SLOPES


def test_auto_is_the_cpu_without_a_gpu_and_work_is_counted() -> None:
    model = start_network(SLOPES, hidden=(8, 8))
    assert work_of_a_step(model, 10) == 3 * 10 * (24 + 64 + 8)
    if not torch.cuda.is_available():
        assert choose_device(FitPlan(device="auto"), model, 10**6, 10**6).type == "cpu"
        with pytest.raises(InputError, match="device='auto'"):
            choose_device(FitPlan(device="cuda"), model, 64, 1)
    gpu = torch.device("cuda")
    wide = ConvexMLP(SLOPES, hidden=(1024, 1024))
    assert pays_to_compile(FitPlan(), wide, 50_000, 10_000, gpu)
    assert not pays_to_compile(FitPlan(), model, 64, 1000, gpu)
    assert not pays_to_compile(FitPlan(compiled=False), wide, 50_000, 10_000, gpu)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"batch": 100, "lanes": 8}, "batch=96"), ({"epochs": 0}, "epochs"), ({"rate": 0.0}, "rate"),
        ({"rate": float("nan")}, "rate"), ({"loss": "l1"}, "cross-entropy"), ({"device": "tpu"}, "cuda"),
        ({"precision": "fp8"}, "bf16"), ({"seed": True}, "seed"),
    ],
)  # fmt: skip
def test_plans_that_make_no_sense_say_what_would(options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        FitPlan(**options)


def test_bad_tables_are_refused_by_name() -> None:
    x, y = table()
    model, plan = start_network(SLOPES, hidden=(8,)), FitPlan(batch=64, lanes=4)
    holed = x.copy()
    holed[3, 1] = np.nan
    for bad, target, word in (
        (holed, y, "NaN"), (x, y[:-1], "514 targets"), (x, np.where(y > 9, y, np.nan), "without a target"),
        (x[:3], y[:3], "3 rows for 4 lanes"), (x[:, 0], y, "rows and columns"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=word):
            fit(model, bad, target, plan)
    with pytest.raises(InputError, match="owns rows 0 to 1000"):
        fit(model, x, y, plan, n_rows=1000)
    with pytest.raises(InputError, match="ConvexMLP"):
        fit(torch.nn.Linear(3, 1), x, y, plan)
    with pytest.raises(InputError, match="integers from 0"):
        fit(model, x, y, FitPlan(batch=64, lanes=4, loss="cross-entropy"))
    with pytest.raises(InputError, match="lanes=3"):
        Lanes(plan, 100, 0, 3)
    with pytest.raises(InputError, match="stay finite"):
        fit(model, x * 1e30, y * 1e30, plan)


def test_networks_that_cannot_be_trained_are_refused_before_any_step() -> None:
    (x, y), plan = table(), FitPlan(batch=64, lanes=4, epochs=1)
    still = start_network(SLOPES, hidden=(8, 8)).requires_grad_(False)
    with pytest.raises(InputError, match=r"got ConvexMLP with 6 parameters, none with requires_grad; .*requires_grad_"):
        fit(still, x, y, plan)
    mixed = start_network(SLOPES, hidden=(8, 8))
    name, last = list(mixed.named_parameters())[-1]
    last.data = last.data.double()
    with pytest.raises(InputError, match=rf"one dtype; got float32 \(.*\), float64 \({name}\) in ConvexMLP; .*double"):
        fit(mixed, x, y, plan)

    class Empty(torch.nn.Module):
        def freeze(self) -> None: ...

    with pytest.raises(InputError, match="got Empty with no parameters"):
        fit(Empty(), x, y, plan)
    part = start_network(SLOPES, hidden=(8, 8))
    held = next(part.parameters()).requires_grad_(False)
    before = held.clone()
    fit(part, x, y, plan)
    assert torch.equal(held, before), "what is held still while the rest is trained stays"


@pytest.mark.parametrize(("world", "lanes", "batch"), [(3, 8, 256), (9, 8, 256), (16, 8, 64), (7, 1, 1)])
def test_the_advice_for_lanes_is_a_plan_that_works(world: int, lanes: int, batch: int) -> None:
    with pytest.raises(InputError, match="divides the number of lanes") as caught:
        Lanes(FitPlan(lanes=lanes, batch=batch), 10_000, 0, world)
    advice = dict(word.split("=") for word in str(caught.value).split("; use ")[1].rstrip(".").split(" and "))
    plan = FitPlan(**{"batch": batch, **{name: int(value) for name, value in advice.items()}})
    assert len(Lanes(plan, 10_000, 0, world).order(0)) > 0
