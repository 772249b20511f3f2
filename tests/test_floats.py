"""Only what is plainly a number is read as one, and locked arrays stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from monolip import SlopeBounds, SlopeSet
from monolip.errors import SlopeError
from monolip.floats import locked, to_floats


@pytest.mark.parametrize(
    "values",
    ["05", ["1", "2"], [True, False], [1, "2"], [None], 1j, np.array(["2020"], dtype="datetime64[Y]"),
     np.ma.masked_array([1.0, 2.0], mask=[False, True])],
)  # fmt: skip
def test_what_is_not_a_number_is_refused(values):
    with pytest.raises(TypeError):
        to_floats(values)
    with pytest.raises(SlopeError):
        SlopeBounds(values, [5.0, 5.0])


def test_numbers_of_every_kind_are_read():
    for values in ([1, 2], (1.0, 2.0), np.array([1, 2], dtype=np.int8), torch.tensor([1.0, 2.0], requires_grad=True)):
        assert to_floats(values).tolist() == [1.0, 2.0]
    assert to_floats(np.array([True, False]), allow_bool=True).tolist() == [1.0, 0.0]


def test_a_locked_array_cannot_be_unlocked_and_has_no_negative_zero():
    array = locked(np.array([[-0.0, 1.0]]))
    assert not np.signbit(array[0, 0])
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.setflags(write=True)


def test_names_without_an_order_are_refused():
    with pytest.raises(SlopeError, match="pass a list of names"):
        SlopeBounds.from_monotonic_cst({"a": 1}, 1.0, feature_names={"a", "b"})


def test_wrong_intervals_and_coefficients_are_slope_errors():
    box = SlopeBounds([0.0, 0.0], [1.0, 1.0])
    with pytest.raises(SlopeError, match="pair"):
        SlopeBounds.from_monotonic_cst([1], 1.0, slopes={0: "05"})
    with pytest.raises(SlopeError, match="outputs run from 0 to 1"):
        SlopeBounds(np.zeros((1, 2)), np.ones((1, 2))).for_output(5)
    with pytest.raises(SlopeError, match="dict by feature"):
        SlopeSet(box).at_most([1, 1], 1)
    with pytest.raises(SlopeError, match="must be a number"):
        SlopeSet(box).at_most({0: "x"}, 1)
    with pytest.raises(SlopeError, match="at most 100 inequalities"):
        SlopeSet(box, np.ones((101, 2)), np.ones(101))


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30, 1e200])
def test_the_scale_of_an_inequality_does_not_matter(scale):
    promise = SlopeSet(SlopeBounds([0.0, 0.0], [1.0, 1.0])).at_most({0: -scale, 1: scale}, 0.0)
    assert promise.contains([0.6, 0.5])
    assert not promise.contains([0.5, 0.6])
    assert np.allclose(promise.project([[0.2, 0.6]]), [[0.4, 0.4]], atol=1e-6)
