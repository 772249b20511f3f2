"""Raw columns in C, at every knot and one step beside it, in float and double: the bits of Python; no way of building
the header changes one of them."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.export.c import c_reference
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds
from tests.certify.fixed_point_networks import random_network, table_network
from tests.export.c_headers import COMPILERS, bits, export, run_self_test
from tests.make import convex

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")

MAX, TINY = float(np.finfo(np.float64).max), 5e-324


def network_of(columns) -> FrozenNetwork:
    n = sum(column.n_model for column in columns)
    box = SlopeBounds([0.0] * n, [2.0] * n)
    form = convex(np.random.default_rng(0), [n, 6, 4, 1], 2, box)
    return FrozenNetwork(box, ((Trunk(form, (0,)),),), inputs=InputTransform(tuple(columns)))


def around(knots) -> np.ndarray:
    """Knots, one step of float32 and of float64 to either side, halves, and the ends of the number line."""
    knots = np.asarray(knots, dtype=np.float64)
    with np.errstate(over="ignore"):
        near = knots.astype(np.float32)
        steps = [np.nextafter(near, np.float32(s)).astype(np.float64) for s in (-np.inf, np.inf)]
        steps += [np.nextafter(knots, s) for s in (-np.inf, np.inf)]
    middles = knots[:-1] / 2 + knots[1:] / 2
    ends = [-np.inf, -MAX, -1e30, -1.0, -TINY, 0.0, TINY, 1.0, 1e30, MAX, np.inf, np.nan]
    return np.concatenate([knots, near.astype(np.float64), *steps, middles, ends])


LINES = {
    "slopes": PiecewiseLinear([0.1], [0.3], 0.7, 0.7),
    "gentle": PiecewiseLinear([0.1], [0.3], 1e-300, 1e-300),
    "clip": PiecewiseLinear([0.1, 0.7], [-0.3, 1.1]),
    "steep": PiecewiseLinear([0.1, np.nextafter(0.1, 1)], [0.0, 1.0]),
    "flat": PiecewiseLinear([0.1, 0.7], [0.5, 0.5]),
    "one sided": PiecewiseLinear([0.1], [0.3], 0.7, 0.0),
    "three": PiecewiseLinear([-0.1, 0.1, 0.7], [-0.3, 0.2, 1.1]),
    "ends": PiecewiseLinear([-MAX, 0.1, MAX], [-1.0, 0.2, 1.0]),
    "many": PiecewiseLinear(np.arange(60) / 7, np.cumsum(np.arange(60) % 3) / 50),
}


@pytest.mark.parametrize("arithmetic", ["float64", "float32", "fixed-point"])
def test_every_shape_of_map_at_its_knots(tmp_path, arithmetic):
    """All shapes in one table: a network of one model column would show less of each."""
    columns, options = [], {}
    shapes = {k: phi for k, phi in LINES.items() if arithmetic != "fixed-point" or k not in ("ends", "gentle", "steep")}
    for k, (name, phi) in enumerate(shapes.items()):
        rules = {0: {}, 1: {"missing": (0.25,)}, 2: {"missing": (0.25, 1.0), "present": 0.0}}
        columns.append(NumericColumn(name, (phi,), **rules[k % 3]))
    if arithmetic == "fixed-point":
        options["input_ranges"] = {"slopes": (-3.0, 3.0), "one sided": (-3.0, 3.0)}
    made = export(network_of(columns), tmp_path, arithmetic, **options)
    base = np.linspace(0.2, 0.6, len(columns))
    rows = [base]
    for i, column in enumerate(columns):
        for value in around(column.maps[0].knots):
            rows.append(base.copy())
            rows[-1][i] = value
    x = np.array(rows)
    library = made.build(COMPILERS[0])
    expected = c_reference(made.network, made.layers, x)
    np.testing.assert_array_equal(bits(library.batch(x)), bits(expected))
    np.testing.assert_array_equal(bits(library.score(x)), bits(expected))
    with np.errstate(over="ignore"):
        single = x.astype(np.float32)
    expected = c_reference(made.network, made.layers, single.astype(np.float64))
    np.testing.assert_array_equal(bits(library.batch_float(single)), bits(expected))


@pytest.mark.parametrize("n", [2, 12])
def test_codes_of_short_and_long_tables(tmp_path, n):
    """Few rows are chosen by comparisons, many are looked up."""
    rng = np.random.default_rng(n)
    column = CategoryColumn("kind", tuple(range(n)), rng.normal(size=(n + 2, 3)))
    made = export(network_of([column]), tmp_path, "float32")
    codes = [*range(n + 3), -0.0, -1.0, 0.5, n - 0.5, np.nan, np.inf, -np.inf, 1e30, np.nextafter(1.0, 2)]
    x = np.array(codes * 3)[:, None]
    expected = c_reference(made.network, made.layers, x)
    library = made.build(COMPILERS[0])
    np.testing.assert_array_equal(bits(library.batch(x)), bits(expected))
    np.testing.assert_array_equal(bits(library.score(x)), bits(expected))


@pytest.mark.parametrize(
    ("arithmetic", "options"), [("float64", {}), ("float32", {}), ("fixed-point", {"preset": "narrow"})]
)
def test_no_way_of_building_changes_a_bit(tmp_path, arithmetic, options):
    """Other numbers of lanes (1 is what CUDA uses), plain loops instead of vectors, old and new processors."""
    made = export(table_network(np.random.default_rng(2), "identity"), tmp_path, arithmetic, **options)
    for flags in (
        ("-O1", "-DMODEL_LANES=1"),
        ("-O2", "-DMODEL_LANES=4", "-DMODEL_IN_VECTORS=0"),
        ("-O3", "-march=native", "-DMODEL_LANES=32"),
        ("-O2", "-mavx2"),
    ):
        done = run_self_test(made.path, COMPILERS[-1], *flags)
        assert done.returncode == 0, (flags, done.stdout + done.stderr)


def test_groups_of_any_size_in_vectors_and_in_loops(tmp_path):
    for group_size in (1, 3, "full"):
        network = random_network(np.random.default_rng(4), "convex", 3, group_size, n_outputs=2, members=2)
        made = export(network, tmp_path, "float32")
        for vectors in (0, 1):
            done = run_self_test(made.path, COMPILERS[0], "-O1", f"-DMODEL_IN_VECTORS={vectors}")
            assert done.returncode == 0, done.stdout + done.stderr
