"""Searches for violations beside a forest: jumps of what it reads are none, and what is promised withstands them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from monolip.certify.audit_thresholds import thresholds_of
from monolip.certify.auditing import audit
from monolip.certify.fixed_point import compile_fixed_point
from monolip.engine.adversarial_search import attack_directions
from monolip.engine.integer_search import attack_integers
from monolip.engine.ulp_search import search_decreases
from monolip.input_transform import InputTransform

from ..forests import directed_network, forest_network, random_forest, raw_rows

QUICK = {"max_rows": 30, "max_evaluations": 20_000}


@pytest.fixture(scope="module")
def network():
    return forest_network(np.random.default_rng(0), n_trees=10)


@pytest.fixture(scope="module")
def rows():
    return pd.DataFrame(raw_rows(np.random.default_rng(1), 60)).assign(dose=np.linspace(-3, 3, 60))


def test_an_audit_reads_where_the_forest_jumps_and_finds_no_violation(network, rows):
    for model in (network, compile_fixed_point(network)):
        report = audit(model, rows, {"dose": 1}, **QUICK)
        assert not report.violated
        assert report.thresholds_read > 5
    names = ("city", "sugar", "dose", "acid")  # in an order of the table's own
    found = thresholds_of(network, names)
    assert list(found) == [1]
    cuts = network.inputs.forest.thresholds[network.inputs.forest.features == 0]
    assert set(found[1]) == set(cuts.tolist())
    assert list(thresholds_of(network, ("a", "b", "c", "d"))) == [1]  # by position: without names of ours


def test_a_direction_that_trees_keep_is_audited_and_one_they_break_is_found(rows):
    rng = np.random.default_rng(2)
    network = directed_network(rng, n_trees=10)
    for model in (network, compile_fixed_point(network)):
        report = audit(model, rows, {"dose": 1}, **QUICK)
        assert not report.violated
        assert 0 in thresholds_of(model, network.inputs.names)
    loose = replace(network.bounds, lower=np.append(np.full(network.inputs.n_model - 1, -9.0), 0.0))
    forest = random_forest(rng, n_trees=10, reads=(0, 1, 2))
    other = replace(network, promise=loose, inputs=InputTransform(network.inputs.columns, forest))
    assert audit(other, rows, {"dose": 1}, **QUICK).violated


def test_a_direction_that_nobody_promised_is_broken_at_a_jump(network, rows):
    report = audit(network, rows, {"sugar": 1}, **QUICK)
    assert report.violated
    assert report.beyond_rounding


def test_searches_in_model_columns_find_nothing(network):
    form, signs = network.members[0][0].form, network.bounds.directions
    assert signs[-1] == 1  # more of the forest's sum is more, whatever it read
    given = {"n_pairs": 100_000, "directions": signs}
    for number_format in ("float32", "float64"):
        network_ = form.weights, form.biases, form.group_sizes
        assert search_decreases(*network_, number_format=number_format, **given).decreases == 0
        assert attack_directions(*network_, number_format=number_format, **given).decreases == 0
    fixed = compile_fixed_point(network)
    assert len(fixed.limits) == network.inputs.n_model
    assert attack_integers(fixed.packed(), fixed.limits, signs, n_pairs=100_000).decreases == 0
