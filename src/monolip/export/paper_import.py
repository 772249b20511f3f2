r"""Signed layers from elsewhere to paper form: the best bound their norms give, in exact rational arithmetic.

    chain m:   layers before m  L1 to L1 (largest column sum)      layer m  L1 to Linf (largest entry)
               layers after m   Linf to Linf (largest row sum)
    bound of dg_k/dx_i:   first_i * product of the norms between * last_k

Every m gives a bound that holds, whatever scheme the layers were trained under; the one that keeps the promise best is
taken. Layers are then divided by their norms, rounded inwards, so that the form proves it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.norms import Norm
from monolip.paper_form import Activation, PaperForm
from monolip.rounding import round_down, round_up

__all__ = ["Chain", "Room", "best_chain", "paper_form_of"]

FloatArray = NDArray[np.float64]
Table = list[list[Fraction]]  # [output][feature]
Room = list[list[Fraction | None]]  # how steep g may be there to keep a direction; None where none is wanted


class Chain(NamedTuple):
    """Exact norms of one way to bound a network.

    norms: one per layer. first: per feature. between: of the layers between. last: per output. inner: their product
    over the layers between.
    """

    norms: tuple[Norm, ...]
    first: list[Fraction]
    between: list[Fraction]
    last: list[Fraction]
    inner: Fraction

    @property
    def reach(self) -> Table:
        """Bounds of |dg_k/dx_i|."""
        return [[first * self.inner * last for first in self.first] for last in self.last]


class _Sizes(NamedTuple):
    """Exact sums and largest entries of |W| of one layer, over rows and over columns; largest: of each of these."""

    row_sums: list[Fraction]
    column_sums: list[Fraction]
    row_entries: list[Fraction]
    column_entries: list[Fraction]
    largest: tuple[Fraction, ...]


def best_chain(weights: Sequence[FloatArray], room: Room) -> Chain:
    """The chain whose bounds exceed their room least; among equals the one with the smallest bounds."""
    sizes = [_sizes(weight) for weight in weights]
    products = _products(sizes)
    chains = [_chain(sizes, m, products) for m in range(len(weights))]
    wanted = [most for row in room for most in row]

    def excess(chain: Chain) -> tuple[Fraction, Fraction]:
        reach = [r for row in chain.reach for r in row]
        gaps = [r - most for r, most in zip(reach, wanted, strict=True) if most is not None]
        return max(gaps, default=Fraction(0)), sum(reach, Fraction(0))

    return min(chains, key=excess)


def _sizes(weight: FloatArray) -> _Sizes:
    ratios = [[abs(v).as_integer_ratio() for v in row] for row in weight.tolist()]
    one = max(below for row in ratios for _, below in row)  # denominators are powers of two: the largest serves all
    rows = [[above * (one // below) for above, below in row] for row in ratios]  # integers add faster than fractions
    columns = list(zip(*rows, strict=True))

    def fractions(values: Iterable[int]) -> list[Fraction]:
        return [Fraction(value, one) for value in values]

    a, b, c, d = (fractions(map(f, lists)) for f in (sum, max) for lists in (rows, columns))
    return _Sizes(a, b, c, d, (max(a), max(b), max(c), max(d)))


def _products(sizes: list[_Sizes]) -> tuple[list[Fraction], list[Fraction]]:
    """Of the layers between first and last: column sums of the first k of them, and row sums of all but the first k.

    Every chain is made of one of each, so that many layers cost no product of their own for each chain.
    """
    before, after = [Fraction(1)], [Fraction(1)]
    for own in sizes[1:-1]:
        before.append(before[-1] * own.largest[1])
    for own in sizes[-2:0:-1]:
        after.append(after[-1] * own.largest[0])
    return before, after[::-1]


def _chain(sizes: list[_Sizes], m: int, products: tuple[list[Fraction], list[Fraction]]) -> Chain:
    count = len(sizes)
    norms = tuple(Norm.L1_TO_L1 if k < m else Norm.L1_TO_LINF if k == m else Norm.LINF_TO_LINF for k in range(count))
    first = sizes[0].column_sums if m else sizes[0].column_entries
    between = []
    for k in range(1, count - 1):
        between.append(sizes[k].largest[1 if k < m else 2 if k == m else 0])
    if count == 1:
        return Chain(norms, first, [], [Fraction(1)] * len(sizes[0].row_sums), Fraction(1))
    before, after = products
    if 0 < m < count - 1:
        inner = before[m - 1] * between[m - 1] * after[m]
    else:
        inner = before[-1] if m else after[0]
    return Chain(norms, first, between, sizes[-1].row_entries if m == count - 1 else sizes[-1].row_sums, inner)


def paper_form_of(
    weights: Sequence[FloatArray],
    biases: Sequence[FloatArray],
    activations: Sequence[Activation],
    center: FloatArray,
    chain: Chain,
    *,
    keep: Room | None = None,
) -> PaperForm:
    """The layers divided by the norms of `chain`: the same function up to 1e-15.

    Args:
        center: residual slopes (n_outputs, n_features).
        keep: make scale * radius fit this room by shrinking g: by 1e-16 where the exact norms fit anyway, by more where
            it is a repair.
    """
    radius = np.array([round_up(v) for v in chain.first])
    scaled = [_inwards(weights[0], np.where(radius > 0, radius, 1.0))]
    shifts, running = [biases[0]], Fraction(1)
    for weight, bias, norm in zip(weights[1:-1], biases[1:-1], chain.between, strict=True):
        share = round_up(norm) or 1.0
        running *= Fraction(share)
        scaled.append(_inwards(weight, share))
        shifts.append(bias / float(running))
    scale = np.array([round_up(running * Fraction(round_up(v) or 1.0)) for v in chain.last])
    if len(weights) > 1:
        shares = np.array([round_up(v) or 1.0 for v in chain.last])
        scaled.append(_inwards(weights[-1], shares[:, None]))
        shifts.append(biases[-1] / scale)
    if keep is not None:
        shrunk = np.minimum(scale, [_cap(row, radius) for row in keep])
        shifts[-1] = shifts[-1] * (scale / np.where(shrunk > 0, shrunk, 1.0))  # biases of the output stay what they are
        scale = shrunk
    return PaperForm(tuple(scaled), tuple(shifts), tuple(activations), chain.norms, center, radius, scale)


def _cap(room: list[Fraction | None], radius: FloatArray) -> float:
    """The largest scale that keeps every direction of one output."""
    pairs = zip(room, radius.tolist(), strict=True)
    caps = [round_down(most / Fraction(r)) for most, r in pairs if most is not None and r]
    return min(caps, default=np.inf)


def _inwards(weight: FloatArray, share: FloatArray | float) -> FloatArray:
    """weight / share, one step towards zero, so that no norm exceeds 1; a power of two divides exactly."""
    quotient, exact = weight / share, np.frexp(share)[0] == 0.5
    return np.asarray(np.where(exact, quotient, np.nextafter(quotient, 0.0)))
