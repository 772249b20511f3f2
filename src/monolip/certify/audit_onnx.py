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
from monolip.input_columns import is_missing
from monolip.sealed_file import named_path

__all__ = ["as_numbers", "onnx_scores", "open_session", "session_of"]


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


def onnx_scores(session: Any, native: Any) -> NDArray[Any]:
    """The outputs for a table: the last output where the first is a class label, else the first."""
    inputs = session.get_inputs()
    if len(inputs) == 1:
        kind = np.float64 if "double" in inputs[0].type else np.float32
        feed: Mapping[str, Any] = {inputs[0].name: np.asarray(native, dtype=kind)}
    else:
        feed = _by_column(inputs, native)
    found = session.run(None, feed)
    is_label = np.asarray(found[0]).dtype.kind not in "f"
    return as_numbers(found[-1] if is_label else found[0])


def _by_column(inputs: Any, native: Any) -> dict[str, Any]:
    frame = nw.from_native(native, eager_only=True, pass_through=True)
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
    feed: dict[str, Any] = {}
    for k, entry in enumerate(inputs):
        column = np.asarray(frame[entry.name].to_numpy() if isinstance(frame, nw.DataFrame) else native[:, k])
        if entry.type == "tensor(string)":
            column = _texts(column)
        feed[entry.name] = column.astype(kinds.get(entry.type, np.object_)).reshape(-1, 1)
    return feed


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
