"""Headers written once a session, and programs built from them with other flags than to_c uses."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from monolip.export.c import _layers_of, _network_of, to_c
from monolip.export.c_build import CompiledHeader, compiled_header

__all__ = ["COMPILERS", "STRICT", "Exported", "bits", "export", "run_self_test"]

COMPILERS = [found for name in ("gcc", "clang") if (found := shutil.which(name))]
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
LOOSE = ("-std=gnu99", "-O3", "-march=native")  # gcc fuses by default in this mode


class Exported:
    """A header on disk, the network in it, and the header as a library built with other flags than to_c's own."""

    def __init__(self, model: Any, folder: Path, arithmetic: str, **options: Any) -> None:
        self.path = folder / "model.h"
        self.report = to_c(model, self.path, arithmetic=arithmetic, **options)
        preset, ranges = options.get("preset", "wide"), options.get("input_ranges")
        self.network = _network_of(model, arithmetic, preset, ranges)[0]
        self.layers = _layers_of(self.network, arithmetic, options.get("fused", False))

    def build(self, compiler: str, flags: tuple[str, ...] = LOOSE) -> CompiledHeader:
        number, outputs = self.layers.number, self.layers.n_outputs
        return compiled_header(self.path.read_text(), "model", number, outputs, compiler, flags)


def export(model: Any, folder: Path, arithmetic: str, **options: Any) -> Exported:
    return Exported(model, folder, arithmetic, **options)


def run_self_test(path: Path, compiler: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Compile the header's own main and run it; a compiler that refuses shows in returncode 100."""
    target = path.with_suffix(".out")
    language = "c++" if Path(compiler).name in ("g++", "clang++") else "c"
    command = [compiler, *flags, "-DMODEL_SELF_TEST", "-x", language, str(path), "-o", str(target), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        return subprocess.CompletedProcess(command, 100, "", built.stderr)
    return subprocess.run([str(target)], capture_output=True, text=True, check=False)


def bits(array: Any) -> Any:
    """Floats as integers, all NaN alike: equality means the same bits."""
    if array.dtype.kind != "f":
        return array
    plain = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return np.ascontiguousarray(plain).view(np.int32 if array.dtype.itemsize == 4 else np.int64)
