r"""Integer trunks as the steps hls4ml knows: dense layers, minimum, maximum, concatenation; with a type for each.

    weights     ap_fixed with `shift` bits after the point          word / 2^shift
    sums        wide enough for every partial sum: exact            bias + products, in any order
    results     the chosen type: AP_TRN rounds down, AP_RND half up (the half unit is then not in the bias)

Groups are sorted by minimum and maximum between slots, as in ONNX; hls4ml concatenates two tensors at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.export.hls4ml_types import ApFixed
from monolip.export.onnx_layers import comparators
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_trunk import FixedTrunk

__all__ = ["Dense", "Step", "Steps"]

IntArray = NDArray[np.int64]
INPUT = "x"


class Dense(NamedTuple):
    """Words of a dense layer and the types of its numbers."""

    weight: IntArray
    bias: IntArray
    weight_type: ApFixed
    bias_type: ApFixed
    sum_type: ApFixed


class Step(NamedTuple):
    """One layer: op "dense", "minimum", "maximum" or "cat"; the names of what it reads; the type of what it gives."""

    op: str
    name: str
    sources: tuple[str, ...]
    result: ApFixed
    dense: Dense | None = None


@dataclass
class Steps:
    """The steps of a network, in order; the last gives the outputs.

    Args:
        network: convex form in integers.
        chosen: type of inputs, activations and outputs; only its width differs where words are larger.
    """

    network: FixedPointNetwork
    chosen: ApFixed
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        network = self.network
        half = [self._trunk(trunk) for member in network.members for trunk in member]
        order = [k for member in network.members for trunk in member for k in trunk.outputs]
        if len(half) == 1 and order == sorted(order):
            return
        joined = self._joined([name for name, _ in half], max(bound for _, bound in half))
        weight = np.zeros((network.n_outputs, len(order)), dtype=np.int64)
        shares = zip(network.member_weights.tolist(), network.members, strict=True)
        owners = [share for share, member in shares for trunk in member for _ in trunk.outputs]
        weight[order, np.arange(len(order))] = owners
        bias = np.full(network.n_outputs, 1 << (network.format.shift - 1), dtype=np.int64)
        self._dense(joined, weight, bias, [max(bound for _, bound in half)] * len(order), last=True)

    @property
    def input_type(self) -> ApFixed:
        """Of inputs: every word is covered by the proof; numbers beyond count as the last word."""
        return ApFixed.holding(self.input_word, self.chosen.fraction, "AP_RND", "AP_SAT_SYM")

    @property
    def input_word(self) -> int:
        return int((1 << max(self.network.limits).bit_length()) - 1)

    def as_config(self) -> dict[str, Any]:
        """Precisions by layer name, in the words of hls4ml's configuration."""
        layers: dict[str, Any] = {INPUT: {"Precision": {"result": str(self.input_type)}}}
        for step in self.steps:
            types = {"result": str(step.result)}
            if step.dense is not None:
                types |= {"weight": str(step.dense.weight_type), "bias": str(step.dense.bias_type)}
                types |= {"accum": str(step.dense.sum_type)}
            layers[step.name] = {"Precision": types}
        return layers

    def _trunk(self, trunk: FixedTrunk) -> tuple[str, int]:
        """Name and largest word of a trunk's outputs."""
        source, at = INPUT, np.arange(trunk.n_features)
        reach, limit = [self.input_word] * trunk.n_features, self.network.format.limit
        for weight, bias, size in zip(trunk.weights[:-1], trunk.biases[:-1], trunk.group_sizes, strict=True):
            made = [self._dense(source, weight[s::size][:, at], bias[s::size], reach) for s in range(size)]
            largest = max(word for _, word in made)
            reach = [largest if limit is None else min(largest, limit)] * len(bias)
            slots = [name for name, _ in made]
            for i, j in comparators(size):
                pair = (slots[i], slots[j])
                slots[i], slots[j] = self._merge("minimum", pair, reach[0]), self._merge("maximum", pair, reach[0])
            source = self._joined(slots, reach[0])
            at = np.arange(len(bias)).reshape(-1, size).T.ravel()
        return self._dense(source, trunk.weights[-1][:, at], trunk.biases[-1], reach, last=True)

    def _joined(self, names: Sequence[str], word: int) -> str:
        out = names[0]
        for name in names[1:]:
            out = self._merge("cat", (out, name), word)
        return out

    def _merge(self, op: str, sources: tuple[str, ...], word: int) -> str:
        count = sum(step.op == op for step in self.steps)
        name = f"{op}_{count}" if count else op  # as torch.fx names calls
        self.steps.append(Step(op, name, sources, self._result(word)))
        return name

    def _dense(
        self, source: str, weight: IntArray, bias: IntArray, reach: Sequence[int], *, last: bool = False
    ) -> tuple[str, int]:
        """Append a dense layer; its name, and the largest word it can give."""
        shift, fraction = self.network.format.shift, self.chosen.fraction
        most = max(
            sum(abs(w) * v for w, v in zip(row, reach, strict=True)) + abs(b)  # Python's integers: none wraps around
            for row, b in zip(weight.tolist(), bias.tolist(), strict=True)
        )
        word, limit = (most >> shift) + 1, self.network.format.limit
        if limit is not None and not last:
            word = min(word, limit)
        if self.chosen.rounding == "AP_RND":
            bias = bias - (1 << (shift - 1))
        dense = Dense(
            weight,
            bias,
            ApFixed.holding(int(np.abs(weight).max()), shift),
            ApFixed.holding(int(np.abs(bias).max()), shift + fraction),
            ApFixed.holding(most + (1 << shift), shift + fraction),
        )
        name = f"dense{sum(step.op == 'dense' for step in self.steps)}"
        clamped = limit is not None and not last
        self.steps.append(Step("dense", name, (source,), self._result(word, clamped=clamped), dense))
        return name, word

    def _result(self, word: int, *, clamped: bool = False) -> ApFixed:
        overflow = "AP_SAT_SYM" if clamped else "AP_WRAP"
        held = ApFixed.holding(max(word, (1 << (self.chosen.width - 1)) - 1), self.chosen.fraction)
        return held._replace(rounding=self.chosen.rounding, overflow=overflow)
