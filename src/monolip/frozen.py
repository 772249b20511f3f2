r"""FrozenNetwork: the one immutable object that is certified, exported, served and drawn. numpy only.

    f(x) = sum_m a_m f_m(x, h(free))        members f_m in convex form (paper form where averages cannot express them),
                                            a_m >= 0 with sum exactly 1, h an optional dense branch without a promise

The promise is checked for the stored numbers, in exact rational arithmetic, whenever one is constructed or loaded: a
FrozenNetwork that breaks its promise cannot exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cached import cached_property
from .convex import ConvexForm, on_simplex
from .errors import FreezeError, InputError
from .floats import locked, to_floats
from .free_branch import FreeBranch
from .frozen_ends import check_ends
from .input_transform import InputTransform
from .monotonic_cst import check_names
from .ordered import as_rows
from .output_link import OutputLink
from .raw_slopes import raw_slopes, surrounding_raw_slopes
from .rounding import exact_sum_is
from .slope_set import SlopeSet
from .slopes import SlopeBounds
from .trunk import Member, Trunk

__all__ = ["FrozenNetwork", "Member", "Trunk"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FrozenNetwork:
    """An immutable network with its promise, proved for the numbers it stores.

    Args:
        promise: SlopeBounds (or a SlopeSet) over the inputs of the trunks: the constrained features first, then the
            outputs of the free branch, if there is one.
        members: each a tuple of trunks that together give every output once.
        member_weights: >= 0, sum exactly 1 (see `on_simplex`); None for equal weights.
        free_branch: dense layers applied to the free features, which carry no promise.
        free_names: names of the free features.
        inputs: the transform from raw columns to the model columns above; None if the network takes raw numbers.
        raw_promise: SlopeBounds of the raw numeric features, in raw units; needs `inputs`; None for the promise above.
        link: what the outputs mean (an OutputLink); None for the outputs themselves.

    Shape: evaluate takes (..., n_features + n_free_features) model columns and returns (..., n_outputs).

    Examples:
        >>> f = FrozenNetwork(
        ...     SlopeBounds.from_monotonic_cst([1], 1.0),
        ...     ((Trunk(ConvexForm(([[0.0], [1.0]], [[0.0, 1.0]]), ([0.0, 0.0], [0.0]), (2,)), (0,)),),),
        ... )
        >>> f.evaluate([[-2.0], [2.0]]).ravel(), f.slope_range
        (array([0., 2.]), (array([0.]), array([1.])))
    """

    promise: SlopeBounds | SlopeSet
    members: tuple[Member, ...]
    member_weights: FloatArray | None = None
    free_branch: FreeBranch | None = None
    free_names: tuple[str, ...] | None = None
    inputs: InputTransform | None = None
    raw_promise: SlopeBounds | None = None
    link: OutputLink | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.promise, SlopeBounds | SlopeSet):
            raise FreezeError(f"a promise is SlopeBounds or a SlopeSet; got {type(self.promise).__name__}; pass one.")
        members = tuple(tuple(member) if isinstance(member, Iterable) else () for member in self.members)
        trunks = [trunk for member in members for trunk in member]
        if not trunks or not all(members) or not all(isinstance(trunk, Trunk) for trunk in trunks):
            raise FreezeError("a frozen network needs members made of trunks; got others; pass ((Trunk(...),),).")
        if not isinstance(self.free_branch, FreeBranch | None):
            raise FreezeError(f"a free branch is a FreeBranch; got {type(self.free_branch).__name__}; pass one.")
        if self.free_branch and not self.free_branch.n_outputs < self.bounds.n_features:
            raise FreezeError(
                f"a promise covers the constrained features, then the {self.free_branch.n_outputs} outputs of the free "
                f"branch; got {self.bounds.n_features} intervals; add those of the constrained features."
            )
        names = check_names(self.free_names, self.n_free_features)
        weights = _check_member_weights(self.member_weights, len(members))
        for name, value in (("members", members), ("member_weights", weights), ("free_names", names or None)):
            object.__setattr__(self, name, value)
        for member in self.members:
            self._check_member(member)
        check_ends(self)

    @property
    def bounds(self) -> SlopeBounds:
        """The intervals over all inputs of the trunks, free-branch outputs included."""
        return self.promise.bounds if isinstance(self.promise, SlopeSet) else self.promise

    @property
    def slopes(self) -> SlopeBounds:
        """What is promised: the slope intervals of the constrained features."""
        inside, d = self.bounds, self.n_features
        names = None if inside.feature_names is None else inside.feature_names[:d]
        return SlopeBounds(inside.lower[:d], inside.upper[:d], names)

    @property
    def n_features(self) -> int:
        """Constrained features: those that carry a promise."""
        return self.bounds.n_features - (self.free_branch.n_outputs if self.free_branch else 0)

    @property
    def n_free_features(self) -> int:
        """Features that enter through the free branch and carry no promise."""
        return self.free_branch.n_features if self.free_branch else 0

    @property
    def n_outputs(self) -> int:
        return sum(len(trunk.outputs) for trunk in self.members[0])

    @property
    def is_convex(self) -> bool:
        """Whether every trunk is in convex form, so that directions hold bit for bit in `evaluate`."""
        return all(isinstance(trunk.form, ConvexForm) for member in self.members for trunk in member)

    @property
    def slope_range(self) -> tuple[FloatArray, FloatArray]:
        """An interval that holds every slope of f, read off the weights, over outputs and members; shapes (d,)."""
        low, high = zip(*(trunk.slope_range for member in self.members for trunk in member), strict=True)
        d = self.n_features
        return np.min(low, axis=0)[:d], np.max(high, axis=0)[:d]

    @cached_property
    def raw_slopes(self) -> SlopeBounds:
        """An interval that holds every slope in raw units, per raw numeric feature (and output), rounded outwards."""
        if self.inputs is None:
            raise FreezeError("slopes in raw units need an input transform; this network has none; read slope_range.")
        return raw_slopes(self)

    @cached_property
    def rough_raw_slopes(self) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Intervals a little wider than `raw_slopes`, in floats alone: `[output][feature]`; a fit asks twice."""
        return tuple(surrounding_raw_slopes(self, k) for k in range(self.n_outputs))

    @cached_property
    def digest(self) -> str:
        """sha256 over the structure and every stored number, as hex."""
        from .frozen_file import digest_of

        return digest_of(self)

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """f(x) in float64, in one fixed order of operations. Shape (..., d + d_free) -> (..., n_outputs).

        NaN is refused; infinities count as the largest number the network can evaluate.
        """
        d = self.n_features
        try:
            rows = as_rows(x, d + self.n_free_features)
        except InputError as error:
            if self.inputs is None:
                raise
            raise InputError(f"evaluate takes model columns; {error} For raw columns use evaluate_raw.") from None
        if self.free_branch:
            rows = np.hstack([rows[:, :d], self.free_branch.evaluate(rows[:, d:])])
            if np.isnan(rows).any():
                raise InputError("the free branch overflowed to NaN; its inputs are too large; scale them.")
        assert self.member_weights is not None, "set in __post_init__"
        total = np.zeros((rows.shape[0], self.n_outputs))
        for weight, member in zip(self.member_weights, self.members, strict=True):
            for trunk in member:
                total[:, list(trunk.outputs)] += weight * trunk.form.evaluate(rows)
        return total.reshape(*np.shape(x)[:-1], self.n_outputs)

    __call__ = evaluate

    def evaluate_raw(self, columns: Mapping[str, Any] | Sequence[Any]) -> FloatArray:
        """f of raw columns, given in order or by name. Shape: (n,) each -> (n, n_outputs)."""
        if self.inputs is None:
            raise InputError("raw columns need an input transform; this network has none; use evaluate.")
        return self.evaluate(self.inputs.evaluate(columns))

    def save(self, path: str | PathLike[str]) -> None:
        """Write one safetensors file: data, never code; the file appears whole or not at all."""
        from .frozen_file import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, max_bytes: int = 2**31) -> FrozenNetwork:
        """Read a file written by `save`; damaged, edited or oversized files are errors that say so."""
        from .frozen_file import load

        return load(path, max_bytes=max_bytes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenNetwork) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenNetwork, tuple(getattr(self, field.name) for field in fields(self))

    def __str__(self) -> str:
        form = "convex form" if self.is_convex else "paper form"
        free = f"; {self.n_free_features} free features: no promise" if self.free_branch else ""
        kind = f"{len(self.members)} member{'s' if len(self.members) > 1 else ''} in {form}"
        extra = f"\n{self.promise.inequality_text}" if isinstance(self.promise, SlopeSet) else ""
        if self.link is not None and self.link.positive is not None:
            free += f"; f is the {self.link.unit}"
        return f"FrozenNetwork {self.digest[:12]}: {kind}{free}\n{self.raw_promise or self.slopes}{extra}"

    __repr__ = __str__  # a notebook shows the promise, not every weight

    def _check_member(self, member: Member) -> None:
        outputs = sorted(k for trunk in member for k in trunk.outputs)
        n_outputs = self.bounds.n_outputs or len(outputs)
        if outputs != list(range(n_outputs)) or len(outputs) != self.n_outputs:
            raise FreezeError(
                f"the trunks of a member must give each output once; got outputs {outputs}; renumber them."
            )
        for trunk in member:
            if trunk.form.n_features != self.bounds.n_features or trunk.form.n_outputs != len(trunk.outputs):
                raise FreezeError(
                    f"a trunk must take {self.bounds.n_features} inputs and give {len(trunk.outputs)} outputs; got "
                    f"{trunk.form.n_features} and {trunk.form.n_outputs}; check the shapes."
                )
            if not trunk.keeps(self.promise):
                raise FreezeError(
                    "the stored weights must keep the promise in exact arithmetic; these do not (a first-layer row or "
                    "residual leaves its slope interval); freeze a monolip module instead of building weights by hand."
                )


def _check_member_weights(given: ArrayLike | None, count: int) -> FloatArray:
    if given is None:
        return _equal_weights(count)
    try:
        weights = locked(to_floats(given))
    except (TypeError, ValueError, OverflowError) as error:
        raise FreezeError(f"member weights must be numbers, one per member; {error}; use on_simplex().") from None
    if weights.shape != (count,) or not (weights >= 0).all() or not exact_sum_is(weights, 1.0):
        raise FreezeError(
            f"member weights must be >= 0 with sum exactly 1, one per member; got {given!r}; use on_simplex()."
        )
    return weights


@lru_cache(maxsize=16)
def _equal_weights(count: int) -> FloatArray:
    """As equal as floats that add up to exactly 1 can be, (count,); nobody can write to them."""
    return locked(on_simplex(np.ones((1, count)))[0])
