"""monolip predict: predictions of a model for the rows of a table."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from monolip.cli._exits import Exit
from monolip.cli._files import require_place, write_output
from monolip.cli._options import (
    column_option,
    data_argument,
    json_option,
    model_argument,
    output_option,
    reading_options,
    the_data,
)
from monolip.cli._screen import Answer, show, tell
from monolip.errors import InputError

__all__ = ["command"]


@click.command("predict")
@model_argument
@data_argument
@output_option("Where predictions go: .csv, .parquet or .arrow.  [default: CSV to standard output]")
@column_option("--keep", text="Columns of the table to repeat: an identifier.", many=True)
@click.option("--exact", is_flag=True, help="By the fixed-point network: the same bits on every machine.")
@click.option("--score", is_flag=True, help="Add the score before the link: log-odds, or log units.")
@reading_options
@json_option
def command(
    model: Path, table: Path | None, data: Path | None, output: Path | None, keep: tuple[str, ...], exact: bool,
    score: bool, encoding: str, separator: str | None, decimal: str, as_json: bool,
) -> int:  # fmt: skip
    """Predict the rows of a table: a prediction each, and for classes the probability of each.

    \b
      monolip predict model.safetensors new.csv > predictions.csv
      monolip predict model.safetensors new.parquet --keep id --output predictions.parquet
      monolip predict model.safetensors loans/ --output predictions.parquet    (a directory or 'glob' of any size)
    """
    from monolip.cli._data import pick, pick_features, read_data, require_pyarrow
    from monolip.cli._folders import with_folders
    from monolip.cli._models import load_estimator
    from monolip.cli._names import split_names
    from monolip.cli._streams import is_stream
    from monolip.estimators.stream._place import is_parquet

    path = the_data(table, data)
    require_place(output, reads=[path, model], streams=True)
    to_parquet = output is not None and is_parquet(output)
    if is_stream(path) and (to_parquet or not path.is_file()):
        from monolip.cli._stream_predict import predict_to_parquet

        reading = {"encoding": encoding, "separator": separator, "decimal": decimal}
        n_rows = predict_to_parquet(model, path, output, keep, reading, exact=exact, score=score)
        _say(model, n_rows, output, as_json)
        return Exit.OK
    estimator = load_estimator(model)
    rows = read_data(path, encoding=encoding, separator=separator, decimal=decimal)
    rows = with_folders(rows, path, estimator)
    X = pick_features(rows, estimator, model)
    for remark in unseen_categories(estimator, X):
        tell(f"note: {remark}")
    kept = pick(rows, split_names(keep, rows.column_names), "--keep")
    columns: dict[str, Any] = {name: kept.column(name) for name in kept.column_names}
    predicted = _predictions(estimator, X, exact, score)
    both = [name for name in columns if name in predicted]
    if both:
        raise InputError(f"a column that is kept has a name of its own; got {both[0]!r}, a prediction; rename it.")
    columns |= predicted
    found = require_pyarrow().table(columns)
    if as_json:
        answer = Answer({"model": str(model), "rows": found.num_rows, "predictions": found.to_pylist()})
        show(answer, True)
    elif output is None:
        sys.stdout.write(_csv(found))
    if output is not None:
        write_table(found, output)
        if not as_json:
            tell(f"{found.num_rows:,} predictions in {output}")
    return Exit.OK


def _say(model: Path, n_rows: int, output: Path | None, as_json: bool) -> None:
    if as_json:
        show(Answer({"model": str(model), "rows": n_rows, "output": str(output)}), True)
    else:
        tell(f"{n_rows:,} predictions in {output}")


def _predictions(estimator: Any, X: Any, exact: bool, score: bool) -> dict[str, Any]:
    columns: dict[str, Any] = {"prediction": estimator.predict(X, exact=exact)}
    labels = estimator.frozen_.link.labels
    if labels is not None:
        found = estimator.predict_proba(X, exact=exact)
        columns |= {f"P({label})": found[:, k] for k, label in enumerate(labels)}
    if score:
        f = estimator._evaluate(X)
        names = ["score"] if f.shape[1] == 1 else [f"score({label})" for label in labels]
        columns |= {name: f[:, k] for k, name in enumerate(names)}
    return columns


def unseen_categories(estimator: Any, X: Any) -> list[str]:
    """A sentence for each column with categories that were not there in training."""
    from monolip.input_columns import CategoryColumn, is_missing

    found = []
    for column in estimator.frozen_.inputs.columns:
        if not isinstance(column, CategoryColumn):
            continue
        known, values = {str(label) for label in column.categories}, X.column(column.name).to_pylist()
        odd = [value for value in values if not is_missing(value) and str(value) not in known]
        if odd:
            names = ", ".join(repr(value) for value in list(dict.fromkeys(odd))[:3])
            found.append(f"{len(odd):,} rows have a {column.name!r} that was not there in training, such as {names}")
    return found


def _csv(table: Any) -> str:
    buffer = io.BytesIO()
    csv = import_module("pyarrow.csv")
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if kind.num_fields:
            raise InputError(f"a cell of CSV is one value; {name!r} holds {kind}; write .parquet, or leave it out.")
    csv.write_csv(table, buffer, csv.WriteOptions(quoting_style="needed"))
    return buffer.getvalue().decode()


def write_table(table: Any, path: Path) -> None:
    """In the format its name ends with; the file appears whole or not at all."""
    from monolip.estimators.stream._place import is_parquet

    buffer = io.BytesIO()
    if is_parquet(path):
        import_module("pyarrow.parquet").write_table(table, buffer)
    elif path.suffix.lower() in (".arrow", ".feather", ".ipc"):
        import_module("pyarrow.feather").write_feather(table, buffer)
    else:
        buffer.write(_csv(table).encode())
    write_output(path, buffer.getvalue())
