"""What predict_stream writes about a record batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.estimators._schema import _refuse_other_types
from monolip.estimators._tables import RawTable
from monolip.estimators.stream._arrow import require_pyarrow
from monolip.estimators.stream._batch import _naming, _numbers, raw_column
from monolip.estimators.stream.source import Group, Source

__all__ = ["Answering"]

BATCH_ROWS = 2**16


class _Part(NamedTuple):
    """A record batch, how many rows of its file come before it, and the file."""

    rows: Any
    before: int
    path: str


@dataclass
class Answering:
    """A model, what it is asked for, and the files; threads may ask at the same time.

    wanted: columns that are read. kept: types of those that are written again. The others: see `predict_stream`.
    """

    model: Any
    files: Source
    wanted: list[str]
    kept: dict[str, Any]
    offset: str | None
    exact: bool
    score: bool
    watcher: Callable[[Any, int, int], None] | None
    done: int = 0
    _one_at_a_time: Lock = field(default_factory=Lock)

    @property
    def n_columns(self) -> int:
        """That are written."""
        link = self.model.frozen_.link
        scores = int(link.n_outputs) if self.score else 0
        return len(self.kept) + 1 + len(link.labels or ()) + scores

    def parts(self, group: Group) -> Iterator[_Part]:
        """The record batches of a group."""
        before = self.files.row(group)
        for rows in self.files.read(group, self.wanted, BATCH_ROWS):
            yield _Part(rows, before, self.files.path(group))
            before += rows.num_rows

    def answer(self, part: _Part) -> Any:
        """A record batch: what is kept, the prediction, for classes the probability of each, the scores if wanted."""
        rows = part.rows
        with _naming(part.path):
            answer, best, f = self._evaluated(part)
        found = {name: _cast(rows.column(name), name, kind, part.path) for name, kind in self.kept.items()}
        arrow, labels = require_pyarrow(), self.model.frozen_.link.labels
        if labels is None:
            found["prediction"] = arrow.array(answer)
        else:
            found["prediction"] = arrow.array(list(labels)).take(arrow.array(best))
            found |= {f"P({label})": arrow.array(answer[:, k]) for k, label in enumerate(labels)}
        if self.score:
            names = ["score"] if f.shape[1] == 1 else [f"score({label})" for label in labels]
            found |= {name: arrow.array(f[:, k]) for k, name in enumerate(names)}
        self._tell(rows)
        return arrow.record_batch(found)

    def _evaluated(self, part: _Part) -> tuple[NDArray[Any], Any, Any]:
        """What the link makes of f, the class, and f itself where it is asked for."""
        rows, model, link = part.rows, self.model, self.model.frozen_.link
        kinds = self.files.kinds
        columns = tuple(raw_column(rows.column(name), name, kinds[name]) for name in model._schema.names)
        table = RawTable(columns, True, rows.num_rows, before=part.before)
        _refuse_other_types(table, model._schema)
        if self.exact:
            fixed, q = model._predictor.exact, model._predictor.evaluate_exact(table, 1)
            best = None if link.labels is None else fixed.decide(q)
            return fixed.link.apply(q), best, model._predictor.evaluate(table, 1) if self.score else None
        f = model._predictor.evaluate(table, 1)
        if self.offset is not None:
            f = f + link.sign * _numbers(rows, self.offset, "offset", 0.0)[:, None]
        return link.apply(f), link.decide(f), f

    def _tell(self, rows: Any) -> None:
        if self.watcher is not None:
            with self._one_at_a_time:
                self.done += rows.num_rows
                self.watcher(rows, self.done, self.files.n_rows)


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
