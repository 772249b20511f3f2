"""FitPlan: how `fit` trains a network, in plain values, so that a plan travels to other machines as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..errors import InputError

__all__ = ["FitPlan"]

Loss = Literal["squared", "logistic", "cross-entropy"]
Precision = Literal["float32", "tf32", "bf16"]

_CHOICES = {
    "loss": ("squared", "logistic", "cross-entropy"),
    "precision": ("float32", "tf32", "bf16"),
    "device": ("auto", "cpu", "cuda"),
}


@dataclass(frozen=True, kw_only=True)
class FitPlan:
    """Adam with a cosine schedule on batches that do not depend on how many processes share the work.

    Args:
        epochs: passes over the table.
        batch: rows of one step, over all processes together; a multiple of `lanes` (small tables take fewer).
        rate: Adam's step at the start; hidden rows of paper form learn slower, as `parameter_groups` says.
        loss: "squared", "logistic" (target 0 or 1) or "cross-entropy" (target 0, 1, 2, ...: one output a class).
        lanes: contiguous parts of the table, shuffled each for itself; every batch takes equally many rows of each. The
            number of processes has to divide it; the batches, and so the fit, are then the same for all of them.
        cosine: let the rate fall to zero along half a cosine; False keeps it.
        seed: of the order of rows. (The network's own start is drawn when it is built.)
        precision: of matrix products on a GPU. The promise holds for any: weights are constrained in float32 and frozen
            in float64. "tf32" and "bf16" (ConvexMLP only) are for wide networks; a CPU computes in the network's type.
        device: "cpu", "cuda" or "auto" (the faster one for this size, see `choose_device`).
        compiled: torch.compile for the step; None compiles on a GPU where the steps are many and large enough to pay.

    Example:
        >>> FitPlan(epochs=3, batch=64).batch
        64
    """

    epochs: int = 20
    batch: int = 1024
    rate: float = 0.01
    loss: Loss = "squared"
    lanes: int = 8
    cosine: bool = True
    seed: int = 0
    precision: Precision = "float32"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    compiled: bool | None = None

    def __post_init__(self) -> None:
        for name, low in (("epochs", 1), ("batch", 1), ("lanes", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise InputError(f"{name} is a whole number, at least {low}; got {value!r}; change it.")
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                words = ", ".join(repr(word) for word in known)
                raise InputError(f"{name} is one of {words}; got {getattr(self, name)!r}; use one of them.")
        if not isinstance(self.rate, int | float) or not 0.0 < self.rate < math.inf:
            raise InputError(f"rate is a number above 0; got {self.rate!r}; pass e.g. 0.01.")
        if self.batch % self.lanes:
            raise InputError(
                f"batch is a multiple of lanes, so that every lane gives equally many rows; got batch={self.batch}, "
                f"lanes={self.lanes}; use e.g. batch={max(1, round(self.batch / self.lanes)) * self.lanes}."
            )

    def record(self) -> dict[str, Any]:
        """What decides the result, as JSON holds it; a checkpoint is resumed under the same record alone."""
        return {name: value for name, value in asdict(self).items() if name not in ("device", "compiled")}
