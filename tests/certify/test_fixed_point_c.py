"""The same bits from C as from numpy: every carrier, sums in another order, fused operations allowed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from monolip.certify.fixed_point import compile_fixed_point
from monolip.fixed_point_columns import FixedCategory
from monolip.fixed_point_packing import pack_inputs
from tests.certify.fixed_point_networks import random_network, table_network

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
SOURCE = Path(__file__).with_name("fixed_point.c")
NUMBERS = {"int64": "int64_t", "int32": "int32_t", "float64": "double"}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """One library per carrier, built with optimisation and with contraction into fused multiply-adds."""
    found = {}
    for name, kind in NUMBERS.items():
        target = tmp_path_factory.mktemp("c") / f"{name}.so"
        shift = "a >> shift" if kind != "double" else "floor(ldexp(a, -(int)shift))"
        flags = [
            "-O3",
            "-march=native",
            "-ffp-contract=fast",
            "-shared",
            "-fPIC",
            f"-DNUMBER={kind}",
            f"-DSHIFT={shift}",
        ]
        subprocess.run([COMPILER, *flags, str(SOURCE), "-o", str(target), "-lm"], check=True, capture_output=True)
        found[name] = ctypes.CDLL(str(target))
    return found


def pointer(array):
    return np.ascontiguousarray(array).ctypes.data_as(ctypes.c_void_p)


def quantise(library, network, raw):
    packed, d = pack_inputs(network.inputs), len(network.limits)
    out = np.zeros((len(raw), d), np.int64)
    parts = [np.ascontiguousarray(a) for a in packed]
    size = (ctypes.c_int64(v) for v in (*raw.shape, d))
    library.quantise(pointer(raw), *size, *map(pointer, parts), pointer(out))
    return out


def evaluate(library, network, x):
    packed = network.packed()
    shift, limit, n_outputs = (ctypes.c_int64(int(v)) for v in packed.numbers)
    out = np.zeros((len(x), network.n_outputs), np.int64)
    rows, d, trunks = (ctypes.c_int64(v) for v in (*x.shape, len(packed.spans)))
    parts = (packed.params, packed.plan, packed.spans)
    ends = (packed.outputs, packed.shares)
    library.evaluate(
        pointer(x), rows, d, *map(pointer, parts), trunks, *map(pointer, ends), shift, limit, n_outputs, pointer(out)
    )
    return out


@pytest.mark.parametrize("preset", ["wide", "narrow"])
@pytest.mark.parametrize("form", ["convex", "paper"])
def test_every_carrier_in_c_gives_the_bits_of_numpy(libraries, preset, form):
    rng = np.random.default_rng(0)
    for depth, group_size in ((1, 2), (3, 3), (8, "full")):
        frozen = random_network(rng, form, depth, group_size, n_outputs=2, members=2)
        network = compile_fixed_point(frozen, preset, input_ranges=[(-4.0, 4.0)] * 3)
        limits = np.array(network.limits)
        x = np.vstack([-limits, limits, rng.integers(-limits, limits + 1, (500, 3))])
        carriers = set(network.carriers) & set(libraries)
        assert len(carriers) == (3 if preset == "narrow" else 2)
        for carrier in carriers:
            np.testing.assert_array_equal(evaluate(libraries[carrier], network, x), network.evaluate(x))


@pytest.mark.parametrize("link", ["logit", "softmax"])
def test_raw_numbers_become_the_same_integers_in_c(libraries, link):
    rng = np.random.default_rng(1)
    network = compile_fixed_point(table_network(rng, link))
    raw = np.empty((20_000, 4))
    for i, column in enumerate(network.inputs.columns):
        if isinstance(column, FixedCategory):
            raw[:, i] = rng.integers(0, len(column.table), len(raw))
        else:
            knots = np.concatenate([phi.knots for phi in column.maps])
            raw[:, i] = rng.choice(knots, len(raw)) + rng.choice([0.0, 1e-15, -1e-15, 0.3, 7.1, np.inf], len(raw))
            raw[::3, i] = np.nextafter(raw[::3, i], np.inf)
    raw[::7, 0] = np.nan
    labels = [
        None if not isinstance(c, FixedCategory) else [*c.categories, "unseen", None] for c in network.inputs.columns
    ]
    columns = [v if names is None else [names[int(k)] for k in v] for v, names in zip(raw.T, labels, strict=True)]
    expected = network.quantise(columns)
    for library in libraries.values():
        np.testing.assert_array_equal(quantise(library, network, raw), expected)
