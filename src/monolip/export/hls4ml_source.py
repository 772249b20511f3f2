"""The Python source of a plain torch module in split form and hls4ml's configuration: converted without monolip."""

from __future__ import annotations

import json
from pprint import pformat
from typing import Any

from monolip._version import __version__
from monolip.export.hls4ml_layers import INPUT, Step, Steps
from monolip.export.onnx_source import features_of

__all__ = ["module_source"]

_HEAD = '''"""A monotone network for hls4ml: dense layers, minimum, maximum, cat; written by monolip {version}.

    model = convert("project")     # hls4ml, io_parallel; then model.compile(), model.build()

Certified are the integers this configuration computes: every sum is exact and rounded once a layer, so ReuseFactor and
Strategy may change; precisions may not. Network {digest}
Certificate {certificate}
Inputs, in order: {inputs}
{units}
"""

import torch

CONFIG = {config}


def dense(weight, bias):
    """Words over 2^{shift} (weights) and 2^{low} (biases), exact in float64."""
    layer = torch.nn.Linear(len(weight[0]), len(weight), dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight, dtype=torch.float64) * 2.0**-{shift})
        layer.bias.copy_(torch.tensor(bias, dtype=torch.float64) * 2.0**-{low})
    return layer


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
{layers}

    def forward(self, {x}):
{calls}
        return {last}


def convert(output_dir, backend="Vitis", io_type="io_parallel", **options):
    import hls4ml

    return hls4ml.converters.convert_from_pytorch_model(
        Model().eval(), hls_config=CONFIG, output_dir=str(output_dir), backend=backend, io_type=io_type, **options
    )
'''


def module_source(steps: Steps, certificate: str, transformed: bool) -> str:
    """The file: CONFIG, Model and convert. transformed: whether raw columns are mapped before they become inputs."""
    network, fraction = steps.network, steps.chosen.fraction
    model: dict[str, Any] = {"Precision": {"default": str(steps.chosen)}, "ReuseFactor": 1, "Strategy": "Latency"}
    model |= {"ChannelsLastConversion": "full", "TransposeOutputs": False}  # without these weights are not transposed
    config = {"Model": model, "LayerName": steps.as_config(), "InputShape": (len(network.limits),)}
    shift = network.format.shift
    names = [_model_names(network, i, fraction, transformed) for i in range(len(network.inputs.columns))]
    return _HEAD.format(
        version=__version__,
        digest=network.digest,
        certificate=certificate,
        inputs=json.dumps([name for group in names for name in group]),
        units=_units(network, fraction, transformed),
        config=pformat(config, width=110, sort_dicts=False),
        shift=shift,
        low=shift + fraction,
        layers="\n".join(_layer(step) for step in steps.steps if step.dense is not None),
        calls="\n".join(f"        {step.name} = {_call(step)}" for step in steps.steps),
        last=steps.steps[-1].name,
        x=INPUT,
    )


def _model_names(network: Any, i: int, fraction: int, transformed: bool) -> list[str]:
    """u(pt) or word(pt) where the input is not pt itself; a raw column may become several inputs."""
    column = network.inputs.columns[i]
    name = features_of(network)[i]
    name = f"word({name})" if not fraction else f"u({name})" if transformed else name
    return [name] if column.n_model == 1 else [f"{name} [{k}]" for k in range(column.n_model)]


def _units(network: Any, fraction: int, transformed: bool) -> str:
    if fraction and not transformed:
        return "Inputs and outputs are numbers in their own units."
    if fraction:
        return (
            "u(name) is the transformed column, not the raw one: in Python u = model.frozen_.inputs.evaluate(frame),\n"
            "elsewhere linear interpolation between the knots of model.frozen_.inputs.columns[i].maps. Outputs are "
            "numbers in\ntheir own units."
        )
    scale = f"score = output / 2^{network.link.unit}" + (f" + {network.link.offset!r}" if network.link.offset else "")
    return f"word(name) are whole numbers: FixedPointNetwork.quantise(frame) gives them; {scale}."


def _layer(step: Step) -> str:
    assert step.dense is not None
    return f"        self.{step.name} = dense({step.dense.weight.tolist()}, {step.dense.bias.tolist()})"


def _call(step: Step) -> str:
    if step.op == "dense":
        return f"self.{step.name}({step.sources[0]})"
    if step.op == "cat":
        return f"torch.cat(({', '.join(step.sources)}), dim=1)"
    return f"torch.{step.op}({', '.join(step.sources)})"
