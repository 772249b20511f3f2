"""A FixedPointNetwork as flat integer arrays: what compiled kernels, searches and generated C read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .fixed_point import FixedPointNetwork, PackedIntegers
from .fixed_point_columns import FixedNumeric
from .fixed_point_inputs import FixedInputs

__all__ = ["PackedInputs", "pack_inputs", "pack_integers"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def pack_integers(network: FixedPointNetwork) -> PackedIntegers:
    """See PackedIntegers; a kernel that repeats FixedPointNetwork.evaluate needs nothing else."""
    params: list[IntArray] = []
    plan: list[tuple[int, ...]] = []
    outputs: list[int] = []
    spans, shares, at = [], [], 0
    for share, member in zip(network.member_weights.tolist(), network.members, strict=True):
        for trunk in member:
            first = len(plan)
            for k, (weight, bias) in enumerate(zip(trunk.weights, trunk.biases, strict=True)):
                size = trunk.group_sizes[k] if k < len(trunk.group_sizes) else 1
                plan.append((*weight.shape, at, at + weight.size, size))
                params += [weight.ravel(), bias]
                at += weight.size + bias.size
            spans.append((first, len(plan), len(outputs), -1 if trunk.residual is None else at))
            if trunk.residual is not None:
                params.append(trunk.residual.ravel())
                at += trunk.residual.size
            outputs += trunk.outputs
            shares.append(share)
    numbers = (network.format.shift, network.format.limit or 0, network.n_outputs)
    tables = (np.array(table, dtype=np.int64) for table in (plan, spans, outputs, shares, numbers))
    return PackedIntegers(np.concatenate(params), *tables)


class PackedInputs(NamedTuple):
    """All raw columns as flat arrays.

    columns: (n_raw, 6): kind (0 numeric, 1 category), first model column, number of model columns, number of maps
        (0 for categories), where its rows of `maps` start, where its rows of `rows` start (-1: none).
    maps: (n_maps, 3): where its knots start, how many, where its pieces start.
    knots: flat. pieces: (n_pieces, 5): anchor, node, rate, lowest, highest (see FixedMap.pieces).
    rows: flat integers: a category's table, row after row; a number's row of missing values, then its present value.
    """

    columns: IntArray
    maps: IntArray
    knots: FloatArray
    pieces: FloatArray
    rows: IntArray


def pack_inputs(inputs: FixedInputs) -> PackedInputs:
    """See PackedInputs."""
    columns, at_knot, at_row, at_piece = [], 0, 0, 0
    maps: list[tuple[int, int, int]] = []
    knots: list[FloatArray] = []
    pieces: list[FloatArray] = []
    rows: list[IntArray] = []
    for column, start in zip(inputs.columns, inputs.starts, strict=False):
        if isinstance(column, FixedNumeric):
            row = [*(column.missing or ()), *(() if column.present is None else (column.present,))]
            columns.append((0, start, column.n_model, len(column.maps), len(maps), at_row if row else -1))
            for phi in column.maps:
                maps.append((at_knot, phi.knots.size, at_piece))
                knots.append(phi.knots)
                pieces.append(phi.pieces)
                at_knot, at_piece = at_knot + phi.knots.size, at_piece + len(phi.pieces)
            rows.append(np.array(row, dtype=np.int64))
        else:
            columns.append((1, start, column.n_model, 0, len(maps), at_row))
            rows.append(column.table.ravel())
        at_row += rows[-1].size
    return PackedInputs(
        np.array(columns, dtype=np.int64),
        np.array(maps, dtype=np.int64).reshape(-1, 3),
        np.concatenate([np.zeros(0), *knots]),
        np.concatenate([np.zeros((0, 5)), *pieces]),
        np.concatenate(rows),
    )
