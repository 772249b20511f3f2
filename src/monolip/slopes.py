r"""The idea: for feature i and output k the user asks for  lower <= df_k/dx_i <= upper.

Increasing is [0, s], decreasing [-s, 0], "no steeper than" [-s, s], fixed [a, b]: all one thing, a slope interval.
Everything else in monolip builds, keeps, proves or shows such intervals, and calls them by `promise_word`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cached import cached_property
from .errors import SlopeError
from .floats import locked, to_floats
from .monotonic_cst import by_position, check_names, read_directions, read_per_feature
from .rounding import interval_text, round_down, round_up

__all__ = ["SlopeBounds", "promise_word"]

FloatArray = NDArray[np.float64]


def promise_word(never_falls: bool, never_rises: bool, has_interval: bool = True) -> str:
    """The one word for what is promised, or certified, of a feature, in every table, page and file of results.

    "increasing", "decreasing", "flat": a direction. "bounded": no direction, but the slope stays in an interval that is
    shown. "free": nothing; the prediction may move either way, as fast as it likes.

    >>> [promise_word(True, False), promise_word(True, True), promise_word(False, False)]
    ['increasing', 'flat', 'bounded']
    >>> promise_word(False, False, has_interval=False)
    'free'
    """
    if never_falls:
        return "flat" if never_rises else "increasing"
    return "decreasing" if never_rises else "bounded" if has_interval else "free"


@dataclass(frozen=True, eq=False)
class SlopeBounds:
    r"""The promise: lower_i <= df/dx_i <= upper_i for every x (Eq. 4-6 of the paper are a special case).

    Args:
        lower, upper: one number per feature, shape (n_features,), or per feature and output, shape
            (n_features, n_outputs). Finite, lower <= upper.
        feature_names: optional, used in messages and tables.

    Examples:
        >>> slopes = SlopeBounds.from_monotonic_cst([+1, -1, 0], max_slope=2.0)
        >>> print(slopes)
        feature  promised    slope interval
        0        increasing  [0, 2]
        1        decreasing  [-2, 0]
        2        bounded     [-2, 2]
        >>> slopes.contains([1.5, -0.5, 2.0]), slopes.contains([-1e-300, -0.5, 2.0])
        (True, False)
    """

    lower: FloatArray
    upper: FloatArray
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        lower, upper = _readonly(self.lower, "lower"), _readonly(self.upper, "upper")
        if lower.shape != upper.shape or lower.ndim not in (1, 2) or lower.size == 0:
            raise SlopeError(
                "lower and upper must have the same shape, (n_features,) or (n_features, n_outputs), and not be empty; "
                f"got {lower.shape} and {upper.shape}; pass one interval per feature."
            )
        names = check_names(self.feature_names, lower.shape[0])
        for name, value in (("lower", lower), ("upper", upper), ("feature_names", names)):
            object.__setattr__(self, name, value)
        if ((lower > -np.inf) & (lower <= upper) & (upper < np.inf)).all():
            return
        for at in zip(*np.nonzero(~(np.isfinite(lower) & np.isfinite(upper))), strict=True):
            raise SlopeError(
                f"a slope interval must be finite; got [{lower[at]}, {upper[at]}] for {self._name(at)}; "
                "choose a finite cap (a generous one is fine: the slopes a model really has are read off its weights)."
            )
        for at in zip(*np.nonzero(lower > upper), strict=True):
            raise SlopeError(
                f"slope interval of {self._name(at)} is empty: lower={lower[at]} > upper={upper[at]}; swap them."
            )

    @classmethod
    def from_monotonic_cst(
        cls,
        monotonic_cst: Any,
        max_slope: Any,
        *,
        feature_names: Sequence[str] | None = None,
        n_features: int | None = None,
        slopes: Mapping[Hashable, tuple[float, float]] | None = None,
    ) -> SlopeBounds:
        """Intervals from scikit-learn's grammar and a slope cap s: +1 -> [0, s], -1 -> [-s, 0], 0 -> [-s, s].

        Args:
            monotonic_cst: array of -1/0/+1, shape (n_features,) or (n_features, n_outputs); a dict by name or
                position; or None for no direction at all.
            max_slope: the cap s: one number, one per feature, or a dict that names every feature.
            feature_names, n_features: needed when monotonic_cst is None or a dict.
            slopes: explicit (lower, upper) intervals by name or position that replace the above.

        >>> print(
        ...     SlopeBounds.from_monotonic_cst(
        ...         {"income": -1}, 1.0, feature_names=["income", "age"], slopes={"age": (-0.5, 0.25)}
        ...     )
        ... )
        feature  promised    slope interval
        income   decreasing  [-1, 0]
        age      bounded     [-0.5, 0.25]
        """
        names = check_names(feature_names, n_features)
        direction = read_directions(monotonic_cst, names, n_features)
        names = check_names(names, direction.shape[0])
        cap = read_per_feature(max_slope, "max_slope", names, direction.shape[0])
        cap = cap.reshape((-1,) + (1,) * (direction.ndim - 1))
        lower, upper = np.where(direction > 0, 0.0, -cap), np.where(direction < 0, 0.0, cap)
        for position, interval in by_position(slopes or {}, names, direction.shape[0]).items():
            lower[position], upper[position] = _interval(interval, names[position] if names else position)
        return cls(lower, upper, names)

    @classmethod
    def from_paper(
        cls,
        lambda_: float,
        monotonic_cst: Any,
        *,
        feature_names: Sequence[str] | None = None,
        n_features: int | None = None,
    ) -> SlopeBounds:
        """The paper's (lambda, S), Eq. 4-6: [0, 2 lambda] on S, [-2 lambda, 0] where decreasing, else +-lambda.

        This is the one place where lambda is turned into slopes: lambda is *half* the cap of a monotone feature.

        >>> SlopeBounds.from_paper(1.5, [1, 0]).upper
        array([3. , 1.5])
        """
        names = check_names(feature_names, n_features)
        direction = read_directions(monotonic_cst, names, n_features)
        lam = float(read_per_feature(lambda_, "lambda", None, 1)[0])
        shift = direction.astype(np.float64)
        with np.errstate(over="ignore"):  # an infinite interval is refused, with a message, by the constructor
            return cls((shift - 1.0) * lam, (shift + 1.0) * lam, check_names(names, direction.shape[0]))

    @property
    def n_features(self) -> int:
        return int(self.lower.shape[0])

    @property
    def n_outputs(self) -> int | None:
        """Number of outputs with intervals of their own; None when one interval per feature serves every output."""
        return None if self.lower.ndim == 1 else int(self.lower.shape[1])

    @property
    def directions(self) -> NDArray[np.int64]:
        """+1 where the interval promises "never falls", -1 "never rises", 0 neither (or, both being true, flat)."""
        return (self.lower >= 0).astype(np.int64) - (self.upper <= 0).astype(np.int64)

    @cached_property
    def center(self) -> FloatArray:
        """(lower + upper) / 2, rounded once: the residual slope of paper form (Eq. 4: lambda on S), never outside."""
        pairs = zip(self.lower.flat, self.upper.flat, strict=True)
        flat = [float((Fraction(a) + Fraction(b)) / 2) for a, b in pairs]  # halving a float is inexact near zero
        return _readonly(np.reshape(flat, self.lower.shape), "center")

    @cached_property
    def radius(self) -> FloatArray:
        """(upper - lower) / 2, rounded down until center - radius >= lower and center + radius <= upper *exactly*."""
        flat = [
            round_down(min(Fraction(c) - Fraction(a), Fraction(b) - Fraction(c)))
            for a, b, c in zip(self.lower.flat, self.upper.flat, self.center.flat, strict=True)
        ]
        return _readonly(np.reshape(flat, self.lower.shape), "radius")

    def for_output(self, k: int) -> SlopeBounds:
        """The intervals of output k alone, shape (n_features,)."""
        if self.lower.ndim == 1:
            return self
        if not 0 <= k < self.lower.shape[1]:
            raise SlopeError(f"outputs run from 0 to {self.lower.shape[1] - 1}; got {k}; correct the number.")
        return SlopeBounds(self.lower[:, k], self.upper[:, k], self.feature_names)

    def contains(self, slopes: Any, atol: float = 0.0) -> bool:
        """Whether every given slope lies in its interval, up to `atol` (0 by default: no slack).

        Shape: (..., n_features), or (..., n_outputs, n_features) as autodiff returns Jacobians when there are
        intervals per output. Accepts numpy arrays and torch tensors; NaN is never contained.
        """
        given = _readonly(slopes.detach().cpu().double().numpy() if hasattr(slopes, "detach") else slopes, "slopes")
        if given.shape[-self.lower.ndim :] != self.lower.T.shape:
            raise SlopeError(
                f"slopes must end in shape {self.lower.T.shape}; got {given.shape}; pass gradients or Jacobians with "
                "features last."
            )
        return bool(((given >= self.lower.T - atol) & (given <= self.upper.T + atol)).all())

    def rescaled(self, feature_scale: ArrayLike, output_scale: float = 1.0) -> SlopeBounds:
        """The intervals for scaled inputs u_i = x_i / feature_scale_i and scaled output v = f / output_scale.

        dv/du_i = df/dx_i * feature_scale_i / output_scale, rounded *inwards*, so that keeping the scaled interval
        keeps the one in the user's units exactly. Scales must be positive: a negative one would turn directions round.
        """
        scale = read_per_feature(feature_scale, "feature_scale", self.feature_names, self.n_features)
        out = Fraction(float(read_per_feature(output_scale, "output_scale", None, 1)[0]))
        factor = [Fraction(float(s)) / out for s in scale]
        rows = self.lower.reshape(self.n_features, -1), self.upper.reshape(self.n_features, -1)
        lower = [[round_up(Fraction(v) * q) for v in row] for row, q in zip(rows[0].tolist(), factor, strict=True)]
        upper = [[round_down(Fraction(v) * q) for v in row] for row, q in zip(rows[1].tolist(), factor, strict=True)]
        if any(a > b for low, up in zip(lower, upper, strict=True) for a, b in zip(low, up, strict=True)):
            raise SlopeError(
                "a fixed slope (lower = upper) has no exact float after scaling by these scales; got no number inside "
                "the scaled interval; widen the interval by one part in 1e15, or scale by powers of two."
            )
        shape = self.lower.shape
        return SlopeBounds(np.reshape(lower, shape), np.reshape(upper, shape), self.feature_names)

    def __reduce__(self) -> tuple[Any, ...]:  # numpy forgets "read-only" when pickled; the constructor restores it
        return SlopeBounds, (np.array(self.lower), np.array(self.upper), self.feature_names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SlopeBounds):
            return NotImplemented
        same = np.array_equal(self.lower, other.lower) and np.array_equal(self.upper, other.upper)
        return same and self.feature_names == other.feature_names

    def __hash__(self) -> int:
        return hash((self.lower.tobytes(), self.upper.tobytes(), self.feature_names))

    def __str__(self) -> str:
        rows = [("feature", "promised", "slope interval")]
        for where in np.ndindex(self.lower.shape):
            low, up = float(self.lower[where]), float(self.upper[where])
            rows.append((self._name(where, quote=False), promise_word(low >= 0, up <= 0), interval_text(low, up, 6)))
        widths = [max(len(row[c]) for row in rows) for c in range(2)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows)

    def __repr__(self) -> str:  # a notebook shows the promise, not arrays
        return f"SlopeBounds, {self.n_features} features\n{self}"

    def _name(self, where: Sequence[Any], quote: bool = True) -> str:
        feature = int(where[0])
        name = str(feature) if self.feature_names is None else self.feature_names[feature]
        if quote:
            name = f"feature {name}" if self.feature_names is None else repr(name)
        return name if len(where) == 1 else f"{name} -> output {int(where[1])}"


def _readonly(values: Any, what: str) -> FloatArray:
    try:
        return locked(to_floats(values))
    except (TypeError, ValueError, OverflowError):
        raise SlopeError(f"{what} must be numbers; got {values!r}; pass an array of floats.") from None


def _interval(interval: Any, key: Hashable) -> tuple[float, float]:
    try:
        low, up = to_floats(interval).tolist()
    except (TypeError, ValueError, OverflowError):
        raise SlopeError(
            f"slopes[{key!r}] must be a pair (lower, upper); got {interval!r}; pass two numbers."
        ) from None
    return low, up
