"""Where training starts: flat slopes, hinges at training rows, even mixing rows, the loss's own constant as output."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._state import AHEAD, Data, Lanes, State, Stepped
from monolip.engine._training_layout import BIAS_AT, BIN_STRIDE, BINS_AT, LANES, PAD, WIDTH, TrainingLayout
from monolip.engine.losses import Loss

__all__ = ["best_constant", "flat_box", "new_lanes", "new_state", "start_params"]

FloatArray = NDArray[Any]
SAME = np.arange(LANES + AHEAD) % LANES  # rows of lanes themselves; nobody changes it


def start_params(
    layout: TrainingLayout, rng: np.random.Generator, rows_at: Callable[[NDArray[np.int32]], FloatArray],
    index: NDArray[np.int32], lower: FloatArray, upper: FloatArray, initial_slope: float, constant: FloatArray,
    signed: bool, dtype: Any,
) -> FloatArray:  # fmt: skip
    """Flat parameters. lower, upper: (first-layer rows, d) or (1, d). constant: (outputs,) in the layout's order.

    rows_at(places) are rows of the table, (places, d).

    Slopes are uniform within initial_slope of the box's point nearest to zero. Units of one sort group hinge at a
    common random row: they are zero there, so sorting has something to do inside the data.
    """
    params = np.zeros(layout.size, dtype)
    near = np.minimum(np.maximum(lower, 0.0), upper)
    low, high = np.maximum(lower, near - initial_slope), np.minimum(upper, near + initial_slope)
    slopes = low + (high - low) * rng.random((len(layout.output_of_row), lower.shape[1]))
    layout.put_first_layer(params, slopes)
    if layout.group_sizes:
        size = layout.group_sizes[0]
        hinges = rng.integers(len(index), size=len(slopes) // size).repeat(size)
        at = int(layout.layers[0, BIAS_AT])
        params[at : at + len(slopes)] = -(rows_at(index[hinges]).astype(np.float64) * slopes).sum(1)
    for _, rows, _, columns, at, stride in layout.blocks[1:].tolist():
        mixing = rng.random((rows, columns)) + 1e-3
        if signed:
            mixing *= rng.choice([-1.0, 1.0], (rows, columns))
        mixing /= np.add.reduce(np.abs(mixing) if signed else mixing, axis=1, keepdims=True)
        params[at : at + rows * stride].reshape(rows, stride)[:, :columns] = mixing
    last = layout.layers[-1]
    params[last[BIAS_AT] : last[BIAS_AT] + last[WIDTH]] += constant
    return params


def best_constant(loss: Loss, y: FloatArray, weight: FloatArray, n_outputs: int) -> NDArray[np.float64]:
    """The constant output that is about right for the loss: mean, quantile, log-odds or log of the mean. (outputs,)

    weight is used up: it becomes each row's share.
    """
    if loss.name in ("absolute", "pinball", "huber"):
        quantile = loss.resolved() if loss.name == "pinball" else 0.5
        return np.quantile(y[weight > 0], quantile, axis=0)
    share = np.divide(weight, weight.sum(), out=weight)
    if loss.name == "softmax":
        frequency = np.bincount(y[:, 0].astype(int), weights=share, minlength=n_outputs)
        logs = np.log(np.maximum(frequency, 1e-6))
        return np.asarray((logs - logs.mean()) / loss.resolved())
    mean = share @ y
    if loss.name == "logistic":
        mean = np.clip(mean, 1e-6, 1 - 1e-6)
        return np.asarray(np.log(mean / (1 - mean)))
    return np.asarray(mean if loss.name == "squared" else np.log(np.maximum(mean, 1e-6)))


def new_state(
    layout: TrainingLayout, params: FloatArray, box: tuple[FloatArray, FloatArray], data: Data,
    index: NDArray[np.int32], run: int, seed: int, signed: bool, means: FloatArray,
) -> State:  # fmt: skip
    """All the arrays of training, allocated once. box: see `flat_box`. means: (d,), of the columns."""
    size, width, stride, n_bins = layout.size, layout.scratch, int(layout.layers[0, BIN_STRIDE]), len(layout.binned)
    own = ("params", "gradient", "lower", "upper", "first_moment", "second_moment", "average", "table", "bin_sums")
    scratch = _scratch(layout, data, (width + PAD) * LANES)
    arrays = _arena(
        params.dtype, **dict.fromkeys(own, size), raw=size if signed else 0, means=width + PAD, **scratch, step=PAD,
        bin_means=n_bins, moved=stride, unit_sums=stride,
    )  # fmt: skip
    for name in ("table", "bin_sums"):  # apart from the slopes as the other arrays are, see `_arena`
        arrays[name] = arrays[name][layout.layers[0, BINS_AT] :][: n_bins * stride]
    arrays["lower"][:], arrays["upper"][:], arrays["params"][:] = *box, params
    first = arrays["params"][: layout.layers[0, BIAS_AT]]  # padding is 0, and so is its box
    np.maximum(first, box[0][: len(first)], out=first)
    np.minimum(first, box[1][: len(first)], out=first)
    arrays["means"][: len(layout.plain)], arrays["bin_means"][:] = means[layout.plain], means[layout.binned]
    if signed:
        arrays["raw"][:] = arrays["params"]
    stepped = Stepped(**{name: arrays[name] for name in Stepped._fields})
    lanes = _lanes(arrays)
    random = np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], np.uint64)
    return State(stepped, lanes, arrays["average"], index.copy(), random, np.array([0, len(index), run, 0], np.int64))


def new_lanes(layout: TrainingLayout, data: Data) -> Lanes:
    """Scratch for who only evaluates: the arrays of gradients are empty."""
    sizes = {**_scratch(layout, data, 0), "acts": (layout.scratch + PAD) * LANES}
    table = len(layout.binned) * int(layout.layers[0, BIN_STRIDE])
    return _lanes(_arena(data.x.dtype, **sizes, table=table))


def _scratch(layout: TrainingLayout, data: Data, block: int) -> dict[str, int]:
    """Sizes of what a block of 64 rows needs; block: of one array of activations or gradients."""
    outputs, stride = int(layout.layers[-1, WIDTH]), int(layout.layers[0, BIN_STRIDE])
    lanes = {"y": data.y.shape[1] * LANES, "weight": outputs * LANES}
    return {
        **dict.fromkeys(("acts", "d", "spare"), block), "turned": max(block, LANES * stride) + PAD, **lanes,
        "base": stride, "units": LANES * stride, "held": data.codes.shape[1] * LANES,
    }  # fmt: skip


def _lanes(arrays: dict[str, FloatArray]) -> Lanes:
    whole: dict[str, NDArray[Any]] = {
        "origin": np.zeros(arrays["acts"].size, np.int32),
        "rows": np.zeros(LANES + AHEAD, np.int64),
        "codes": np.zeros(arrays["held"].size, np.int32),
        "same": SAME,
    }
    return Lanes(**whole, **{name: arrays[name] for name in Lanes._fields if name not in whole})


def _arena(dtype: np.dtype[Any], **sizes: int) -> dict[str, FloatArray]:
    """Arrays of zeros at fixed distances in one aligned piece of memory.

    Vectorised loops fall back to scalars where arrays come too close, and sum in another order then; with all
    distances fixed and wide, the same seed gives the same bits in every process. Nor may they lie a multiple of 4096
    bytes apart: what is written to one would hold up what is read from the other. Each comes seven lines later.
    """
    starts = _starts(tuple(sizes.values()), dtype.itemsize)
    raw = np.zeros(starts[-1] * dtype.itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64
    flat = raw[start : start + starts[-1] * dtype.itemsize].view(dtype)
    return {name: flat[at : at + size] for (name, size), at in zip(sizes.items(), starts[:-1], strict=True)}


@lru_cache(maxsize=16)
def _starts(sizes: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Where each array begins, and where the last one ends."""
    page, line = 4096 // itemsize, 64 // itemsize
    return tuple(accumulate((-(-size // page) * page + page + 7 * line for size in sizes), initial=0))


def flat_box(layout: TrainingLayout, lower: FloatArray, upper: FloatArray, dtype: Any) -> tuple[FloatArray, FloatArray]:
    """Slope boxes (outputs, d) as bounds of flat parameters; 0 where there are none.

    float32 boxes are rounded inwards: what is inside them is inside the user's interval.
    """
    low, high = np.zeros(layout.size, dtype), np.zeros(layout.size, dtype)
    for flat, rounded in zip((low, high), _inwards(lower, upper, dtype), strict=True):
        layout.put_first_layer(flat, rounded if len(rounded) == 1 else rounded[layout.output_of_row])
    return low, high


def _inwards(lower: FloatArray, upper: FloatArray, dtype: Any) -> tuple[FloatArray, FloatArray]:
    with np.errstate(over="ignore"):  # a generous bound becomes infinity, and its neighbour inwards is finite
        low, high = lower.astype(dtype), upper.astype(dtype)
    low = np.where(low < lower, np.nextafter(low, dtype.type(np.inf)), low)
    high = np.where(high > upper, np.nextafter(high, dtype.type(-np.inf)), high)
    narrow = low > high  # an interval between two neighbouring numbers: keep one end, the export clips exactly
    return np.where(narrow, high, low), high
