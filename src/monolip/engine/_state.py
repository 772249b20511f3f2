"""What the training kernels work on: rows, parameters, scratch. Arrays only, allocated once and changed in place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["AHEAD", "GATHERED", "Data", "Lanes", "State", "Stepped"]

FloatArray = NDArray[Any]
GATHERED = 3  # in State.clock
AHEAD = 64  # rows known beyond the block, for prefetching: the next block


class Data(NamedTuple):
    """Rows: x (n, d), y (n, targets), weight (n,) of mean 1, offset (n, outputs) or (0, outputs).

    x holds the plain columns and after them, for each feature with bins, what its partly filled bin holds; codes
    (n, features with bins) is the number of that bin. See _bins.
    """

    x: FloatArray
    y: FloatArray
    weight: FloatArray
    offset: FloatArray
    cells: FloatArray  # x, flat, and zeros: kernels read whole registers past the end of a row
    residual: FloatArray  # (outputs, d) of paper form, or (0, d)
    codes: NDArray[Any]  # whole numbers, of two bytes while they fit
    first_bins: NDArray[np.int64]  # where the bins of each feature begin, and their number
    bin_ends: FloatArray  # (2, bins): what an empty bin and a full one hold


class Stepped(NamedTuple):
    """Parameters and what steps them, all flat in the layout's order (means: one number a layer input)."""

    params: FloatArray  # effective parameters: what is evaluated
    raw: FloatArray  # paper form: what is stepped; convex form: empty
    gradient: FloatArray
    first_moment: FloatArray
    second_moment: FloatArray
    lower: FloatArray  # slope box, (first-layer rows * stride)
    upper: FloatArray
    means: FloatArray
    bin_means: FloatArray  # of the columns that are bins
    bin_sums: FloatArray  # gradient of the bins' table, (bins * stride), see _bin_steps; zero after each
    unit_sums: FloatArray  # gradient of the first layer's outputs since bins stepped last, see _bin_turns
    moved: FloatArray  # how far the bins' steps move each unit's mean
    step: FloatArray  # constants of the step being done, see _row_steps


class Lanes(NamedTuple):
    """Scratch of one block of 64 rows: activations, origins of sorted values, inputs turned, gradients, targets."""

    acts: FloatArray
    origin: NDArray[np.int32]
    turned: FloatArray
    d: FloatArray
    spare: FloatArray
    y: FloatArray
    weight: FloatArray
    rows: NDArray[np.int64]  # numbers of the block's rows, and of the next block's
    same: NDArray[np.int64]  # 0 .. 63, twice: rows of an array that holds just the block's
    table: FloatArray  # what the bins of a row add, by the number of the one partly filled: (bins * stride)
    base: FloatArray  # and what they add besides, (stride,)
    units: FloatArray  # first-layer outputs or gradients as rows, (lanes, stride)
    codes: NDArray[np.int32]  # numbers of the block's bins partly filled, (features * lanes)
    held: FloatArray  # and what they hold


class State(NamedTuple):
    """Everything a network in training owns; arrays only, changed in place, allocated once."""

    stepped: Stepped
    lanes: Lanes
    average: FloatArray  # exponential average of params; stays in every convex set
    order: NDArray[np.int32]  # the epoch's order of rows
    random: NDArray[np.uint64]
    clock: NDArray[np.int64]  # steps done, place in the epoch, rows that stay together in every epoch, GATHERED batches
