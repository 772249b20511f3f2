"""Exporters: what people deploy, with the proof intact. Each returns a ParityReport of the artefact itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monolip.lazy_names import lazy_name

if TYPE_CHECKING:  # what type checkers and editors read; at run time a name is loaded on first use
    from monolip.export.allen_import import from_allen_json
    from monolip.export.allen_json import to_allen_json
    from monolip.export.c import to_c
    from monolip.export.folding import fold_inputs
    from monolip.export.hls4ml import hls4ml_module, to_hls4ml_module
    from monolip.export.json import from_json, to_json
    from monolip.export.monotonicnetworks_import import from_monotonicnetworks, monotonicnetworks_verdict
    from monolip.export.onnx import to_onnx
    from monolip.export.parity import ParityReport
    from monolip.export.relu import relu_mlp, to_relu_mlp
    from monolip.export.torch import to_torch, torch_module

# Loaded on first use: an exporter may need an optional package.
_HOMES = {
    "ParityReport": "parity",
    "fold_inputs": "folding",
    "from_allen_json": "allen_import",
    "from_json": "json",
    "from_monotonicnetworks": "monotonicnetworks_import",
    "hls4ml_module": "hls4ml",
    "monotonicnetworks_verdict": "monotonicnetworks_import",
    "relu_mlp": "relu",
    "to_allen_json": "allen_json",
    "to_c": "c",
    "to_hls4ml_module": "hls4ml",
    "to_json": "json",
    "to_onnx": "onnx",
    "to_relu_mlp": "relu",
    "to_torch": "torch",
    "torch_module": "torch",
}

__all__ = [
    "ParityReport",
    "fold_inputs",
    "from_allen_json",
    "from_json",
    "from_monotonicnetworks",
    "hls4ml_module",
    "monotonicnetworks_verdict",
    "relu_mlp",
    "to_allen_json",
    "to_c",
    "to_hls4ml_module",
    "to_json",
    "to_onnx",
    "to_relu_mlp",
    "to_torch",
    "torch_module",
]


if not TYPE_CHECKING:  # else every misspelt name would be there, as Any

    def __getattr__(name: str) -> Any:
        return lazy_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
