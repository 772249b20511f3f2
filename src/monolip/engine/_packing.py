"""The one copy that training makes of the features: bins packed, in the order of memory, filled some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from monolip.engine._bin_columns import add_rows, fill_bins, refuse_bins, widen_ends
from monolip.engine._inputs import check_finite
from monolip.engine._training_layout import PAD, TrainingLayout
from monolip.engine.row_source import RowSource

__all__ = ["Rows", "packed_rows"]

FloatArray = NDArray[Any]
SUMMED_ROWS = 4096  # sums of so many rows are added up: a mean of millions loses no digits
PIECE_CELLS, FEWEST_ROWS = 2**18, 32  # of a piece: small beside any table, and large beside the cost of a call


class Rows(NamedTuple):
    """Features as the kernels read them, see _state.Data, and the mean of every column of the caller's."""

    cells: FloatArray
    x: FloatArray
    codes: NDArray[Any]
    bin_ends: FloatArray
    means: NDArray[np.float64]


def packed_rows(
    source: RowSource, order: NDArray[np.int32] | None, layout: TrainingLayout, dtype: np.dtype[Any]
) -> Rows:
    """Rows of the source in `order`: plain columns, then for each feature with bins what its partly filled one holds.

    Kernels read whole registers: what follows a row is the next one, and after the last there are PAD zeros.
    """
    n, d = source.shape
    n_plain, features = len(layout.plain), len(layout.first_bins) - 1
    cells = np.zeros(n * (n_plain + features) + PAD, dtype)
    x = cells[:-PAD].reshape(n, n_plain + features)
    codes = np.zeros((n, features), np.uint16 if len(layout.binned) <= 2**16 else np.uint32)
    ends, total, part = _ends(source, layout.binned, dtype), np.zeros(d), np.zeros(d)
    for piece, rows in _pieces(source, order, dtype):
        if not np.isfinite(piece).all():
            _refuse(source, dtype)
        if d > 1:
            add_rows(piece, part)
        else:  # numpy sums a single column pairwise
            part += piece.sum(0, dtype=np.float64)
        if rows.stop % SUMMED_ROWS == 0 or rows.stop == n:
            total += part
            part[:] = 0.0
        x[rows, :n_plain] = piece if features == 0 else piece[:, layout.plain]
        if features:
            bad = fill_bins(piece, layout.binned, layout.first_bins, ends, codes[rows], x[rows], n_plain)
            if bad >= 0:
                refuse_bins(piece[bad, layout.binned])
    return Rows(cells, x, codes, ends, total / n)


def _pieces(
    source: RowSource, order: NDArray[np.int32] | None, dtype: np.dtype[Any]
) -> Iterator[tuple[FloatArray, slice]]:
    """Some rows at a time, so that reordering and checking need no second copy; and where they go."""
    n, d = source.shape
    step = SUMMED_ROWS
    while step > FEWEST_ROWS and step * d > PIECE_CELLS:
        step //= 2
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        with np.errstate(over="ignore"):  # a float64 too large for float32 is reported as infinite
            yield np.ascontiguousarray(source.rows(rows if order is None else order[rows]), dtype), rows


def _ends(source: RowSource, columns: NDArray[np.int64], dtype: np.dtype[Any]) -> FloatArray:
    """What an empty and a full bin hold, (2, bins): the ends of each column over all rows."""
    known = source.ends(columns) if len(columns) else None
    if known is not None:
        return np.ascontiguousarray(known, dtype)
    ends = np.repeat(np.array([[np.inf], [-np.inf]], dtype), len(columns), axis=1)
    if len(columns):
        for piece, _ in _pieces(source, None, dtype):
            widen_ends(piece, columns, ends)
    return ends


def _refuse(source: RowSource, dtype: np.dtype[Any]) -> NoReturn:
    """Name the first number that is not finite, in the caller's order of rows."""
    for piece, rows in _pieces(source, None, dtype):
        check_finite(piece, "features", rows.start)
    raise AssertionError("a source gives the same rows whenever it is asked")
