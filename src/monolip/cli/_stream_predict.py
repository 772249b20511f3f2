"""The work of `monolip predict` on a directory, a glob or a large file: in constant memory, to one Parquet file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from monolip.cli._files import through_links
from monolip.cli._models import load_estimator
from monolip.cli._names import require_columns, split_names
from monolip.cli._screen import tell
from monolip.cli._streams import refuse_csv_options
from monolip.errors import InputError
from monolip.estimators.stream._place import is_parquet
from monolip.estimators.stream.scoring import predict_stream
from monolip.estimators.stream.source import Source
from monolip.input_columns import CategoryColumn, is_missing

__all__ = ["predict_to_parquet"]


def predict_to_parquet(
    model: Path, path: Path, output: Path | None, keep: Sequence[str], reading: dict[str, Any], *, exact: bool,
    score: bool,
) -> int:  # fmt: skip
    """How many rows there were; in the order of the files, into a file that appears whole or not at all."""
    refuse_csv_options(reading, path)
    if output is None or not is_parquet(output):
        got = "none" if output is None else repr(output.name)
        raise InputError(
            f"predictions of a folder, a pattern or a large file go to a Parquet file; got {got}; pass --output "
            "predictions.parquet."
        )
    if path.is_dir() and path.resolve() in through_links(output).parents:
        raise InputError(
            f"predictions lie outside of the folder they are made of, where they would be read the next time; got "
            f"{str(output)!r}; choose another --output."
        )
    estimator = load_estimator(model)
    columns = Source(path, []).offered
    kept = split_names(keep, columns)
    require_columns(kept, columns, "--keep")
    watcher = _Watcher(estimator)
    try:
        n_rows = predict_stream(
            estimator, path, through_links(output), keep=kept, exact=exact, score=score, watcher=watcher
        )
    finally:
        watcher.close()
    for remark in watcher.remarks():
        tell(f"note: {remark}")
    return n_rows


class _Watcher:
    """Counts categories that were not there in training, and shows on a terminal how far it is."""

    def __init__(self, estimator: Any) -> None:
        columns = [c for c in estimator.frozen_.inputs.columns if isinstance(c, CategoryColumn)]
        self.known = {column.name: {str(label) for label in column.categories} for column in columns}
        self.odd: dict[str, Counter[str]] = {name: Counter() for name in self.known}
        self.bar: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns_shown = (BarColumn(16), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn(compact=True))
            self.bar = Progress(
                TextColumn("predicting"), *columns_shown, TextColumn("left"), console=Console(stderr=True),
                transient=True,
            )  # fmt: skip
            self.task = self.bar.add_task("", total=None)
            self.bar.start()

    def __call__(self, rows: Any, done: int, of: int) -> None:
        for name, known in self.known.items():
            for found in import_module("pyarrow.compute").value_counts(rows.column(name)).to_pylist():
                if not is_missing(found["values"]) and str(found["values"]) not in known:
                    self.odd[name][repr(found["values"])] += found["counts"]
        if self.bar is not None:
            self.bar.update(self.task, completed=done, total=of)

    def remarks(self) -> list[str]:
        return [
            f"{odd.total():,} rows have a {name!r} that was not there in training, such as {', '.join(_frequent(odd))}"
            for name, odd in self.odd.items()
            if odd
        ]

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def _frequent(odd: Counter[str]) -> list[str]:
    """The same ones in every run: which rows were counted first depends on threads."""
    return sorted(odd, key=lambda label: (-odd[label], label))[:3]
