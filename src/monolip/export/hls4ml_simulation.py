"""hls4ml's own C simulation of a converted module, after a look at what precision it really gave each layer."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import PrecisionError
from monolip.export.hls4ml_layers import INPUT, Steps
from monolip.export.hls4ml_types import ApFixed

__all__ = ["missing_tool", "simulated", "version"]

FloatArray = NDArray[np.float64]


def missing_tool() -> str | None:
    """What a C simulation needs and this machine has not."""
    if find_spec("hls4ml") is None:
        return "hls4ml is not installed here"
    return None if shutil.which("g++") else "no g++ here"


def version() -> str:
    from importlib.metadata import version as version_of

    return f"hls4ml {version_of('hls4ml')}, C simulation by g++"


@contextlib.contextmanager
def simulated(convert: Callable[..., Any], steps: Steps) -> Iterator[Callable[[FloatArray], FloatArray]]:
    """Numbers (n, n_inputs) -> numbers (n, n_outputs) by the compiled C++ of the converted module."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hls4ml's own
        import_module("hls4ml")
        with contextlib.redirect_stdout(io.StringIO()):
            model = convert(folder)
            _require_precisions(model, steps)
            model.compile()

        def run(x: FloatArray) -> FloatArray:
            found = np.asarray(model.predict(np.ascontiguousarray(x)), dtype=np.float64)
            return found.reshape(len(x), -1)

        yield run


def _require_precisions(model: Any, steps: Steps) -> None:
    """hls4ml may infer or fuse types of its own: only what was certified may be written."""
    wanted = {INPUT: {"result_t": steps.input_type}}
    for step in steps.steps:
        wanted[step.name] = {"result_t": step.result}
        if step.dense is not None:
            d = step.dense
            wanted[step.name] |= {"weight_t": d.weight_type, "bias_t": d.bias_type, "accum_t": d.sum_type}
    found = {layer.name: {name: kind.precision for name, kind in layer.types.items()} for layer in model.get_layers()}
    for name, types in wanted.items():
        for key, kind in types.items():
            got = str(found.get(name, {}).get(key))
            if got != _spelled(kind):
                raise PrecisionError(
                    f"hls4ml must keep the certified type {kind} for {key} of {name}; it made it {got}; use the "
                    "release this was tested with, 1.3."
                )
    extra = set(found) - set(wanted)
    if extra:
        raise PrecisionError(f"hls4ml must add no layer to what was certified; got {sorted(extra)[:5]}; report it.")


def _spelled(kind: ApFixed) -> str:
    """As hls4ml prints a type."""
    modes = f"{kind.rounding.removeprefix('AP_')},{kind.overflow.removeprefix('AP_')}"
    return f"fixed<{kind.width},{kind.integer},{modes},0>"
