r"""FixedPointNetwork: a FrozenNetwork compiled to integers, the same bits in every runtime, monotone bit for bit.

    raw columns -> integers X            monotone maps (fixed_point_map.py), tables of categories
    f = floor((sum_m A_m f_m(X) + 2^(shift-1)) / 2^shift)      trunks f_m in integers, A_m >= 0 with sum 2^shift
    f -> prediction                      a power of two, or one monotone table (fixed_point_link.py)

The rules that the theorem needs (docs/fixed_point.md) are checked whenever one is constructed or loaded, and so is
that no sum can leave its type for any input inside the declared ranges. Inputs beyond are clamped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cached import cached_property
from .errors import FrozenFileError, InputError, PrecisionError, StructureError
from .fixed_point_format import FixedPointFormat
from .fixed_point_inputs import FixedFree, FixedInputs, raw_columns
from .fixed_point_link import FixedLink
from .fixed_point_trunk import CARRIERS, FixedTrunk, locked_ints, shift_down

__all__ = ["FixedPointNetwork", "PackedIntegers"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Evaluate = Callable[[IntArray], Any]


class PackedIntegers(NamedTuple):
    """All trunks as flat integer arrays, for compiled kernels.

    params: every weight (row by row), then its bias, then, in paper form, the residual.
    plan: (layers, 5): out, in, where the weight starts, where the bias starts, group size (1: no sort).
    spans: (trunks, 4): first and end row of plan, first of outputs, where the residual starts (-1: none).
    outputs: positions in f, trunk after trunk. shares: (trunks,) integers, the weight of each trunk's member.
    numbers: (shift, clamp of activations or 0, number of outputs).
    """

    params: IntArray
    plan: IntArray
    spans: IntArray
    outputs: IntArray
    shares: IntArray
    numbers: IntArray


@dataclass(frozen=True, eq=False)
class FixedPointNetwork:
    """Integers only; immutable. Made by `monolip.certify.fixed_point.compile_fixed_point`.

    Args:
        format: how many bits go where.
        inputs: raw columns to integers, those with a promise.
        members: each a tuple of FixedTrunk that together give every output once.
        member_weights: integers >= 0 with sum 2^shift.
        link: what the outputs mean, and their unit.
        free: columns that enter through a free branch; its outputs come after those of `inputs`.
        source: digest of the FrozenNetwork it was compiled from.
        vectors: known integer inputs and the outputs they must give: shapes (n, d) and (n, n_outputs).

    Shape: evaluate takes integers (n, d) and gives integers (n, n_outputs).
    """

    format: FixedPointFormat
    inputs: FixedInputs
    members: tuple[tuple[FixedTrunk, ...], ...]
    member_weights: IntArray
    link: FixedLink
    free: FixedFree | None = None
    source: str = ""
    vectors: tuple[IntArray, IntArray] | None = None

    def __post_init__(self) -> None:
        trunks = [trunk for member in self.members for trunk in member]
        weights = locked_ints(self.member_weights)
        object.__setattr__(self, "member_weights", weights)
        if weights.shape != (len(self.members),) or not trunks or not all(self.members):
            raise StructureError("a fixed-point network has members and one weight each; got others; compile again.")
        if (weights < 0).any() or sum(weights.tolist()) != 1 << self.format.shift:
            raise StructureError(f"member weights are >= 0 with sum 2^{self.format.shift}; got others; compile again.")
        for member in self.members:
            if sorted(k for trunk in member for k in trunk.outputs) != list(range(self.n_outputs)):
                raise StructureError("the trunks of a member give each output once; got others; compile again.")
        if self.link.link is not None and self.link.link.n_outputs != self.n_outputs:
            raise StructureError(f"the link does not take {self.n_outputs} outputs; compile the network again.")
        for trunk in trunks:
            if trunk.n_features != len(self.limits):
                raise StructureError(
                    f"a trunk takes the {len(self.limits)} integers of its inputs; got {trunk.n_features}; match them."
                )
            trunk.check(self.format.shift)
            if trunk.largest_weight >= 2 ** (self.format.weight_bits - 1):
                raise StructureError(
                    f"weights have {self.format.weight_bits} bits in format {self.format.name!r}; got "
                    f"{trunk.largest_weight}; compile with a wider format."
                )
        if max(self.limits) >= 2 ** (self.format.input_bits - 1):
            raise StructureError(f"inputs have {self.format.input_bits} bits; got {max(self.limits)}; compile again.")
        if self.reach >= 2 ** (self.format.accumulator_bits - 1) or self.link.reach(self.reach_of_outputs) >= 2**63:
            raise StructureError(
                f"every sum must stay below 2^{self.format.accumulator_bits - 1} in format {self.format.name!r}; got "
                f"up to {self.reach}; compile with a wider format or shorter ranges."
            )
        if not self.format.saturate and self._reaches[2] >= 2 ** (self.format.activation_bits - 1):
            raise StructureError(
                f"activations have {self.format.activation_bits} bits in format {self.format.name!r}; got up to "
                f"{self._reaches[2]}; compile with a wider format or shorter ranges."
            )
        if self.vectors is not None:
            shapes = [np.shape(v) for v in self.vectors]
            rows = shapes[0][0] if shapes[0] else 0
            if shapes != [(rows, len(self.limits)), (rows, self.n_outputs)] or not rows:
                raise StructureError(f"known vectors are rows of inputs and outputs; got {shapes}; compile again.")
            object.__setattr__(self, "vectors", tuple(locked_ints(v) for v in self.vectors))

    @cached_property
    def limits(self) -> list[int]:
        """|X_j| <= limits[j]."""
        return [*self.inputs.limits, *(self.free.limits if self.free else ())]

    @cached_property
    def _reaches(self) -> tuple[int, int, int]:
        """Bounds of every partial sum, of every output, and of every activation before it is clamped."""
        shift, limit = self.format.shift, self.format.limit
        most, activations = 0, 0
        total = np.zeros(self.n_outputs, dtype=object) + (1 << (shift - 1))
        for share, member in zip(self.member_weights.tolist(), self.members, strict=True):
            for trunk in member:
                sums, outputs, hidden = trunk.reach(self.limits, shift, limit)
                most, activations = max(most, sums), max(activations, hidden)
                total[list(trunk.outputs)] += share * np.array(outputs, dtype=object)
        largest = max(int(v) for v in (total >> shift) + 1)
        return max(most, *total.tolist()), largest, activations

    @property
    def reach(self) -> int:
        """No partial sum, in any order of summation, exceeds this; follows from the declared ranges."""
        return self._reaches[0]

    @property
    def reach_of_outputs(self) -> int:
        return self._reaches[1]

    @property
    def saturates(self) -> bool:
        """Whether some input inside the declared ranges could meet a clamp between layers."""
        return self.format.limit is not None and self._reaches[2] > self.format.limit

    @property
    def carriers(self) -> tuple[str, ...]:
        """Types that hold every sum, and so give the same bits in any order of summation."""
        return tuple(name for name, bits in CARRIERS.items() if self.reach < 2**bits)

    @property
    def n_outputs(self) -> int:
        return sum(len(trunk.outputs) for trunk in self.members[0])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Raw columns in order: those with a promise, then the free ones."""
        return (*self.inputs.names, *(self.free.inputs.names if self.free else ()))

    @cached_property
    def digest(self) -> str:
        """sha256 over the structure and every stored number, as hex."""
        from .fixed_point_file import digest_of

        return digest_of(self)

    def quantise(self, columns: Any) -> IntArray:
        """Raw columns (data frame, mapping by name, matrix, sequence) -> integers X, shape (n, d)."""
        given = raw_columns(columns, self.feature_names)
        count = len(self.inputs.columns)
        x = self.inputs.evaluate(given[:count])
        return x if self.free is None else np.hstack([x, self.free.evaluate(given[count:])])

    def evaluate(self, x: ArrayLike, carrier: str = "int64") -> IntArray:
        """f(X), integers, computed in one of `carriers`: the same bits in each. Shape (n, d) -> (n, n_outputs)."""
        if carrier not in self.carriers:
            raise PrecisionError(
                f"a carrier must hold sums up to {self.reach}; {carrier!r} does not (or is unknown); use one of "
                f"{', '.join(self.carriers)}."
            )
        rows = np.asarray(x)
        if rows.ndim != 2 or rows.shape[1] != len(self.limits) or rows.dtype.kind not in "iu":
            raise InputError(
                f"evaluate takes integers of shape (n, {len(self.limits)}); got {rows.dtype} of shape {rows.shape}; "
                "for raw columns use evaluate_raw."
            )
        most = np.array(self.limits, dtype=np.int64)
        z = np.clip(rows, -most, most).astype(carrier)  # what was declared is what was proved
        shift, limit = self.format.shift, self.format.limit
        total = np.full((len(z), self.n_outputs), 2 ** (shift - 1), dtype=carrier)
        for share, member in zip(self.member_weights.tolist(), self.members, strict=True):
            for trunk in member:
                total[:, list(trunk.outputs)] += total.dtype.type(share) * trunk.evaluate(z, shift, limit)
        return np.asarray(shift_down(total, shift).astype(np.int64))

    __call__ = evaluate

    def evaluate_raw(self, columns: Any, carrier: str = "int64") -> IntArray:
        """f of raw columns, integers in units of 2^-link.unit. Shape (n,) each -> (n, n_outputs)."""
        return self.evaluate(self.quantise(columns), carrier)

    def predict(self, columns: Any, carrier: str = "int64") -> FloatArray:
        """Predictions (n,), or class probabilities (n, n_classes), of raw columns."""
        return self.link.apply(self.evaluate_raw(columns, carrier))

    def decide(self, f: IntArray) -> IntArray:
        """Position of the decided class, (n,): of two the one f is about where f > 0, of more the first largest."""
        zero = max(min(self.link.threshold, 2**62), -(2**62))  # an identity link may have an offset
        if f.shape[1] == 1:
            return np.asarray((f[:, 0] > zero) == bool(self.link.positive)).astype(np.int64)
        return np.asarray(f.argmax(axis=1)).astype(np.int64)

    def self_test(self, evaluate: Evaluate | None = None) -> None:
        """Raise PrecisionError unless `evaluate` (integers in, integers out) gives the known outputs, in any batch.

        Without `evaluate`, every carrier of this machine is tested; loading a file does so.
        """
        if self.vectors is None:
            raise PrecisionError("a self-test needs known vectors; this network has none; compile it again.")
        x, expected = self.vectors
        tested = {"backend": evaluate} if evaluate else {c: (lambda v, c=c: self.evaluate(v, c)) for c in self.carriers}
        for name, function in tested.items():
            for size in (len(x), 1, 7):
                found = [np.asarray(function(x[at : at + size])) for at in range(0, len(x), size)]
                if not np.array_equal(np.concatenate(found), expected):
                    raise PrecisionError(
                        f"a backend must give the known outputs bit for bit; {name} rounds differently (batches of "
                        f"{size}); do not deploy on it."
                    )

    def packed(self) -> PackedIntegers:
        """The trunks as flat arrays, for compiled kernels."""
        from .fixed_point_packing import pack_integers

        return pack_integers(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write one safetensors file: data, never code; the file appears whole or not at all."""
        from .fixed_point_file import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, max_bytes: int = 2**31) -> FixedPointNetwork:
        """Read a file written by `save`, check every rule again and run the self-test."""
        from .fixed_point_file import load

        network = load(path, max_bytes=max_bytes)
        try:
            network.self_test()
        except PrecisionError as error:
            raise FrozenFileError(f"{path} fails its self-test; {error}") from error
        return network

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FixedPointNetwork) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return FixedPointNetwork, tuple(getattr(self, field.name) for field in fields(self))

    def __str__(self) -> str:
        kind = f"{self.format.name}, shift {self.format.shift}, sums of {self.reach.bit_length() + 1} bits"
        unit = f"one output unit is 2^{-self.link.unit}"
        return f"FixedPointNetwork {self.digest[:12]}: {kind}, {unit}; carriers {', '.join(self.carriers)}"

    __repr__ = __str__
