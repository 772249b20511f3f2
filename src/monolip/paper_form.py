r"""Paper form, frozen in numpy: f_k(x) = sum_i center_ki x_i + scale_k g_k(radius * x), g 1-Lipschitz (Eq. 4, 7, 8).

g has signed weights held to a chain of norms, each at most 1 in exact rational arithmetic, with GroupSort (Eq. 12) or
Householder reflections (Eq. 13) between them. Hence df_k/dx_i lies in center_ki +- scale_k radius_i.

A Householder reflection over n coordinates has gain up to sqrt(n) in L1 and Linf. The *next* layer pays for it: a row
w must keep sum over groups of max(|w|_1, |w R|_1) at most 1, because each group is either passed or reflected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cached import cached_property
from .convex import check_layers
from .errors import StructureError
from .floats import locked, to_floats
from .norms import Norm, check_chain
from .ordered import affine, as_rows, check_group_size, clamp_limit, sort_groups
from .rounding import exact_sum_is_at_most

__all__ = ["PaperForm", "Rectify", "Reflect", "Sort", "exact_norm", "norm_is_at_most_one"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Sort:
    """GroupSort, Eq. 12: 1-Lipschitz in every Lp."""

    group_size: int

    def apply(self, z: FloatArray) -> FloatArray:
        return sort_groups(z, self.group_size)


@dataclass(frozen=True)
class Rectify:
    """max(z, 0): 1-Lipschitz in every Lp, but it cannot keep slope 1 everywhere (|x| is out of its reach)."""

    def apply(self, z: FloatArray) -> FloatArray:
        return np.maximum(z, 0.0)


@dataclass(frozen=True, eq=False)
class Reflect:
    """Householder, Eq. 13: z where z.v > 0, else z - 2 v (v.z) / (v.v), group by group.

    Args:
        directions: one vector v per group, shape (n_groups, group_size); any length but zero.
    """

    directions: FloatArray

    def __post_init__(self) -> None:
        v = locked(np.array(self.directions, dtype=np.float64))
        if v.ndim != 2 or v.size == 0 or not np.isfinite(v).all() or not (v != 0).any(axis=1).all():
            raise StructureError(
                "Householder directions must be finite and not zero, shape (n_groups, group_size); got others; "
                "pass one vector per group."
            )
        object.__setattr__(self, "directions", v)

    @cached_property
    def _scaled(self) -> FloatArray:
        """Directions of length in [1/2, 1), by powers of two: the same reflections, and no square overflows."""
        v = self.directions
        v = np.ldexp(v, -np.frexp(np.abs(v).max(axis=1, keepdims=True))[1])
        scaled: FloatArray = np.ldexp(v, -np.frexp(np.sqrt((v * v).sum(axis=1, keepdims=True)))[1])
        return scaled

    def apply(self, z: FloatArray) -> FloatArray:
        v = self._scaled
        groups = z.reshape(*z.shape[:-1], *v.shape)
        along = (groups * v).sum(axis=-1, keepdims=True)
        reflected = groups - (2.0 * along / (v * v).sum(axis=-1, keepdims=True)) * v
        return np.where(along > 0, groups, reflected).reshape(z.shape)

    def __reduce__(self) -> tuple[Any, ...]:  # numpy forgets "read-only" when pickled; the constructor restores it
        return Reflect, (self.directions,)


Activation = Sort | Rectify | Reflect


@dataclass(frozen=True, eq=False)
class PaperForm:
    """A network in paper form, immutable; every layer's norm is at most 1 exactly, or it cannot be constructed.

    Args:
        weights, biases: effective weights (out, in) and biases of g.
        activations: one between each two layers.
        norms: the norm each weight is held to; they must chain.
        center: residual slopes, shape (n_outputs, n_features).
        radius: input scale, shape (n_features,), >= 0.
        scale: output scale, shape (n_outputs,), >= 0.
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    activations: tuple[Activation, ...]
    norms: tuple[Norm, ...]
    center: FloatArray
    radius: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        weights, biases = check_layers(self.weights, self.biases)
        for name, kind in (("activations", Activation), ("norms", Norm)):
            object.__setattr__(self, name, _tuple_of(kind, getattr(self, name), name))
        if len(self.activations) != len(weights) - 1 or len(self.norms) != len(weights):
            raise StructureError(
                f"{len(weights)} layers need {len(weights)} norms and {len(weights) - 1} activations; got "
                f"{len(self.norms)} and {len(self.activations)}; pass one norm per layer, one activation between two."
            )
        for activation, bias in zip(self.activations, biases[:-1], strict=True):
            _check_width(activation, len(bias))
        check_chain(self.norms)
        for name, value in (("weights", weights), ("biases", biases)):
            object.__setattr__(self, name, value)
        n_outputs, n_features = weights[-1].shape[0], weights[0].shape[1]
        for name, shape in (("center", (n_outputs, n_features)), ("radius", (n_features,)), ("scale", (n_outputs,))):
            object.__setattr__(self, name, _finite(getattr(self, name), name, shape, signed=name == "center"))
        for k, (weight, norm) in enumerate(zip(weights, self.norms, strict=True)):
            if not norm_is_at_most_one(weight, norm, self.activations[k - 1] if k else None):
                raise StructureError(
                    f"every layer of paper form must have norm at most 1, exactly; layer {k} ({norm.name}) exceeds it; "
                    "freeze a monolip module, which rounds its weights inwards."
                )
        _ = self.clamp_limit

    @property
    def n_features(self) -> int:
        return int(self.weights[0].shape[1])

    @property
    def n_outputs(self) -> int:
        return int(self.weights[-1].shape[0])

    @property
    def clamp_limit(self) -> float:
        """Inputs beyond +-this count as +-this, so that nothing overflows."""
        gains = [math.sqrt(a.directions.shape[1]) for a in self.activations if isinstance(a, Reflect)]
        growth = 2.0 * math.prod(gains) * max(1.0, float(self.scale.max()))  # the next layer pays only afterwards
        with np.errstate(over="ignore", invalid="ignore"):  # infinite sums are refused, with a message, by clamp_limit
            size = np.abs(self.center).sum(axis=1).max() + growth * self.radius.sum()
            biases = growth * sum(np.abs(b).sum() for b in self.biases)
        return clamp_limit(float(size), float(biases))

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """f(x) in float64. Shape (n, d) -> (n, n_outputs)."""
        rows = np.clip(as_rows(x, self.n_features), -self.clamp_limit, self.clamp_limit)
        z = rows * self.radius
        for weight, bias, activation in zip(self.weights[:-1], self.biases[:-1], self.activations, strict=True):
            z = activation.apply(affine(z, weight, bias))
        g = affine(z, self.weights[-1], self.biases[-1])
        return affine(rows, self.center, np.zeros(self.n_outputs)) + self.scale * g

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.weights, self.biases, self.activations, self.norms, self.center, self.radius, self.scale)
        return PaperForm, fields


def norm_is_at_most_one(weight: FloatArray, norm: Norm, before: Activation | None = None) -> bool:
    """Whether `exact_norm` is at most 1, decided exactly and, where sums of floats decide it, quickly."""
    if norm is Norm.L2_TO_LINF or isinstance(before, Reflect):
        return exact_norm(weight, norm, before) <= 1
    if norm is Norm.L1_TO_LINF:
        return bool((np.abs(weight) <= 1.0).all())
    vectors = np.abs(weight.T if norm is Norm.L1_TO_L1 else weight).tolist()
    return all(exact_sum_is_at_most(vector, 1.0) for vector in vectors)


def exact_norm(weight: FloatArray, norm: Norm, before: Activation | None = None) -> Fraction:
    """The exact operator norm of a stored weight (for L2: its square), as a rational number.

    With a Householder activation `before` it, the norm of the weight over every pattern of passed and reflected groups.
    """
    variants = [[[Fraction(v) for v in row] for row in weight.tolist()]]
    sizes = [1] * weight.shape[1]
    if isinstance(before, Reflect) and norm is not Norm.L2_TO_LINF:  # a reflection is an L2 isometry: nothing to pay
        variants.append([_reflect_row(row, before) for row in variants[0]])
        sizes = [before.directions.shape[1]] * before.directions.shape[0]
    magnitudes = [[[abs(v) for v in row] for row in variant] for variant in variants]
    if norm is Norm.L1_TO_LINF:
        return max(max(row) for variant in magnitudes for row in variant)
    if norm is Norm.L1_TO_L1:
        return max(sum(column, Fraction(0)) for variant in magnitudes for column in zip(*variant, strict=True))
    if norm is Norm.L2_TO_LINF:
        return max(sum((v * v for v in row), Fraction(0)) for row in magnitudes[0])
    return max(_row_over_groups([variant[k] for variant in magnitudes], sizes) for k in range(weight.shape[0]))


def _row_over_groups(variants: list[list[Fraction]], sizes: list[int]) -> Fraction:
    total, start = Fraction(0), 0
    for size in sizes:
        total += max(sum(row[start : start + size], Fraction(0)) for row in variants)
        start += size
    return total


def _reflect_row(row: list[Fraction], reflect: Reflect) -> list[Fraction]:
    result: list[Fraction] = []
    for g, direction in enumerate(reflect.directions.tolist()):
        v = [Fraction(c) for c in direction]
        w = row[g * len(v) : (g + 1) * len(v)]
        factor = 2 * sum((a * b for a, b in zip(w, v, strict=True)), Fraction(0)) / sum(c * c for c in v)
        result += [a - factor * b for a, b in zip(w, v, strict=True)]
    return result


def _check_width(activation: Activation, width: int) -> None:
    if isinstance(activation, Sort):
        check_group_size(activation.group_size, width)
    elif isinstance(activation, Reflect) and activation.directions.size != width:
        raise StructureError(
            f"Householder directions must cover the layer; got {activation.directions.size} entries for width {width}; "
            "pass one vector per group."
        )


def _tuple_of(kind: Any, values: Any, name: str) -> tuple[Any, ...]:
    result = tuple(values) if isinstance(values, Iterable) else (values,)
    alien = [value for value in result if not isinstance(value, kind)]
    if alien:  # anything else has no known gain, so nothing could be promised
        raise StructureError(
            f"{name} must be {' or '.join(sorted(k.__name__ for k in get_args(kind) or (kind,)))} objects; got "
            f"{alien[0]!r}; pass one of these."
        )
    return result


def _finite(values: Any, name: str, shape: tuple[int, ...], signed: bool) -> FloatArray:
    try:
        array = locked(to_floats(values))
    except (TypeError, ValueError, OverflowError) as error:
        raise StructureError(f"{name} must be numbers of shape {shape}; {error}; check it.") from None
    if array.shape != shape or not np.isfinite(array).all() or (not signed and (array < 0).any()):
        raise StructureError(
            f"{name} must be finite{'' if signed else ', >= 0'} and of shape {shape}; got {array.shape}; check it."
        )
    return array
