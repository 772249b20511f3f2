"""monolip export: a model as what people deploy, with a measured parity report."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from monolip.cli._exits import Exit
from monolip.cli._files import beside, require_place, through_links
from monolip.cli._options import FILE, json_option, model_argument, output_option
from monolip.cli._screen import Answer, number, show

__all__ = ["command"]

_FORMATS = {  # format: (function of monolip.export, ending)
    "c": ("to_c", ".h"),
    "onnx": ("to_onnx", ".onnx"),
    "json": ("to_json", ".json"),
    "relu": ("to_relu_mlp", ".relu.safetensors"),
    "torch": ("to_torch", ".pt2"),
    "allen": ("to_allen_json", ".allen.json"),
}
_ENDINGS = {".h": "c", ".onnx": "onnx", ".json": "json", ".pt2": "torch", ".safetensors": "relu"}


@click.command("export")
@model_argument
@click.option("--format", "to", type=click.Choice(list(_FORMATS)), help="[default: by the ending of --output, else c]")
@output_option("The file to write.  [default: beside the model]")
@click.option(
    "--arithmetic", type=click.Choice(["float64", "float32", "fixed-point"]), help="[default: the format's own]"
)
@click.option("--report", type=FILE, help="Also save the parity report as JSON.")
@json_option
def command(
    model: Path, to: str | None, output: Path | None, arithmetic: str | None, report: Path | None, as_json: bool
) -> int:
    """Write a model for another runtime, run what was written, and compare it with Python. Exit code 1: it differs.

    \b
      monolip export model.safetensors --output model.h
      monolip export model.safetensors --format onnx --arithmetic fixed-point
    """
    from monolip.cli._models import load_network

    kind = to or ("c" if output is None else _ENDINGS.get(output.suffix))
    if kind is None:
        assert output is not None
        raise click.UsageError(f"the ending {output.suffix!r} names no format; pass --format {'|'.join(_FORMATS)}")
    function, ending = _FORMATS[kind]
    path = output or beside(model, ending)
    require_place(path, report, reads=[model])
    options: dict[str, Any] = {} if arithmetic is None else {"arithmetic": arithmetic}
    if kind == "allen" and options:
        raise click.UsageError("the format allen has one arithmetic; leave --arithmetic out")
    found = getattr(import_module("monolip.export"), function)(load_network(model), through_links(path), **options)
    if report is not None:
        found.save(through_links(report))
    answer = Answer({**json.loads(found.to_json()), "model": str(model)})
    answer.line(f"{path}: {str(found).splitlines()[0]}").line()
    if found.measured:
        cells = [["inputs", "rows", "largest difference", "different", "pairs", "drops"]]
        for row in found.rows:
            counts = [str(n) for n in (row.different, row.pairs, row.drops)]
            cells.append([row.inputs, str(row.rows), number(row.max_difference, 3), *counts])
        answer.table("What was written, run and compared with Python", cells)
    answer.line(f"network      {found.digest}")
    show(answer, as_json)
    return Exit.FOUND if found.passed is False else Exit.OK
