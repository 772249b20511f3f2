"""What a fit found out about itself, beside the network in a model file: history, passes, caps, calibration.

None of it changes a prediction or a promise. Read from a file it is checked like everything else: a wrong type is an
error, not a surprise later.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from monolip.errors import FrozenFileError
from monolip.estimators.calibration import Calibration
from monolip.frozen import FrozenNetwork
from monolip.input_columns import plain_value

__all__ = ["Facts", "count_members", "stays_additive"]

_FIELDS = {"history", "n_iter", "capped", "calibration"}
_MOST = 10_000  # rows of a history: far more than any fit writes
_LARGEST = 2**53  # of whole numbers in it
# What a row of the history holds: of a member after a stage, and of a stream.
_MEMBER_ROW = {
    "member": int,
    "n_bins": int,
    "stage": int,
    "refit": bool,
    "steps": int,
    "slope_decay": float,
    "training_loss": float,
    "validation_loss": float,
    "seconds": float,
    "chosen": bool,
}
_STREAM_ROW = {"stream_rows": int, "validation_loss": float}


@dataclass(frozen=True)
class Facts:
    """history: one row per member and stage; capped: features that max_slope names; calibration: of a classifier."""

    history: list[dict[str, Any]]
    n_iter: int
    capped: tuple[str, ...] = ()
    calibration: Calibration | None = None

    def written(self) -> dict[str, Any]:
        """Plain lists and numbers; numbers that are not finite become None."""
        return {
            "history": [{name: _finite(value) for name, value in entry.items()} for entry in self.history],
            "n_iter": int(self.n_iter),
            "capped": list(self.capped),
            "calibration": None if self.calibration is None else _finite(list(self.calibration)),
        }

    @classmethod
    def read(cls, written: Any, names: Iterable[str], path: str | PathLike[str]) -> Facts:
        """The inverse of `written`; names: the columns of the model."""
        try:
            if not isinstance(written, Mapping) or set(written) != _FIELDS:
                raise ValueError("fields")
            history, capped = written["history"], written["capped"]
            if not isinstance(history, list) or len(history) > _MOST or not all(map(_is_row, history)):
                raise ValueError("history")
            if type(written["n_iter"]) is not int or written["n_iter"] < 0:
                raise ValueError("n_iter")
            if not isinstance(capped, list) or not set(capped) <= set(names):
                raise ValueError("capped")
            return cls(history, written["n_iter"], tuple(capped), _calibration(written["calibration"]))
        except (ValueError, TypeError, OverflowError) as error:
            raise FrozenFileError(
                f"{path} has malformed facts of its fit ({reprlib.repr(error)}); get an undamaged copy."
            ) from error


def count_members(history: Iterable[Mapping[str, Any]]) -> int:
    """Return the number of members that a model consists of, by its history."""
    return len({entry["member"] for entry in history if entry.get("chosen") is True})


def _finite(value: Any) -> Any:
    plain = plain_value(value)
    if isinstance(plain, list | tuple):
        return [_finite(item) for item in plain]
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def stays_additive(network: FrozenNetwork) -> bool:
    """Return whether validation preferred the additive models to all that was trained around them."""
    return all(len(trunk.form.weights) == 1 for member in network.members for trunk in member)


def _is_row(row: Any) -> bool:
    """Return whether it is a row of a history; its numbers may be None, whole ones and truth values may not."""
    if not isinstance(row, dict):
        return False
    kinds = _STREAM_ROW if "stream_rows" in row else _MEMBER_ROW
    return row.keys() == kinds.keys() and all(_is_of(kind, row[name]) for name, kind in kinds.items())


def _is_of(kind: type, value: Any) -> bool:
    if kind is float:
        return value is None or (type(value) in (int, float) and abs(value) < math.inf)
    same: bool = type(value) is kind
    return same and 0 <= value < _LARGEST


def _calibration(written: Any) -> Calibration | None:
    if written is None:
        return None
    error, log_loss, bins, brier = written
    rows = tuple((_number(predicted), _number(observed), int(count)) for predicted, observed, count in bins)
    return Calibration(_number(error), _number(log_loss), rows, _number(brier))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{reprlib.repr(value)} is no number")
    return float(value)
