"""C programs for benchmarks/inference.py: headers and compiled trees as libraries, and counted under callgrind."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Built", "build_header", "build_trees", "count_instructions", "lightgbm_rows", "multiply_adds"]

NATIVE = ("-O3", "-march=native")
COUNTED = ("-O3", "-mavx2", "-mfma")  # valgrind 3.19 knows no AVX-512

# Every artefact has the same two functions: rows one call at a time, and all rows in one call.
HEADER = """
#include "{name}.h"
__attribute__((noinline)) static void one(const float *x, {name}_number *f) {{ {name}_score_float(x, f); }}
__attribute__((noinline)) void run_rows(const void *x, size_t rows, void *f) {{
    size_t r;
    for (r = 0; r < rows; r++) one((const float *)x + r * {NAME}_INPUTS, ({name}_number *)f + r);
}}
__attribute__((noinline)) void run_batch(const void *x, size_t rows, void *f) {{
    {name}_batch_float((const float *)x, rows, ({name}_number *)f);
}}
"""
TREES = """
#include "header.h"
__attribute__((noinline)) void run_rows(const void *x, size_t rows, void *f) {{
    size_t r;
    for (r = 0; r < rows; r++) {{
        ((double *)f)[r] = 0;
        predict((union Entry *)x + r * {columns}, 1, (double *)f + r);
    }}
}}
__attribute__((noinline)) void run_batch(const void *x, size_t rows, void *f) {{ run_rows(x, rows, f); }}
"""
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>
void run_rows(const void *x, size_t rows, void *f);
void run_batch(const void *x, size_t rows, void *f);
int main(int n, char **words) { /* rows, bytes of a row, file, whether one by one */
    const size_t rows = strtoul(words[1], 0, 10), bytes = strtoul(words[2], 0, 10);
    void *x = malloc(rows * bytes), *f = malloc(rows * 8);
    FILE *file = fopen(words[3], "rb");
    if (n != 5 || !file || fread(x, bytes, rows, file) != rows) return 1;
    if (words[4][0] == '1') run_rows(x, rows, f);
    else run_batch(x, rows, f);
    return 0;
}
"""
LOOPS = """
#include <stddef.h>
#include <stdint.h>
typedef float vector __attribute__((vector_size(64)));
typedef int32_t integers __attribute__((vector_size(64)));
#define EACH(do) do(a) do(b) do(c) do(d) do(e) do(f) do(g) do(h) do(i) do(j) do(k) do(l)
#define START(s) vector s = {0}; s = s + (first += two); /* all different, or a compiler computes one */
#define ZERO(s) integers s = {0}; s = s + (first += two);
#define STEP(s) s = s * w + v;
#define TOTAL(s) total = total + s;
#define LIMIT(name, kind, start, number) \\
    number name(size_t times, number one, number two) { \\
        kind w = {0}, v = {0}, total = {0}; \\
        number first = one; \\
        size_t t; \\
        EACH(start) \\
        w = w + one; v = v + two; \\
        for (t = 0; t < times; t++) { EACH(STEP) } \\
        EACH(TOTAL) \\
        return total[0]; \\
    }
LIMIT(float_limit, vector, START, float)
LIMIT(integer_limit, integers, ZERO, int32_t)
/* one call of LightGBM's fast single-row function after the other */
void lightgbm_rows(int (*call)(void *, const void *, int64_t *, double *), void *fast, const double *x, size_t rows,
                   size_t columns, double *f) {
    int64_t n;
    size_t r;
    for (r = 0; r < rows; r++) call(fast, x + r * columns, &n, f + r);
}
"""


@dataclass(frozen=True)
class Built:
    """A library with run_rows and run_batch, the rows it takes, and where its results go."""

    library: Any
    rows: np.ndarray
    out: np.ndarray
    folder: Path

    def scores(self) -> np.ndarray:
        function, arguments = self.raw("run_rows", 0, len(self.rows))
        function(*arguments)
        return self.out

    def raw(self, function: str, first: int, rows: int) -> tuple[Any, tuple[Any, ...]]:
        """Function and arguments, prepared: what remains is the call itself."""
        at = self.rows.ctypes.data + first * self.rows.strides[0]
        arguments = ctypes.c_void_p(at), ctypes.c_size_t(rows), ctypes.c_void_p(self.out.ctypes.data)
        return getattr(self.library, function), arguments


def _compile(folder: Path, compiler: str, flags: tuple[str, ...], sources: list[str], target: str) -> Path:
    command = [compiler, *flags, *sources, "-o", target, "-lm"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / target


def _built(folder: Path, sources: list[str], compiler: str, rows: np.ndarray, kind: Any) -> Built:
    path = _compile(folder, compiler, (*NATIVE, "-shared", "-fPIC", "-Wl,-Bsymbolic"), sources, f"{compiler}.so")
    library = ctypes.CDLL(str(path))
    return Built(library, rows, np.empty(len(rows), kind), folder)


def build_header(header: Path, X: np.ndarray, compiler: str) -> Built:
    """A header that to_c wrote, for float inputs."""
    name = header.stem
    match = re.search(rf"typedef (\w+) {name}_number;", header.read_text())
    assert match is not None, "a header says what its numbers are"
    kind = {"float": np.float32, "double": np.float64, "int32_t": np.int32, "int64_t": np.int64}[match.group(1)]
    (header.parent / f"{name}.c").write_text(HEADER.format(name=name, NAME=name.upper()))
    return _built(header.parent, [f"{name}.c"], compiler, np.ascontiguousarray(X, dtype=np.float32), kind)


def build_trees(model: Any, X: np.ndarray, folder: Path, compiler: str) -> Built:
    """LightGBM's trees as if-else code, by treelite and tl2cgen; rows are its unions, of which the double is set."""
    import tl2cgen
    import treelite

    folder.mkdir()
    model.booster_.save_model(str(folder / "model.txt"))
    tl2cgen.generate_c_code(treelite.frontend.load_lightgbm_model(folder / "model.txt"), str(folder), params={})
    (folder / "rows.c").write_text(TREES.format(columns=X.shape[1]))
    return _built(folder, ["rows.c", "main.c"], compiler, np.ascontiguousarray(X), np.float64)


def count_instructions(built: Built, compiler: str, sources: list[str]) -> dict[str, float] | None:
    """Instructions a row by callgrind, in a build for AVX2; None where valgrind is missing."""
    if not shutil.which("valgrind"):
        return None
    rows, found = 1024, {}
    (built.folder / "driver.c").write_text(MAIN)
    built.rows[:rows].tofile(built.folder / "rows.bin")
    program = _compile(built.folder, compiler, COUNTED, ["driver.c", *sources], "counted")
    for function in ("run_rows", "run_batch"):
        options = ["--tool=callgrind", f"--toggle-collect={function}", "--callgrind-out-file=/dev/null"]
        words = [str(program), str(rows), str(built.rows.strides[0]), str(built.folder / "rows.bin")]
        words.append("1" if function == "run_rows" else "0")
        done = subprocess.run(["valgrind", *options, *words], capture_output=True, text=True, check=True)
        match = re.search(r"Collected : (\d+)", done.stderr)
        assert match is not None, done.stderr
        found[function] = int(match.group(1)) / rows
    return found


def loops(folder: Path, compiler: str) -> Any:
    """float_limit, integer_limit and, multiplication and addition in one instruction, fused_limit; lightgbm_rows."""
    (folder / "loops.c").write_text(LOOPS)
    built = {}
    for contract in ("off", "fast"):
        flags = (*NATIVE, f"-ffp-contract={contract}", "-shared", "-fPIC")
        built[contract] = ctypes.CDLL(str(_compile(folder, compiler, flags, ["loops.c"], f"loops_{contract}.so")))
        built[contract].float_limit.argtypes = [ctypes.c_size_t, ctypes.c_float, ctypes.c_float]
        built[contract].float_limit.restype = ctypes.c_float
    library = built["off"]
    library.integer_limit.argtypes = [ctypes.c_size_t, ctypes.c_int32, ctypes.c_int32]
    library.integer_limit.restype = ctypes.c_int32
    library.fused_limit = built["fast"].float_limit
    return library


def multiply_adds(times: int) -> int:
    """Multiplications, each with an addition, of one call of a limit: twelve independent vectors of sixteen."""
    return times * 12 * 16


def lightgbm_rows(library: Any, model: Any, X: np.ndarray) -> tuple[Any, tuple[Any, ...]]:
    """The C loop over LightGBM's fast configuration for single rows, ready to call."""
    from lightgbm.basic import _LIB as API

    fast = ctypes.c_void_p()
    raw, double = ctypes.c_int(1), ctypes.c_int(1)
    handle = model.booster_._handle
    text = ctypes.c_char_p(b"num_threads=1")
    made = API.LGBM_BoosterPredictForMatSingleRowFastInit(
        handle, raw, ctypes.c_int(0), ctypes.c_int(0), double, ctypes.c_int32(X.shape[1]), text, ctypes.byref(fast)
    )
    assert made == 0, "LightGBM made a fast configuration"
    out = np.empty(len(X))
    call = ctypes.cast(API.LGBM_BoosterPredictForMatSingleRowFast, ctypes.c_void_p)
    at = ctypes.c_void_p(X.ctypes.data), ctypes.c_size_t(len(X)), ctypes.c_size_t(X.shape[1])
    return library.lightgbm_rows, (call, fast, *at, ctypes.c_void_p(out.ctypes.data), out)
