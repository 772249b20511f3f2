"""monolip audit: search any model file for rows that are scored the wrong way round."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from monolip.cli._apart import is_apart, run_apart
from monolip.cli._exits import Exit
from monolip.cli._files import require_place
from monolip.cli._models import foreign_reader, open_model
from monolip.cli._options import (
    Seconds,
    column_option,
    constraint_options,
    data_argument,
    json_option,
    model_argument,
    output_option,
    reading_of,
    reading_options,
    seed_option,
    the_data,
)
from monolip.cli._screen import Answer, number, show
from monolip.errors import InputError, MonolipError
from monolip.rounding import share_text

__all__ = ["command"]


@click.command("audit")
@model_argument
@data_argument
@constraint_options
@column_option("--features", text="Columns in the model's order, if it has no names.", many=True)
@click.option(
    "--tolerance", type=click.FloatRange(0), default=0.0, show_default=True, help="Drops up to it do not count."
)
@click.option("--max-rows", type=click.IntRange(1), default=500, show_default=True, help="Rows that are swept.")
@click.option(
    "--max-evaluations",
    type=click.IntRange(10),
    default=500_000,
    show_default=True,
    help="Rows that are scored in the search, at most; what is found is scored again, to make it small.",
)
@click.option("--time", type=Seconds(), default="60s", show_default=True, help="At most, about.")
@output_option("Save the counterexamples: .csv, .parquet or .arrow.")
@seed_option
@reading_options
@json_option
def command(**options: Any) -> int:
    """Search a model for pairs of rows that differ in one feature and are scored against its direction.

    Reads ONNX, LightGBM (.txt) and XGBoost (.json, .ubj) files, and those of monolip; never pickles. Without directions
    those that a monolip model promises are audited. Exit code 1: a violation was found. Finding none proves nothing.

    \b
      monolip audit booster.txt loans.csv --increasing dti --decreasing income
    """
    path: Path = options["model"]
    source = the_data(options["table"], options["data"])
    require_place(options["output"], reads=[path, source, options["constraints"]], streams=True)
    reader = foreign_reader(path)
    if reader is not None and not is_apart():
        return run_apart(click.get_current_context().obj, reader)
    from monolip.certify import audit
    from monolip.cli._audit_inputs import audited_rows, directions_of
    from monolip.cli._data import read_data

    model = open_model(path)
    table = read_data(source, **reading_of(options))
    X, names = audited_rows(model, table, options["features"], source)
    try:
        report = audit(
            model.model,
            X,
            directions_of(model, names, options),
            feature_names=names if model.matrix else None,
            tolerance=options["tolerance"],
            max_rows=options["max_rows"],
            max_evaluations=options["max_evaluations"],
            max_seconds=options["time"],
            seed=options["seed"],
        )
    except MonolipError:
        raise
    except Exception as error:
        if reader is None:
            raise
        first = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise InputError(f"{reader} must be able to score the rows; got {first}; check the file and columns.") from None
    if options["output"] is not None:
        _save(report, options["output"])
    show(_answer(report, path, model.format), options["as_json"])
    return Exit.FOUND if report.violated else Exit.OK


def _answer(report: Any, path: Path, kind: str) -> Answer:
    features = [{k: v for k, v in asdict(feature).items() if k != "curve"} for feature in report.features]
    answer = Answer(
        {
            "model": str(path),
            "format": kind,
            "violated": report.violated,
            "beyond_rounding": report.beyond_rounding,
            "worst_drop": report.worst_drop,
            "features": features,
            "counterexamples": [asdict(one) for one in report.violations],
            "rows": report.n_rows,
            "pairs": report.pairs,
            "evaluations": report.evaluations,
            "later_evaluations": report.later_evaluations,
            "seconds": round(report.seconds, 2),
            "out_of_time": report.out_of_time,
        }
    )
    first, *rest = str(report).splitlines()
    answer.line(f"{path} ({kind})").line(first).line()
    cells = [["feature", "direction", "output", "rows affected", "beyond rounding", "worst drop"]]
    for feature in report.features:
        way = "increasing" if feature.direction > 0 else "decreasing"
        shares = [_share(share) for share in (feature.share_affected, feature.share_beyond_rounding)]
        cells.append([feature.name, way, str(feature.output), *shares, number(feature.worst_drop, 3)])
    answer.table("", cells)
    for line in rest[1 + len(report.features) :]:
        answer.line(line)
    return answer


def _share(share: float) -> str:
    return "-" if share != share else share_text(share)


def _save(report: Any, path: Path) -> None:
    from monolip.cli._data import require_pyarrow
    from monolip.cli.predict import write_table

    rows = [asdict(one) for one in report.violations]
    for row in rows:
        row |= {name: str(row[name]) for name in ("value_from", "value_to", "output")}
    names = ["row", "changed", "feature", "output", "value_from", "value_to", "before", "after", "drop", "size"]
    write_table(require_pyarrow().table({name: [row[name] for row in rows] for name in names}), path)
