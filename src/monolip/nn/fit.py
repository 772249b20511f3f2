"""fit: train a network on a table, alone or as one of many processes, and freeze what came out."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ..errors import InputError
from ..frozen import FrozenNetwork
from .fit_device import choose_device
from .fit_group import add_up, everywhere_the_same, rank_and_world
from .fit_lanes import Lanes
from .fit_loss import as_target
from .fit_plan import FitPlan
from .fit_start import require_trainable
from .fit_state import load_state, save_state
from .fit_steps import Stepper
from .fit_together import begin_together

__all__ = ["Epoch", "Fit", "fit"]

_SHOWN = 800  # characters of shapes: what processes tell each other is short


@dataclass(frozen=True)
class Fit:
    """network: frozen and proved, the same on every process. losses: mean training loss of each epoch.

    epoch_seconds: of the epochs this call did. rows_per_second: over all processes, in the median epoch but the first.
    """

    network: FrozenNetwork
    losses: tuple[float, ...]
    device: str
    seconds: float
    epoch_seconds: tuple[float, ...]
    rows_per_second: float


@dataclass(frozen=True)
class Epoch:
    """What `on_epoch` gets. number: epochs done. save(path): writes the checkpoint (the same on every process)."""

    number: int
    loss: float
    save: Callable[[str | PathLike[str]], None]


def fit(
    model: nn.Module,
    x: ArrayLike,
    y: ArrayLike,
    plan: FitPlan | None = None,
    *,
    n_rows: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_seconds: float = 0.0,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Fit:
    """Train `model` in place and return it frozen, its slopes proved inside the promise, wherever it was fitted.

    In a process group (see `process_group`) the processes share every batch: each computes the gradient of its own
    rows, the mean over processes makes the step. Batches are those of a single process, so the result is too, up to the
    order of additions, whose rounding training amplifies (`tests/nn/test_fit_group.py` states how far).

    Args:
        model: ConvexMLP, or any module of monolip.nn with `freeze()`. All processes build the same one.
        x, y: the whole table, or with `n_rows` only this process's rows, `Lanes(plan, n_rows, rank, world).rows` of it.
        plan: see FitPlan.
        n_rows: rows of the whole table, where x and y are a part.
        checkpoint: a file, written by rank 0 after each epoch; where it exists, the fit goes on from it.
        checkpoint_seconds: at least so long between two writings, where epochs are short; the last is always written.
        on_epoch: called on every process after each epoch.

    Example:
        >>> import numpy as np
        >>> from monolip import SlopeBounds
        >>> from monolip.nn import ConvexMLP
        >>> x = np.random.default_rng(0).normal(size=(512, 2))
        >>> done = fit(ConvexMLP(SlopeBounds([0.0, -2.0], [2.0, 2.0]), hidden=(8, 8)), x, x[:, 0], FitPlan(epochs=5))
        >>> done.losses[-1] < done.losses[0], done.network.slopes.contains(done.network.slope_range[0].T)
        (True, True)
    """
    run = _begun(model, plan or FitPlan(), x, y, n_rows)
    if checkpoint is not None:
        run.resume(checkpoint)
    try:
        while len(run.losses) < run.plan.epochs:
            run.epoch()
            if checkpoint is not None and run.lanes.rank == 0 and run.is_due(checkpoint_seconds):
                run.save(checkpoint)
            if on_epoch is not None:
                on_epoch(Epoch(len(run.losses), run.losses[-1], run.save))
    finally:
        run.stepper.close()
    return run.result()


def _begun(model: nn.Module, plan: FitPlan, x: Any, y: Any, n_rows: int | None) -> _Run:
    """All processes begin, or none does: a process that waited for one that gave up would wait for ever."""
    facts = {**plan.record(), "rows of the table": len(x) if n_rows is None else n_rows}
    facts["parameters of the network"] = sum(parameter.numel() for parameter in model.parameters())
    facts["shapes of its parameters"] = _shapes(model)
    try:
        run = _Run(model, plan, x, y, n_rows)
    except Exception as error:
        begin_together(facts, error)
        raise
    begin_together(facts)
    run.begin()
    return run


def _shapes(model: nn.Module) -> str:
    """Text that is the same for the same shapes alone; of a long one the end is told by a digest of all of it."""
    every = " ".join(str(list(parameter.shape)) for parameter in model.parameters())
    if len(every) <= _SHOWN:
        return every
    return f"{every[:_SHOWN]}... (all of them: sha256 {hashlib.sha256(every.encode()).hexdigest()})"


class _Run:
    """One fit: this process's rows on its device, the stepper, the losses so far."""

    def __init__(self, model: nn.Module, plan: FitPlan, x: Any, y: Any, n_rows: int | None) -> None:
        self.begun = time.perf_counter()
        self.model, self.plan = model, plan
        require_trainable(model)
        rank, world = rank_and_world()
        self.lanes = Lanes(plan, len(x) if n_rows is None else n_rows, rank, world)
        batch = self.lanes.piece * plan.lanes // world
        self.device = choose_device(plan, model, batch, plan.epochs * self.lanes.steps)
        model.to(self.device).train()
        rows, target = _own_rows(x, y, self.lanes, n_rows is None)
        like = next(model.parameters())
        kind = torch.bfloat16 if plan.precision == "bf16" and self.device.type == "cuda" else like.dtype
        inputs = _inputs(rows, like.dtype).to(self.device).to(kind)
        targets = as_target(target, plan, int(getattr(model, "out_features", 1)), like).to(self.device)
        self.rows = inputs, targets
        self.losses: list[float] = []
        self.times: list[float] = []
        self.saved = -math.inf

    def begin(self) -> None:
        """Apart from the rest: the processes of a group meet here for the first time."""
        self.stepper = Stepper(self.model, self.plan, self.lanes, *self.rows)

    def resume(self, path: str | PathLike[str]) -> None:
        optimiser, n_rows = self.stepper.optimiser, self.lanes.n_rows
        self.losses = load_state(path, self.model, optimiser, self.plan, n_rows, self.device)
        self.stepper.done.fill_(float(len(self.losses) * self.lanes.steps))

    def is_due(self, pause: float) -> bool:
        return len(self.losses) >= self.plan.epochs or time.perf_counter() - self.saved >= pause

    def save(self, path: str | PathLike[str]) -> None:
        self.saved = time.perf_counter()
        save_state(path, self.model, self.stepper.optimiser, self.plan, self.lanes.n_rows, self.losses)

    def epoch(self) -> None:
        begun = time.perf_counter()
        order = torch.as_tensor(self._order()).to(self.device)
        total = torch.tensor([self.stepper.run(order)], dtype=torch.float64, device=self.device)
        loss = float(add_up(total)) / self.lanes.world / self.lanes.steps
        if not math.isfinite(loss):
            raise InputError(
                f"the loss must stay finite; it was {loss} in epoch {len(self.losses) + 1}; scale features and targets "
                "to about 1, or lower the rate."
            )
        self.losses.append(loss)
        self.times.append(time.perf_counter() - begun)

    def _order(self) -> Any:
        return np.zeros((1, 1), np.int64) if self.lanes.takes_all else self.lanes.order(len(self.losses))

    def result(self) -> Fit:
        model: Any = self.model
        model.eval()
        network = model.freeze()
        everywhere_the_same(network.digest, self.device)
        later = self.times[1:] or self.times
        rows = self.lanes.steps * self.lanes.piece * self.plan.lanes
        rate = rows / max(median(later), 1e-9) if later else 0.0
        seconds = time.perf_counter() - self.begun
        return Fit(network, tuple(self.losses), str(self.device), seconds, tuple(self.times), rate)


def _own_rows(x: Any, y: Any, lanes: Lanes, whole: bool) -> tuple[Any, Any]:
    own = lanes.rows
    if len(x) != len(y):
        raise InputError(f"every row has a target; got {len(x)} rows and {len(y)} targets; give both of the same rows.")
    if whole:
        return x[own], y[own]
    if len(x) != own.stop - own.start:
        raise InputError(
            f"process {lanes.rank} of {lanes.world} owns rows {own.start} to {own.stop} of {lanes.n_rows}; got "
            f"{len(x)} rows; pass the slice Lanes(plan, n_rows, rank, world).rows of the table."
        )
    return x, y


def _inputs(rows: Any, dtype: torch.dtype) -> Tensor:
    # torch warns of arrays it may not write to, such as files mapped into memory: those are copied
    values = rows if isinstance(rows, Tensor) else torch.as_tensor(np.require(rows, requirements=["C", "W"]))
    values = values.to(dtype)
    if values.dim() != 2:
        raise InputError(
            f"features are a table of rows and columns; got shape {tuple(values.shape)}; reshape it to two dimensions."
        )
    if not bool(values.isfinite().all()):
        raise InputError(
            f"features are finite numbers; got NaN or infinity in {int((~values.isfinite()).any(1).sum())} of "
            f"{len(values)} rows; replace missing values first."
        )
    return values
