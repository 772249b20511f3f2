"""Source: the files of a stream, checked against each other, read a group of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from monolip.cached import cached_property
from monolip.errors import InputError
from monolip.estimators.stream._arrow import LABEL, NOTHING, NUMBER, kind_of, open_parquet, refuse_file, require_pyarrow
from monolip.estimators.stream._listing import ListedFile, list_files, listing
from monolip.estimators.stream._partitions import are_whole, refuse_contradiction, value_of

__all__ = ["Group", "Source"]


class Group(NamedTuple):
    """Rows read together: a row group of Parquet, a record batch of Arrow. first: position of its first row."""

    file: int
    number: int
    n_rows: int
    first: int


class Source:
    """The rows of many files in one order; a row's position never changes, so a hash of it can decide its fate.

    Args:
        source: a file, a directory, a glob, or a list of these: Parquet, Arrow (IPC files) or Feather. Folders named
            key=value are columns; those above a directory, a glob or a file only where `features` names them.
        features: the columns that are read; None for all of them, and then all files have the same ones.
        ignored: columns that any file may have or not, in any type.
        labels: columns of folders that are strings, also where all of them look like whole numbers.

    Files without rows are passed over. Footers are read here, so that a damaged file, a missing column or another type
    is told, with the file's name, before any work is done.

    Example:
        >>> import tempfile, pyarrow, pyarrow.parquet
        >>> folder = tempfile.mkdtemp()
        >>> pyarrow.parquet.write_table(pyarrow.table({"x": [1.0, 2.0], "y": [0, 1]}), f"{folder}/a.parquet")
        >>> Source(folder).n_rows, Source(folder).columns
        (2, ['x', 'y'])
    """

    def __init__(
        self, source: Any, features: Sequence[str] | None = None, ignored: Sequence[str] = (),
        labels: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.arrow, self.files = require_pyarrow(), list_files(source)
        self.groups: list[Group] = []
        self._footers: dict[int, Any] = {}
        self._twice: dict[int, frozenset[str]] = {}  # of each file the columns that its folders name too
        self.kinds: dict[str, str] = {}
        self._given, self._ignored = None if features is None else list(features), frozenset(ignored)
        for number in range(len(self.files)):
            self._look(number, self.files[number])
        self.n_rows = self.groups[-1].first + self.groups[-1].n_rows if self.groups else 0
        if not self.n_rows:
            raise InputError(f"a stream has rows; got none in {len(self.files)} file(s); name files with rows.")
        self._settle_partitions(frozenset(labels))

    @cached_property
    def listing(self) -> dict[str, str]:
        """Of each file, in order, what tells it from another of its name."""
        return listing(self.files)

    @property
    def columns(self) -> list[str]:
        return list(self.kinds)

    @property
    def offered(self) -> list[str]:
        """Columns, and what may be asked for by name besides: folders above that all files lie in."""
        above = [name for name in self.files[0].above if all(name in file.above for file in self.files)]
        return list(dict.fromkeys([*self.kinds, *above]))

    def path(self, group: Group) -> str:
        """The file a group lies in, for messages."""
        return str(self.files[group.file].path)

    def row(self, group: Group) -> int:
        """The row of its file that a group begins with."""
        return group.first - self._starts[group.file]

    @cached_property
    def _starts(self) -> dict[int, int]:
        return {group.file: group.first for group in reversed(self.groups)}

    def _look(self, number: int, file: ListedFile) -> None:
        """Footer and schema of one file."""
        try:
            with file.path.open("rb") as data:
                head = data.read(8)
            if head.startswith(b"PAR1"):
                footer = require_pyarrow("pyarrow.parquet").read_metadata(file.path)
                sizes = [footer.row_group(k).num_rows for k in range(footer.num_row_groups)]
                schema = footer.schema.to_arrow_schema()
                self._footers[number] = footer
            elif head.startswith(b"ARROW1"):
                with self.arrow.memory_map(str(file.path)) as data:
                    reader = require_pyarrow("pyarrow.ipc").open_file(data)
                    sizes = [reader.get_batch(k).num_rows for k in range(reader.num_record_batches)]
                    schema = reader.schema
            else:
                refuse_file(file.path, "it has no bytes" if not head else "it begins like none of them")
            own = frozenset(schema.names)
        except (OSError, UnicodeError, self.arrow.ArrowException) as error:  # names that are no text, too
            refuse_file(file.path, error)
        asked = {key: value for key, value in file.above.items() if key in (self._given or ()) and key not in own}
        self.files[number] = file = replace(file, partition={**asked, **file.partition})
        self._twice[number] = own & file.partition.keys()
        if sum(sizes):
            self._agree(file, {field.name: kind_of(field) for field in schema}, schema)
        for k, n_rows in enumerate(sizes):
            if n_rows:
                first = self.groups[-1].first + self.groups[-1].n_rows if self.groups else 0
                self.groups.append(Group(number, k, n_rows, first))

    def _agree(self, file: ListedFile, kinds: dict[str, str], schema: Any) -> None:
        """Every file has the columns of the first one, and the same kind of values in them."""
        if len(kinds) != len(schema.names):
            refuse_file(file.path, "two of its columns have one name")
        if not self.groups:
            self.kinds, self._first = {**kinds, **dict.fromkeys(file.partition, LABEL)}, file
            return
        own = {**kinds, **dict.fromkeys(file.partition, LABEL)}
        wanted = self.kinds if self._given is None else {n: self.kinds[n] for n in self._given if n in self.kinds}
        for name, kind in wanted.items():
            if name in self._ignored:
                continue
            if name not in own:
                raise InputError(
                    f"the files of a stream have the same columns; {file.path} has no {name!r}, which "
                    f"{self._first.path} has; add it (null where unknown), or leave the file out."
                )
            if own[name] != kind and NOTHING not in (own[name], kind):
                raise InputError(
                    f"a column has one type in all files; {name!r} holds {own[name]} in {file.path} and {kind} in "
                    f"{self._first.path}; convert one of them."
                )
            self.kinds[name] = own[name] if kind == NOTHING else kind
        more = sorted(set(own) - set(self.kinds) - self._ignored)
        if more and self._given is None:
            raise InputError(
                f"the files of a stream have the same columns; {file.path} has {more[0]!r}, which {self._first.path} "
                "has not; drop it, or name the columns in features=."
            )

    def _settle_partitions(self, labels: frozenset[str]) -> None:
        """Values of key=value folders are whole numbers where all of them read as such, else strings."""
        files = [self.files[number] for number in dict.fromkeys(group.file for group in self.groups)]
        self._texts: dict[str, bool] = {}
        for name in dict.fromkeys(name for file in files for name in file.partition):
            everywhere, said = all(name in file.partition for file in files), [f.partition.get(name) for f in files]
            whole = everywhere and name not in labels and are_whole(said)
            self._texts[name] = not whole
            if name in self.kinds:
                unknown = everywhere and all(value is None for value in said)
                self.kinds[name] = NOTHING if unknown else NUMBER if whole else LABEL

    def require(self, names: Sequence[str], what: str) -> None:
        """Columns that exist."""
        for name in names:
            if name not in self.kinds:
                raise InputError(
                    f"{what} names a column of the files; got {name!r}, they have "
                    f"{', '.join(map(repr, self.columns[:12]))}; correct it."
                )
            if self.kinds[name] not in (NUMBER, LABEL, NOTHING):
                raise InputError(
                    f"a column holds numbers or categories; {name!r} of {self._first.path} holds {self.kinds[name]}; "
                    "convert it (a date, for example, to days since a day), or leave it out by features=."
                )

    def read(self, group: Group, names: Sequence[str], batch_rows: int, skip: int = 0) -> Iterator[Any]:
        """Record batches of so many rows, the last one of fewer; skip: rows to pass over, a multiple of batch_rows."""
        file = self.files[group.file]
        stored = [name for name in names if name not in file.partition or name in self._twice[group.file]]
        done = 0
        try:
            for batch in self._batches(group, stored, batch_rows):
                self._validate(batch)
                if done >= skip:
                    yield self._with_partition(batch, file, names)
                done += batch.num_rows
        except (OSError, UnicodeError, self.arrow.ArrowException) as error:
            refuse_file(file.path, error)
        if done != group.n_rows:
            refuse_file(file.path, f"{done} rows where there were {group.n_rows} when the fit began")

    def _batches(self, group: Group, stored: list[str], batch_rows: int) -> Iterator[Any]:
        path = str(self.files[group.file].path)
        if group.file in self._footers:
            footer = self._footers[group.file]
            with open_parquet(path, metadata=footer, buffer_size=2**20, pre_buffer=False) as file:
                yield from file.iter_batches(batch_rows, row_groups=[group.number], columns=stored, use_threads=False)
            return
        with self.arrow.memory_map(path) as data:
            whole = require_pyarrow("pyarrow.ipc").open_file(data).get_batch(group.number).select(stored)
            for start in range(0, group.n_rows, batch_rows):
                yield whole.slice(start, batch_rows)

    def _validate(self, batch: Any) -> None:
        """Lengths, offsets and text of a damaged file lead anywhere, out of memory too: Arrow checks them if asked."""
        types = self.arrow.types
        for column in batch.columns:
            plain = types.is_primitive(column.type) or types.is_decimal(column.type) or types.is_null(column.type)
            column.validate(full=not plain)

    def _with_partition(self, batch: Any, file: ListedFile, names: Sequence[str]) -> Any:
        arrays, arrow = [], self.arrow
        for name in names:
            if name in file.partition:
                if name in batch.schema.names:
                    refuse_contradiction(file.path, name, file.partition[name], batch.column(name))
                value = value_of(file.partition[name], self._texts[name])
                kind = arrow.string() if self._texts[name] else arrow.int64()
                arrays.append(arrow.array([value], kind).take(arrow.array([0] * batch.num_rows, arrow.int32())))
            else:
                arrays.append(batch.column(name))
        return arrow.record_batch(arrays, names=list(names))
