r"""Promises beyond intervals: any convex set of gradients, here box, linear inequalities and an L2 ball, intersected.

Theorem 1 holds for every convex set C: if all rows of the first layer lie in C, so does every gradient of f. So
"x1 matters at least as much as x2" (df/dx1 >= df/dx2) or "|grad f|_2 <= 1" cost no more than a projection of rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cached import cached_property
from .errors import SlopeError
from .floats import locked, to_floats
from .monotonic_cst import by_position, feature_index, read_per_feature
from .slope_projection import dykstra, project_rows
from .slopes import SlopeBounds

__all__ = ["SlopeSet"]

FloatArray = NDArray[np.float64]

_MANY_SWEEPS = 1000  # gives the nearest point to about 1e-6 for rows not far beyond the set; any number is feasible
_MOST_INEQUALITIES = 100


@dataclass(frozen=True, eq=False)
class SlopeSet:
    r"""{w: lower <= w <= upper, A w <= b, |w|_2 <= radius}: the gradients a network may have.

    Build it from intervals and narrow it; each step returns a new set, and an empty one is refused at once.

    Example: both increasing, the first at least as strong as the second.
        >>> box = SlopeBounds.from_monotonic_cst([1, 1], 2.0, feature_names=["dose", "age"])
        >>> promise = SlopeSet(box).at_least("dose", "age")
        >>> promise.contains([1.0, 0.5]), promise.contains([0.5, 1.0])
        (True, False)
        >>> promise.project([[0.5, 1.0]])
        array([[0.75, 0.75]])
    """

    bounds: SlopeBounds
    matrix: FloatArray | None = None
    limits: FloatArray | None = None
    l2_radius: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.bounds, SlopeBounds) or self.bounds.lower.ndim != 1:
            raise SlopeError(
                "a slope set starts from one interval per feature; got "
                f"{type(self.bounds).__name__}; pass SlopeBounds of shape (n_features,)."
            )
        matrix, limits = _check_inequalities(self.matrix, self.limits, self.bounds.n_features)
        radius = self.l2_radius
        if radius is not None:
            radius = float(read_per_feature(radius, "an L2 radius", None, 1)[0])
        for name, value in (("matrix", matrix), ("limits", limits), ("l2_radius", radius)):
            object.__setattr__(self, name, value)
        _ = self.anchor  # refuses a set without an inside

    @property
    def n_features(self) -> int:
        return self.bounds.n_features

    def at_least(self, stronger: Hashable, weaker: Hashable) -> SlopeSet:
        """Narrow to df/d(stronger) >= df/d(weaker), features given by name or position."""
        names, d = self.bounds.feature_names, self.n_features
        more, less = feature_index(stronger, names, d), feature_index(weaker, names, d)
        if more == less:
            raise SlopeError(f"a feature cannot be compared with itself; got {stronger!r} twice; name two features.")
        return self.at_most({less: 1.0, more: -1.0}, 0.0)

    def at_most(self, coefficients: Mapping[Hashable, float], limit: float) -> SlopeSet:
        """Narrow to sum of coefficient * slope <= limit."""
        if not isinstance(coefficients, Mapping):
            raise SlopeError(f"coefficients are a dict by feature; got {coefficients!r}; write {{'age': 1.0}}.")
        row = np.zeros(self.n_features)
        for position, value in by_position(coefficients, self.bounds.feature_names, self.n_features).items():
            try:
                row[position] = to_floats(value)
            except (TypeError, ValueError) as error:
                raise SlopeError(f"a coefficient must be a number; {error}; pass a float.") from None
        matrix, limits = self.inequalities
        return replace(self, matrix=np.vstack([matrix, row]), limits=np.append(limits, to_floats(limit)))

    def in_l2_ball(self, radius: float) -> SlopeSet:
        """Narrow to |grad f|_2 <= radius."""
        smallest = radius if self.l2_radius is None else min(radius, self.l2_radius)
        return replace(self, l2_radius=smallest)

    @property
    def inequalities(self) -> tuple[FloatArray, FloatArray]:
        """A and b of A w <= b, shapes (m, d) and (m,)."""
        assert self.matrix is not None, "set in __post_init__"
        assert self.limits is not None, "set in __post_init__"
        return self.matrix, self.limits

    @property
    def inequality_text(self) -> str:
        """The promises beyond intervals, one a line: for tables and messages."""
        names = self.bounds.feature_names or tuple(str(i) for i in range(self.n_features))
        lines = []
        for row, limit in zip(*self.inequalities, strict=True):
            named = {f"slope({names[i]})": float(v) for i, v in enumerate(row) if v != 0}
            lines.append(f"and {_inequality(named, float(limit))}")
        if self.l2_radius is not None:
            lines.append(f"and the slopes together: |slopes|_2 <= {self.l2_radius:g}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.bounds}\n{self.inequality_text}".rstrip()

    def __repr__(self) -> str:
        return f"SlopeSet, {self.n_features} features\n{self}"

    @property
    def is_box(self) -> bool:
        return self.inequalities[1].size == 0 and self.l2_radius is None

    @cached_property
    def anchor(self) -> FloatArray:
        """A point well inside: rows that rounding left outside are pulled towards it."""
        with np.errstate(all="ignore"):  # slopes near 1e308 give NaN here, which is never "inside"
            for margin in (0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-5):
                point = self.bounds.center
                if not self.is_box:
                    point = dykstra(point[None], *self.parts(margin), 2000)[0]
                if self._slack(point) > 0.3 * margin:
                    point.setflags(write=False)
                    return np.asarray(point)
        raise SlopeError(
            "a slope set must have an inside; these inequalities contradict each other or leave only a face; "
            "loosen one of them."
        )

    def contains(self, slopes: ArrayLike, atol: float = 0.0) -> bool:
        """Whether every gradient, shape (..., n_features), lies in the set up to `atol`."""
        given = to_floats(slopes)
        matrix, limits = self.inequalities
        inside = self.bounds.contains(given, atol) and bool((given @ matrix.T <= limits + atol).all())
        if self.l2_radius is not None:
            inside = inside and bool((np.sqrt((given * given).sum(axis=-1)) <= self.l2_radius + atol).all())
        return inside

    def contains_exactly(self, rows: ArrayLike) -> bool:
        """Whether every row lies in the set in exact rational arithmetic."""
        given = np.asarray(rows, dtype=np.float64)
        if not self.bounds.contains(given):
            return False
        matrix, limits = self.inequalities
        planes = [[Fraction(v) for v in row] for row in matrix.tolist()]
        tops = [Fraction(v) for v in limits.tolist()]
        for row in given.reshape(-1, self.n_features).tolist():
            w = [Fraction(v) for v in row]
            if any(
                sum(a * v for a, v in zip(plane, w, strict=True)) > top for plane, top in zip(planes, tops, strict=True)
            ):
                return False
            if self.l2_radius is not None and sum(v * v for v in w) > Fraction(self.l2_radius) ** 2:
                return False
        return True

    def project(self, rows: ArrayLike) -> FloatArray:
        """Each row moved into the set: the nearest point up to Dykstra's convergence, and never outside."""
        given = np.asarray(rows, dtype=np.float64)
        return np.asarray(project_rows(given, *self.parts(), self.anchor, _MANY_SWEEPS))

    def exact(self, rows: ArrayLike) -> FloatArray:
        """`project`, then pulled towards the anchor by a few ulps until `contains_exactly` holds."""
        result = self.project(rows)
        for k in range(52, 20, -4):
            if self.contains_exactly(result):
                return result
            result = np.clip(self.anchor + (result - self.anchor) * (1 - 2.0**-k), self.bounds.lower, self.bounds.upper)
        raise SlopeError("rows could not be rounded into the slope set; the set is too thin; loosen an inequality.")

    def __reduce__(self) -> tuple[Any, ...]:  # numpy forgets "read-only" when pickled; the constructor restores it
        return SlopeSet, (self.bounds, self.matrix, self.limits, self.l2_radius)

    def parts(self, margin: float = 0.0) -> tuple[Any, Any, Any, Any, float]:
        """lower, upper, A, b, radius with every constraint moved inwards by a share `margin` of its size."""
        matrix, limits = self.inequalities
        width = self.bounds.upper - self.bounds.lower
        norms = np.sqrt((matrix * matrix).sum(axis=1))
        ball = np.inf if self.l2_radius is None else self.l2_radius * (1 - margin / 2)
        step = margin / 2 * min(float(width.max()), ball)
        return (
            self.bounds.lower + margin / 2 * width,
            self.bounds.upper - margin / 2 * width,
            matrix,
            (limits - step * norms),
            ball,
        )

    def _slack(self, point: FloatArray) -> float:
        """Smallest distance to a constraint, relative to its size; fixed features (no width) do not count."""
        lower, upper, matrix, limits, ball = self.parts()
        width = upper - lower
        moving = width > 0
        shares = [np.minimum(point - lower, upper - point)[moving] / width[moving]]
        norms = np.sqrt((matrix * matrix).sum(axis=1))
        size = min(float(width.max()), ball) or 1.0
        shares.append((limits - matrix @ point) / (norms * size))
        if np.isfinite(ball):
            shares.append(np.array([1 - np.sqrt((point * point).sum()) / ball]))
        return float(np.concatenate([[1.0], *shares]).min())  # numpy's minimum keeps NaN, which is never inside


def _inequality(named: dict[str, float], limit: float) -> str:
    """sum of coefficient * slope <= limit as one would write it: slope(a) >= slope(b), 2 slope(a) - slope(b) <= 1."""
    if limit == 0 and sorted(named.values()) == [-1.0, 1.0]:
        weaker, stronger = sorted(named, key=lambda name: -named[name])
        return f"{stronger} >= {weaker}"
    terms = [f"{'-' if v < 0 else '+'} {'' if abs(v) == 1 else f'{abs(v):g} '}{name}" for name, v in named.items()]
    text = " ".join(terms) or "0"
    return f"{'-' + text[2:] if text.startswith('- ') else text.removeprefix('+ ')} <= {limit:g}"


def _check_inequalities(matrix: Any, limits: Any, d: int) -> tuple[FloatArray, FloatArray]:
    try:
        A = np.zeros((0, d)) if matrix is None else locked(to_floats(matrix))
        b = np.zeros(0) if limits is None else locked(to_floats(limits))
    except (TypeError, ValueError, OverflowError) as error:
        raise SlopeError(f"inequalities A w <= b must be numbers; {error}; pass arrays of floats.") from None
    if A.shape != (b.size, d) or b.ndim != 1 or not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise SlopeError(
            f"inequalities A w <= b need a finite A of shape (m, {d}) and b of shape (m,); got {A.shape} and "
            f"{b.shape}; write one row of A per inequality."
        )
    if not (A != 0).any(axis=1).all():
        raise SlopeError("an inequality must involve a slope; got a row of zeros; drop it.")
    exponents = np.frexp(np.abs(A).max(axis=1))[1] if len(b) else np.zeros(0, dtype=int)
    far = np.where(np.abs(exponents) > 20, exponents, 0)  # a power of two changes no inequality, and avoids overflow
    A, b = locked(np.ldexp(A, -far[:, None])), locked(np.ldexp(b, -far))
    if not np.isfinite(b).all():
        raise SlopeError("the limit of an inequality is out of proportion to its coefficients; rescale them.")
    if len(b) > _MOST_INEQUALITIES:  # whether they contradict each other is searched for; a file must not hang that
        raise SlopeError(f"at most {_MOST_INEQUALITIES} inequalities are supported; got {len(b)}; drop some.")
    return A, b
