"""A learning problem: rows, loss, the slope intervals promised and the shape of the network. Shared by many fits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.cached import cached_property
from monolip.engine._bin_columns import add_linear, check_ranges, sums_of_bins, unpack
from monolip.engine._inputs import finite_target, offsets, row_weights, slope_boxes, trunks_of
from monolip.engine._packing import packed_rows
from monolip.engine._start import flat_box
from monolip.engine._state import Data
from monolip.engine._training_layout import INPUT_WIDTH, PAD, TrainingLayout
from monolip.engine.architecture import Architecture
from monolip.engine.losses import Loss, check_target, loss_kernels
from monolip.engine.row_source import RowSource
from monolip.errors import InputError, SlopeError

__all__ = ["Problem"]

FloatArray = NDArray[Any]
CACHE_BYTES = 8_000_000
RUN_ROWS = 4


class Problem:
    """Checked once, copied once; members, regimes and folds train on it by row numbers, in any number of threads.

    x: (n, d), or a RowSource of that shape, which is never held as a whole. y: (n,) or (n, outputs), class numbers for
    softmax. lower, upper: (d,) or (outputs, d) slope intervals; outputs with equal intervals share a trunk.
    sample_weight: (n,), at least 0. offset: (n,) or (n, outputs), added to the outputs (the logarithm of an exposure,
    for a log link). double: float64 kernels, for tests.
    bins: ranges (first, stop) of columns that are bins of one feature: in every row the columns before one of them are
    at their largest value and those after it at their smallest. A feature then costs the same whatever its bins.
    """

    def __init__(
        self,
        x: ArrayLike | RowSource,
        y: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        loss: Loss | str = "squared",
        architecture: Architecture | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        double: bool = False,
        bins: Sequence[tuple[int, int]] = (),
    ) -> None:
        table = x if isinstance(x, RowSource) else RowSource(np.asarray(x))
        if len(table.shape) != 2 or 0 in table.shape:
            raise InputError(f"training needs a table of rows and features; got shape {table.shape}; pass (n, d).")
        self.loss = Loss(loss) if isinstance(loss, str) else loss
        self.parameter = self.loss.resolved()
        self.architecture = Architecture() if architecture is None else architecture
        self.dtype: np.dtype[Any] = np.dtype(np.float64 if double else np.float32)
        self.n_features = table.shape[1]
        self.lower, self.upper = slope_boxes(lower, upper, self.n_features)
        self.center = _center(self.lower, self.upper) if self.architecture.paper_form else None
        ranges = () if self.architecture.paper_form else check_ranges(bins, self.n_features)
        self.layout = _layout(self.architecture, self.n_features, tuple(trunks_of(self.lower, self.upper)), ranges)
        with np.errstate(over="ignore"):  # what is too large for single precision is told as infinite by the trainer
            self.data = self._data(table, y, sample_weight, offset)

    def _data(self, x: RowSource, y: ArrayLike, sample_weight: ArrayLike | None, offset: ArrayLike | None) -> Data:
        order, dtype, n = self.layout.output_order, self.dtype, x.shape[0]
        self._mix(n)
        mixed = slice(None) if self.mixed is None else self.mixed
        target = finite_target(y, n)
        check_target(self.loss, target, len(order))
        if self.loss.name == "softmax":
            target = np.argsort(order)[target.astype(np.int32)]
        elif len(order) > 1:
            target = target[:, order]
        residual = np.zeros((0, self.n_features)) if self.center is None else self.center[order]
        rows = packed_rows(x, self.mixed, self.layout, dtype)
        self.means = rows.means
        return Data(
            rows.x,
            np.array(target, dtype, order="C")[mixed],  # the caller's stays its own
            row_weights(sample_weight, n, dtype)[mixed],
            np.ascontiguousarray(offsets(offset, n, order, dtype)[mixed if offset is not None else slice(None)]),
            rows.cells,
            np.ascontiguousarray(residual, dtype),
            rows.codes,
            self.layout.first_bins,
            rows.bin_ends,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Compiled kernels stay behind, and row numbers that were looked up by the identity of their arrays."""
        return {**{name: value for name, value in vars(self).items() if name != "kernels"}, "_looked_up": {}}

    @cached_property
    def kernels(self) -> tuple[Any, Any]:
        """Value and gradient of the loss, see `loss_kernels`."""
        return loss_kernels(self.loss.name, "float64" if self.dtype.itemsize == 8 else "float32")  # .name is slow

    def rows_at(self, places: NDArray[np.int32]) -> FloatArray:
        """Rows of the table as the caller gave them (places, d), by where they are kept."""
        layout, data = self.layout, self.data
        rows = np.empty((len(places), self.n_features), self.dtype)
        unpack(data.x, data.codes, places, layout.plain, layout.binned, layout.first_bins, data.bin_ends, rows)
        return rows

    def linear(self, slopes: FloatArray, places: NDArray[np.int32] | None = None) -> NDArray[np.float64]:
        """x . slopes of rows by where they are kept (all if None); slopes (d,)."""
        data, layout, n = self.data, self.layout, len(self.data.x)
        where = np.arange(n, dtype=np.int32) if places is None else places
        binned, f = slopes[layout.binned], np.empty(len(where))
        sums = sums_of_bins(binned, layout.first_bins, data.bin_ends)
        add_linear(data.x, data.codes, where, slopes[layout.plain], binned, sums, f)
        return f

    def _mix(self, n: int) -> None:
        """Tables larger than the cache are kept in random order, and epochs shuffle runs of rows, not single rows.

        Memory then delivers runs instead of rows from all over the table. Runs are random rows: nothing is lost.
        """
        width = -(-self.layout.layers[0, INPUT_WIDTH] // PAD) * PAD * self.dtype.itemsize
        large = n * width > CACHE_BYTES
        self.run, self.mixed, self._places = RUN_ROWS if large else 1, None, None
        self._looked_up: dict[int, tuple[NDArray[Any], NDArray[np.int32]]] = {}
        if large:
            self.mixed = np.random.default_rng(0).permutation(n).astype(np.int32)
            self._places = np.empty_like(self.mixed)
            self._places[self.mixed] = np.arange(n, dtype=np.int32)

    def places(self, rows: ArrayLike | None) -> NDArray[np.int32]:
        """Where rows of the caller's table are kept, in order of memory; all of them if None.

        Row numbers that nobody can change are looked up once: all members of a fit ask for the same few.
        """
        known = self._looked_up.get(id(rows))
        if known is not None and known[0] is rows:
            return known[1]
        found = self._look_up(rows)
        if isinstance(rows, np.ndarray) and not rows.flags.writeable and rows.base is None:
            self._looked_up[id(rows)] = rows, found
        return found

    def _look_up(self, rows: ArrayLike | None) -> NDArray[np.int32]:
        n = len(self.data.x)
        if rows is None:
            return np.arange(n, dtype=np.int32)
        index = np.asarray(rows)
        if index.ndim != 1 or not len(index) or _largest(index) >= n:
            raise InputError(f"rows of the problem are numbers in 0 .. {n - 1}, at least one; got {index}; check them.")
        if self._places is None:
            return np.ascontiguousarray(index, np.int32)
        found: NDArray[np.int32] = self._places[index]
        found.sort()
        return found

    def rows_kept(self, places: NDArray[np.int32]) -> NDArray[np.int64]:
        """The reverse of `places`: rows of the caller's table."""
        return np.asarray(places if self.mixed is None else self.mixed[places], np.int64)

    def flat_box(self) -> tuple[FloatArray, FloatArray]:
        """`first_layer_box` as bounds of flat parameters, see there; made once for all trainings in the same box."""
        if self._flat is None or self._flat[0] is not self.lower or self._flat[1] is not self.upper:
            center = 0.0 if self.center is None else self.center
            box = flat_box(self.layout, self.lower - center, self.upper - center, self.dtype)
            self._flat = self.lower, self.upper, box
        return self._flat[2]

    _flat: tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]] | None = None

    def first_layer_box(self) -> tuple[FloatArray, FloatArray]:
        """(rows, d) bounds of the first-layer weights, in the layout's order of rows; (1, d) if all rows have the same.

        One output is one trunk, and its rows have the same.
        """
        lower, upper = self.lower, self.upper
        if self.center is not None:
            lower, upper = lower - self.center, upper - self.center
        rows = self.layout.output_of_row
        return (lower, upper) if len(lower) == 1 else (lower[rows], upper[rows])


def _largest(index: NDArray[Any]) -> int:
    """Of row numbers; of a negative one, some number beyond any row."""
    if index.dtype == np.int32:
        return int(np.maximum.reduce(index.view(np.uint32)))
    return 2**32 if np.minimum.reduce(index) < 0 else int(np.maximum.reduce(index))


@lru_cache(maxsize=8)
def _layout(
    architecture: Architecture, n_features: int, trunks: tuple[int, ...], bins: tuple[tuple[int, int], ...]
) -> TrainingLayout:
    """Shared by problems of one shape, such as those of a cross-validation: nobody changes a layout."""
    return TrainingLayout.build(architecture, n_features, trunks, bins)


def _center(lower: FloatArray, upper: FloatArray) -> FloatArray:
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise SlopeError("paper form needs finite slope intervals; got an infinite bound; give a slope cap.")
    return np.asarray(0.5 * (lower + upper))
