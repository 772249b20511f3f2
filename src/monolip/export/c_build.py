"""Compile a header and call it, to measure the artefact itself."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import PrecisionError

__all__ = ["FLAGS", "CompiledHeader", "compiled_header", "find_compiler"]

FLAGS = ("-std=c99", "-O3", "-march=native")
_DTYPES = {"float": np.float32, "double": np.float64, "int32_t": np.int32, "int64_t": np.int64}

_SHIM = """\
#include "{m}.h"
void run_batch(const double *x, size_t rows, {T} *f) {{ {m}_batch(x, rows, f); }}
void run_batch_float(const float *x, size_t rows, {T} *f) {{ {m}_batch_float(x, rows, f); }}
void run_rows(const double *x, size_t rows, {T} *f) {{
    size_t r;
    for (r = 0; r < rows; r++) {m}_score(x + r * {M}_INPUTS, f + r * {M}_OUTPUTS);
}}
void run_rows_float(const float *x, size_t rows, {T} *f) {{
    size_t r;
    for (r = 0; r < rows; r++) {m}_score_float(x + r * {M}_INPUTS, f + r * {M}_OUTPUTS);
}}
void run_predict(const {T} *f, size_t rows, double *p) {{
    size_t r;
    for (r = 0; r < rows; r++) {m}_predict(f + r * {M}_OUTPUTS, p + r * {M}_PREDICTIONS);
}}
int n_predictions(void) {{ return {M}_PREDICTIONS; }}
"""


def find_compiler() -> str | None:
    """$CC, cc, gcc or clang, whichever is found first."""
    names = [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


class CompiledHeader:
    """A header as a library: rows (n, raw) in float64 -> outputs (n, n_outputs), by any of its functions."""

    def __init__(self, library: ctypes.CDLL, number: str, n_outputs: int) -> None:
        self.library, self.dtype, self.n_outputs = library, _DTYPES[number], n_outputs

    def _run(self, function: Callable[..., Any], x: NDArray[Any], kind: Any) -> NDArray[Any]:
        rows = np.ascontiguousarray(x, dtype=kind)
        f = np.empty((len(rows), self.n_outputs), self.dtype)
        function(_pointer(rows), ctypes.c_size_t(len(rows)), _pointer(f))
        return f

    def batch(self, x: NDArray[Any]) -> NDArray[Any]:
        return self._run(self.library.run_batch, x, np.float64)

    def batch_float(self, x: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore"):
            return self._run(self.library.run_batch_float, x, np.float32)

    def score(self, x: NDArray[Any]) -> NDArray[Any]:
        """Row by row."""
        return self._run(self.library.run_rows, x, np.float64)

    def score_float(self, x: NDArray[Any]) -> NDArray[Any]:
        """Row by row, from floats."""
        with np.errstate(over="ignore"):
            return self._run(self.library.run_rows_float, x, np.float32)

    def predict(self, f: NDArray[Any]) -> NDArray[np.float64]:
        given = np.ascontiguousarray(f, dtype=self.dtype)
        p = np.empty((len(given), self.library.n_predictions()))
        self.library.run_predict(_pointer(given), ctypes.c_size_t(len(given)), _pointer(p))
        return p


def compiled_header(
    text: str, name: str, number: str, n_outputs: int, compiler: str, flags: tuple[str, ...] = FLAGS
) -> CompiledHeader:
    """Build in a temporary folder, and load; PrecisionError with the compiler's words if it refuses."""
    folder = tempfile.mkdtemp(prefix="monolip_c_")
    try:
        Path(folder, f"{name}.h").write_text(text, encoding="ascii")
        Path(folder, "shim.c").write_text(_SHIM.format(m=name, M=name.upper(), T=number), encoding="ascii")
        command = [compiler, *flags, "-shared", "-fPIC", "shim.c", "-o", "shim.so", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PrecisionError(
                f"a C compiler must accept the header; {compiler} says {done.stderr[:500]}; report this."
            )
        return CompiledHeader(ctypes.CDLL(str(Path(folder, "shim.so"))), number, n_outputs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the loaded library stays mapped


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)
