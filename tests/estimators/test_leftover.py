"""What a forest is worth: a gain beyond chance, of more trees than judge, and never of rounding."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.estimators._leftover import Leftover, Worth, is_hopeless, worth_of


def squares(y):
    return Leftover(y, np.ones(len(y)), False)


def test_a_share_needs_a_gain_beyond_chance(rng):
    y, f = rng.normal(size=400), np.zeros(400)
    left = squares(y)
    found = worth_of(left, f, y, y)
    assert (found.share, found.gain) == (1.0, pytest.approx(1.0))
    assert found.of_constant == pytest.approx(1.0, rel=0.05)
    assert worth_of(left, f, 2 * y, 2 * y).share == 0.5
    nothing = Worth(0.0)
    assert worth_of(left, f, -y, -y) == nothing
    assert worth_of(left, f, f, f) == nothing
    assert worth_of(left, f, *rng.normal(size=(2, 400))) == nothing
    assert worth_of(left, f, *np.full((2, 400), np.nan)) == nothing


def test_a_gain_is_also_told_as_part_of_what_a_constant_loses(rng):
    y = 10.0 * rng.normal(size=4000)
    f = y + rng.normal(size=4000)  # little is left
    found = worth_of(squares(y), f, y - f, y - f)
    assert found.gain == pytest.approx(1.0)
    assert found.of_constant == pytest.approx(0.01, rel=0.2)
    codes = (y > 0).astype(float)
    sure = np.where(y > 0, 6.0, -6.0)
    found = worth_of(Leftover(codes, np.ones(4000), True), np.zeros(4000), sure, sure)
    assert found.of_constant == pytest.approx(found.gain, rel=0.01)


def test_more_trees_are_credited_with_what_halves_save_over_each(rng):
    y = rng.normal(size=4000)
    left, f = squares(y), np.zeros(4000)
    noise = rng.normal(size=(6, 4000))  # of six trees that predict y: halves of two judge, two more will come
    judges, every = [noise[k : k + 2].mean(axis=0) for k in (0, 2)], noise.mean(axis=0)
    told = worth_of(left, f, y + judges[0], y + judges[1], 1 - 4 / 6)
    true = worth_of(left, f, y + every, y + every)
    assert told.share == true.share
    assert told.gain == pytest.approx(true.gain, abs=0.02)
    assert told.gain > worth_of(left, f, y + judges[0], y + judges[1]).gain + 0.02
    wild = 100.0 * noise[0]
    assert worth_of(left, f, wild, -wild, 0.9).gain <= 1.0


def test_rows_that_lose_end_it_early(rng):
    y, every = rng.normal(size=400), np.arange(400)
    left, f = squares(y), np.zeros(400)
    assert is_hopeless(left, f, -y, -y)
    assert is_hopeless(left.at(every[:100]), f[:100], -y[:100], -y[:100])
    assert not is_hopeless(left, f, y, y)
    assert not is_hopeless(left, f, f, f)


def test_rounding_is_no_gain(rng):
    y = rng.normal(size=600)
    one = 1e-3 * rng.normal(size=600)
    assert worth_of(squares(y), np.zeros(600), one, one * (1 + 1e-16), 2 / 3).gain < 0.01


def test_rows_of_one_group_tell_once(rng):
    y, guess = np.repeat(rng.normal(size=40), 50), np.repeat(0.15 * rng.normal(size=40), 50)
    torn, together = squares(y), Leftover(y, np.ones(2000), False, np.repeat(np.arange(40), 50))
    good, found = (
        guess * np.sign(guess @ y),
        [worth_of(left, np.zeros(2000), guess, guess) for left in (torn, together)],
    )
    assert worth_of(torn, np.zeros(2000), good, good).share > 0, "chance, forty times fifty"
    assert found[1] == Worth(0.0) or found[1].error > 5 * found[0].error
    assert is_hopeless(torn, np.zeros(2000), -good, -good)
    assert not is_hopeless(together, np.zeros(2000), -good, -good)
    few = Leftover(y[:500], np.ones(500), False, np.repeat(np.arange(10), 50))
    assert worth_of(few, np.zeros(500), y[:500], y[:500]) == Worth(0.0), "ten customers are too few"


def test_one_row_that_weighs_more_than_all_others_judges_nothing(rng):
    y = rng.normal(size=300)
    heavy = Leftover(y, np.r_[1e10, np.ones(299)], False)
    assert worth_of(heavy, np.zeros(300), y, y) == Worth(0.0)
    assert worth_of(squares(y[:10]), np.zeros(10), y[:10], y[:10]) == Worth(0.0)
