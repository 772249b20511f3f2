"""An ONNX file as a function from rows to scores; onnxruntime is loaded only when one is audited."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from os.path import isfile
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError, MissingExtraError
from monolip.frames import as_frame
from monolip.input_columns import is_missing
from monolip.sealed_file import named_path

__all__ = ["as_numbers", "onnx_scores", "open_session", "reads_columns", "session_of"]

_NAMES = {"float16": "f2", "float": "f4", "double": "f8", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8"}
_NAMES |= {"uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8", "bool": "?"}
_KINDS = {f"tensor({name})": np.dtype(code) for name, code in _NAMES.items()}


def open_session(path: str | PathLike[str]) -> Any:
    """An onnxruntime session on one thread; a damaged file is an InputError."""
    place = str(named_path(path))
    if not isfile(place):
        raise InputError(f"an ONNX model is a file; got {place!r}, which is none; check the path.")
    return session_of(place, "export the model again")


def session_of(model: str | bytes, advice: str) -> Any:
    """An onnxruntime session on one thread, of a file or of its bytes. advice: what to do where it cannot be read."""
    try:
        onnxruntime = import_module("onnxruntime")
    except ImportError:
        raise MissingExtraError("onnxruntime", "onnx") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own classes, one for each way a file can be wrong
        first = str(error).splitlines()[0][:200]
        raise InputError(f"onnxruntime must be able to read the file; got {first}; {advice}.") from None


def reads_columns(session: Any) -> bool:
    """Whether it has an input for each column, and not one for a matrix of numbers."""
    inputs = session.get_inputs()
    return len(inputs) > 1 or inputs[0].type == "tensor(string)"


def onnx_scores(session: Any, native: Any) -> NDArray[Any]:
    """The outputs for a table: the last output where the first is a class label, else the first."""
    inputs = session.get_inputs()
    if reads_columns(session):
        feed: Mapping[str, Any] = _by_column(inputs, native)
    else:
        whole, (name, kind) = np.asarray(native), (inputs[0].name, inputs[0].type)
        feed = {name: _tensor(whole.ravel(), name, kind).reshape(whole.shape)}
    found = session.run(None, feed)
    is_label = np.asarray(found[0]).dtype.kind not in "f"
    return as_numbers(found[-1] if is_label else found[0])


def _by_column(inputs: Any, native: Any) -> dict[str, Any]:
    frame = as_frame(native)
    feed: dict[str, Any] = {}
    for k, entry in enumerate(inputs):
        if not isinstance(frame, nw.DataFrame):
            column = np.asarray(native)[:, k]
        elif entry.name in frame.columns:
            column = np.asarray(frame[entry.name].to_numpy())
        else:
            raise InputError(f"the ONNX model reads a column {entry.name!r}, which the table lacks; add or rename one.")
        feed[entry.name] = _tensor(column, entry.name, entry.type).reshape(-1, 1)
    return feed


def _tensor(column: NDArray[Any], name: str, kind: str) -> NDArray[Any]:
    """kind: as onnxruntime calls it."""
    if kind == "tensor(string)":
        return _texts(column)
    if kind not in _KINDS:
        raise InputError(
            f"an audit feeds numbers and strings; the ONNX model wants {kind} in {name!r}; export another."
        )
    if column.dtype.kind in "fiub" and _KINDS[kind].kind == "f":
        return column.astype(_KINDS[kind])
    missing = np.array([is_missing(value) for value in column.tolist()], dtype=bool)
    if _KINDS[kind].kind == "f":
        try:
            return np.where(missing, np.nan, column).astype(_KINDS[kind])
        except (TypeError, ValueError):
            raise InputError(f"the ONNX model reads numbers in {name!r}; got {column.dtype}; convert it.") from None
    if missing.any():
        raise InputError(
            f"the ONNX model has no missing values in {name!r} ({kind}); got one in row {int(missing.argmax())}; fill "
            "them, or drop those rows."
        )
    try:
        with np.errstate(invalid="ignore"):  # told below
            whole = column.astype(_KINDS[kind])
        wrong = [value for value, read in zip(column.tolist(), whole.tolist(), strict=True) if value != read]
    except (OverflowError, TypeError, ValueError):
        wrong = [str(column.dtype)]
    if wrong:
        raise InputError(f"the ONNX model reads {kind} in {name!r}; got {wrong[0]}; pass values that it can hold.")
    return np.asarray(whole)


def _texts(column: NDArray[Any]) -> NDArray[Any]:
    """ONNX has no missing string: the empty one stands for it. None as it is would be read as the word None."""
    return np.array(["" if is_missing(value) else str(value) for value in column.tolist()], dtype=object)


def as_numbers(found: Any) -> NDArray[Any]:
    """Arrays, tensors, series, and lists of {class: probability}."""
    if hasattr(found, "detach"):
        found = found.detach().cpu().numpy()
    if isinstance(found, list) and found and isinstance(found[0], Mapping):
        found = [list(row.values()) for row in found]
    return np.asarray(found)
