r"""FrozenNetwork: the one immutable object that is certified, exported, served and drawn. numpy only.

    f(x) = sum_m a_m f_m(x, h(free))        members f_m in convex form (paper form where averages cannot express them),
                                            a_m >= 0 with sum exactly 1, h an optional dense branch without a promise

The promise is checked for the stored numbers, in exact rational arithmetic, whenever one is constructed or loaded: a
FrozenNetwork that breaks its promise cannot exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .convex import ConvexForm, on_simplex
from .errors import FreezeError, InputError
from .free_branch import FreeBranch
from .monotonic_cst import check_names
from .ordered import as_rows
from .paper_form import PaperForm
from .slope_set import SlopeSet
from .slopes import SlopeBounds

__all__ = ["FrozenNetwork", "Member", "Trunk"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Trunk:
    """One network and the outputs of f that its rows are."""

    form: ConvexForm | PaperForm
    outputs: tuple[int, ...]


Member = tuple[Trunk, ...]


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

    Shape: evaluate takes (..., n_features + n_free_features) and returns (..., n_outputs).

    Example:
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

    def __post_init__(self) -> None:
        if not self.members:
            raise FreezeError("a frozen network needs at least one member; got none; pass members=((Trunk(...),),).")
        weights = self.member_weights
        if weights is None:
            weights = on_simplex(np.full((1, len(self.members)), 1.0 / len(self.members)))[0]
        weights = np.array(weights, dtype=np.float64)
        if weights.shape != (len(self.members),) or not np.array_equal(on_simplex(weights[None])[0], weights):
            raise FreezeError(
                f"member weights must be >= 0 with sum exactly 1, one per member; got {weights!r}; use on_simplex()."
            )
        weights.setflags(write=False)
        object.__setattr__(self, "member_weights", weights)
        object.__setattr__(self, "members", tuple(tuple(member) for member in self.members))
        check_names(self.free_names, self.n_free_features)
        for member in self.members:
            self._check_member(member)

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
        """Slopes f can really have, read off the weights; shape (n_features,), over all outputs and members."""
        low, high = zip(*(_range_of(trunk.form) for member in self.members for trunk in member), strict=True)
        d = self.n_features
        return np.min(low, axis=0)[:d], np.max(high, axis=0)[:d]

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
        rows = as_rows(x, d + self.n_free_features)
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
        return FrozenNetwork, (self.promise, self.members, self.member_weights, self.free_branch, self.free_names)

    def __str__(self) -> str:
        form = "convex form" if self.is_convex else "paper form"
        free = f"; {self.n_free_features} free features: no promise" if self.free_branch else ""
        kind = f"{len(self.members)} member{'s' if len(self.members) > 1 else ''} in {form}"
        return f"FrozenNetwork {self.digest[:12]}: {kind}{free}\n{self.slopes}"

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
            self._check_promise(trunk)

    def _check_promise(self, trunk: Trunk) -> None:
        kept = True
        if isinstance(self.promise, SlopeSet) and not self.promise.is_box:
            kept = isinstance(trunk.form, ConvexForm) and self.promise.contains_exactly(trunk.form.weights[0])
        for row, k in enumerate(trunk.outputs):
            bounds = self.bounds.for_output(k)
            if isinstance(trunk.form, ConvexForm):
                kept = kept and bounds.contains(trunk.form.weights[0])
            else:
                kept = kept and _paper_slopes_inside(trunk.form, row, bounds)
        if not kept:
            raise FreezeError(
                "the stored weights must keep the promise in exact arithmetic; these do not (a first-layer row or "
                "residual leaves its slope interval); freeze a monolip module instead of building the weights by hand."
            )


def _paper_slopes_inside(form: PaperForm, row: int, bounds: SlopeBounds) -> bool:
    """center - scale radius >= lower and center + scale radius <= upper, exactly."""
    scale = Fraction(float(form.scale[row]))
    columns = zip(
        form.center[row].tolist(), form.radius.tolist(), bounds.lower.tolist(), bounds.upper.tolist(), strict=True
    )
    for c, r, low, up in columns:
        reach = scale * Fraction(r)
        if Fraction(c) - reach < Fraction(low) or Fraction(c) + reach > Fraction(up):
            return False
    return True


def _range_of(form: ConvexForm | PaperForm) -> tuple[FloatArray, FloatArray]:
    if isinstance(form, ConvexForm):
        return form.slope_range
    # outward by one ulp: these are read by people and by plots; the exact check is _paper_slopes_inside
    reach = np.nextafter(np.outer(form.scale, form.radius), np.inf)
    return np.nextafter((form.center - reach).min(axis=0), -np.inf), np.nextafter(
        (form.center + reach).max(axis=0), np.inf
    )
