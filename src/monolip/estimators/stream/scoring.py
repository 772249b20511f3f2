"""predict_stream: predictions for files larger than memory, row by row in their order, to one Parquet file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted

from monolip.errors import InputError
from monolip.estimators._checks import flag
from monolip.estimators._targets import NO_OFFSET
from monolip.estimators.stream._answering import Answering
from monolip.estimators.stream._arrow import require_pyarrow
from monolip.estimators.stream._batch import column_list
from monolip.estimators.stream._listing import refuse_own_place
from monolip.estimators.stream._one_type import kept_types
from monolip.estimators.stream._place import require_folder
from monolip.estimators.stream._side_by_side import side_by_side
from monolip.estimators.stream.source import Source
from monolip.input_columns import CategoryColumn
from monolip.sealed_file import named_path, require_replaceable

__all__ = ["predict_stream", "text_columns"]

GROUP_ROWS = 2**20
WAITING_VALUES = 2**23  # numbers, and columns kept, of rows that are answered and not yet written


def predict_stream(
    model: Any, source: Any, output: str | PathLike[str], *, keep: Sequence[str] = (), offset: str | None = None,
    exact: bool = False, score: bool = False, watcher: Callable[[Any, int, int], None] | None = None,
) -> int:  # fmt: skip
    """`model.predict_stream(...)`: the bits of predict, for every row of the files; returns how many there were.

    As many threads as `n_jobs` says (None: one a core) evaluate batches, half as many read row groups for them, and one
    writes. score: write the score before the link too. watcher: called as watcher(rows, done, of) for each record
    batch, one call at a time, in the order in which they are ready.

    Example:
        >>> import tempfile, numpy as np, pyarrow, pyarrow.parquet
        >>> from monolip import MonotonicRegressor
        >>> folder, table = tempfile.mkdtemp(), pyarrow.table({"x": np.linspace(0, 1, 300)})
        >>> model = MonotonicRegressor(monotonic_cst=[1], random_state=0).fit(table, np.arange(300.0))
        >>> pyarrow.parquet.write_table(table, f"{folder}/a.parquet")
        >>> model.predict_stream(f"{folder}/a.parquet", f"{folder}/b.parquet")
        300
        >>> found = pyarrow.parquet.read_table(f"{folder}/b.parquet")["prediction"].to_numpy()
        >>> bool((found == model.predict(table)).all())
        True
    """
    check_is_fitted(model)
    flag("exact", exact)
    keep = column_list("keep=", keep)
    names, path = list(model._schema.names), named_path(output)
    require_replaceable(path)
    wanted = list(dict.fromkeys([*names, *keep, *([] if offset is None else [offset])]))
    files = Source(source, wanted, labels=text_columns(model))
    files.require(names, "the model")
    for name in (*keep, *([] if offset is None else [offset])):
        if name not in files.kinds:
            files.require([name], "keep= or offset=")
    if any(path.resolve() == file.path.resolve() for file in files.files):
        raise InputError(f"predictions go into a file of their own; got {path}, which is read from; name another.")
    if not isinstance(source, Source):
        refuse_own_place(source, path)
    require_folder(path)
    _refuse_mixes(model, keep, offset, exact)
    kept = kept_types(files, list(dict.fromkeys(keep)))
    answering = Answering(model, files, wanted, kept, offset, exact, score, watcher)
    model._predictor.prepare(exact)
    n_threads, largest = _threads(model), max(group.n_rows for group in files.groups)
    ahead = max(1, WAITING_VALUES // (largest * answering.n_columns))
    n_readers = max(1, min(n_threads // 2, ahead))
    answers = side_by_side(files.groups, answering.parts, answering.answer, n_readers, n_threads, ahead)
    try:
        return _write(files.arrow, path, answers)
    finally:
        answers.close()  # type: ignore[attr-defined]  # a generator: its threads end with it


def text_columns(model: Any) -> list[str]:
    """Columns of strings: a folder town=12 is a string to a model that has learned other towns too."""
    inputs = getattr(getattr(model, "frozen_", model), "inputs", None)  # an audited model may be of others
    columns = getattr(inputs, "columns", ())
    return [c.name for c in columns if isinstance(c, CategoryColumn) and all(isinstance(v, str) for v in c.categories)]


def _refuse_mixes(model: Any, keep: Sequence[str], offset: str | None, exact: bool) -> None:
    link = model.frozen_.link
    if offset is not None and exact:
        raise InputError("exact predictions are the deployed network's, without offsets; got one; leave it out.")
    if offset is not None and link.n_outputs > 1:
        raise InputError(NO_OFFSET.format(link.n_outputs))
    ours = {"prediction", "score", *(f"{what}({label})" for label in link.labels or () for what in ("P", "score"))}
    both = [name for name in keep if name in ours]
    if both:
        raise InputError(f"a column that is kept has a name of its own; got {both[0]!r}, a prediction; rename it.")


def _threads(model: Any) -> int:
    """Threads change no bit, so all cores are used where nobody said how many."""
    return int(effective_n_jobs(-1 if model.n_jobs is None else model.n_jobs))


def _write(arrow: Any, path: Path, batches: Iterator[Any]) -> int:
    """One file that appears whole or not at all."""
    parquet = require_pyarrow("pyarrow.parquet")
    temporary = path.parent / f".monolip-{secrets.token_hex(8)}.part"
    n_rows, writer = 0, None
    try:
        for group in _grouped(arrow, batches):
            if writer is None:
                writer = parquet.ParquetWriter(temporary, group.schema, compression="zstd", use_dictionary=False)
            writer.write_table(group)
            n_rows += group.num_rows
        assert writer is not None, "a source has rows"
        writer.close()
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, arrow.ArrowException) as error:
        raise InputError(
            f"predictions are written whole; {path} could not be: {' '.join(str(error).split())}; make room, or name "
            "another place. No file was left."
        ) from error
    finally:
        if writer is not None and temporary.exists():
            _drop(writer)
        temporary.unlink(missing_ok=True)
    return n_rows


def _drop(writer: Any) -> None:
    """Give a file up that cannot be finished."""
    try:
        writer.close()
    except Exception:  # the disk is full: what it says has been said
        return


def _grouped(arrow: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Row groups of about a million rows."""
    parts: list[Any] = []
    for batch in batches:
        parts.append(batch)
        if sum(part.num_rows for part in parts) >= GROUP_ROWS:
            yield arrow.Table.from_batches(parts)
            parts = []
    if parts:
        yield arrow.Table.from_batches(parts)
