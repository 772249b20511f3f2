"""Models to compare with, each fitted on some rows and asked about others: ours again, ours unconstrained, trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from monolip.errors import InputError, PromiseWarning
from monolip.estimators._base import MonotonicBase
from monolip.estimators._tables import RawTable
from monolip.input_columns import CategoryColumn
from monolip.report.html_subject import Subject, rows_of

__all__ = ["Contender", "Rows", "baselines_of", "matrix_of", "ours"]

FloatArray = NDArray[np.float64]
KNOWN = ("unconstrained", "boosted")
_MANY = 255  # categories that scikit-learn's trees accept


@dataclass(frozen=True)
class Rows:
    """A table as given and as read, with targets as codes or numbers; some of them by `take`."""

    X: Any
    table: RawTable
    y: NDArray[Any]

    def take(self, rows: NDArray[np.int64]) -> Rows:
        return Rows(rows_of(self.X, rows), self.table.take(rows), self.y[rows])

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Contender:
    """answer(learn, ask): fitted on the first rows, predictions of the second: (n,) or (n, classes)."""

    name: str
    words: str
    answer: Callable[[Rows, Rows], FloatArray]


def ours(subject: Subject) -> Contender:
    """The same estimator with the same settings, fitted again."""
    return Contender("this model", "the promises above", lambda learn, ask: _refit(subject, {}, learn, ask))


def baselines_of(subject: Subject, names: Any) -> list[Contender]:
    """names: some of "unconstrained" and "boosted"; None or () for none."""
    wanted = [names] if isinstance(names, str) else list(names or ())
    unknown = [name for name in wanted if name not in KNOWN]
    if unknown:
        raise InputError(f"baselines are some of {', '.join(KNOWN)}; got {unknown[0]!r}; correct it, or pass ().")
    found = []
    if "unconstrained" in wanted and _is_constrained(subject.model):
        free = {"monotonic_cst": None, "slopes": None, "max_slope": None}
        words = "the same network, no direction or slope asked for"
        found.append(Contender("unconstrained", words, lambda learn, ask: _refit(subject, free, learn, ask)))
    if "boosted" in wanted:
        kind = "LightGBM" if find_spec("lightgbm") else "HistGradientBoosting"
        words = "default settings, no direction asked for"
        found.append(Contender(f"boosted trees ({kind})", words, lambda learn, ask: _trees(subject, learn, ask)))
    return found


def matrix_of(subject: Subject, table: RawTable) -> tuple[FloatArray, list[int]]:
    """Numbers with NaN for missing, categories as codes; and which columns hold codes."""
    assert subject.network.inputs is not None
    columns, codes = [], []
    for j, column in enumerate(subject.network.inputs.columns):
        if isinstance(column, CategoryColumn):
            code = table.columns[j].codes_in(column).astype(np.float64)
            columns.append(np.where(code < len(column.categories), code, np.nan))
            if len(column.categories) <= _MANY:
                codes.append(j)
        else:
            columns.append(table.columns[j].values)
    return np.stack(columns, axis=1), codes


def _is_constrained(model: MonotonicBase | None) -> bool:
    asked: list[Any] = [getattr(model, name, None) for name in ("monotonic_cst", "slopes", "max_slope")]
    directions, rest = asked[0], asked[1:]
    values = list(directions.values()) if isinstance(directions, Mapping) else np.ravel(directions).tolist()
    return any(v not in (0, None, {}) for v in values) or any(v is not None for v in rest)


def _refit(subject: Subject, changes: Mapping[str, Any], learn: Rows, ask: Rows) -> FloatArray:
    from sklearn.base import clone

    assert subject.model is not None
    model = clone(subject.model).set_params(warm_start=False, verbose=0, **changes)
    classes: NDArray[Any] | None = subject.model.classes_ if subject.labels else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PromiseWarning)  # told when the model itself was fitted
        model.fit(learn.X, learn.y if classes is None else classes[learn.y])
    if classes is None:
        return np.asarray(model.predict(ask.X))
    return _spread(model.predict_proba(ask.X), np.searchsorted(classes, model.classes_), len(classes))


def _trees(subject: Subject, learn: Rows, ask: Rows) -> FloatArray:
    (given, codes), (asked, _) = matrix_of(subject, learn.table), matrix_of(subject, ask.table)
    model = _lightgbm(subject, codes) if find_spec("lightgbm") else _hist_gradient(subject, codes)
    # about names of columns and unknown codes: nothing a reader of the page can change
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model.fit(given, learn.y)
        if not subject.labels:
            return np.asarray(model.predict(asked), dtype=np.float64)
        return _spread(model.predict_proba(asked), np.asarray(model.classes_), len(subject.labels))


def _lightgbm(subject: Subject, codes: list[int]) -> Any:
    import lightgbm  # type: ignore[import-untyped,unused-ignore]

    common: dict[str, Any] = {
        "n_jobs": 1,
        "verbose": -1,
        "random_state": 0,
        "deterministic": True,
        "force_row_wise": True,
    }
    common["categorical_feature"] = codes
    if subject.labels:
        return lightgbm.LGBMClassifier(**common)
    loss, level = getattr(subject.model, "loss", "squared_error"), getattr(subject.model, "loss_parameter", None)
    same = {"absolute_error": "regression_l1", "huber": "huber", "quantile": "quantile", "poisson": "poisson"}
    same |= {"gamma": "gamma", "tweedie": "tweedie"}
    extra: dict[str, Any] = {"alpha": level or 0.5} if loss == "quantile" else {}
    return lightgbm.LGBMRegressor(objective=same.get(loss, "regression"), **extra, **common)


def _hist_gradient(subject: Subject, codes: list[int]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    common: dict[str, Any] = {"categorical_features": codes or None, "random_state": 0}
    if subject.labels:
        return HistGradientBoostingClassifier(**common)
    loss, level = getattr(subject.model, "loss", "squared_error"), getattr(subject.model, "loss_parameter", None)
    same = {"huber": "squared_error", "tweedie": "poisson"}
    extra = {"quantile": level or 0.5} if loss == "quantile" else {}
    return HistGradientBoostingRegressor(loss=same.get(loss, loss), **extra, **common)


def _spread(probabilities: Any, places: NDArray[Any], n: int) -> FloatArray:
    """Columns of the classes a model has seen, among all classes."""
    out = np.zeros((len(probabilities), n))
    out[:, places] = probabilities
    return out
