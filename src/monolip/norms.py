r"""Norms of paper form (section 3.2): what a weight is held to, which layers may follow which, and how.

A layer z -> W z, W in torch's orientation (out, in), is Lipschitz with constant |W| from the Lp norm of its input
(the *domain*) to the Lq norm of its output (the *codomain*). The paper writes row vectors z W and then takes column
sums; with (out, in) weights its column j of the sum "over outputs" is `abs(W).sum(axis=0)`.

    L1_TO_L1       largest column sum of |W|      Eq. 8-10
    L1_TO_LINF     largest entry of |W|           Eq. 11, first factor
    LINF_TO_LINF   largest row sum of |W|         Eq. 11, later factors
    L2_TO_LINF     largest Euclidean row          Figure 1's p = 2, for comparison

Here is the numpy reference of every normalisation in the paper; the torch one must agree with it (tests/contracts).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import NormChainError, SlopeError

__all__ = ["Norm", "Rule", "check_chain", "normalise", "project_l1_ball"]

FloatArray = NDArray[np.float64]


class Norm(Enum):
    """An operator norm, as (domain p, codomain q): |W z|_q <= |W| |z|_p.

    >>> Norm.LINF_TO_LINF.of([[1.0, -2.0], [0.5, 0.5]])
    3.0
    """

    L1_TO_L1 = (1.0, 1.0)
    L1_TO_LINF = (1.0, math.inf)
    LINF_TO_LINF = (math.inf, math.inf)
    L2_TO_LINF = (2.0, math.inf)

    @property
    def domain(self) -> float:
        return self.value[0]

    @property
    def codomain(self) -> float:
        return self.value[1]

    def of(self, weight: ArrayLike) -> float:
        """The norm of a whole (out, in) matrix: the largest of its vectors."""
        sizes = self.of_vectors(np.asarray(weight, dtype=np.float64))
        return float(sizes.max(initial=0.0))

    def of_vectors(self, weight: FloatArray) -> FloatArray:
        """The norm of each constrained vector, shaped to divide the matrix: columns, entries or rows."""
        magnitude: FloatArray = np.abs(weight)
        if self is Norm.L1_TO_L1:
            magnitude = magnitude.sum(axis=0, keepdims=True)
        elif self is Norm.LINF_TO_LINF:
            magnitude = magnitude.sum(axis=1, keepdims=True)
        elif self is Norm.L2_TO_LINF:
            magnitude = np.sqrt((weight * weight).sum(axis=1, keepdims=True))
        return magnitude


class Rule(Enum):
    r"""How an infeasible weight becomes feasible, with cap b (lambda^(1/D) where the budget is spread over layers).

    CAP             W / max(1, |W| / b)     the right half of Eq. 9; Eq. 10 when per vector
    CAP_THEN_SCALE  b W / max(1, |W|)       the left half of Eq. 9
    ALWAYS          b W / |W|               always on the boundary
    PROJECT         the nearest feasible W  Euclidean projection onto the norm ball (rows: onto the L1 ball)
    """

    CAP = "cap"
    CAP_THEN_SCALE = "cap-then-scale"
    ALWAYS = "always"
    PROJECT = "project"


def check_chain(norms: Sequence[Norm]) -> None:
    """Refuse a composition whose norms do not chain: layer k may feed layer k+1 only if codomain <= next domain.

    |z|_q <= |z|_p holds only for p <= q. `L1_TO_LINF` followed by `L1_TO_L1` builds silently in other packages and
    gives slopes of -31 on an "increasing" input.

    >>> check_chain([Norm.L1_TO_LINF, Norm.LINF_TO_LINF])
    >>> check_chain([Norm.L1_TO_LINF, Norm.L1_TO_L1])
    Traceback (most recent call last):
    monolip.errors.NormChainError: layer 1 (L1_TO_L1) needs an L1 bound on its input; layer 0 (L1_TO_LINF) bounds \
only the Linf norm of its output; make layer 1 LINF_TO_LINF.
    """
    for k, (here, after) in enumerate(pairwise(norms)):
        if here.codomain > after.domain:
            raise NormChainError(
                f"layer {k + 1} ({after.name}) needs an {_name(after.domain)} bound on its input; layer {k} "
                f"({here.name}) bounds only the {_name(here.codomain)} norm of its output; make layer {k + 1} "
                "LINF_TO_LINF."
            )


def _name(p: float) -> str:
    return "Linf" if p == math.inf else f"L{p:g}"


def normalise(
    weight: ArrayLike, norm: Norm, bound: float = 1.0, *, rule: Rule = Rule.CAP, per_vector: bool = True
) -> FloatArray:
    r"""A feasible weight, |W'| <= bound: the numpy reference of Eq. 9, 10 and 11.

    Args:
        weight: (out, in).
        bound: the cap b > 0.
        rule: see `Rule`.
        per_vector: constrain each column, entry or row by itself (Eq. 10); else the whole matrix at once (Eq. 9).

    >>> normalise([[3.0, -1.0], [0.25, 0.25]], Norm.LINF_TO_LINF)
    array([[ 0.75, -0.25],
           [ 0.25,  0.25]])
    """
    if not (math.isfinite(bound) and bound > 0):
        raise SlopeError(f"a bound must be positive and finite; got {bound}; pass a number greater than 0.")
    W = np.asarray(weight, dtype=np.float64)
    if rule is Rule.PROJECT:
        return _project(W, norm, bound)
    size = norm.of_vectors(W)
    if not per_vector:
        size = size.max(initial=0.0, keepdims=True)
    if rule is Rule.CAP:
        return W / np.maximum(1.0, size / bound)
    if rule is Rule.CAP_THEN_SCALE:
        return bound * (W / np.maximum(1.0, size))
    return bound * (W / np.where(size > 0, size, 1.0))  # a zero vector has no direction to scale: it stays zero


def _project(W: FloatArray, norm: Norm, bound: float) -> FloatArray:
    if norm is Norm.L1_TO_LINF:
        return np.clip(W, -bound, bound)
    if norm is Norm.L2_TO_LINF:
        return W / np.maximum(1.0, norm.of_vectors(W) / bound)
    return project_l1_ball(W.T, bound).T if norm is Norm.L1_TO_L1 else project_l1_ball(W, bound)


def project_l1_ball(rows: ArrayLike, bound: float = 1.0) -> FloatArray:
    """The nearest point of {v: sum |v| <= bound} to each row, exactly (sort and threshold).

    The optimum shrinks every magnitude by one threshold t >= 0: sign(v) max(|v| - t, 0) with sum = bound.

    >>> project_l1_ball([[2.0, 1.0, 0.0]])
    array([[1., 0., 0.]])
    """
    V = np.asarray(rows, dtype=np.float64)
    magnitude = np.abs(V)
    ordered = -np.sort(-magnitude, axis=-1)
    count = np.arange(1, V.shape[-1] + 1)
    thresholds = (np.cumsum(ordered, axis=-1) - bound) / count
    active = (ordered > thresholds).sum(axis=-1, keepdims=True)
    t = np.take_along_axis(thresholds, np.maximum(active, 1) - 1, axis=-1)
    inside = magnitude.sum(axis=-1, keepdims=True) <= bound
    return np.where(inside, V, np.sign(V) * np.maximum(magnitude - t, 0.0))
