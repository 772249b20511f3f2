"""The C header gives Python's bits: float64, float32 with and without fused operations, fixed point, every link."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import FreezeError, InputError, PrecisionError
from monolip.export import c as c_module
from monolip.export import to_c
from monolip.export.c import c_reference
from monolip.export.c_float32 import fused_multiply_add, to_float32
from monolip.export.parity_inputs import columns_from_codes, parity_inputs
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds
from tests.certify.fixed_point_networks import random_network, table_network
from tests.export.c_headers import COMPILERS, bits, export
from tests.export.models import estimator
from tests.make import convex, frozen_networks

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")

KINDS = ("random", "boundary", "extreme")
CASES = [
    ("float64", "softmax", {}),
    ("float64", "log", {}),
    ("float32", "logit", {}),
    ("float64", "first", {}),
    ("fixed-point", "first", {}),
    ("float32", "identity", {"fused": True}),
    ("fixed-point", "softmax", {}),
    ("fixed-point", "log", {"preset": "narrow"}),
]


def python_bits(network, layers, x):
    """f by the public functions of the network, where they exist: float32 has the reference of the exporter."""
    if layers.number == "float":
        return c_reference(network, layers, x)
    return network.evaluate_raw(columns_from_codes(network, x))


@pytest.mark.parametrize(("arithmetic", "link", "options"), CASES)
def test_a_table_with_every_kind_of_column_gives_pythons_bits(tmp_path, arithmetic, link, options):
    rng = np.random.default_rng(3)
    made = export(table_network(rng, link), tmp_path, arithmetic, **options)
    assert made.report.passed
    assert made.report.measured
    network, layers = made.network, made.layers
    x = np.vstack([parity_inputs(network, kind, 701, rng) for kind in KINDS])
    expected = python_bits(network, layers, x)
    for compiler in COMPILERS:
        library = made.build(compiler)
        f = library.batch(x)
        np.testing.assert_array_equal(bits(f), bits(expected))
        np.testing.assert_array_equal(bits(library.score(x[::7])), bits(expected[::7]))
        with np.errstate(over="ignore"):
            single = x.astype(np.float32)
        rounded = python_bits(network, layers, single.astype(np.float64))
        np.testing.assert_array_equal(bits(library.batch_float(single)), bits(rounded))
        p = network.link.apply(expected.astype(np.int64 if layers.shift else np.float64))
        np.testing.assert_array_equal(bits(library.predict(f)), bits(np.reshape(p, (len(x), -1))))


@pytest.mark.parametrize(
    ("arithmetic", "depth", "group_size"),
    [("float64", 1, 2), ("float64", 3, 3), ("float32", 4, "full"), ("fixed-point", 1, 2), ("fixed-point", 3, 3)],
)
def test_members_outputs_and_group_sizes(tmp_path, arithmetic, depth, group_size):
    rng = np.random.default_rng(depth)
    network = random_network(rng, "convex", depth, group_size, n_outputs=2, members=2)
    options = {"input_ranges": [(-4.0, 4.0)] * 3} if arithmetic == "fixed-point" else {}
    made = export(network, tmp_path, arithmetic, **options)
    x = np.vstack([parity_inputs(made.network, kind, 203, rng) for kind in KINDS])
    expected = c_reference(made.network, made.layers, x)
    library = made.build(COMPILERS[0])
    np.testing.assert_array_equal(bits(library.batch(x)), bits(expected))
    np.testing.assert_array_equal(bits(library.score(x)), bits(expected))


@pytest.mark.parametrize(("arithmetic", "group_size"), [("float64", 1), ("fixed-point", 2)])
def test_a_network_too_large_for_straight_line_code(tmp_path, arithmetic, group_size):
    """Widths that are no multiples of the four units and inputs that advance together."""
    rng = np.random.default_rng(5)
    box = SlopeBounds([0.0] * 41, [1.0] * 41)
    network = FrozenNetwork(box, ((Trunk(convex(rng, [41, 66, 46, 1], group_size, box), (0,)),),))
    options = {"input_ranges": [(-4.0, 4.0)] * 41, "preset": "narrow"} if arithmetic == "fixed-point" else {}
    made = export(network, tmp_path, arithmetic, **options)
    assert not made.layers.is_unrolled
    x = rng.normal(size=(100, 41))
    library, expected = made.build(COMPILERS[0]), c_reference(made.network, made.layers, x)
    np.testing.assert_array_equal(bits(library.batch(x)), bits(expected))
    np.testing.assert_array_equal(bits(library.score(x)), bits(expected))


@pytest.mark.parametrize("arithmetic", ["float64", "float32", "fixed-point"])
def test_maps_with_many_knots_far_knots_and_steep_tails(tmp_path, arithmetic):
    rng = np.random.default_rng(12)
    many = np.cumsum(rng.exponential(size=100))
    far = 1e250 if arithmetic == "fixed-point" else 1.5e308
    columns = (
        NumericColumn("many", (PiecewiseLinear(many, np.cumsum(rng.exponential(size=100))),)),
        NumericColumn("far", (PiecewiseLinear([-far, 0.0, far], [-1.0, 0.5, 1.0]), PiecewiseLinear([1.0], [2.0]))),
        NumericColumn("steep", (PiecewiseLinear([0.0, 1e-300], [0.0, 1.0], 1e30, 1e30),), seen=(-2.0, 0.0, 2.0)),
        NumericColumn("tiny", (PiecewiseLinear([5e-324, 1.0], [0.0, 1.0]),), missing=(0.5,)),
    )
    box = SlopeBounds([0.0] * 5, [2.0] * 5)
    form = convex(rng, [5, 6, 4, 1], 2, box)
    network = FrozenNetwork(box, ((Trunk(form, (0,)),),), inputs=InputTransform(columns))
    options = {"input_ranges": {"steep": (-1.0, 1.0)}} if arithmetic == "fixed-point" else {}
    made = export(network, tmp_path, arithmetic, **options)
    x = np.vstack([parity_inputs(made.network, kind, 500, rng) for kind in KINDS])
    expected = python_bits(made.network, made.layers, x)
    np.testing.assert_array_equal(bits(made.build(COMPILERS[0]).batch(x)), bits(expected))


def test_paper_form_in_integers(tmp_path):
    rng = np.random.default_rng(6)
    network = random_network(rng, "paper", 3, 2, n_outputs=2, members=2)
    made = export(network, tmp_path, "fixed-point", preset="narrow", input_ranges=[(-4.0, 4.0)] * 3)
    x = rng.uniform(-5, 5, (300, 3))
    np.testing.assert_array_equal(made.build(COMPILERS[0]).batch(x), made.network.evaluate_raw(x))


def test_bad_inputs_have_a_defined_result(tmp_path):
    """NaN without a rule is invalid; what is no code counts as unseen."""
    network = table_network(np.random.default_rng(7), "logit")
    x = np.array(
        [[0.0, 1.0, 0.0, np.nan], [0.0, np.nan, -3.0, 1.0], [np.nan, 0.5, 1e30, -np.inf], [0.0, 1.0, 1.0, 1.0]]
    )
    codes = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 4.0, 2.0, 1.0], [np.nan, 3.0, 2.0, -np.inf], [0.0, 1.0, 1.0, 1.0]])
    for arithmetic, invalid in (("float64", np.nan), ("fixed-point", -(2**63))):
        made = export(network, tmp_path, arithmetic)
        library = made.build(COMPILERS[0])
        f, g = library.batch(x), made.network.evaluate_raw(columns_from_codes(network, codes))
        np.testing.assert_array_equal(f[1:], g[1:])
        np.testing.assert_array_equal(f[0], [invalid])
        assert np.isnan(library.predict(f)[0]).all()
        assert not np.isnan(library.predict(f)[1:]).any()


@pytest.mark.parametrize("fused", [False, True])
def test_float32_never_falls_at_one_ulp_steps(tmp_path, fused):
    rng = np.random.default_rng(8)
    made = export(random_network(rng, "convex", 3, 2), tmp_path, "float32", fused=fused)
    library = made.build(COMPILERS[0])
    x = rng.normal(size=(20_000, 3)).astype(np.float32) * rng.choice([1e-3, 1.0, 1e3], (20_000, 1)).astype(np.float32)
    for column, sign in ((0, 1), (1, -1)):
        y = x.copy()
        y[:, column] = np.nextafter(y[:, column], np.float32(np.inf))
        assert (sign * (library.batch_float(y) - library.batch_float(x)) >= 0).all()


def test_the_reference_of_fused_operations_rounds_once():
    rng = np.random.default_rng(9)
    w, z, a = (
        rng.normal(size=400).astype(np.float32) * np.float32(2.0) ** rng.integers(-40, 40, 400) for _ in range(3)
    )
    w[:100], z[:100] = np.float32(1 + 2.0**-12), np.float32(1 + 2.0**-12)  # products next to a tie
    a[:100] = np.float32(2.0) ** rng.integers(-30, 30, 100).astype(np.float32)
    found = fused_multiply_add(w.astype(np.float32), z.astype(np.float32), a.astype(np.float32))
    for u, v, c, f in zip(w.tolist(), z.tolist(), a.tolist(), found.tolist(), strict=True):
        exact = Fraction(u) * Fraction(v) + Fraction(c)
        around = [np.nextafter(np.float32(f), np.float32(s)) for s in (-np.inf, np.inf)]
        assert all(abs(exact - Fraction(f)) <= abs(exact - Fraction(float(g))) for g in around)


def test_a_float32_network_keeps_its_promise_exactly():
    """Its construction proves it; its numbers are float32's."""
    for seed in range(3):
        made = to_float32(table_network(np.random.default_rng(seed), "softmax"))
        for trunk in (trunk for member in made.members for trunk in member):
            for array in (*trunk.form.weights, *trunk.form.biases):
                np.testing.assert_array_equal(array.astype(np.float32).astype(np.float64), array)


def test_a_header_that_gives_other_bits_is_not_written(tmp_path, monkeypatch):
    real = c_module.header_text

    def damaged(parts):
        text = real(parts)
        at = text.index("s0 = MODEL_MULTIPLY_ADD(") + len("s0 = MODEL_MULTIPLY_ADD(")
        return text[:at] + "1.5 * " + text[at:]

    monkeypatch.setattr(c_module, "header_text", damaged)
    with pytest.raises(PrecisionError, match="not written"):
        to_c(random_network(np.random.default_rng(0)), tmp_path / "model.h")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("function", ["score", "score_float", "batch_float", "predict"])
def test_every_function_is_run_before_a_header_is_written(tmp_path, monkeypatch, function):
    real = c_module.header_text

    def damaged(parts):
        text = real(parts)
        head = text.index(f"void model_{function}(")
        at = text.index("\n}\n", head) + 1
        return text[:at] + f"    *{'p' if function == 'predict' else 'f'} = 0;\n" + text[at:]

    monkeypatch.setattr(c_module, "header_text", damaged)
    with pytest.raises(PrecisionError, match="not written"):
        to_c(random_network(np.random.default_rng(0)), tmp_path / "model.h")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_certified_is_refused(tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "model.h"
    with pytest.raises(FreezeError, match="paper form"):
        to_c(random_network(rng, "paper"), path)
    with pytest.raises(InputError, match="FixedPointNetwork"):
        to_c(np.zeros(3), path)
    with pytest.raises(InputError, match="arithmetic"):
        to_c(random_network(rng), path, arithmetic="float16")
    with pytest.raises(InputError, match="fused"):
        to_c(random_network(rng), path, fused=True)
    for name in ("int", "while", "fe"):
        with pytest.raises(InputError, match="reserved"):
            to_c(random_network(rng), path, name=name)
    with pytest.raises(InputError, match="headers use inside"):
        to_c(random_network(rng), path, name="model_lane")
    with pytest.raises(InputError, match="a folder that exists"):
        to_c(random_network(rng), tmp_path / "no" / "model.h")
    for name in ("9lives", "a-b", "", "x" * 50, 3, "Ünit"):
        with pytest.raises(InputError, match="C name"):
            to_c(random_network(rng), path, name=name)
    free = next(n for n in frozen_networks(rng).values() if n.free_branch is not None)
    with pytest.raises(FreezeError, match="free branch"):
        to_c(free, path)
    thin = SlopeBounds([0.1, 0.0, 0.0], [0.1, 1.0, 1.0])
    with pytest.raises(FreezeError, match="float32"):
        to_c(FrozenNetwork(thin, ((Trunk(convex(rng, [3, 4, 1], 2, thin), (0,)),),)), path, arithmetic="float32")
    assert not path.exists()


def test_a_neighbour_with_a_similar_name_is_left_alone(tmp_path):
    (tmp_path / "model.h.partial").write_text("mine")
    to_c(random_network(np.random.default_rng(2)), tmp_path / "model.h")
    assert (tmp_path / "model.h.partial").read_text() == "mine"


@pytest.mark.parametrize(("arithmetic", "size"), [("float32", 1e-4), ("fixed-point", 1e-2), ("float64", None)])
def test_the_report_says_how_far_the_trained_model_is(tmp_path, arithmetic, size):
    model = estimator("logit")
    report = to_c(model, tmp_path / "model.h", arithmetic=arithmetic)
    assert ("from the trained model" in str(report)) == (size is not None)
    assert report.from_trained is None if size is None else 0 < report.from_trained < size
    assert report.max_difference == 0.0


def test_without_a_compiler_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(c_module, "find_compiler", lambda: None)
    report = to_c(random_network(np.random.default_rng(2)), tmp_path / "model.h")
    assert not report.measured
    assert "not run" in str(report)


def test_names_cannot_break_out_of_the_comment(tmp_path):
    form = convex(np.random.default_rng(0), [1, 2, 1], 2, SlopeBounds([0.0], [1.0]))
    hostile = "*/ int x; /* é ??/ \\"
    network = FrozenNetwork(SlopeBounds([0.0], [1.0], (hostile,)), ((Trunk(form, (0,)),),))
    assert to_c(network, tmp_path / "model.h").passed


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_the_offset_of_integer_predictions(tmp_path, offset):
    fixed = compile_fixed_point(table_network(np.random.default_rng(4), "identity"))
    fixed = replace(fixed, link=replace(fixed.link, offset=offset))
    made = export(fixed, tmp_path, "fixed-point")
    f = fixed.vectors[1]
    np.testing.assert_array_equal(made.build(COMPILERS[0]).predict(f)[:, 0], fixed.link.apply(f))


def test_integers_are_exported_as_they_are(tmp_path):
    fixed = compile_fixed_point(table_network(np.random.default_rng(4), "logit"), "narrow")
    report = to_c(fixed, tmp_path / "model.h", arithmetic="fixed-point")
    assert isinstance(fixed, FixedPointNetwork)
    assert report.digest == fixed.digest
    assert fixed.digest in (tmp_path / "model.h").read_text()
    with pytest.raises(InputError, match="fixed-point"):
        to_c(fixed, tmp_path / "other.h", arithmetic="float32")
