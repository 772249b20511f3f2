"""What a fit found out about itself, beside the network in a model file: history, passes, caps, calibration.

None of it changes a prediction or a promise. Read from a file it is checked like everything else: a wrong type is an
error, not a surprise later.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from monolip.errors import FrozenFileError
from monolip.estimators.calibration import Calibration
from monolip.frozen import FrozenNetwork
from monolip.input_columns import plain_value

__all__ = ["Facts", "staying_members", "stays_at_start", "told_members"]

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


def told_members(history: Iterable[Mapping[str, Any]]) -> int:
    """Members that a history tells of: those that stayed at their starts where it names them, else all that
    were trained and taken."""
    some = [entry for entry in history if isinstance(entry.get("member"), int)]  # stretches of a stream are of all
    every = [entry for entry in some if entry.get("taken") is not False]
    return len({entry["member"] for entry in [*filter(_stays, every)] or every})


def staying_members(history: Sequence[Mapping[str, Any]], n_members: int, n_bins: int) -> list[dict[str, Any]]:
    """Entries to add to a history whose trainings do not tell how many members there are.

    A model whose members stay at their additive starts holds one function for all. Who followed the others there, or
    had too few rows, was never trained; and some were trained whom the model has not.
    """
    if told_members(history) == n_members:
        return []
    known = {entry["member"] for entry in history if _stays(entry)}
    nothing = {"n_steps": 0, "slope_rate": 0.0, "slope_decay": 0.0, "holdout_loss": None, "seconds": 0.0}
    return [
        {"member": member, "n_bins": n_bins, "n_features": None, "taken": True, **nothing}
        for member in range(n_members)
        if member not in known
    ]


def _stays(entry: Mapping[str, Any]) -> bool:
    return entry.get("slope_rate") == 0.0  # no training has that


def _finite(value: Any) -> Any:
    plain = plain_value(value)
    if isinstance(plain, list | tuple):
        return [_finite(item) for item in plain]
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def stays_at_start(network: FrozenNetwork) -> bool:
    """Whether all that was trained has been left: the model is one additive function."""
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
