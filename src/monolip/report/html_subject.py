"""What a report is about: the network and its proof, the rows that were given, and the words for its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.certify.certificate import Certificate, Claim, certify
from monolip.errors import InputError
from monolip.estimators._base import MonotonicBase
from monolip.estimators._prediction import Predictor
from monolip.estimators._schema import Schema, table_like
from monolip.estimators._tables import RawTable
from monolip.estimators.slope_table import SlopeTable
from monolip.frames import as_frame
from monolip.frozen import FrozenNetwork
from monolip.input_columns import NumericColumn
from monolip.output_link import probability_of
from monolip.report._shape import seen_values
from monolip.report.html_text import plain

__all__ = ["Subject", "distinct_names", "network_of", "rows_of", "subject_of", "targets_of"]

FloatArray = NDArray[np.float64]
NO_TARGET = "prediction"  # what a page calls the answer where nobody has named it


@dataclass(frozen=True)
class Subject:
    """model: the estimator, or None where only a network was given. table, y: rows as read, or None. X: as given.

    y: codes of classes (positions in labels), or numbers. target: the name of what is predicted. names, labels: of
    features and classes (in the order of probabilities; none for regression) as they are shown, everywhere below.
    named: of two classes the position of the one that the page is about.
    """

    network: FrozenNetwork
    model: MonotonicBase | None
    certificate: Certificate
    slopes: SlopeTable
    target: str
    units: Mapping[str, str]
    X: Any = None
    table: RawTable | None = None
    y: NDArray[Any] | None = None
    claims: dict[tuple[str, str], Claim] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    named: int = 1

    @property
    def is_turned(self) -> bool:
        """Whether sentences are about the other class than f, and directions therefore read the other way round."""
        return self.link == "logit" and self.named != self.about

    @property
    def about(self) -> int:
        """Of two classes the position of the one that f is about; 1 where there is no choice."""
        return 0 if self.network.link is not None and self.network.link.positive == 0 else 1

    def probability(self, k: int) -> str:
        """The probability of a class in words: of its target, where the model or the page knows its name."""
        assert self.network.link is not None
        assert self.network.link.labels is not None
        target = self.network.link.target or (None if self.target == NO_TARGET else self.target)
        label = True if self.network.link.labels[k] is True else self.labels[k]
        return probability_of(label, None if target is None else plain(target, 80))

    def of_named(self, y: NDArray[Any], probabilities: FloatArray) -> tuple[NDArray[Any], FloatArray]:
        """Codes (n,) and probabilities (n, classes); of two classes with the one the page is about as the second."""
        first = self.link == "logit" and self.named == 0
        return (1 - y, probabilities[:, ::-1]) if first else (y, probabilities)

    @property
    def link(self) -> str:
        assert self.network.link is not None
        return self.network.link.name

    @property
    def scale(self) -> str:
        """The scale of f, in words."""
        if self.link == "logit":
            return f"log-odds of {self.probability(self.about)}"
        return {"identity": self.target, "log": f"log of {self.target}", "softmax": "logit"}[self.link]

    def unit(self, name: str) -> str:
        return self.units.get(name, "")

    def with_unit(self, name: str) -> str:
        return f"{name} ({self.units[name]})" if name in self.units else name

    def evaluate(self, table: RawTable) -> FloatArray:
        """f, shape (n, n_outputs), with the bits of `predict`."""
        return Predictor(self.network).evaluate(table)

    def predictions(self, f: FloatArray) -> FloatArray:
        """Numbers (n,), or probabilities (n, classes)."""
        assert self.network.link is not None
        return self.network.link.apply(f)

    def seen(self, j: int) -> tuple[float, ...]:
        """Lowest, median and highest training value of numeric feature j, or its one or two values."""
        assert self.network.inputs is not None
        column = self.network.inputs.columns[j]
        assert isinstance(column, NumericColumn)
        return seen_values(self.network, self.table, j, column)

    def span(self, j: int) -> tuple[float, float] | None:
        """Where nearly all of the rows lie in numeric feature j, so that one outlier does not squeeze a picture."""
        values = self.numbers(j)
        if self.table is None or len(values) < 20:
            return None
        low, high = (float(v) for v in np.quantile(values, (0.005, 0.995)))
        return (low, high) if low < high else None

    def numbers(self, j: int) -> FloatArray:
        """The known values of a numeric feature in the rows; empty without rows."""
        if self.table is None or not self.table.columns[j].is_numeric:
            return np.zeros(0)
        values = self.table.columns[j].values
        return np.asarray(values[np.isfinite(values)])


def subject_of(
    model: Any, X: Any, y: Any, target: str | None, units: Mapping[str, str] | None, positive: Any = None
) -> Subject:
    """Read and check everything that was given."""
    network = network_of(model)
    assert network.inputs is not None
    estimator = model if isinstance(model, MonotonicBase) else None
    certificate = estimator.certificate_ if estimator is not None else certify(network)
    slopes = SlopeTable.of(network, estimator._capped if estimator is not None else (), certificate)  # of f itself
    words = dict(units or {})
    unknown = [name for name in words if name not in network.inputs.names]
    if unknown:
        raise InputError(f"units are given by feature; got {unknown[:3]}; the features are {network.inputs.names[:8]}.")
    if y is not None and X is None:
        raise InputError("y belongs to rows; got y without X; pass X=.")
    table = None
    if X is not None:
        schema = estimator._schema if estimator is not None else Schema.of(network.inputs)
        table = table_like(X, schema, type(model).__name__)
    given = {"X": X, "table": table, "y": None if y is None else targets_of(network, table, y)}
    names = distinct_names(network.inputs.names, 80)
    classes = [str(label) for label in (network.link.labels if network.link else None) or ()]
    labels = distinct_names(classes, 60)
    name_of = dict(zip(network.inputs.names, names, strict=True))
    label_of = {"": "", **dict(zip(classes, labels, strict=True))}
    rows = tuple(r._replace(feature=name_of[r.feature], output=label_of[r.output]) for r in slopes)
    claims = {(name_of[claim.feature], label_of[claim.output]): claim for claim in certificate}
    units_ = {name_of[name]: plain(unit, 20) for name, unit in words.items()}
    table_ = SlopeTable(rows, slopes.unit)
    shown: dict[str, Any] = {"claims": claims, "names": names, "labels": labels}
    shown["named"] = _named(network, classes, positive)
    return Subject(network, estimator, certificate, table_, plain(target or NO_TARGET, 80), units_, **given, **shown)


def _named(network: FrozenNetwork, classes: Sequence[str], positive: Any) -> int:
    """Of two classes the position of `positive`; without it of the one that f is about."""
    if positive is None:
        return 0 if network.link is not None and network.link.positive == 0 else 1
    if len(classes) != 2 or str(positive) not in classes:
        known = f"the classes {classes}" if classes else "no classes"
        raise InputError(
            f"positive is one of the two classes of a classifier; got {positive!r} and {known[:200]}; name one of "
            "them, or leave it out."
        )
    return classes.index(str(positive))


def distinct_names(names: Sequence[str], most: int) -> tuple[str, ...]:
    """Names cut to a bounded length and still distinct."""
    cut = [plain(name, most) for name in names]
    counts, out = Counter(cut), []
    taken = {name for name in cut if counts[name] == 1}
    for k, name in enumerate(cut):
        told, tail = (name, k) if counts[name] == 1 else (f"{name} #{k}", k)
        while counts[name] > 1 and told in taken:
            tail += len(cut)
            told = f"{name} #{tail}"
        taken.add(told)
        out.append(told)
    return tuple(out)


def rows_of(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of any table, as a table of the same kind."""
    frame = as_frame(X)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist()].to_native()
    array = np.asarray(X) if not isinstance(X, list | tuple) else np.array(X, dtype=object)
    return array[rows]


def network_of(model: Any) -> FrozenNetwork:
    if isinstance(model, MonotonicBase):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        fitted: FrozenNetwork = model.frozen_
        return fitted
    got = type(model).__name__
    if isinstance(model, FrozenNetwork):
        if model.inputs is not None and model.link is not None and model.is_convex and not model.n_free_features:
            return model
        got = "one without raw columns or a link, in paper form, or with free features"
    raise InputError(
        "a report is written of a fitted MonotonicRegressor or MonotonicClassifier, or of a FrozenNetwork in convex "
        f"form with raw columns and a link; got {got}; pass one (of a Pipeline: its last step)."
    )


def targets_of(network: FrozenNetwork, table: RawTable | None, y: Any) -> NDArray[Any]:
    assert network.link is not None
    assert table is not None
    values = np.asarray(y)
    if values.ndim != 1 or len(values) != table.n_rows:
        raise InputError(f"y has one entry per row of X; got shape {values.shape} for {table.n_rows} rows; match them.")
    if network.link.labels is None:
        try:
            numbers = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"the target of a regressor is a number; {error}; convert y.") from None
        if not np.isfinite(numbers).all():
            raise InputError("targets are known and finite; got NaN or infinity in y; drop those rows.")
        return numbers
    codes = {label: code for code, label in enumerate(network.link.labels)}
    unknown = sorted({str(label) for label in values.tolist() if label not in codes})
    if unknown:
        raise InputError(
            f"labels are among the classes of the model, {list(codes)[:8]}; got {unknown[:3]}; drop or rename those."
        )
    return np.array([codes[label] for label in values.tolist()], dtype=np.int64)
