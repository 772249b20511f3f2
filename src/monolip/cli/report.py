"""monolip report: the model report, one HTML page that works offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from monolip.cli._exits import Exit
from monolip.cli._files import beside, require_place, through_links
from monolip.cli._options import (
    FILE,
    column_option,
    data_argument,
    json_option,
    model_argument,
    output_option,
    reading_of,
    reading_options,
    seed_option,
)
from monolip.cli._screen import Answer, show, tell
from monolip.errors import InputError

__all__ = ["command"]


@click.command("report")
@model_argument
@data_argument
@output_option("The page.  [default: beside the model, .report.html]")
@column_option("--target", "-t", text="The answers in DATA: says how well the model predicts.")
@click.option("--held-out", is_flag=True, help="The model was not fitted on DATA. Otherwise it is cross-validated.")
@click.option("--train", type=FILE, help="The rows it was fitted on; DATA then counts as held out.")
@column_option("--group", text="Metrics by this column, a feature or another.", many=True)
@click.option("--unit", multiple=True, metavar="FEATURE=UNIT", help="Shown beside slopes: --unit income=EUR.")
@click.option("--positive", metavar="LABEL", help="The class to speak of.  [default: the one promises name]")
@click.option("--title", help="The headline.")
@click.option("--no-baselines", is_flag=True, help="Without the comparison with other models: much faster.")
@click.option("--folds", type=click.IntRange(2, 50), default=5, show_default=True)
@seed_option
@reading_options
@json_option
def command(**options: Any) -> int:
    """Write one self-contained page about a model: what it promises, how well it predicts, what it learned.

    \b
      monolip report model.safetensors loans.csv --target default --group region
    """
    from monolip.cli._models import load_estimator
    from monolip.report import write_report

    path: Path = options["model"]
    output = options["output"] or beside(path, ".report.html")
    require_place(output, reads=[path, options["table"], options["data"], options["train"]])
    model = load_estimator(path)
    given: dict[str, Any] = {"title": options["title"], "folds": options["folds"], "seed": options["seed"]}
    given["positive"] = options["positive"]
    if options["no_baselines"]:
        given["baselines"] = ()
    given["units"] = dict(_unit(text) for text in options["unit"]) or None
    source = options["table"] or options["data"]
    if options["table"] is not None and options["data"] is not None:
        raise click.UsageError("one table is needed, as an argument or by --data; got two")
    if source is None and (options["target"] or options["group"] or options["train"]):
        raise click.UsageError("--target, --group and --train need a table; got none; name it")
    if source is not None:
        given |= _rows(options, source, model, path)
    if options["target"] is None:
        given["title"] = options["title"] or f"Model report: {path.stem}"
        data = "" if source is not None else "DATA and "
        tell(f"note: without {data}--target the page says nothing about accuracy; name the column of the answers")
    written = write_report(
        model, through_links(output), **{name: value for name, value in given.items() if value is not None}
    )
    size = Path(written).stat().st_size
    answer = Answer({"report": str(output), "model": str(path), "bytes": size})
    answer.line(f"report       {output}  ({size / 1e6:.1f} MB, one file, works offline)")
    show(answer, options["as_json"])
    return Exit.OK


def _rows(options: dict[str, Any], source: Path, model: Any, path: Path) -> dict[str, Any]:
    from monolip.cli._data import pick, pick_features, read_data
    from monolip.cli._folders import with_folders
    from monolip.cli._names import split_names
    from monolip.report.html_groups import crumbled_groups, read_groups

    reading = reading_of(options)
    table = with_folders(read_data(source, **reading), source, model)
    given: dict[str, Any] = {"X": pick_features(table, model, path)}
    if options["target"] is not None:
        given |= {"y": _answers(table, options["target"], model), "target": options["target"]}
        given["held_out"] = options["held_out"] or None
    if options["train"] is not None:
        if options["target"] is None:
            raise click.UsageError("--train needs --target; got none; name the column")
        rows = with_folders(read_data(options["train"], **reading), options["train"], model)
        given["train"] = pick_features(rows, model, path), _answers(rows, options["target"], model)
        given["held_out"] = None
    groups = split_names(options["group"], table.column_names)
    if groups:
        columns = pick(table, groups, "--group")
        given["groups"] = {name: columns.column(name).to_pylist() for name in groups}
        for sentence in crumbled_groups(read_groups(given["groups"], table.num_rows)):
            tell(f"note: {sentence}")
    return given


def _answers(table: Any, target: str, model: Any) -> Any:
    """The target as the model knows it: of its classes, or numbers."""
    from monolip.cli._target import read_target

    labels = model.frozen_.link.labels
    y, found = read_target(table, target, "regression" if labels is None else "classification")
    unknown = [label for label in found or () if label not in labels]
    if unknown:
        raise InputError(f"the target holds the classes of the model, {list(labels)[:8]}; got {unknown[0]!r}; drop it.")
    return y


def _unit(text: str) -> tuple[str, str]:
    name, equals, unit = text.partition("=")
    if not equals or not unit:
        raise InputError(f"--unit is FEATURE=UNIT; got {text!r}; write --unit income=EUR for example.")
    return name, unit
