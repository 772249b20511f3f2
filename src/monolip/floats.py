"""Numbers from whatever a user passes, and arrays that nobody can write to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["locked", "to_floats"]

FloatArray = NDArray[np.float64]


def to_floats(values: Any, *, allow_bool: bool = False) -> FloatArray:
    """A new float64 array of the same shape; raises TypeError or ValueError for what is not plainly a number.

    numpy would read "05" as 5, True as 1, a date as nanoseconds, and drop the mask of a masked array.

    >>> to_floats([1, 2.5])
    array([1. , 2.5])
    """
    if type(values) is np.ndarray and values.dtype == np.float64:  # nothing to find out
        return values.copy()
    if hasattr(values, "detach"):  # a torch tensor, also one that requires gradients
        values = values.detach().cpu().double().numpy()
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise TypeError("masked values are not numbers")
    array = np.asarray(values)
    if array.dtype.kind == "O":
        wrong = [v for v in array.ravel() if isinstance(v, str | bytes | bool | np.bool_ | complex | None)]
        if wrong:
            raise TypeError(f"{wrong[0]!r} is not a number")
    elif array.dtype.kind not in ("iufb" if allow_bool else "iuf"):
        raise TypeError(f"values of type {array.dtype} are not numbers")
    return np.array(array, dtype=np.float64)


def locked(array: FloatArray) -> FloatArray:
    """A copy that cannot be written to, not even after setflags(write=True): its memory is a bytes object.

    -0.0 becomes 0.0, so that equal numbers have equal bytes, hashes and digests.
    """
    plain = np.ascontiguousarray(array, dtype=np.float64) + 0.0
    return np.frombuffer(plain.tobytes(), dtype=np.float64).reshape(array.shape)
