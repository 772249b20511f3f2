"""What certified radii are reported as, and the units they are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.rounding import digits_down

__all__ = ["CertifiedRadii", "read_norm", "read_scale"]

FloatArray = NDArray[np.float64]
NORMS = {1: 1.0, 2: 2.0, np.inf: np.inf, "l1": 1.0, "l2": 2.0, "linf": np.inf}


@dataclass(frozen=True)
class CertifiedRadii:
    """What is proved, one entry per sample.

    radius: every change of at most this size, in units of `scale`, leaves the decision as it is; inf: any change of
        the features named in `moved`; 0: nothing is proved (the sample may lie on the boundary).
    decision: position of the class decided for. Of two classes where f > threshold it is the one that f is about, else
        the other; of another network with one output 1 where f > threshold, else 0.
    moved, scale: the features that may move, and what one unit of radius is in each. held: those held fixed.
    """

    radius: FloatArray
    decision: NDArray[np.int64]
    moved: tuple[str, ...]
    scale: FloatArray
    held: tuple[str, ...]
    norm: str
    method: str

    def certified_accuracy(self, right: Any, radii: Any) -> FloatArray:
        """Share of samples decided rightly and provably so within each radius. right: bool per sample, (n,)."""
        good = np.asarray(right, dtype=bool)
        if good.shape != self.radius.shape:
            raise InputError(f"right has one entry per sample; got {good.shape} for {self.radius.shape}; match them.")
        return np.array([float((good & (self.radius >= r)).mean()) for r in np.atleast_1d(radii)])

    def __str__(self) -> str:
        finite = self.radius[np.isfinite(self.radius)]
        middle = f"median {digits_down(float(np.median(self.radius)), 4):.4g}" if len(self.radius) else "no samples"
        held = f"; held fixed: {', '.join(self.held)}" if self.held else ""
        sure = len(self.radius) - len(finite)
        return (
            f"{len(self.radius)} radii, {self.norm}, {middle}, {sure} infinite; {len(self.moved)} features move{held}"
        )

    __repr__ = __str__


def read_norm(norm: Any) -> tuple[float, str]:
    """The power 1, 2 or infinity, and its name."""
    key = norm.lower() if isinstance(norm, str) else norm
    if isinstance(norm, bool) or key not in NORMS:
        raise InputError(f"norm is 1, 2 or inf (or 'l1', 'l2', 'linf'); got {norm!r}; choose one.")
    power = NORMS[key]
    return power, {1.0: "L1", 2.0: "L2"}.get(power, "Linf")


def read_scale(scale: Any, names: Sequence[str], values: FloatArray) -> FloatArray:
    """What one unit of radius is in each named feature. values: (n, features), for standard deviations."""
    if isinstance(scale, Mapping):
        unknown, absent = sorted(set(scale) - set(names)), [name for name in names if name not in scale]
        if unknown or absent:
            raise InputError(
                f"scale names every feature that can move, {list(names[:8])}; got unknown {unknown[:3]}, missing "
                f"{absent[:3]}; add them (0 holds a feature fixed)."
            )
        scale = [scale[name] for name in names]
    if scale is None:
        known = [column[~np.isnan(column)] for column in values.T]
        scale = [float(column.std()) if len(column) > 1 else 0.0 for column in known]
        if names and not any(scale):
            raise InputError("standard deviations need different rows; got none; pass scale=, from the training data.")
    try:
        sizes = np.array(np.broadcast_to(np.asarray(scale, dtype=np.float64), (len(names),)))
    except (TypeError, ValueError):
        raise InputError(
            f"scale is one number for each of {list(names[:8])}; got {scale!r}; pass a dict by name."
        ) from None
    if not (np.isfinite(sizes) & (sizes >= 0)).all() or (names and not sizes.any()):
        raise InputError(f"scales are finite, >= 0 and not all 0; got {sizes.tolist()[:8]}; correct them.")
    return sizes
