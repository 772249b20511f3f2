"""Tables from CSV, Parquet and Arrow files, by pyarrow; what is wrong with a file is said with its row and column."""

from __future__ import annotations

import glob
import hashlib
import io
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

from monolip.cli._names import nearest, require_columns
from monolip.errors import InputError, MissingExtraError
from monolip.estimators.stream._address import refuse_address
from monolip.estimators.stream._arrow import open_parquet

__all__ = ["Table", "file_digest", "pick", "pick_features", "read_data", "require_pyarrow"]

Table = Any  # pyarrow.Table: pyarrow has no types of its own
_TEXT, _ENCODING = "text is UTF-8", "pass --encoding, for example --encoding latin-1."
_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_ARROW = (b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")
_SEPARATORS = (",", ";", "\t", "|")
_MAX_BLOCK = 2**31 - 2  # pyarrow's; a column's type is decided by the first block, so one block holds a whole file


def require_pyarrow() -> Any:
    """pyarrow, or the line that installs it."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise MissingExtraError("pyarrow", "cli") from None


def file_digest(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_data(path: Path, *, encoding: str = "utf-8", separator: str | None = None, decimal: str = ".") -> Table:
    """A table with distinct column names and at least one row. "-" is CSV from standard input."""
    arrow = require_pyarrow()
    _refuse_stream(path)
    if str(path) == "-" and sys.stdin is None:
        raise InputError("- is a table from standard input; got a closed one; name a file.")
    source: Any = io.BytesIO(sys.stdin.buffer.read()) if str(path) == "-" else path
    head = source.getvalue()[:8] if str(path) == "-" else _head(path)
    if not head:
        raise InputError(f"a table has a header and rows; {path} is empty; name another file.")
    if head.startswith(_ZIP) or head.startswith(_OLD_EXCEL):
        kind = (
            "a zip archive" if head.startswith(_ZIP) and path.suffix.lower() == ".zip" else "an Excel file or archive"
        )
        raise InputError(f"a table is CSV, Parquet or Arrow; {path} is {kind}; save the sheet as CSV, or unpack it.")
    try:
        if head.startswith(b"PAR1"):
            table = open_parquet(source).read()
            table.validate(full=True)  # text and lengths of a damaged file lead anywhere
        elif head.startswith(_ARROW):
            table = _read_arrow(arrow, source, head)
            table.validate(full=True)
        else:
            table = _read_csv(arrow, source, path, encoding, separator, decimal)
        _check(table, path)
        return _plain(arrow, table)
    except UnicodeError:
        raise InputError(f"{_TEXT}; got other bytes in the header of {path}; {_ENCODING}") from None
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's; those of a reader have no number
            raise
        reason = str(error).removesuffix(".")
        binary = head.startswith((b"PAR1", *_ARROW))
        advice = "replace it by a whole copy" if binary else "correct the file, or pass --separator or --encoding"
        raise InputError(
            f"a table is CSV, Parquet or Arrow; {path} could not be read as one: {reason}; {advice}."
        ) from None


def pick(table: Table, names: list[str], what: str) -> Table:
    """Some columns; an unknown name is answered with the nearest known ones."""
    require_columns(names, table.column_names, what)
    return table.select(names)


def pick_features(table: Table, model: Any, path: Path) -> Table:
    """The columns a model was fitted on, in its order; others in the table do not matter."""
    names = list(model.frozen_.inputs.names)
    for name in names:
        if name not in table.column_names:
            near = nearest(name, table.column_names)
            raise InputError(f"a table has the columns {path.name} was fitted on; got one without {name!r}; {near}")
    return table.select(names)


def _refuse_stream(path: Path) -> None:
    """Only `fit` and `predict` read more than memory holds."""
    if not path.exists():
        refuse_address(str(path))
    if path.is_dir() or (not path.exists() and glob.has_magic(str(path))):
        kind = "a folder" if path.is_dir() else "a pattern"
        raise InputError(
            f"here a table is one file, read whole; got {str(path)!r}, which is {kind}; name one of its files (monolip "
            "fit and monolip predict read folders of any size)."
        )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8)


def _read_arrow(arrow: Any, source: Any, head: bytes) -> Table:
    if head.startswith(b"FEA1"):
        return import_module("pyarrow.feather").read_table(source)
    ipc = import_module("pyarrow.ipc")
    with arrow.input_stream(source) as stream:
        data = stream.read_buffer()
    return (ipc.open_file if head.startswith(b"ARROW1") else ipc.open_stream)(data).read_all()


def _read_csv(arrow: Any, source: Any, path: Path, encoding: str, separator: str | None, decimal: str) -> Table:
    csv = import_module("pyarrow.csv")
    with arrow.input_stream(source) as stream:  # .gz, .bz2 and .zst are unpacked
        data = stream.read_buffer()
    first = bytes(memoryview(data)[:65536])
    if b"\0" in first[:4096] and encoding.lower().replace("-", "") in ("utf8", "ascii"):
        raise InputError(f"a CSV file is text; {path} holds bytes that are none; name a CSV, Parquet or Arrow file.")
    try:
        head = first.decode(encoding, errors="replace").partition("\n")[0]
    except LookupError:
        raise InputError(f"an encoding is one Python knows; got {encoding!r}; try utf-8 or latin-1.") from None
    found = separator or max((mark for mark in _SEPARATORS if mark != decimal), key=head.count)
    if len(found) != 1 or not found.isascii():
        raise InputError(f"a separator is one ASCII character; got {separator!r}; pass --separator ';' for example.")
    convert = csv.ConvertOptions(strings_can_be_null=True, decimal_point=decimal)
    read = csv.ReadOptions(encoding=encoding, block_size=min(_MAX_BLOCK, max(data.size + 1, 2**16)))
    parse = csv.ParseOptions(delimiter=found, newlines_in_values=True)
    return csv.read_csv(arrow.BufferReader(data), read, parse, convert)


def _check(table: Table, path: Path) -> None:
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise InputError(
            f"column names are distinct; {path} has {repeated[0]!r} {Counter(table.column_names)[repeated[0]]} times; "
            "rename or remove one."
        )
    if not table.num_rows:
        raise InputError(f"a table has rows; {path} has a header with {table.num_columns} columns only; add rows.")


def _plain(arrow: Any, table: Table) -> Table:
    """Numbers, strings, booleans: runs, dictionaries and decimals are unpacked, bytes that are no text are refused."""
    types = arrow.types
    for at, name in enumerate(table.column_names):
        if types.is_run_end_encoded(table.schema.types[at]):
            runs = import_module("pyarrow.compute").run_end_decode(table.column(at))
            table = table.set_column(at, name, runs)
        kind = table.schema.types[at]
        if types.is_binary(kind) or types.is_large_binary(kind):
            raise InputError(f"{_TEXT}; got other bytes in column {name!r}; {_ENCODING}")
        wanted = None
        if types.is_decimal(kind) or types.is_float16(kind) or types.is_null(kind):
            wanted = arrow.float64()
        elif types.is_dictionary(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            wanted = arrow.string()
        if wanted is not None:
            column = table.column(at)  # decimals by way of their digits: Arrow's own cast is an ulp off now and then
            column = column.cast(arrow.string()) if types.is_decimal(kind) else column
            table = table.set_column(at, name, column.cast(wanted))
    return table
