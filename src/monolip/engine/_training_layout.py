"""Where everything of a network in training lies: parameters of all layers in one flat array, cut into blocks.

A layer is a list of blocks; a block is a dense (rows, fan_in) piece that reads a range of the layer's inputs. Dense
layers are one block, block-diagonal layers several; outputs with other slope intervals have trunks of their own,
which are only more blocks. The kernels know layers and blocks, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.engine.architecture import Architecture
from monolip.errors import StructureError

__all__ = ["BIN_PAD", "FEW_ROWS", "LANES", "PAD", "TrainingLayout"]

LANES = 64  # rows side by side; a batch is worked off in blocks of them
PAD = 16  # rows of weights are padded to whole registers
BIN_PAD = 32  # units of the first layer are padded to so many
# of its padded units a first layer has to fill more than this to work with units side by side: rows side by side always
# fill their registers, and are quicker for others. Bins go by units either way, and turning rows into units costs
FILLED, FILLED_WITH_BINS = 15 / 16, 3 / 4
FEW_ROWS = 2  # blocks of so few rows compute their weight gradient as dot products, others in tiles

# columns of the layer table
WIDTH, FIRST_BLOCK, END_BLOCK, BIAS_AT, GROUP_SIZE, INPUT_WIDTH, INPUT_AT, OUTPUT_AT, TILED = range(9)
BINS_AT, BIN_STRIDE, WAY = 9, 10, 11
# columns of the block table
ROW, ROWS, COLUMN, COLUMNS, WEIGHT_AT, STRIDE = range(6)
# ways of the first layer: rows side by side, as in later layers; units side by side; these, and sorted in pairs so
BY_LANES, BY_UNITS, BY_PAIRS = range(3)


def padded(n: int) -> int:
    return -(-n // PAD) * PAD


@dataclass(frozen=True)
class TrainingLayout:
    """layers (n, 12) and blocks (m, 6): the tables above. Inside, outputs are ordered by trunk: see output_order.

    Columns that are bins of a feature lie after all others. The first layer's slopes lie column by column, units side
    by side, see _first_layer; weights of later layers lie row by row, and so do slopes, all but those of bins, of a
    first layer by lanes.
    """

    layers: NDArray[np.int64]
    blocks: NDArray[np.int64]
    size: int  # length of the flat parameter array
    scratch: int  # lanes-wide rows of activations kept for the gradient
    output_of_row: NDArray[np.int64]  # for each first-layer row an output of its trunk, whose slope box it keeps
    output_order: NDArray[np.int64]  # output_order[i] is the user's number of the output that is kept at place i
    group_sizes: tuple[int, ...]
    plain: NDArray[np.int64]  # the user's columns that are no bins
    binned: NDArray[np.int64]  # those that are
    first_bins: NDArray[np.int64]  # where in `binned` each feature's bins begin, and their number

    @classmethod
    def build(
        cls, architecture: Architecture, n_features: int, trunk_of_output: Sequence[int],
        bins: Sequence[tuple[int, int]] = (),
    ) -> TrainingLayout:  # fmt: skip
        trunks, hidden = max(trunk_of_output) + 1, architecture.hidden
        order = np.argsort(np.asarray(trunk_of_output), kind="stable")
        binned = np.array([column for first, stop in bins for column in range(first, stop)], np.int64)
        is_plain = np.ones(n_features, bool)
        is_plain[binned] = False
        plain = np.flatnonzero(is_plain)
        first_bins = np.cumsum([0, *(stop - first for first, stop in bins)])
        widths = [len(plain) + len(bins), *(trunks * width for width in hidden), len(order)]
        pieces = [[(0, widths[1], 0, len(plain))]]  # row, rows, column, columns of each block, layer by layer
        for before, width in pairwise(hidden):
            pieces.append(_diagonal(before, width, trunks, architecture.fan_in))
        if hidden:
            pieces.append(_output_rows(np.bincount(trunk_of_output), hidden[-1]))
        firsts = [list(trunk_of_output).index(trunk) for trunk in range(trunks)]
        outputs = np.repeat(firsts, hidden[0]) if hidden else order
        groups = architecture.group_sizes
        orders = outputs.astype(np.int64), order.astype(np.int64)
        return cls(*_tables(pieces, widths, groups, len(binned)), *orders, groups, plain, binned, first_bins)

    @property
    def n_features(self) -> int:
        return len(self.plain) + len(self.binned)

    @cached_property
    def _plan(self) -> list[tuple[int, int, int, list[list[int]]]]:
        """Width, inputs, place of biases and blocks of every layer, as Python's own numbers: they index quicker."""
        layers, blocks = self.layers.tolist(), self.blocks.tolist()
        return [(c[WIDTH], c[INPUT_WIDTH], c[BIAS_AT], blocks[c[FIRST_BLOCK] : c[END_BLOCK]]) for c in layers]

    @cached_property
    def _kept(self) -> NDArray[np.int64]:
        """The user's columns in the order in which units side by side keep their slopes."""
        return np.concatenate([self.plain, self.binned])

    @cached_property
    def _first(self) -> list[int]:
        """Of the first layer: where bins begin, their stride, and its way."""
        return self.layers[0, BINS_AT:].tolist()  # type: ignore[no-any-return]

    @cached_property
    def most_bins(self) -> int:
        """Of the feature that has most."""
        return max((end - first for first, end in pairwise(self.first_bins.tolist())), default=0)

    @cached_property
    def products(self) -> int:
        """Numbers multiplied for one row of a batch, about; padding included."""
        later = (self.blocks[1:, ROWS] * self.blocks[1:, STRIDE]).sum()
        return int(self.layers[0, BINS_AT] + later)

    @cached_property
    def _users(self) -> NDArray[np.int64] | None:
        """Places of the outputs in the user's order; None where that is the order they are kept in."""
        users = np.argsort(self.output_order)
        return None if (users == np.arange(len(users))).all() else users

    def first_layer(self, flat: NDArray[Any]) -> NDArray[Any]:
        """The first layer's numbers in a flat array as (rows, features) in the user's order of columns."""
        matrix = np.empty((self._plan[0][0], self.n_features), flat.dtype)
        for columns, slopes in self._slopes(flat):
            matrix[:, columns] = slopes
        return matrix

    def put_first_layer(self, flat: NDArray[Any], matrix: NDArray[Any]) -> None:
        """The inverse of `first_layer`; matrix: (rows, features), or (1, features) of which all rows are copies."""
        for columns, slopes in self._slopes(flat):
            slopes[:] = matrix[:, columns]

    def _slopes(self, flat: NDArray[Any]) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """The user's columns and a view (rows, columns) of their slopes in a flat array, in one part or in two."""
        rows, stride, (bins_at, bin_stride, way) = self._plan[0][0], self._plan[0][3][0][-1], self._first
        kept, at = self._kept, 0
        if way == BY_LANES:
            yield self.plain, flat[:bins_at].reshape(rows, stride)[:, : len(self.plain)]
            kept, at = self.binned, bins_at
        yield kept, flat[at : at + len(kept) * bin_stride].reshape(len(kept), bin_stride)[:, :rows].T

    def dense(self, params: NDArray[Any]) -> tuple[tuple[NDArray[np.float64], ...], tuple[NDArray[np.float64], ...]]:
        """(weights, biases) as plain float64 matrices; blocks are filled up with zeros."""
        weights = [self.first_layer(params).astype(np.float64)]
        for width, inputs, _, blocks in self._plan[1:]:
            weight = np.zeros((width, inputs))
            for row, rows, column, columns, at, stride in blocks:
                block = params[at : at + rows * stride].reshape(rows, stride)
                weight[row : row + rows, column : column + columns] = block[:, :columns]
            weights.append(weight)
        biases = [params[at : at + width].astype(np.float64) for width, _, at, _ in self._plan]
        if self._users is not None:
            weights[-1], biases[-1] = weights[-1][self._users], biases[-1][self._users]
        return tuple(weights), tuple(biases)

    def flat(self, weights: Sequence[NDArray[Any]], biases: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
        """The inverse of `dense`: parameters of a network that this layout can hold."""
        shapes = [(width, inputs) for width, inputs, _, _ in self._plan]
        shapes[0] = shapes[0][0], self.n_features
        if [w.shape for w in weights] != shapes:
            raise StructureError(
                f"training goes on with a network of the same architecture, weights of shape {shapes};"
                f" got {[w.shape for w in weights]}; use its own architecture, or start anew."
            )
        params = np.zeros(self.size, dtype)
        for k, (width, _, bias_at, blocks) in enumerate(self._plan):
            weight, bias = weights[k], biases[k]
            if k == len(self._plan) - 1 and self._users is not None:
                weight, bias = weight[self.output_order], bias[self.output_order]
            if k == 0:
                self.put_first_layer(params, weight)
            for row, rows, column, columns, at, stride in blocks if k else ():
                block = params[at : at + rows * stride].reshape(rows, stride)
                block[:, :columns] = weight[row : row + rows, column : column + columns]
            params[bias_at : bias_at + width] = bias
        return params


Piece = tuple[int, int, int, int]


def _diagonal(before: int, width: int, trunks: int, fan_in: int | None) -> list[Piece]:
    """Blocks of one hidden layer: each trunk by itself, cut into pieces of about fan_in inputs."""
    count = 1 if fan_in is None else max(1, min(before // fan_in, width))
    rows = [len(part) for part in np.array_split(np.arange(width), count)]
    columns = [len(part) for part in np.array_split(np.arange(before), count)]
    pieces, row, column = [], 0, 0
    for _ in range(trunks):
        for r, c in zip(rows, columns, strict=True):
            pieces.append((row, r, column, c))
            row, column = row + r, column + c
    return pieces


def _output_rows(outputs_of_trunk: NDArray[np.int64], width: int) -> list[Piece]:
    """One block a trunk: the rows of its outputs."""
    ends = np.cumsum(outputs_of_trunk)
    return [(int(e - n), int(n), t * width, width) for t, (e, n) in enumerate(zip(ends, outputs_of_trunk, strict=True))]


def _tables(
    pieces: list[list[Piece]], widths: list[int], group_sizes: Sequence[int], n_bins: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    layers = np.zeros((len(pieces), 12), np.int64)
    blocks: list[tuple[int, ...]] = []
    bin_stride, n_plain = -(-widths[1] // BIN_PAD) * BIN_PAD, pieces[0][0][3]
    by_units = widths[1] > (FILLED_WITH_BINS if n_bins else FILLED) * bin_stride
    way = BY_LANES if not by_units else BY_PAIRS if group_sizes[:1] == (2,) else BY_UNITS
    first_stride = padded(n_plain) if way == BY_LANES else bin_stride
    bins_at = first_stride * (widths[1] if way == BY_LANES else n_plain)
    at, kept = 0, padded(widths[0])
    for k, layer in enumerate(pieces):
        first = len(blocks)
        for row, rows, column, columns in layer:
            blocks.append((row, rows, column, columns, at, padded(columns) if k else first_stride))
            at += rows * padded(columns) if k else bins_at + n_bins * bin_stride
        group_size = group_sizes[k] if k < len(group_sizes) else 1
        input_at = 0 if k == 0 else layers[k - 1, OUTPUT_AT] + padded(widths[k])
        # each layer keeps its outputs before sorting and after: the gradient needs both
        tiled = any(rows > FEW_ROWS for _, rows, _, _ in layer)
        layers[k, :BINS_AT] = widths[k + 1], first, len(blocks), at, group_size, widths[k], input_at, kept, tiled
        layers[k, BINS_AT:] = bins_at, bin_stride, way
        at += padded(widths[k + 1]) if k else bin_stride
        kept += 2 * padded(widths[k + 1])
    return layers, np.array(blocks, np.int64), at, kept
