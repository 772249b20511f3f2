"""The networks that Section 3.2 speaks of, all with the same slopes, widths and parameters.

Eq. 9 left is Rule.CAP_THEN_SCALE, Eq. 9 right Rule.CAP, both on whole matrices; Eq. 10 is Rule.CAP per column; Eq. 11
the (1, inf) scheme. `budget="layers"` gives every layer lambda^(1/D), "input" multiplies the inputs by lambda.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from monolip import Norm, Rule, SlopeBounds
from monolip.nn import ConvexMLP, LipschitzMLP

__all__ = ["BASE", "LAMBDA", "VARIANTS", "Variant"]

LAMBDA = 4.0  # in standardised units: slopes up to 8 in monotone features, 4 in the others
BASE = "Eq. 11 per vector, budget at the input"


@dataclass(frozen=True)
class Variant:
    """claim: which question it belongs to; options: of LipschitzMLP; after_step: project after each update."""

    claim: str
    options: dict[str, Any] = field(default_factory=dict)
    after_step: bool = False
    convex: bool = False
    steps: float = field(default=1.0, repr=False)  # times as many as the base

    def build(self, directions: Sequence[int], hidden: tuple[int, ...]) -> nn.Module:
        """A network of one output with slopes in SlopeBounds.from_paper(LAMBDA, directions)."""
        if self.convex:
            return ConvexMLP(SlopeBounds.from_paper(LAMBDA, list(directions)), 1, hidden, initial_slope=1.0)
        return _WithResidual(LipschitzMLP(len(directions), 1, hidden, bound=LAMBDA, **self.options), directions)


class _WithResidual(nn.Module):
    """Eq. 4 to the letter: f = g + lambda sum over S. SlopeBounded would multiply the inputs by lambda itself."""

    def __init__(self, g: LipschitzMLP, directions: Sequence[int]) -> None:
        super().__init__()
        self.g = g
        self.register_buffer("residual", LAMBDA * torch.tensor(list(directions), dtype=torch.float32)[:, None])

    def forward(self, x: Tensor) -> Tensor:
        residual: Tensor = self.residual  # type: ignore[assignment]
        f: Tensor = self.g(x) + x @ residual
        return f


_L1 = {"norms": Norm.L1_TO_L1}
_LAYERS = {"budget": "layers"}
VARIANTS: dict[str, Variant] = {
    BASE: Variant("base"),
    "Eq. 9 left, whole matrix": Variant(
        "where lambda goes", {**_L1, **_LAYERS, "rule": Rule.CAP_THEN_SCALE, "per_vector": False}
    ),
    "Eq. 9 right, whole matrix": Variant("where lambda goes", {**_L1, **_LAYERS, "per_vector": False}),
    "Eq. 9 right, whole matrix, budget at the input": Variant("where lambda goes", {**_L1, "per_vector": False}),
    "Eq. 10, per column": Variant("per vector", {**_L1, **_LAYERS}),
    "Eq. 10, per column, budget at the input": Variant("per vector", _L1),
    "Eq. 11, whole matrix": Variant("per vector", {**_LAYERS, "per_vector": False}),
    "Eq. 11 per vector": Variant("scheme", _LAYERS),
    "exact gradient of the normalisation": Variant("direct or projected", {"gradient": "exact"}),
    "rescaled after each step": Variant("direct or projected", {}, after_step=True),
    "Euclidean projection after each step": Variant("direct or projected", {"rule": Rule.PROJECT}, after_step=True),
    "GroupSort 4": Variant("activation", {"group_size": 4}),
    "GroupSort 8": Variant("activation", {"group_size": 8}),
    "GroupSort, whole layer": Variant("activation", {"group_size": None}),
    "Householder 2": Variant("activation", {"activation": "householder"}),
    "ReLU": Variant("activation", {"activation": "relu"}),
    "convex form": Variant("form", convex=True),
    # As much time as the base: a step took 0.81 of one of the base (the pace of the results is measured again).
    "convex form, 1.23 times the steps": Variant("form", convex=True, steps=1.23),
}
