"""Exporters: what people deploy, with the proof intact. Each returns a ParityReport of the artefact itself."""

from __future__ import annotations

from typing import Any

from monolip.lazy_names import lazy_name

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

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    return lazy_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
