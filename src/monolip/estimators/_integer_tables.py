r"""The first layer of a fixed-point network as tables: what a raw value adds to all units at once.

Between two knots of a feature one map u and one bin move, all others stand still. Bins take turns, so they share one
line of a table each,

    sum over bins j of W_j X_j = P + W_b X_b        b the bin that moves, P what all others add

and u, which always moves, stays a product. Sums of integers below 2^53 are exact in float64 in any order: the result
is that of FixedPointNetwork.evaluate to the bit, for a fraction of its products.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._lane_lookup import PIECE
from monolip.engine._lookup_sums import REGISTER
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_columns import FixedCategory, FixedNumeric

__all__ = [
    "END_TERM",
    "FIRST_TERM",
    "HAS_RULE",
    "KNOTS_AT",
    "LINES_AT",
    "N_KNOTS",
    "PIECES_AT",
    "SLOT",
    "IntegerTables",
    "integer_tables",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


FEW_PRODUCTS = 3  # of a category take no longer than its line
MOST_NUMBERS = 2**19  # in lines, and categories stay products: those of very many labels have few model columns
# columns of IntegerTables.columns and of IntegerTables.terms
KNOTS_AT, N_KNOTS, HAS_RULE, FIRST_TERM, END_TERM = range(5)
PIECES_AT, SLOT, LINES_AT = range(3)


class IntegerTables(NamedTuple):
    """columns: (n_raw, 5), terms: (n_terms, 3), see above. LINES_AT is negative for terms that are products.

    A column's places: stretches between knots, then missing; or its categories.
    """

    columns: IntArray
    terms: IntArray
    knots: FloatArray
    pieces: FloatArray  # flat (places, PIECE) of each term: the integer X it is multiplied by; see evaluate_pieces
    lines: IntArray  # flat (places,) of each term that is a line: where it begins in bases and slopes
    bases: FloatArray  # flat (lines, n_units): P
    slopes: NDArray[np.floating]  # flat (lines, n_units): W; float32, which is read faster, where it holds all
    products: FloatArray  # flat (n_units, n_products): W of terms that are products
    biases: FloatArray  # (n_units,), n_units a multiple of REGISTER


def integer_tables(network: FixedPointNetwork) -> IntegerTables:
    """Tables for the first layers of all trunks together, one after the other, in units of the network."""
    firsts = [trunk for member in network.members for trunk in member]
    weight = np.concatenate([trunk.weights[0] for trunk in firsts])
    bias = np.concatenate([trunk.biases[0] for trunk in firsts])
    padding = -len(bias) % REGISTER
    weight, bias = np.pad(weight, ((0, padding), (0, 0))), np.pad(bias, (0, padding))
    made = _Tables()
    for column, start in zip(network.inputs.columns, network.inputs.starts, strict=False):
        part = weight[:, start : start + column.n_model]
        if isinstance(column, FixedNumeric):
            made.add_numeric(column, part)
        else:
            made.add_category(column, part)
    return made.joined(bias)


@dataclass
class _Tables:
    columns: list[tuple[int, ...]] = field(default_factory=list)
    terms: list[tuple[int, ...]] = field(default_factory=list)
    knots: list[FloatArray] = field(default_factory=list)
    pieces: list[FloatArray] = field(default_factory=list)
    lines: list[IntArray] = field(default_factory=list)
    bases: list[IntArray] = field(default_factory=list)
    slopes: list[IntArray] = field(default_factory=list)
    products: list[IntArray] = field(default_factory=list)

    def add_category(self, column: FixedCategory, weight: IntArray) -> None:
        """weight: (units, model columns)."""
        first, n_labels = len(self.terms), len(column.table)
        if column.n_model > FEW_PRODUCTS and _size(self.bases) + n_labels * len(weight) <= MOST_NUMBERS:
            added = column.table @ weight.T
            self._add_lines(np.zeros((n_labels, PIECE)), added, np.zeros_like(added))
        else:
            for values, own in zip(column.table.T, weight.T, strict=True):
                self._add_product(np.stack([0 * values, values, 0 * values, values], axis=1), own)
        self.columns.append((_size(self.knots), 0, 1, first, len(self.terms)))

    def add_numeric(self, column: FixedNumeric, weight: IntArray) -> None:
        first, maps = len(self.terms), column.maps
        knots = np.unique(np.concatenate([phi.knots for phi in maps]))
        served = [np.concatenate([[0], np.searchsorted(phi.knots, knots, "right")]) for phi in maps]
        stretches = [phi.pieces[at][:, [0, 1, 2, 4]] for phi, at in zip(maps, served, strict=True)]
        gone = column.missing or (0,) * column.n_model  # never asked for without a rule
        pieces = np.stack([np.vstack([table, [0.0, m, 0.0, m]]) for table, m in zip(stretches, gone, strict=False)])
        told = np.full(len(knots) + 2, column.present or 0)
        told[-1] = gone[-1]
        indicator = None if column.present is None else np.outer(told, weight[:, -1])
        for chain in _chains(pieces[:, :, 2] != 0.0):
            if len(chain) == 1:
                self._add_product(pieces[chain[0]], weight[:, chain[0]])
            else:
                self._add_chain(pieces[chain], weight[:, chain], indicator)
                indicator = None
        if indicator is not None:
            self._add_lines(np.zeros((len(told), PIECE)), indicator, np.zeros_like(indicator))
        self.columns.append((_size(self.knots), len(knots), column.missing is not None, first, len(self.terms)))
        self.knots.append(knots)

    def _add_product(self, pieces: FloatArray, weight: IntArray) -> None:
        self.terms.append((_size(self.pieces), len(self.products), -1))
        self.pieces.append(pieces)
        self.products.append(weight)

    def _add_chain(self, pieces: FloatArray, weight: IntArray, also: IntArray | None) -> None:
        """pieces: (maps, places, PIECE) of maps of which one at most moves at a place; weight: (units, maps)."""
        moves, places = pieces[:, :, 2] != 0.0, np.arange(pieces.shape[1])
        mover = moves.argmax(axis=0)
        still = np.where(moves, 0.0, pieces[:, :, 1]).astype(np.int64)
        moving = np.where(moves.any(axis=0)[:, None], pieces[mover, places], 0.0)
        slopes = np.where(moves.any(axis=0)[:, None], weight[:, mover].T, 0)
        self._add_lines(moving, still.T @ weight.T + (0 if also is None else also), slopes)

    def _add_lines(self, pieces: FloatArray, bases: IntArray, slopes: IntArray) -> None:
        """Of each place: the piece of X, and (places, units) P and W; a line like the one before is kept once."""
        n_units, lines = bases.shape[1], np.hstack([bases, slopes])
        new = np.concatenate([[True], (lines[1:] != lines[:-1]).any(axis=1)])
        distinct, number = lines[new], np.cumsum(new) - 1
        self.terms.append((_size(self.pieces), len(self.lines), _size(self.lines)))
        self.pieces.append(pieces)
        self.lines.append(_size(self.bases) + number * n_units)
        self.bases.append(distinct[:, :n_units])
        self.slopes.append(distinct[:, n_units:])

    def joined(self, bias: IntArray) -> IntegerTables:
        """bias: (n_units,)."""
        products = np.stack(self.products, axis=1) if self.products else np.zeros((len(bias), 0))
        slopes = _flat(self.slopes)
        short = slopes.astype(np.float32)
        return IntegerTables(
            np.array(self.columns, dtype=np.int64),
            np.array(self.terms, dtype=np.int64),
            _flat(self.knots),
            _flat(self.pieces),
            _flat(self.lines).astype(np.int64),
            _flat(self.bases),
            short if np.array_equal(short, slopes) else slopes,
            np.ascontiguousarray(products, dtype=np.float64).reshape(-1),
            bias.astype(np.float64),
        )


def _chains(moves: NDArray[np.bool_]) -> list[list[int]]:
    """Maps that never move at the same place, together; moves: (maps, places)."""
    chains: list[list[int]] = []
    for m, own in enumerate(moves):
        free = (chain for chain in chains if not (moves[chain].any(axis=0) & own).any())
        chain = next(free, None)
        if chain is None:
            chains.append([m])
        else:
            chain.append(m)
    return chains


def _size(parts: list[NDArray[np.float64]] | list[IntArray]) -> int:
    return sum(part.size for part in parts)


def _flat(parts: list[FloatArray] | list[IntArray]) -> FloatArray:
    return np.concatenate([np.zeros(0), *(np.ravel(part) for part in parts)])
