"""Radii beside a forest: what it reads is held fixed, by name, and the rest may move as far as is proved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.milp import smallest_flip
from monolip.certify.robustness import certified_radius
from monolip.certify.robustness_exact import exact_output
from monolip.certify.robustness_feature import feature_radii
from monolip.certify.robustness_fixed_point import fixed_point_radius
from monolip.errors import InputError
from monolip.estimators._freezing import with_forest

from ..forests import forest_network, plain_network, random_forest, raw_columns, raw_rows

SEEDS = st.integers(0, 2**32 - 1)
MOVES = ("dose", "acid")  # the forest reads sugar and city
SCALE = {"dose": 1.0, "acid": 0.5}


def decided(network, row):
    return int(exact_output(network, row)[0] > 0)


@settings(max_examples=15)
@given(seed=SEEDS, norm=st.sampled_from([1, np.inf]))
def test_random_moves_inside_a_radius_change_no_decision(seed, norm):
    rng = np.random.default_rng(seed)
    network, table = forest_network(rng), raw_rows(rng, 6)
    found = certified_radius(network, table, norm=norm, scale=SCALE)
    alone = feature_radii(network, table)
    assert found.moved == alone.features == MOVES
    assert found.held == alone.held == ("sugar", "city")
    for r, row in enumerate(zip(*raw_columns(table), strict=True)):
        assert decided(network, row) == found.decision[r] or found.radius[r] == 0
        for _ in range(8):
            d = rng.normal(size=2) ** 3
            d *= min(found.radius[r], 50.0) * (1 - 1e-9) / np.linalg.norm(d, ord=norm)
            there = [Fraction(row[0]) + Fraction(d[0]), *row[1:3], row[3]]
            if row[3] == row[3]:
                there[3] = Fraction(row[3]) + Fraction(d[1]) / 2
            assert decided(network, there) == found.decision[r] or found.radius[r] == 0
        for side, reach in ((1, alone.up[r, 0]), (-1, alone.down[r, 0])):
            for part in (0.3, 0.9, 1.0):
                there = [Fraction(row[0]) + side * Fraction(part * min(reach, 1e6)), *row[1:]]
                assert decided(network, there) == alone.decision[r] or reach == 0


def test_what_the_forest_reads_would_flip_a_decision_inside_the_radius():
    rng = np.random.default_rng(3)
    network, table = forest_network(rng, n_trees=8), raw_rows(rng, 40)
    found = certified_radius(network, table, scale=1.0)
    flipped = 0
    for sugar in np.linspace(-2, 2, 41):
        there = np.where(np.abs(sugar - table["sugar"]) < found.radius, sugar, table["sugar"])
        flipped += int(((network.evaluate_raw({**table, "sugar": there})[:, 0] > 0) != found.decision).sum())
    assert flipped > 0  # so that it has to be held
    with pytest.raises(InputError, match="unknown \\['sugar'\\]"):
        certified_radius(network, table, scale={**SCALE, "sugar": 1.0})


@settings(max_examples=6)
@given(seed=SEEDS)
def test_no_witness_of_a_solver_lies_inside_and_none_moves_what_is_held(seed):
    rng = np.random.default_rng(seed)
    network, table = forest_network(rng), raw_rows(rng, 2)
    rows = [list(row) for row in zip(*raw_columns(table), strict=True)]
    proved = certified_radius(network, rows, scale=SCALE).radius
    for row, radius, flip in zip(rows, proved, smallest_flip(network, rows, scale=SCALE, box=4.0), strict=True):
        if flip.witness is not None:
            assert radius < flip.radius
            assert flip.witness[2] == row[2]
            assert flip.witness[1] == row[1] or np.isnan(row[1])
            assert decided(network, flip.witness) != decided(network, row)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_deployed_integers_keep_their_decision_inside_a_radius(norm):
    rng = np.random.default_rng(5)
    for _ in range(3):
        fixed, table = compile_fixed_point(forest_network(rng)), raw_rows(rng, 40)
        found = fixed_point_radius(fixed, table, norm=norm, scale=SCALE)
        assert found.moved == MOVES
        assert found.held == ("sugar", "city")
        assert (found.radius > 0).any()
        before = fixed.decide(fixed.evaluate_raw(table))
        for _ in range(20):
            d = rng.normal(size=(40, 2)) ** 3
            d *= np.minimum(found.radius, 50.0)[:, None] / np.linalg.norm(d, ord=norm, axis=1, keepdims=True)
            moved = {**table, "dose": table["dose"] + d[:, 0], "acid": table["acid"] + 0.5 * d[:, 1]}
            assert (fixed.decide(fixed.evaluate_raw(moved)) == before).all()


def test_where_every_feature_is_held_nothing_moves():
    rng = np.random.default_rng(7)
    plain = plain_network(rng)
    wide = np.where(plain.bounds.lower == 0, -3.0, plain.bounds.lower)
    free = replace(plain, promise=replace(plain.bounds, lower=wide), raw_promise=None)
    network, table = with_forest(free, random_forest(rng, reads=(0, 1, 2, 3))), raw_rows(rng, 5)
    for radii in (certified_radius, feature_radii, smallest_flip):  # of no change at all all would be infinite
        with pytest.raises(InputError, match=r"trees read all of them.*trees=False"):
            radii(network, table)
    with pytest.raises(InputError, match="trees read all of them"):
        fixed_point_radius(compile_fixed_point(network), table)
