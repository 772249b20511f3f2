"""One order of operations: the same row gives the same bits wherever it stands, and order survives rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest

from monolip.errors import InputError, StructureError
from monolip.ordered import affine, as_rows, check_group_size, clamp_limit, sort_groups


def scalar_affine(x, weight, bias):
    out = []
    for row in x.tolist():
        units = []
        for w, z in zip(weight.tolist(), bias.tolist(), strict=True):
            for a, v in zip(w, row, strict=True):
                z = z + a * v
            units.append(z)
        out.append(units)
    return np.array(out)


@pytest.mark.parametrize(("n", "fan", "out"), [(1, 1, 1), (7, 3, 5), (40, 17, 33), (3, 64, 128)])
def test_affine_equals_a_plain_loop_over_scalars_to_the_bit(n, fan, out, rng):
    x, weight, bias = rng.normal(size=(n, fan)), rng.normal(size=(out, fan)), rng.normal(size=out)
    assert affine(x, weight, bias).tobytes() == scalar_affine(x, weight, bias).tobytes()
    columns = np.asfortranarray(x), np.asfortranarray(weight), bias
    assert affine(*columns).tobytes() == affine(x, weight, bias).tobytes()


def test_affine_keeps_the_sign_of_zero():
    x, weight, bias = np.array([[0.0, -0.0]]), np.array([[-1.0, 1.0], [1.0, -1.0]]), np.array([-0.0, -0.0])
    assert affine(x, weight, bias).tobytes() == scalar_affine(x, weight, bias).tobytes()


@pytest.mark.parametrize("out", [1, 16, 33])
def test_the_same_row_gives_the_same_bits_alone_and_anywhere_in_a_batch(out, rng):
    weight, bias = rng.normal(size=(out, 9)), rng.normal(size=out)
    batch = rng.normal(size=(5000, 9))
    row = rng.normal(size=9)
    alone = affine(row[None], weight, bias)[0].tobytes()
    assert affine(np.tile(row, (7, 1)), weight, bias).tobytes() == alone * 7
    for place in (0, 1, 6, 977, 2047, 2048, 4998, 4999):
        batch[place] = row
        assert affine(batch, weight, bias)[place].tobytes() == alone
    strided = np.zeros((5000, 18))
    strided[:, ::2] = batch
    assert affine(strided[:, ::2], weight, bias)[4999].tobytes() == alone


def test_affine_takes_empty_batches():
    assert affine(np.zeros((0, 3)), np.zeros((2, 3)), np.zeros(2)).shape == (0, 2)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_groups_are_sorted_ascending_and_keep_their_values(size, rng):
    z = rng.normal(size=(50, 6))
    result = sort_groups(z, size).reshape(50, -1, size)
    assert (np.diff(result, axis=-1) >= 0).all()
    np.testing.assert_array_equal(result, np.sort(z.reshape(50, -1, size), axis=-1))


@pytest.mark.parametrize(
    ("size", "message"),
    [(0, "positive int; got 0"), (-2, "positive int"), (2.0, "positive int; got 2.0"), (True, "positive int"),
     ("2", "positive int"), (4, "must divide the width; got group_size=4 for width 6; choose a divisor of 6")],
)  # fmt: skip
def test_a_group_size_must_divide_the_width(size, message):
    with pytest.raises(StructureError, match=message):
        check_group_size(size, 6)
    assert check_group_size(np.int64(3), 6) == 3


def test_inputs_become_rows_of_float64_and_infinities_pass():
    assert as_rows([1, 2], 2).shape == (1, 2)
    assert as_rows(np.zeros((4, 5, 2), dtype=np.float32), 2).shape == (20, 2)
    assert as_rows(np.zeros((0, 2)), 2).shape == (0, 2)
    assert np.isinf(as_rows([[math.inf, -math.inf]], 2)).all()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[math.nan, 0.0]], "NaN has no place in an order.*impute"),
        ([[None, 0.0]], "inputs must be numbers; got list .None is not a number"),
        ([["05", "1"]], "inputs must be numbers"),
        ([[1j, 0.0]], "inputs must be numbers"),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), "masked values"),
        (np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"), "inputs must be numbers"),
        ([[0.0]], r"2 features in their last axis; got shape \(1, 1\)"),
        (3.0, r"got shape \(\)"),
        ([["a", "b"]], "inputs must be numbers; got list"),
        ([[0.0, 1.0], [2.0]], "inputs must be numbers"),
        ([[10**400, 0]], "inputs must be numbers"),
    ],
)
def test_inputs_without_an_order_are_refused(x, message):
    with pytest.raises(InputError, match=message):
        as_rows(x, 2)


@pytest.mark.parametrize("row_sum", [0.0, 1.0, 3.7, 1e10, 1e200, 1e280])
@pytest.mark.parametrize("bias", [0.0, 5.0, 1e300, 2e307])
def test_the_clamp_leaves_room_for_every_intermediate_value(row_sum, bias):
    limit = clamp_limit(row_sum, bias)
    assert math.frexp(limit)[0] == 0.5  # a power of two: the same number in every format that can hold it
    assert limit * row_sum + bias <= np.finfo(np.float64).max / 4
    assert limit * max(row_sum, 1.0) >= (np.finfo(np.float64).max / 8 - bias) / 2  # and no more than a factor 2 is lost


@pytest.mark.parametrize(
    ("row_sum", "bias"),
    [(1.0, 1e308), (math.inf, 0.0), (math.nan, 0.0), (1.0, math.inf), (1.0, math.nan), (1e300, 0.0)],
)
def test_weights_that_cannot_be_evaluated_are_refused(row_sum, bias):
    with pytest.raises(StructureError, match=r"small enough to evaluate; got row sums up to .*; rescale"):
        clamp_limit(row_sum, bias)
