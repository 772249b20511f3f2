"""The target as the engine learns it: standardised, shifted or counted as classes, with weights and offsets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from monolip.engine.losses import Loss
from monolip.errors import InputError
from monolip.estimators._checks import LARGEST, numbers
from monolip.input_columns import is_missing, plain_value
from monolip.output_link import LONGEST_NAME, OutputLink

__all__ = [
    "LOSSES",
    "NO_OFFSET",
    "Target",
    "class_target",
    "class_target_like",
    "codes_among",
    "number_target",
    "number_target_like",
    "plain_labels",
    "read_loss",
    "read_offsets",
    "read_weights",
    "target_name",
    "with_name",
    "without_name",
]

FloatArray = NDArray[np.float64]

LOSSES = {
    "squared_error": "squared",
    "absolute_error": "absolute",
    "huber": "huber",
    "quantile": "pinball",
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": "tweedie",
}
NO_OFFSET = (
    "an offset needs one output: added to every class's logit alike it changes no probability; got an offset for {} "
    "classes; leave it out, or fit two classes."
)
_NOTHING = 1e-30  # of the largest weight: in single precision such a row would not count
_FAR = 1e12  # no f gets there
_LOG_LINK = ("poisson", "gamma", "tweedie")


@dataclass(frozen=True)
class Target:
    """f in the user's units is scale * (what the engine learns) + shift; classes: class numbers, for even folds.

    deviation: the plain standard deviation that slope caps are counted in (1 under a link). groups: rows of one number
    belong together.
    """

    y: FloatArray
    loss: Loss
    link: OutputLink
    weight: FloatArray | None
    offset: FloatArray | None
    scale: float = 1.0
    shift: float = 0.0
    classes: NDArray[np.int64] | None = None
    deviation: float = 1.0
    groups: NDArray[np.int64] | None = None

    @property
    def n_outputs(self) -> int:
        return self.link.n_outputs

    @property
    def averaged(self) -> FloatArray:
        """What is averaged over the rows of a category: y, or of several classes whether a row is of each, (n, k)."""
        if self.classes is None or self.n_outputs == 1:
            return self.y
        return np.asarray(self.classes[:, None] == np.arange(self.n_outputs), np.float64)

    def take(self, rows: NDArray[np.int64]) -> Target:
        """Some of the rows."""
        parts = {"weight": self.weight, "offset": self.offset, "classes": self.classes, "groups": self.groups}
        picked: dict[str, Any] = {name: None if part is None else part[rows] for name, part in parts.items()}
        return replace(self, y=self.y[rows], **picked)


def read_loss(loss: Any, parameter: Any) -> Loss:
    """The engine's loss of this name; its parameter lies where it may."""
    if not isinstance(loss, str) or loss not in LOSSES:
        raise InputError(f"loss is one of {', '.join(LOSSES)}; got {loss!r}; choose one of them.")
    found = Loss(LOSSES[loss], parameter)
    found.resolved()
    return found


def number_target(y: Any, loss: str, parameter: float | None, weight: Any, offset: Any, n_rows: int) -> Target:
    """Squared and absolute losses learn a standardised target; under a log link the target is divided by its mean."""
    engine_loss = read_loss(loss, parameter)
    values = _column(y, n_rows)
    weights, shifts = read_weights(weight, n_rows), read_offsets(offset, n_rows)
    if loss in _LOG_LINK:
        if (values < 0).any() or not values.any() or (loss == "gamma" and not (values > 0).all()):
            need = "greater than 0" if loss == "gamma" else "at least 0, and not all 0"
            raise InputError(f"a target of the {loss} loss is {need}; got {values.min():g}; use another loss.")
        mean = float(np.average(values, weights=weights))
        if not mean > 0.0:
            raise InputError(f"a target of the {loss} loss is above 0 in some row that counts; got none; add one.")
        return Target(values / mean, engine_loss, OutputLink("log"), weights, shifts, 1.0, float(np.log(mean)))
    free = values if shifts is None else values - shifts
    shift, scale = _center_and_scale(free, weights, loss != "squared_error")
    plain = scale if loss == "squared_error" else _center_and_scale(free, weights, False)[1]
    standard = (free - shift) / scale  # an offset is taken off here, where a large one cancels without loss
    if loss != "squared_error":  # far outliers pull no harder the farther they are, and stay in single precision
        standard = np.clip(standard, -_FAR, _FAR)
    return Target(standard, engine_loss, OutputLink(), weights, None, scale, shift, deviation=plain)


def number_target_like(
    target: Target, y: Any, loss: str, parameter: float | None, weight: Any, offset: Any, n_rows: int
) -> Target:
    """Return the target of validation rows in the units of another one."""
    own = number_target(y, loss, parameter, weight, offset, n_rows)
    if target.link.name == "log":
        ratio = math.exp(own.shift - target.shift)
        return replace(own, y=own.y * ratio, shift=target.shift)
    values = _column(y, n_rows)
    shifts = read_offsets(offset, n_rows)
    standard = ((values if shifts is None else values - shifts) - target.shift) / target.scale
    if loss != "squared_error":
        standard = np.clip(standard, -_FAR, _FAR)
    return replace(own, y=standard, scale=target.scale, shift=target.shift, deviation=target.deviation)


def codes_among(classes: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the position of each label in the sorted classes, and the rows whose label is none of them."""
    try:
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1).astype(np.int64)
        same = np.asarray(classes[codes] == labels)
        if same.shape != labels.shape:  # types that numpy does not compare
            raise TypeError
    except TypeError:
        return np.zeros(len(labels), np.int64), np.arange(len(labels))
    return codes, np.flatnonzero(~same)


def class_target_like(
    target: Target, labels: NDArray[Any], classes: NDArray[Any], weight: Any, offset: Any, by_class: FloatArray | None
) -> Target:
    """Return the target of validation rows whose labels are among the classes that were seen in training.

    by_class: a weight for each class, times the weight of the row.
    """
    codes, unknown = codes_among(classes, labels)
    if len(unknown):
        raise InputError(
            f"validation rows have the classes of the training rows, {classes.tolist()[:8]}; got "
            f"{plain_value(labels[unknown[0]])!r} in row {int(unknown[0])} of y_val; leave such rows out, or give "
            "labels of the same type."
        )
    weights = read_weights(weight, len(codes))
    if by_class is not None:
        weights = by_class[codes] if weights is None else by_class[codes] * weights
    link = target.link
    return class_target(codes, classes, weights, offset, link.positive, link.target)


def _center_and_scale(values: FloatArray, weights: FloatArray | None, robust: bool) -> tuple[float, float]:
    """Mean and standard deviation; for robust losses median and quartiles, which outliers do not move."""
    size = float(np.abs(values).max()) or 1.0  # squares of 1e200 overflow
    part = values / size
    center = _average(part, weights)
    scale = math.sqrt(_average((part - center) ** 2, weights))
    if robust:
        low, middle, high = np.quantile(part if weights is None else part[weights > 0], [0.25, 0.5, 0.75])
        center, scale = float(middle), float(high - low) / 1.349 or scale
    if not scale > 1e-14 * abs(center):
        return center * size, 1e-6 * abs(center * size) or 1.0  # a constant target
    return center * size, scale * size


def _average(values: FloatArray, weights: FloatArray | None) -> float:
    return float(values.mean() if weights is None else np.average(values, weights=weights))


class _NamedArray(np.ndarray[Any, Any]):
    """A target with its name, as a Series has it."""

    name: str | None = None


def with_name(y: NDArray[Any], name: str) -> NDArray[Any]:
    """A target that `target_name` knows the name of; the values are shared."""
    named = y.view(_NamedArray)
    named.name = name
    return named


def without_name(y: Any) -> Any:
    """The values of what `with_name` made; anything else as it is."""
    return y.view(np.ndarray) if isinstance(y, _NamedArray) else y


def plain_labels(y: Any) -> Any:
    """Return labels of pandas' own types (boolean, Int64, category) as plain ones, and others as given."""
    if type(y).__module__.partition(".")[0] != "pandas" or isinstance(getattr(y, "dtype", np.dtype(float)), np.dtype):
        return y
    labels = y.tolist()
    if any(is_missing(label) for label in labels):
        return y  # refused where all labels are checked
    return np.array(labels)


def target_name(y: Any) -> str | None:
    """What y is called in the table it came from: a column of pandas or polars knows; None where nobody does."""
    names = getattr(y, "columns", None)
    name = getattr(y, "name", None) if names is None else names[0] if len(names) == 1 else None
    return name if isinstance(name, str) and 0 < len(name) <= LONGEST_NAME else None


def class_target(
    codes: NDArray[np.int64], labels: Any, weight: FloatArray | None, offset: Any, positive: int | None = None,
    name: str | None = None,
) -> Target:  # fmt: skip
    """Two classes: log-odds of the one at position `positive`, by default the second. More: one logit per class.

    offset: added to the log-odds of the second class.
    """
    link = OutputLink("logit" if len(labels) == 2 else "softmax", tuple(labels.tolist()), positive, name)
    loss = Loss("logistic" if len(labels) == 2 else "softmax")
    if offset is not None and len(labels) > 2:
        raise InputError(NO_OFFSET.format(len(labels)))
    shifts = read_offsets(offset, len(codes))
    y = codes if link.positive is None else codes == link.positive
    if shifts is not None:
        shifts = link.sign * shifts
    return Target(y.astype(np.float64), loss, link, weight, shifts, classes=codes)


def read_weights(weight: Any, n_rows: int) -> FloatArray | None:
    """One finite number >= 0 a row, not all 0; a single number counts for every row."""
    if weight is None:
        return None
    array = numbers("sample_weight", weight)
    array = np.full(n_rows, float(array)) if array.ndim == 0 else array
    if array.ndim != 1:
        raise InputError(f"Sample weights must be 1D array or scalar; got shape {array.shape}; pass one number a row.")
    if len(array) != n_rows:
        raise InputError(f"sample_weight has one number a row; got {len(array)} for {n_rows} rows; match them.")
    if not np.isfinite(array).all():
        raise InputError("sample weights must be finite; got NaN or infinity; replace them.")
    if (array < 0).any():
        raise InputError(
            "sample weights are at least 0: a negative weight rewards errors, and the loss has no minimum; got "
            f"{array.min():g}; drop those rows, or merge them with rows of positive weight they should cancel."
        )
    if not array.any():
        raise InputError("some row must count; got sample weights that are all zero; give a positive one.")
    if not 1e-100 < array.max() < 1e100:
        array = np.ldexp(array, -np.frexp(array.max())[1])  # exact; sums of 1e307 would overflow
    return np.where(array < _NOTHING * array.max(), 0.0, array)


def _column(y: Any, n_rows: int) -> FloatArray:
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuf"  # nothing for scikit-learn to look at
    try:
        values = np.asarray(y if plain else column_or_1d(y, warn=True), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the target of a regressor is one column of numbers; {error}; convert it.") from None
    if len(values) != n_rows:
        raise InputError(f"X and y must have the same number of rows; got {n_rows} and {len(values)}; match them.")
    if not np.isfinite(values).all():
        raise InputError("the target must be finite: y contains NaN or infinity; drop or fill those rows.")
    if np.abs(values).max() > LARGEST:
        raise InputError(f"targets lie within +-{LARGEST:g}; got {values[np.abs(values).argmax()]:g}; rescale y.")
    return values


def read_offsets(offset: Any, n_rows: int) -> FloatArray | None:
    """One number a row, added to f."""
    if offset is None:
        return None
    array = numbers("offset", offset)
    if array.shape != (n_rows,):
        raise InputError(f"offset is one finite number a row; got shape {array.shape} for {n_rows} rows; correct it.")
    if not (np.abs(array) <= LARGEST).all():
        row = int(np.argmin(np.abs(array) <= LARGEST))
        raise InputError(
            f"offset is one finite number a row, within +-{LARGEST:g}; got {array[row]} in row {row}; fill or drop it."
        )
    return array
