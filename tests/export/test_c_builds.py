"""Builds of the header: strict compilers, C++, sanitizers, refused flags, mutants found by its own self-test, nvcc."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.certify.fixed_point_networks import random_network, table_network
from tests.export.c_headers import COMPILERS, STRICT, export, run_self_test
from tests.export.test_c_inputs import network_of
from tests.export.test_c_whole import COLUMNS
from tests.raw_networks import plain_network

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")

CPP = [found for name in ("g++", "clang++") if (found := shutil.which(name))]
CASES = {
    "float64": ("float64", "softmax", {}),
    "float32": ("float32", "logit", {}),
    "fused": ("float32", "log", {"fused": True}),
    "wide": ("fixed-point", "logit", {}),
    "narrow": ("fixed-point", "identity", {"preset": "narrow"}),
}
FAST = [
    "-ffast-math",
    "-Ofast",
    "-ffinite-math-only",
    "-funsafe-math-optimizations",
    "-fassociative-math -fno-signed-zeros -fno-trapping-math",
]
CLANG = shutil.which("clang")
ON_X86 = platform.machine() in ("x86_64", "AMD64")
USER = """
#include "model.h"
int main(void) {
    double x[MODEL_INPUTS] = {0}, p[MODEL_PREDICTIONS];
    float y[MODEL_INPUTS] = {0};
    model_number f[MODEL_OUTPUTS], g[MODEL_OUTPUTS];
    model_score(x, f);
    model_batch_float(y, 1, g);
    model_predict(f, p);
    return memcmp(f, g, sizeof f) != 0 || p[0] != p[0];
}
"""


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    """One header for each arithmetic, with every kind of column and every link."""
    made = {}
    for key, (arithmetic, link, options) in CASES.items():
        network = table_network(np.random.default_rng(11), link)
        made[key] = export(network, tmp_path_factory.mktemp(key), arithmetic, **options).path
    network = random_network(np.random.default_rng(0), "convex", 3, 3, n_outputs=2, members=2)
    made["plain"] = export(network, tmp_path_factory.mktemp("plain"), "float64").path
    network = random_network(np.random.default_rng(0), "convex", 3, 2)
    made["single"] = export(network, tmp_path_factory.mktemp("single"), "float32").path
    made["whole"] = export(network_of(COLUMNS), tmp_path_factory.mktemp("whole"), "float32").path
    made["raw"] = export(plain_network(np.random.default_rng(0)), tmp_path_factory.mktemp("raw"), "float64").path
    return made


@pytest.mark.parametrize("key", [*CASES, "plain", "single"])
def test_strict_c99_and_the_default_dialect_of_the_compiler(headers, key):
    """gcc's default dialect fuses multiply and add where a C99 build does not: the header must forbid it itself."""
    for compiler in COMPILERS:
        for flags in (("-std=c99", "-O1", *STRICT), ("-O3", "-march=native", *STRICT)):
            done = run_self_test(headers[key], compiler, *flags)
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("key", ["narrow", "single"])
@pytest.mark.skipif(not CPP, reason="no C++ compiler")
def test_it_is_cpp_too(headers, key):
    for compiler in CPP:
        done = run_self_test(headers[key], compiler, "-std=c++17", "-O3", "-march=native", *STRICT)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("key", ["fused", "wide", "plain"])
def test_a_program_that_includes_it_is_free_of_warnings(headers, key, tmp_path):
    (tmp_path / "user.c").write_text(USER)
    flags = ["-std=c99", "-O2", *STRICT, f"-I{headers[key].parent}"]
    command = [COMPILERS[0], *flags, str(tmp_path / "user.c"), "-o", str(tmp_path / "user"), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run([str(tmp_path / "user")], check=True)


@pytest.mark.parametrize("key", ["float32", "wide", "narrow"])
def test_sanitizers_find_nothing(headers, key):
    flags = ("-std=c99", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    done = run_self_test(headers[key], COMPILERS[0], *flags)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("flags", FAST)
def test_builds_that_may_reorder_are_refused(headers, flags):
    for key in ("float64", "narrow"):
        for compiler in COMPILERS:
            if compiler == CLANG and flags in FAST[3:]:
                continue  # it defines no macro for these: see the next test
            done = run_self_test(headers[key], compiler, "-O2", *flags.split())
            assert done.returncode == 100
            assert "the proof needs IEEE arithmetic" in done.stderr


@pytest.mark.skipif(not (CLANG and ON_X86), reason="no clang, or one without float_control")
@pytest.mark.parametrize("key", ["float64", "float32", "single", "raw"])
@pytest.mark.parametrize("flags", [*FAST[3:], "-fno-honor-nans", "-freciprocal-math"])
def test_clang_gives_the_same_bits_under_flags_it_hides(headers, key, flags, tmp_path):
    """Compiled with the flags, linked without: linking would switch the processor to flushing denormals."""
    built, program = tmp_path / "model.o", tmp_path / "model.out"
    command = [CLANG, "-O3", "-march=native", *flags.split(), "-DMODEL_SELF_TEST", "-x", "c", "-c", str(headers[key])]
    subprocess.run([*command, "-o", str(built)], check=True, capture_output=True)
    subprocess.run([CLANG, str(built), "-o", str(program), "-lm"], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not CLANG, reason="no clang")
def test_the_self_test_finds_contraction_that_no_pragma_forbids(headers):
    """clang's -ffp-contract=fast disregards pragmas and defines no macro; the page names it, the self-test finds it."""
    macros = subprocess.run(
        [CLANG, "-march=native", "-dM", "-E", "-x", "c", "/dev/null"], capture_output=True, text=True
    )
    if "__FMA__" not in macros.stdout:
        pytest.skip("no fused multiply-add on this processor")
    for key in ("float64", "float32"):
        done = run_self_test(headers[key], CLANG, "-O3", "-march=native", "-ffp-contract=fast")
        assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize("function", ["score", "batch", "score_float", "batch_float", "predict"])
def test_the_self_test_runs_every_public_function(headers, function, tmp_path):
    """One that gives wrong numbers is found, whichever it is."""
    result = "p" if function == "predict" else "f"
    end = "p[0] = p[0] + 1.0;" if function == "predict" else "f[0] = f[0] + 1;"
    text = headers["wide"].read_text()
    head = re.search(rf"void model_{function}\([^{{]*{{\n", text)
    rest = text[head.start() :]
    at = rest.index("\n}\n") + 1
    assert f"*{result}" in head.group()
    mutant = Path(tmp_path, "model.h")
    mutant.write_text(text[: head.start()] + rest[:at] + f"    {end}\n" + rest[at:])
    done = run_self_test(mutant, COMPILERS[0], "-O1")
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize("key", ["float64", "float32", "narrow"])
def test_the_self_test_finds_a_changed_weight(headers, key, tmp_path):
    text = headers[key].read_text()
    number = r"MODEL_MULTIPLY_ADD\((-?0x1\.[0-9a-f]+p[+-]\d+f?|-?\d{3,}), v\d"
    found = max(re.finditer(number, text), key=lambda m: len(m.group(1)))
    changed = f"({found.group(1)} * 2)"
    mutant = Path(tmp_path, "model.h")
    mutant.write_text(text[: found.start(1)] + changed + text[found.end(1) :])
    done = run_self_test(mutant, COMPILERS[0], "-O1")
    assert done.returncode == 1, done.stderr
    assert "outputs differ" in done.stdout


def test_two_headers_of_one_name_do_not_hide_each_other(headers, tmp_path):
    program = tmp_path / "both.c"
    for other, word in (("float64", ""), ("float32", "two different headers")):
        program.write_text(
            f'#include "{headers["float64"]}"\n#include "{headers[other]}"\nint main(void) {{ return 0; }}\n'
        )
        done = subprocess.run(
            [COMPILERS[0], "-fsyntax-only", str(program)], capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) == bool(word)
        assert word in done.stderr


def test_the_header_says_what_it_is(headers):
    text = headers["float64"].read_text()
    network = table_network(np.random.default_rng(11), "softmax")
    assert network.digest in text
    assert "2 = 'high'" in text  # the code of a label
    assert "increasing" in text
    assert max(map(len, text.splitlines())) <= 140
    assert "malloc" not in text
    assert "two roundings" in text
    assert "two roundings" not in headers["narrow"].read_text()
    assert "exact integers" in headers["narrow"].read_text()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvcc"), reason="no CUDA compiler")
@pytest.mark.parametrize("key", [*CASES, "whole", "raw"])
def test_nvcc_compiles_it_for_host_and_device(headers, key, tmp_path):
    kernel = """
    #include "model.h"
    __global__ void run(const float *x, model_number *f, double *p, size_t rows) {
        const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= rows) return;
        model_score_float(x + i * MODEL_INPUTS, f + i * MODEL_OUTPUTS);
        model_predict(f + i * MODEL_OUTPUTS, p + i * MODEL_PREDICTIONS);
    }
    """
    (tmp_path / "kernel.cu").write_text(kernel)
    command = ["nvcc", "-std=c++17", "-arch=sm_90", "-c", f"-I{headers[key].parent}", str(tmp_path / "kernel.cu")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
