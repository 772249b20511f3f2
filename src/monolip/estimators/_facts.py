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
_MOST = 10_000  # entries of a history: far more than any fit writes


@dataclass(frozen=True)
class Facts:
    """history: one entry per training; capped: features that max_slope names; calibration: of a classifier, or None."""

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
            if not isinstance(history, list) or len(history) > _MOST or not all(map(_is_entry, history)):
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


def _is_entry(entry: Any) -> bool:
    """A dict of names to numbers, words, or lists of numbers, as history_ has them."""
    if not isinstance(entry, dict) or not all(isinstance(name, str) for name in entry):
        return False
    flat = [item for value in entry.values() for item in (value if isinstance(value, list) else [value])]
    return all(item is None or isinstance(item, str | bool | int | float) for item in flat)


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
