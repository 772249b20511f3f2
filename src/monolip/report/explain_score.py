"""One score of a model, in which its promises are linear: f, or the log-odds of one class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.estimators._prediction import Predictor
from monolip.estimators._tables import RawColumn, RawTable
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, is_missing

__all__ = ["Row", "Score", "plain_row", "same_value"]

FloatArray = NDArray[np.float64]
Row = Mapping[str, Any]


def same_value(one: Any, other: Any) -> bool:
    """Whether two raw values are the same to a model: all missing values are."""
    return (is_missing(one) and is_missing(other)) or bool(one == other)


@dataclass(frozen=True)
class Score:
    """score(x) = sign * f(x), or f_k(x) - log sum of e^f_j over the other classes j: the log-odds of class k."""

    network: FrozenNetwork
    output: int
    sign: float
    label: Any = None
    fast: Predictor | None = field(default=None, compare=False)  # of an estimator: the same bits, compiled

    @classmethod
    def of(cls, model: Any, label: Any = None) -> Score:
        """model: a fitted estimator, or a FrozenNetwork with an input transform and a link. label: a class.

        None: of two classes the one that constraints name, else the last.
        """
        network = getattr(model, "frozen_", model)
        if not isinstance(network, FrozenNetwork) or network.inputs is None or network.link is None:
            raise InputError(
                f"an explanation needs a fitted estimator; got {type(model).__name__} without a schema of raw columns; "
                "fit one, or load the file that save() wrote."
            )
        labels = network.link.labels
        fast = Predictor(network) if network is not model else None
        if labels is None:
            if label is not None:
                raise InputError(f"a class belongs to a classifier; got {label!r} for a regression; leave it out.")
            return cls(network, 0, 1.0, None, fast)
        names = [str(name) for name in labels]
        usual = len(labels) - 1 if network.link.positive is None else network.link.positive
        at = usual if label is None else names.index(str(label)) if str(label) in names else -1
        if at < 0:
            raise InputError(f"an explanation is about one of the classes {names[:8]}; got {label!r}; choose one.")
        two = len(labels) == 2
        return cls(network, 0 if two else at, 1.0 if at == usual or not two else -1.0, labels[at], fast)

    @property
    def unit(self) -> str:
        assert self.network.link is not None
        if self.label is None:
            return self.network.link.unit
        return f"log-odds of {self.probability}"

    @property
    def probability(self) -> str | None:
        """The probability that is explained, in words; None of a regression."""
        link = self.network.link
        assert link is not None
        return None if self.label is None else link.probability((link.labels or ()).index(self.label))

    def of_columns(self, columns: Mapping[str, Any]) -> FloatArray:
        """Raw columns by name, (n,) each -> (n,)."""
        f = self._evaluate(columns)
        if f.shape[1] == 1:
            return self.sign * f[:, 0]
        others = np.delete(f, self.output, axis=1)
        top = others.max(axis=1)
        return np.asarray(f[:, self.output] - top - np.log(np.exp(others - top[:, None]).sum(axis=1)))

    def _evaluate(self, columns: Mapping[str, Any]) -> FloatArray:
        if self.fast is None:
            return self.network.evaluate_raw(columns)
        raw = tuple(RawColumn(name, np.asarray(columns[name])) for name in self.names)
        return self.fast.evaluate(RawTable(raw, True, len(raw[0].values)))

    def of_rows(self, rows: list[dict[str, Any]]) -> FloatArray:
        return self.of_columns({name: self.column(name, [row[name] for row in rows]) for name in self.names})

    @property
    def names(self) -> tuple[str, ...]:
        assert self.network.inputs is not None
        return self.network.inputs.names

    def column(self, name: str, values: list[Any]) -> NDArray[Any]:
        """Raw values of one column as the network takes them."""
        if self.is_category(name):
            return np.fromiter(values, dtype=object, count=len(values))
        return np.array([np.nan if is_missing(value) else float(value) for value in values])

    def is_category(self, name: str) -> bool:
        assert self.network.inputs is not None
        return isinstance(self.network.inputs.columns[self.names.index(name)], CategoryColumn)

    def prediction(self, score: float) -> float:
        """What a score means: the prediction, or the probability of the class."""
        assert self.network.link is not None
        if self.label is not None:
            return 1 / (1 + math.exp(-score)) if score > -700 else 0.0
        return float(self.network.link.apply(np.array([[score]]))[0])

    def score_for(self, prediction: float) -> float:
        """The inverse: the score at which the prediction, or the probability, is reached."""
        assert self.network.link is not None
        if self.label is not None:
            if not 0 < prediction < 1:
                raise InputError(
                    f"a probability to reach lies between 0 and 1; got {prediction}; pass 0.5 for example."
                )
            return math.log(prediction / (1 - prediction))
        if self.network.link.name == "log":
            if not prediction > 0:
                raise InputError(f"this model predicts positive numbers; got {prediction} to reach; pass one above 0.")
            return math.log(prediction)
        if not math.isfinite(prediction):
            raise InputError(f"a prediction to reach is a finite number; got {prediction}; pass one.")
        return float(prediction)

    def slopes(self, name: str) -> tuple[float, float]:
        """Certified bounds of the score's slope in a numeric feature, in raw units."""
        raw = self.network.raw_slopes
        at = (raw.feature_names or ()).index(name)
        own = raw.for_output(self.output)
        low, high = float(own.lower[at]), float(own.upper[at])
        if self.network.n_outputs == 1:
            return (low, high) if self.sign > 0 else (-high, -low)
        others = [raw.for_output(k) for k in range(self.network.n_outputs) if k != self.output]
        return low - max(float(o.upper[at]) for o in others), high - min(float(o.lower[at]) for o in others)


def plain_row(score: Score, row: Row, what: str) -> dict[str, Any]:
    """The features of a row, each given and of the right type."""
    absent = [name for name in score.names if name not in row]
    if absent:
        raise InputError(f"{what} has a value for every feature; got none for {absent[:3]}; add it (None: missing).")
    found = {name: row[name] for name in score.names}
    for name, value in found.items():
        if score.is_category(name) or is_missing(value):
            continue
        try:
            finite = math.isfinite(float(value))
        except (TypeError, ValueError, OverflowError):
            finite = False
        if not finite:
            raise InputError(f"{name!r} is a finite number; got {value!r} in {what}; correct it.")
    return found
