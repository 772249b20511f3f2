"""A free forest in C gives Python's bits: at thresholds, for missing and unseen values, in every type and build."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from monolip.errors import PrecisionError
from monolip.estimators._freezing import with_forest
from monolip.export import c as c_module
from monolip.export import to_c
from monolip.export.c import c_reference
from monolip.export.c_forest import _narrowest
from monolip.export.parity_inputs import columns_from_codes, parity_inputs
from monolip.export.parity_room import rounding_room
from monolip.free_forest import LEAF, FreeForest
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform
from tests.export.c_headers import COMPILERS, STRICT, bits, export, run_self_test
from tests.forests import (
    COLUMNS,
    directed_network,
    forest_network,
    plain_network,
    random_forest,
    raw_columns,
    raw_rows,
    steps_across,
)

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler")

KINDS = ("random", "boundary", "extreme")
CASES = {
    "float64": ("float64", {}),
    "float32": ("float32", {}),
    "fused": ("float32", {"fused": True}),
    "wide": ("fixed-point", {}),  # sums in int64
    "narrow": ("fixed-point", {"preset": "narrow"}),  # in int32
}
CPP = [path.replace("gcc", "g++") for path in COMPILERS if path.endswith("gcc")]
ODD = [-1.0, -0.0, 0.5, 2.5, 3.0, 4.0, 5.0, 1e30, np.nan, np.inf, -np.inf]  # as codes of three labels


def many_thresholds(rng, n_trees=6) -> FreeForest:
    """Some numbers that are floats, which rows can meet exactly in every type, and some that are none."""
    forest = random_forest(rng, n_trees=n_trees, depth=4, reads=(1, 2, 3))
    halves = np.round(2 * forest.thresholds) / 2
    changed = np.where(rng.random(len(halves)) < 0.6, halves, forest.thresholds)
    return replace(forest, thresholds=np.where(forest.features == LEAF, 0.0, changed))


def strict_network(rng, link="identity"):
    """As forest_network, but acid, which the forest reads, has no rule for missing values."""
    columns = (*COLUMNS[:3], NumericColumn("acid", COLUMNS[3].maps, seen=COLUMNS[3].seen))
    plain = replace(plain_network(rng, link), inputs=InputTransform(columns))
    return with_forest(plain, many_thresholds(rng))


def rows_of(network, rng) -> np.ndarray:
    """Rows of every kind, all codes and what is none, and each numeric column at and beside every threshold."""
    forest = network.inputs.forest
    x = np.vstack([parity_inputs(network, kind, 301, rng) for kind in KINDS])
    cuts = np.unique(forest.thresholds[forest.features != LEAF])
    with np.errstate(over="ignore"):
        near = cuts.astype(np.float32)
        beside = [np.nextafter(near, np.float32(s)).astype(np.float64) for s in (-np.inf, np.inf)]
    beside += [cuts, near.astype(np.float64), np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), [np.nan]]
    met = np.concatenate(beside)
    at = np.resize(parity_inputs(network, "random", 97, rng), (4 * len(met), 4))
    at[:, 1], at[:, 3] = np.resize(met, len(at)), rng.permutation(np.resize(met, len(at)))
    at[:, 2] = rng.choice([*range(5), *ODD], len(at))
    return np.vstack([x, at])


def other_sums(network, x, change) -> int:
    """How many rows would get another sum from a forest that was changed."""
    known = columns_from_codes(network, np.where(np.isnan(x) & [[True, False, False, True]], 0.0, x))
    numbers = network.inputs.forest.numbers(network.inputs.columns, known)
    return int((network.inputs.forest.evaluate(numbers) != change(network.inputs.forest, numbers)).sum())


def or_equal(forest, numbers):
    """What `<=` in the place of `<` gives: a threshold one step further."""
    further = np.where(forest.features == LEAF, 0.0, np.nextafter(forest.thresholds, np.inf))
    return replace(forest, thresholds=further).evaluate(numbers)


@needs_compiler
@pytest.mark.parametrize("case", CASES)
def test_every_function_gives_pythons_bits(tmp_path, case):
    rng = np.random.default_rng(list(CASES).index(case))
    made = export(strict_network(rng, "logit"), tmp_path, CASES[case][0], **CASES[case][1])
    assert made.report.passed
    assert made.report.measured
    network, layers, x = made.network, made.layers, rows_of(made.network, rng)
    with np.errstate(over="ignore"):
        single = x.astype(np.float32)
    expected, rounded = c_reference(network, layers, x), c_reference(network, layers, single.astype(np.float64))
    library = made.build(COMPILERS[0])
    for found in (library.batch(x), library.score(x)):
        np.testing.assert_array_equal(bits(found), bits(expected))
    for found in (library.batch_float(single), library.score_float(single)):
        np.testing.assert_array_equal(bits(found), bits(rounded))
    known = ~np.isnan(x[:, [0, 3]]).any(axis=1)
    assert 0 < known.sum() < len(x), "acid without a value is invalid"
    if layers.number != "float":  # by the public function, too
        np.testing.assert_array_equal(
            bits(expected[known]), bits(network.evaluate_raw(columns_from_codes(network, x[known])))
        )
    given = x if layers.number != "float" else single.astype(np.float64)
    assert other_sums(network, given, or_equal) > 10
    assert other_sums(network, given, lambda forest, numbers: 0 * forest.evaluate(numbers)) > len(x) // 2


@needs_compiler
@pytest.mark.parametrize("case", CASES)
def test_it_is_strict_c_and_cpp_in_any_number_of_lanes(tmp_path, case):
    made = export(strict_network(np.random.default_rng(3)), tmp_path, CASES[case][0], **CASES[case][1])
    builds = [(COMPILERS[0], "-std=c99", "-O1", *STRICT), (COMPILERS[-1], "-O3", "-march=native", *STRICT)]
    builds += [(compiler, "-std=c++17", "-O1", *STRICT) for compiler in CPP]
    builds += [(COMPILERS[0], "-O1", "-DMODEL_LANES=1"), (COMPILERS[0], "-O1", "-DMODEL_LANES=32", "-DMODEL_TABLES=0")]
    builds.append((COMPILERS[0], "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"))
    for compiler, *flags in builds:
        done = run_self_test(made.path, compiler, *flags)
        assert done.returncode == 0, (flags, done.stdout + done.stderr)


MUTANTS = {
    "or equal": ("!(number < ", "!(number <= "),
    "the other child": ("& !(number < ", "& (number < "),
    "a tree too few": ("for (tree = 0;", "for (tree = 1;"),
    "a step for each tree": ("while (moved)", "while (0)"),
    "lanes like the first": ("t[1 * rows + r]", "t[1 * rows]"),
    "no sum in a row": ("model_forest_float(t, u + 8, 1);", "u[8] = 0;"),
    "missing as unseen": ("code < 3 ? (double)code : code == 3 ?", "code < 3 ? (double)code : code != 3 ?"),
    "missing as it is": ("numbers[0 * rows + r] = given != given ?", "numbers[0 * rows + r] = 0 ?"),
    "another column": ("t[3 * rows + r]", "t[1 * rows + r]"),
}


@needs_compiler
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_walk_is_found_before_a_header_is_written(tmp_path, monkeypatch, mutant):
    """And by the self-test of a header that somebody changed afterwards."""
    network, path = strict_network(np.random.default_rng(8)), tmp_path / "model.h"
    to_c(network, path, arithmetic="float32")
    old, new = MUTANTS[mutant]
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    done = run_self_test(path, COMPILERS[0], "-O0")
    assert done.returncode == 1, done.stdout + done.stderr
    path.unlink()
    honest = c_module.header_text
    monkeypatch.setattr(c_module, "header_text", lambda parts: honest(parts).replace(old, new))
    with pytest.raises(PrecisionError, match="not written"):
        to_c(network, path, arithmetic="float32")
    assert not path.exists()


@needs_compiler
@pytest.mark.parametrize(("arithmetic", "size"), [("float32", 1e40), ("float64", 1e307)])
def test_sums_beyond_what_layers_take_are_clamped_as_other_columns(tmp_path, arithmetic, size):
    rng = np.random.default_rng(5)
    forest = many_thresholds(rng)
    forest = replace(forest, values=size * forest.values)
    made = export(with_forest(plain_network(rng), forest), tmp_path, arithmetic)
    x = rows_of(made.network, rng)
    assert (np.abs(made.network.inputs.evaluate(columns_from_codes(made.network, x[:301]))[:, -1]) > size / 10).any()
    library, expected = made.build(COMPILERS[0]), c_reference(made.network, made.layers, x)
    np.testing.assert_array_equal(bits(library.batch(x)), bits(expected))
    np.testing.assert_array_equal(bits(library.score(x)), bits(expected))


@needs_compiler
def test_a_hundred_thousand_nodes_compile_soon(tmp_path):
    rng = np.random.default_rng(7)
    forest = random_forest(rng, n_trees=350, depth=8)
    assert len(forest.features) > 100_000
    before = time.perf_counter()
    report = to_c(with_forest(plain_network(rng), forest), tmp_path / "model.h")
    assert report.passed
    assert time.perf_counter() - before < 60, "seconds; two to three are usual"


@needs_compiler
def test_the_header_says_what_carries_no_promise(tmp_path):
    text = export(forest_network(np.random.default_rng(1)), tmp_path, "fixed-point").path.read_text()
    about = text[: text.index("*/")]
    assert "5 trees" in about
    assert "x[1]  'sugar', a number; NaN is missing; read by a forest, no promise" in about
    assert "x[2]  'city', a code; read by a forest, no promise:" in about
    assert "x[3]  'acid', a number; NaN is missing\n" in about
    assert max(map(len, text.splitlines())) <= 140
    plain = export(plain_network(np.random.default_rng(1)), tmp_path, "fixed-point").path.read_text()
    assert "forest" not in plain


@needs_compiler
@pytest.mark.parametrize("case", CASES)
def test_no_step_across_a_threshold_of_a_directed_feature_falls(tmp_path, case):
    made = export(directed_network(np.random.default_rng(9), n_trees=20), tmp_path, CASES[case][0], **CASES[case][1])
    assert (
        "x[0]  'dose', a number; NaN is invalid; read by a forest, increasing, no slope bounds" in made.path.read_text()
    )
    library, rng, forest = made.build(COMPILERS[0]), np.random.default_rng(1), made.network.inputs.forest
    for kind, functions in (
        (np.float64, (library.batch, library.score)),
        (np.float32, (library.batch_float, library.score_float)),
    ):
        steps = steps_across(forest, 0, kind)
        rows = np.repeat(parity_inputs(made.network, "boundary", 20, rng), len(steps), axis=0)
        rows[:, 0] = np.tile(steps, 20)
        for function in functions:
            found = np.asarray(function(rows.astype(kind)), dtype=np.float64).reshape(20, len(steps))
            assert np.isfinite(found).all()
            assert (np.diff(found, axis=1) >= 0).all()
            assert (np.diff(found, axis=1) > 0).sum() > 20


@needs_compiler
def test_headers_of_similar_names_do_not_meet(tmp_path):
    network = forest_network(np.random.default_rng(1))
    for name in ("model", "model_forest"):
        to_c(network, tmp_path / f"{name}.h")
    both = tmp_path / "both.h"
    both.write_text('#include "model_forest.h"\n#include "model.h"\n')
    done = run_self_test(both, COMPILERS[0], "-O1", *STRICT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_tables_have_the_narrowest_type():
    for most, kind in ((127, "int8_t"), (128, "int16_t"), (2**15, "int32_t"), (2**31, "int64_t")):
        assert _narrowest(np.array([0, most])) == kind
    assert _narrowest(np.array([-128, 127])) == "int8_t"
    assert _narrowest(np.array([-129, 0])) == "int16_t"
    assert _narrowest(np.array([0.5, -3.0])) == "float"
    assert _narrowest(np.array([0.5, 0.1])) == _narrowest(np.array([1e300])) == "double"


def test_boundary_rows_meet_thresholds_and_their_neighbours():
    network = forest_network(np.random.default_rng(1))
    forest = network.inputs.forest
    cuts = forest.thresholds[forest.features == forest.reads.index(1)]
    x = parity_inputs(network, "boundary", 3000, np.random.default_rng(0))[:, 1]
    for wanted in (cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)):
        assert np.isin(wanted, x).all()
    assert np.isin([-2.0, 2.0], x).all(), "knots as before"


def test_leaves_that_cancel_leave_room_for_rounding():
    """In artefacts that add them in another order: the room is that of what was added, not of what was left."""
    rng = np.random.default_rng(2)
    plain = plain_network(rng)
    two = FreeForest((1,), ((0.0, 0.0),), [LEAF, LEAF], [0.0, 0.0], [0, 0], [1e6, -1e6], [0, 1])
    columns = raw_columns(raw_rows(rng, 10))
    room = rounding_room(with_forest(plain, two), columns, "float64")
    assert (room > 64 * 2e6 * 2**-53).all()
    assert (rounding_room(plain, columns, "float64") < 1e-9).all()
