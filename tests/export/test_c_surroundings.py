"""What surrounds a header: macros of other headers, names, single-precision constants, a processor that flushes."""

from __future__ import annotations

import ctypes
import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest

from monolip.convex import ConvexForm
from monolip.errors import InputError
from monolip.export import to_c
from monolip.export.c_network import float_layers
from monolip.export.c_whole import whole_table
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds
from tests.certify.fixed_point_networks import random_network, table_network
from tests.export.c_headers import COMPILERS, STRICT, export, run_self_test
from tests.export.test_c_inputs import network_of
from tests.export.test_c_whole import COLUMNS

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")

ON_X86 = platform.machine() in ("x86_64", "AMD64")
GCC = [path for path in COMPILERS if path.endswith("gcc")]
CPP = [path.replace("gcc", "g++") for path in GCC]

# a rising column along fractions of the whole numbers 0 to 4: one row after the other, then in blocks of copies
FLUSHED = """
#include <stdio.h>
#include <xmmintrin.h>
#include "model.h"
int main(void) {
    static float x[16];
    static model_number f[16];
    model_number last = -1, last_batch = -1;
    int i, k, falls = 0;
    _mm_setcsr(_mm_getcsr() | 0x8000); /* flush to zero; denormals that are read stay */
    for (i = 0; i <= 64; i++) {
        for (k = 0; k < 16; k++) x[k] = (float)i / 16.0f;
        model_score_float(x, f);
        falls += f[0] < last;
        last = f[0];
        model_batch_float(x, 16, f);
        falls += f[0] < last_batch;
        last_batch = f[0];
    }
    return falls;
}
"""


def tiny_network(values) -> FrozenNetwork:
    """f = max(0, 20 phi(x)) of one column with knots 0, 1, 3, 4: 2 lies between."""
    phi = PiecewiseLinear([0.0, 1.0, 3.0, 4.0], values)
    box = SlopeBounds([0.0], [20.0], ("dose",))
    form = ConvexForm(([[0.0], [20.0]], [[0.0, 1.0]]), ([0.0, 0.0], [0.0]), (2,))  # no bias that would hide it
    return FrozenNetwork(box, ((Trunk(form, (0,)),),), inputs=InputTransform((NumericColumn("dose", (phi,)),)))


@pytest.mark.skipif(not ON_X86, reason="flushing is switched on by an instruction of x86")
@pytest.mark.parametrize(
    ("arithmetic", "values"),
    [
        ("float32", [0.0, 1e-39, 2e-39, 3e-39]),
        ("float32", [1e-39, 2e-39, 3e-38, 5.0]),
        ("float64", [0.0, 1e-309, 9e-309, 9e-309]),
        ("float64", [1e-300, 1e-300 + 1e-310, 1e-300 + 9e-310, 2e-300]),
    ],
)
def test_no_direction_breaks_where_denormals_are_flushed(tmp_path, arithmetic, values):
    """A number that a table gave unflushed stood above its greater neighbour, which was computed."""
    made = export(tiny_network(values), tmp_path, arithmetic)
    assert "model_whole_0" not in made.path.read_text()
    (tmp_path / "flushed.c").write_text(FLUSHED)
    for compiler in COMPILERS:
        command = [compiler, "-O2", "flushed.c", "-o", "flushed", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        assert subprocess.run([str(tmp_path / "flushed")], check=False).returncode == 0


def test_only_what_a_computation_could_flush_costs_a_table():
    network = tiny_network([0.0, 1e-39, 2e-39, 3e-39])

    def has_table(number, knots, values) -> bool:
        column = NumericColumn("x", (PiecewiseLinear(knots, values),))
        return whole_table("m", 0, 0, column, float_layers(network, number, False)) is not None

    knots = [0.0, 1.0, 2.0, 3.0]
    assert not has_table("float", knots, [0.0, 1e-39, 1.0, 2.0])
    assert has_table("double", knots, [0.0, 1e-39, 1.0, 2.0]), "a normal double"
    assert has_table("float", knots, [0.0, 1e-50, 1.0, 2.0]), "zero as a float, flushed or not"
    assert not has_table("double", knots, [-1e-300, 0.0, 1.0, 2.0]), "a product below it may be denormal"
    assert not has_table("double", [-1.0, -5e-324, 1.0, 2.0, 3.0], [0.0, 0.1, 1.0, 2.0, 3.0]), "0 - knot is"
    assert has_table("float", knots, [0.0, 1e-30, 1.0, 2.0])


@pytest.mark.skipif(not GCC, reason="an option of gcc")
@pytest.mark.parametrize("arithmetic", ["float64", "fixed-point"])
def test_constants_in_single_precision_are_refused(tmp_path, arithmetic):
    made = export(table_network(np.random.default_rng(1), "identity"), tmp_path, arithmetic)
    for compiler, dialect in [(GCC[0], "-std=c99"), (CPP[0], "-std=c++17")]:
        assert run_self_test(made.path, compiler, dialect, *STRICT).returncode == 0
        done = run_self_test(made.path, compiler, dialect, "-fsingle-precision-constant")
        assert done.returncode == 100
        assert "needs_no_fsingle_precision_constant" in done.stderr


@pytest.mark.parametrize("arithmetic", ["float64", "fixed-point"])
def test_it_compiles_after_windows_h(tmp_path, arithmetic):
    """Which defines near and far as nothing, small as char, and macros named min and max."""
    link = "logit" if arithmetic == "float64" else "softmax"
    made = export(table_network(np.random.default_rng(1), link), tmp_path, arithmetic)
    macros = ["-Dnear=", "-Dfar=", "-Dsmall=char", "-Dinterface=struct", "-DIN=", "-DOUT=", "-DNEAR=", "-DFAR="]
    done = run_self_test(made.path, COMPILERS[0], "-std=c99", "-O1", *STRICT, *macros, "-Dmin(a,b)=0", "-Dmax(a,b)=0")
    assert done.returncode == 0, done.stdout + done.stderr


def test_tables_compile_after_windows_h(tmp_path):
    network = network_of(COLUMNS[:4])
    made = export(network, tmp_path, "float32")
    done = run_self_test(made.path, COMPILERS[0], "-O1", *STRICT, "-Dnear=", "-Dfar=")
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_that_other_headers_of_c_use_in_capitals(tmp_path):
    """LINE_MAX, RAND_MAX, PATH_MAX, INT32_MIN, FLT_MAX are theirs, before and after ours."""
    network = random_network(np.random.default_rng(0))
    names = ("line", "rand", "path", "int32", "flt")
    theirs = "".join(f"#include <{h}.h>\n" for h in ("limits", "stdlib", "stdio", "fenv", "float", "errno", "signal"))
    for name in names:
        to_c(network, tmp_path / f"{name}.h", arithmetic="float32")
    ours = "".join(f'#include "{name}.h"\n' for name in names)
    text = "#define _XOPEN_SOURCE 700\n{}int main(void) {{ return RAND_MAX < 0 || FLT_MAX < 1.0f; }}\n"
    for k, includes in enumerate((theirs + ours, ours + theirs)):
        program = tmp_path / f"program{k}.c"
        program.write_text(text.format(includes))
        command = [COMPILERS[0], "-std=c99", "-fsyntax-only", *STRICT, str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    with pytest.raises(InputError, match="FE_INVALID"):
        to_c(network, tmp_path / "fe.h")


def test_the_program_of_the_how_to_compiles(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "howto" / "export_c.md"
    program = page.read_text().split("```c\n")[1].split("```")[0]
    to_c(random_network(np.random.default_rng(0)), tmp_path / "price.h")
    (tmp_path / "program.c").write_text(program)
    command = [COMPILERS[0], "-std=c99", "-fsyntax-only", *STRICT, "program.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_outputs_may_take_the_place_of_inputs(tmp_path):
    made = export(network_of(COLUMNS), tmp_path, "float32")
    library = made.build(COMPILERS[0])
    x = np.random.default_rng(0).integers(0, 40, (16 * 9 + 5, len(COLUMNS))).astype(np.float32)
    x[32:48] += np.float32(0.5)
    expected = library.batch_float(x)
    rows = ctypes.c_size_t(len(x))
    library.library.run_batch_float(x.ctypes.data_as(ctypes.c_void_p), rows, x.ctypes.data_as(ctypes.c_void_p))
    np.testing.assert_array_equal(x.ravel()[: len(x)], expected[:, 0])
