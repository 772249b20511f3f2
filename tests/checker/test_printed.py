"""What the checker prints claims no more than it has proved: intervals are rounded outwards."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from monolip.rounding import interval_text

from .documents import checker

FLOATS = st.floats(-1e300, 1e300)


@given(FLOATS, FLOATS)
def test_a_printed_interval_holds_the_proved_one(a, b):
    low, high = min(a, b) + 0.0, max(a, b) + 0.0
    printed = checker.outwards((low, high))
    left, right = map(Decimal, printed.split(", "))
    # a decimal stands for the float it is read as: 0.1 is printed as 0.1
    assert float(left) <= low
    assert high <= float(right)
    assert f"[{printed}]" == interval_text(low, high, 6)  # the same digits as monolip's own tables of certificates


def test_an_end_that_nearest_rounding_would_move_inwards():
    assert checker.outwards((-4.7413103, 4.7413103)) == "-4.74132, 4.74132"
    assert checker.outwards((0.0, 2.0)) == "0, 2"
    assert checker.outwards((1.23456, 1.234561)) == "1.23456, 1.23457"
