"""A digest of everything a fit learns from, so that a warm start notices other rows."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target

__all__ = ["data_digest"]


def data_digest(table: RawTable, target: Target) -> dict[str, str]:
    """sha256 of X and of y with its weights, offset and groups, by the argument they came from; a second a gigabyte.

    Values count, not types: a column read from pandas or from numpy is the same column.
    """
    of_x = hashlib.sha256("\x1f".join(table.names).encode())
    for column in table.columns:
        _update(of_x, column.labels)
    of_y = hashlib.sha256()
    for part in (target.y, target.weight, target.offset, target.groups):
        _update(of_y, np.zeros(0) if part is None else part)
    return {"X": of_x.hexdigest(), "y (or its weights, offset or groups)": of_y.hexdigest()}


def _update(digest: Any, values: NDArray[Any]) -> None:
    digest.update(f"{len(values)}:".encode())
    if values.dtype.kind == "f":
        digest.update(np.ascontiguousarray(values, dtype=np.float64).view(np.uint8).data)
    else:
        digest.update("\x1f".join(map(repr, values.tolist())).encode("utf-8", "surrogatepass"))
