"""Vector instructions of boosted trees: the bits of plain loops, and of equal splits the first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.engine._boosted_lanes import MOST_CODES, RIDGE, TOGETHER, add_by_code, add_up, best_split, part_rows
from monolip.engine._compile import compiled
from monolip.engine._random_lanes import draw_rows
from monolip.engine.extra_trees import next_random

SEEDS = st.integers(0, 2**32 - 1)


@compiled()
def add_them(sums, codes, width, rows, used, slopes):
    add_by_code(sums, 0, codes, width, rows, 0, len(rows), used, len(used), slopes)


@compiled()
def part_them(codes, width, column, code, rows, spare):
    return part_rows(codes, width, column, code, rows, 0, len(rows), spare)


@compiled()
def find_best(sums, room, limits, signs, ends, most):
    for u in range(0, len(limits), TOGETHER):
        add_up(sums, 2 * MOST_CODES * u, room, 2 * MOST_CODES * u, MOST_CODES)
    return best_split(sums, 0, room, len(limits), limits, signs, ends, most)


@compiled()
def draw_them(given, state, bar, rows, others):
    return draw_rows(given, len(given) // 8, state, bar, rows, others, 0)


@compiled()
def one_random(state):
    return next_random(state)


def split_by_split(sums, limits, signs, ends, most):
    """MOST_CODES * u + c of the first that gains most, one after the other."""
    (all_g, all_h, low, high, smallest), found = ends.tolist(), 2**31
    for u, (limit, sign) in enumerate(zip(limits.tolist(), signs.tolist(), strict=True)):
        g = total = 0.0
        for c in range(limit):
            g, total = g + sums[u, c, 0], total + sums[u, c, 1]
            h = total if sums[u, c, 1] != 0.0 else 0.0
            rest, left_h, right_h = all_g - g, h + RIDGE, all_h - h + RIDGE
            left, right = (min(max(value, low), high) for value in (-g / left_h, -rest / right_h))
            gain = -left * (g + 0.5 * left_h * left) - right * (rest + 0.5 * right_h * right)
            if min(h, all_h - h) >= smallest and sign * (right - left) >= 0.0 and gain > most:
                found, most = MOST_CODES * u + c, gain
    return found


@settings(max_examples=80, deadline=None)
@given(SEEDS, st.integers(1, 9), st.booleans(), st.booleans())
def test_the_best_split_is_the_first_of_those_that_gain_most(seed, n_used, coarse, bounded):
    rng = np.random.default_rng(seed)
    sums = np.zeros((-(-n_used // TOGETHER) * TOGETHER, MOST_CODES, 2))
    limits, signs = rng.integers(0, MOST_CODES, n_used), rng.integers(-1, 2, n_used).astype(float)
    for u, limit in enumerate(limits):
        g = rng.integers(-2, 3, limit + 1) if coarse else rng.normal(size=limit + 1)  # coarse ones often gain the same
        sums[u, : limit + 1] = np.stack([g, rng.integers(0, 3, limit + 1)], axis=1)
    low, high = (-0.5, 0.25) if bounded else (-np.inf, np.inf)
    ends = np.array([sums[0, :, 0].sum(), sums[:, :, 1].sum(axis=1).max(), low, high, 2.0])
    for most in (1e-10, -5.0):
        found = find_best(sums.reshape(-1), np.zeros(sums.size), limits, signs, ends, most)
        expected = split_by_split(sums, limits, signs, ends, most)
        assert found == expected or (found >= 2**31 <= expected)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(0, 50))
def test_rows_are_added_and_parted_in_their_order(seed, n):
    rng = np.random.default_rng(seed)
    codes, slopes = rng.integers(0, MOST_CODES, (60, 11)).astype(np.uint8), rng.normal(size=(60, 2))
    rows, used = rng.permutation(60)[:n].astype(np.int32), rng.permutation(11)[:10].astype(np.int32)
    sums, expected = np.zeros((10, MOST_CODES, 2)), np.zeros((10, MOST_CODES, 2))
    add_them(sums.reshape(-1), codes.reshape(-1), 11, rows, used, slopes.reshape(-1))
    for row in rows:
        for u in range(10):
            expected[u, codes[row, used[u]]] += slopes[row]
    assert sums.tobytes() == expected.tobytes()
    parted, spare, goes_left = rows.copy(), np.zeros(61, np.int32), codes[rows, 3] < 30
    at = part_them(codes.reshape(-1), 11, 3, 30, parted, spare)
    assert parted[:at].tolist() == rows[goes_left].tolist()
    assert spare[: n - at].tolist() == rows[~goes_left].tolist()


@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
def test_rows_are_drawn_by_the_numbers_that_follow_a_state(part, rng):
    given_rows, start, bar = rng.permutation(64).astype(np.int32), np.uint64(2**64 - 5), np.uint64(part * 2**32)
    rows, others, state, seen = np.zeros(65, np.int32), np.zeros(65, np.int32), start, []
    for _ in given_rows:
        state, bits = one_random(np.uint64(state))
        seen.append(bits < bar)
    count = draw_them(given_rows, start, bar, rows, others)
    assert rows[:count].tolist() == given_rows[seen].tolist()
    assert others[: 64 - count].tolist() == given_rows[~np.array(seen)].tolist()
