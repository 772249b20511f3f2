"""predict_stream: predictions for files larger than memory, row by row in their order, to one Parquet file."""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, repeat
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted

from monolip.errors import InputError
from monolip.estimators._checks import flag
from monolip.estimators._schema import _refuse_other_types
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import NO_OFFSET
from monolip.estimators.stream._arrow import require_pyarrow
from monolip.estimators.stream._batch import _naming, _numbers, column_list, raw_column
from monolip.estimators.stream._listing import refuse_own_place
from monolip.estimators.stream._one_type import kept_types
from monolip.estimators.stream._place import require_folder
from monolip.estimators.stream._schedule import prefetched, read_groups
from monolip.estimators.stream.source import Source
from monolip.input_columns import CategoryColumn
from monolip.sealed_file import named_path, require_replaceable

__all__ = ["predict_stream", "text_columns"]

BATCH_ROWS, GROUP_ROWS = 2**16, 2**20


def predict_stream(
    model: Any, source: Any, output: str | PathLike[str], *, keep: Sequence[str] = (), offset: str | None = None,
    exact: bool = False, score: bool = False, watcher: Callable[[Any, int, int], None] | None = None,
) -> int:  # fmt: skip
    """`model.predict_stream(...)`: the bits of predict, for every row of the files; returns how many there were.

    A thread reads ahead, one writes, and as many as `n_jobs` says (None: one a core) evaluate batches between them.
    score: write the score before the link too. watcher: called as watcher(rows, done, of) after each record batch.

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
    kinds = kept_types(files, list(dict.fromkeys(keep)))
    model._predictor.prepare(exact)
    rows = prefetched(_tables(files, wanted, names), 4)
    answers = prefetched(_answers(model, rows, files.n_rows, (kinds, offset, exact, score), watcher), 2)
    try:
        return _write(files.arrow, path, answers)
    finally:
        answers.close()  # type: ignore[attr-defined]  # generators: their threads end with them
        rows.close()  # type: ignore[attr-defined]


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


def _tables(files: Source, wanted: list[str], names: list[str]) -> Iterator[tuple[Any, RawTable, str]]:
    last, before = None, 0
    for group, rows in read_groups(files, wanted, BATCH_ROWS):
        path, before = files.path(group), before if group is last else files.row(group)
        with _naming(path):
            columns = tuple(raw_column(rows.column(name), name, files.kinds[name]) for name in names)
        yield rows, RawTable(columns, True, rows.num_rows, before=before), path
        last, before = group, before + rows.num_rows


def _answers(
    model: Any, parts: Iterator[tuple[Any, RawTable, str]], n_rows: int, options: tuple[Any, ...],
    watcher: Callable[[Any, int, int], None] | None,
) -> Iterator[Any]:  # fmt: skip
    """In order; as many batches at once as there are threads, each by one of them."""
    n_threads, done, waiting = _threads(model), 0, deque[tuple[Any, Future[Any]]]()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for part in chain(parts, repeat(None, n_threads)):
                if part is not None:
                    waiting.append((part[0], pool.submit(_answer, model, part, *options)))
                if waiting and (part is None or len(waiting) > n_threads):
                    rows, answer = waiting.popleft()
                    yield answer.result()
                    done += rows.num_rows
                    if watcher is not None:
                        watcher(rows, done, n_rows)
        finally:
            for _, answer in waiting:
                answer.cancel()


def _answer(
    model: Any, part: tuple[Any, RawTable, str], kinds: dict[str, Any], offset: str | None, exact: bool, score: bool
) -> Any:
    """A record batch: what is kept, the prediction, for classes the probability of each, and the scores if wanted."""
    rows, table, path = part
    network, arrow = model.frozen_, require_pyarrow()
    f: Any = None
    with _naming(path):
        _refuse_other_types(table, model._schema)
        if exact:
            fixed = model._predictor.exact
            q = model._predictor.evaluate_exact(table, 1)
            answer, best = fixed.link.apply(q), fixed.decide(q) if network.link.labels is not None else None
            if score:
                f = model._predictor.evaluate(table, 1)
        else:
            f = model._predictor.evaluate(table, 1)
            if offset is not None:
                f = f + _numbers(rows, offset, "offset", 0.0)[:, None]
            answer = network.link.apply(f)
            best = (f[:, 0] > 0).astype(np.int64) if f.shape[1] == 1 else f.argmax(axis=1)
    found = {name: _cast(rows.column(name), name, kind, path) for name, kind in kinds.items()}
    if network.link.labels is None:
        found["prediction"] = arrow.array(answer)
    else:
        labels = list(network.link.labels)
        found["prediction"] = arrow.array(labels).take(arrow.array(best))
        found |= {f"P({label})": arrow.array(answer[:, k]) for k, label in enumerate(labels)}
    if score:
        names = ["score"] if f.shape[1] == 1 else [f"score({label})" for label in network.link.labels]
        found |= {name: arrow.array(f[:, k]) for k, name in enumerate(names)}
    return arrow.record_batch(found)


def _cast(column: Any, name: str, kind: Any, path: str) -> Any:
    """No value changes: whole numbers beyond 2^53 do not become doubles."""
    if column.type.equals(kind):
        return column
    try:
        return column.cast(kind)
    except require_pyarrow().ArrowException:
        raise InputError(
            f"a column that is kept has one type in all files; {name!r} of {path} holds {column.type} that is not "
            f"{kind} exactly; convert it, or do not keep it."
        ) from None


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
