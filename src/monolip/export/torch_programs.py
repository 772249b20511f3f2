r"""A torch module as a file, and what that file loads to: torch.export, TorchScript, AOTInductor.

What is promised of bits is the graph's: fixed point computes integers below 2^53 in float64, which no contraction or
reordering changes; sums in order are elementary operations that torch performs one by one, and that Inductor compiles
without contraction (`_STRICT`); both are compared bit for bit on the machine that writes the file.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from monolip.errors import InputError

__all__ = ["FORMATS", "written_program"]

FORMATS = {"export": "exported program", "torchscript": "TorchScript", "aotinductor": "AOTInductor package"}
# Inductor's defaults, which environment variables change: no reassociation, no fusing of products and sums
_STRICT = {"cpp.enable_floating_point_contract_flag": "off", "cpp.enable_unsafe_math_opt_flag": False}


def written_program(torch: Any, module: Any, example: Any, format: str) -> tuple[bytes, Callable[[Any], Any]]:
    """Bytes of the file, and the function that loading it gives: rows -> outputs."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own: deprecations inside its compilers, tracing
        path = Path(folder) / "model.pt2"
        if format == "torchscript":
            torch.jit.trace(module, (example,), check_trace=False).save(str(path))
            return path.read_bytes(), torch.jit.load(str(path))
        program = torch.export.export(module, (example,), dynamic_shapes=({0: torch.export.Dim("rows")},))
        if format == "export":
            torch.export.save(program, path)
            return path.read_bytes(), torch.export.load(path).module()
        try:
            torch._inductor.aoti_compile_and_package(program, package_path=str(path), inductor_configs=_STRICT)
            loaded = torch._inductor.aoti_load_package(str(path))
        except Exception as error:  # a compiler that is missing or fails raises what it likes
            first = (str(error).splitlines() or [type(error).__name__])[0][:200]
            raise InputError(f"AOTInductor needs a working C++ compiler; got {first}; use format='export'.") from None
        return path.read_bytes(), loaded
