"""Boosted trees under the same directions, each as people use it, stopped on rows of its own training part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.estimators._tables import read_table

__all__ = ["PEERS", "Matrix", "missing_package", "read_matrix"]

FloatArray = NDArray[np.float64]
ROUNDS, PATIENCE, RATE = 2000, 50, 0.05
INNER = 0.15  # share of a training part that decides when trees stop


@dataclass(frozen=True)
class Matrix:
    """x: (n, d), categories as codes 0, 1, ... and NaN for missing. codes: which columns. signs: directions, (d,)."""

    x: FloatArray
    names: tuple[str, ...]
    codes: tuple[int, ...]
    signs: tuple[int, ...]


Fit = Callable[[Matrix, NDArray[np.int64], NDArray[Any], FloatArray | None, int, int, int], Callable[[FloatArray], Any]]


def read_matrix(X: Any, monotonic_cst: Mapping[str, Any] | None, categorical: Sequence[str]) -> Matrix:
    """Any data frame as trees read it. Directions of categories are left out: trees do not know an order of codes."""
    table = read_table(nw.to_native(X, pass_through=True))
    columns, codes = [], []
    for j, column in enumerate(table.columns):
        if column.is_numeric and column.name not in categorical:
            columns.append(column.values)
            continue
        labels, number = column.factors
        order = sorted(range(len(labels)), key=lambda k: str(labels[k]))
        place = np.empty(len(labels))
        place[order] = np.arange(len(labels))
        gone = [k for k, label in enumerate(labels.tolist()) if label is None or label != label]
        place[gone] = np.nan
        columns.append(place[number])
        codes.append(j)
    wanted = monotonic_cst or {}
    signs = [0 if j in codes else int(wanted.get(name, 0)) for j, name in enumerate(table.names)]
    return Matrix(np.column_stack(columns), table.names, tuple(codes), tuple(signs))


def missing_package(name: str) -> str | None:
    """The line that installs what a peer needs, where it is not installed."""
    package = {"LightGBM": "lightgbm", "XGBoost": "xgboost"}.get(name)
    if package is None or find_spec(package) is not None:
        return None
    return f"pip install {package}"


def _lightgbm(
    m: Matrix,
    rows: NDArray[np.int64],
    y: NDArray[Any],
    weight: FloatArray | None,
    classes: int,
    seed: int,
    threads: int,
) -> Callable[[FloatArray], Any]:
    import lightgbm

    objective = {0: "regression", 2: "binary"}.get(classes, "multiclass")
    settings: dict[str, Any] = {"objective": objective, "learning_rate": RATE, "seed": seed, "num_threads": threads}
    settings |= {"verbosity": -1, "deterministic": True, "force_row_wise": True}
    if classes > 2:
        settings["num_class"] = classes
    elif any(m.signs):
        settings |= {"monotone_constraints": list(m.signs), "monotone_constraints_method": "advanced"}
    learn, watch = _inner(y, classes, seed)

    def part(of: NDArray[np.int64]) -> Any:
        own = None if weight is None else weight[rows[of]]
        return lightgbm.Dataset(
            m.x[rows[of]], y[of], weight=own, categorical_feature=list(m.codes), free_raw_data=False
        )

    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    data = part(learn)
    booster = lightgbm.train(settings, data, ROUNDS, valid_sets=[part(watch)], callbacks=[stop])
    return lambda x: booster.predict(x, num_iteration=booster.best_iteration)


def _xgboost(
    m: Matrix,
    rows: NDArray[np.int64],
    y: NDArray[Any],
    weight: FloatArray | None,
    classes: int,
    seed: int,
    threads: int,
) -> Callable[[FloatArray], Any]:
    import xgboost

    objective = {0: "reg:squarederror", 2: "binary:logistic"}.get(classes, "multi:softprob")
    settings: dict[str, Any] = {"objective": objective, "eta": RATE, "seed": seed, "nthread": threads, "verbosity": 0}
    if classes > 2:
        settings["num_class"] = classes
    elif any(m.signs):
        settings["monotone_constraints"] = tuple(m.signs)
    kinds = ["c" if j in m.codes else "q" for j in range(m.x.shape[1])]
    learn, watch = _inner(y, classes, seed)

    def part(x: FloatArray, target: Any = None, own: Any = None) -> Any:
        return xgboost.DMatrix(x, target, weight=own, feature_types=kinds, enable_categorical=True)

    def rows_of(of: NDArray[np.int64]) -> Any:
        return part(m.x[rows[of]], y[of], None if weight is None else weight[rows[of]])

    evals = [(rows_of(watch), "watch")]
    booster = xgboost.train(
        settings, rows_of(learn), ROUNDS, evals=evals, early_stopping_rounds=PATIENCE, verbose_eval=False
    )
    return lambda x: booster.predict(part(x), iteration_range=(0, booster.best_iteration + 1))


def _hist_gradient(
    m: Matrix,
    rows: NDArray[np.int64],
    y: NDArray[Any],
    weight: FloatArray | None,
    classes: int,
    seed: int,
    threads: int,
) -> Callable[[FloatArray], Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    few = [j for j in m.codes if np.nanmax(m.x[:, j], initial=0) < 255]  # its limit; others are read as numbers
    settings: dict[str, Any] = {"learning_rate": RATE, "max_iter": ROUNDS, "n_iter_no_change": PATIENCE}
    settings |= {"early_stopping": True, "validation_fraction": INNER, "random_state": seed}
    settings |= {"categorical_features": few or None, "monotonic_cst": None if classes > 2 else list(m.signs)}
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind(**settings).fit(m.x[rows], y, sample_weight=None if weight is None else weight[rows])
    return model.predict_proba if classes else model.predict  # type: ignore[no-any-return]


def _inner(y: NDArray[Any], classes: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions to learn from and to stop on; with an equal share of every class where there are enough of each."""
    from sklearn.model_selection import train_test_split

    even = y if classes and np.bincount(y.astype(np.int64)).min() >= 2 and len(y) * INNER >= classes else None
    learn, watch = train_test_split(np.arange(len(y)), test_size=INNER, random_state=seed, stratify=even)
    return learn, watch


PEERS: dict[str, Fit] = {"LightGBM": _lightgbm, "XGBoost": _xgboost, "HistGradientBoosting": _hist_gradient}
