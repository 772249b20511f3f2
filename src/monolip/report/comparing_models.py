"""Boosted trees under the same directions, each as people use it, stopped on rows of its own training part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from monolip.estimators._groups import hold_out_groups
from monolip.estimators._schema import asked_categories
from monolip.estimators._tables import read_table
from monolip.monotonic_cst import by_position

__all__ = ["PEERS", "USUAL", "Lesson", "Matrix", "missing_package", "read_matrix"]

FloatArray = NDArray[np.float64]
Part = tuple[FloatArray, NDArray[Any], FloatArray | None]
Predict = Callable[[FloatArray], Any]
ROUNDS, PATIENCE, RATE = 2000, 50, 0.05
INNER = 0.15  # share of a training part that decides when trees stop


@dataclass(frozen=True)
class Matrix:
    """x: (n, d), categories as codes 0, 1, ... and NaN for missing. codes: which columns. signs: directions, (d,)."""

    x: FloatArray
    names: tuple[str, ...]
    codes: tuple[int, ...]
    signs: tuple[int, ...]


@dataclass(frozen=True)
class Lesson:
    """What a peer learns: the answers y of some rows of a matrix. weight, groups: of all rows. classes: 0 for a
    regression."""

    matrix: Matrix
    rows: NDArray[np.int64]
    y: NDArray[Any]
    weight: FloatArray | None
    classes: int
    seed: int
    threads: int
    groups: NDArray[np.int64] | None = None

    def inner(self) -> tuple[Part, Part]:
        """To learn from and to stop on; with an equal share of every class where there are enough of each, or whole
        groups."""
        from sklearn.model_selection import train_test_split

        y, seed = self.y, self.seed
        if self.groups is not None:
            held = hold_out_groups(self.groups[self.rows], INNER, seed, y if self.classes else None, needed=True)
            if held.any():  # of one group, or of one for each class, there is nothing to hold out but rows
                return self.part(np.flatnonzero(~held)), self.part(np.flatnonzero(held))
        enough = self.classes and np.bincount(y.astype(np.int64)).min() >= 2 and len(y) * INNER >= self.classes
        even = y if enough else None
        learn, watch = train_test_split(np.arange(len(y)), test_size=INNER, random_state=seed, stratify=even)
        return self.part(learn), self.part(watch)

    def part(self, at: NDArray[np.int64] | slice = slice(None)) -> Part:
        """x, y and weight at some of the rows."""
        rows = self.rows[at]
        return self.matrix.x[rows], self.y[at], None if self.weight is None else self.weight[rows]


def read_matrix(X: Any, monotonic_cst: Mapping[str, Any] | None, categorical: Sequence[str]) -> Matrix:
    """Any data frame as trees read it. Directions of categories are left out: trees do not know an order of codes."""
    table = read_table(nw.to_native(X, pass_through=True))
    columns, codes = [], []
    declared = asked_categories(list(categorical), table)
    for j, column in enumerate(table.columns):
        if column.is_numeric and j not in declared:
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
    wanted = by_position(monotonic_cst or {}, table.names, len(columns), table.labels)
    signs = [0 if j in codes else int(wanted.get(j, 0)) for j in range(len(columns))]
    return Matrix(np.column_stack(columns), table.names, tuple(codes), tuple(signs))


def missing_package(name: str, groups: bool = False) -> str | None:
    """The line that installs what a peer needs, where it is not installed. groups: to stop on whole ones."""
    if groups and name == "HistGradientBoosting" and not _takes_own_rows():
        return 'pip install "scikit-learn>=1.7"'
    package = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "CatBoost": "catboost"}.get(name)
    if package is None or find_spec(package) is not None:
        return None
    return f"pip install {package}"


def _takes_own_rows() -> bool:
    """Whether scikit-learn's trees can be told the rows they stop on."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return "X_val" in signature(HistGradientBoostingRegressor.fit).parameters


def _lightgbm(lesson: Lesson) -> Predict:
    import lightgbm

    m, classes = lesson.matrix, lesson.classes
    objective = {0: "regression", 2: "binary"}.get(classes, "multiclass")
    settings: dict[str, Any] = {"objective": objective, "learning_rate": RATE, "seed": lesson.seed}
    settings |= {"num_threads": lesson.threads, "verbosity": -1, "deterministic": True, "force_row_wise": True}
    if classes > 2:
        settings["num_class"] = classes
    elif any(m.signs):
        settings |= {"monotone_constraints": list(m.signs), "monotone_constraints_method": "advanced"}

    def data(x: FloatArray, y: Any, weight: Any) -> Any:
        return lightgbm.Dataset(x, y, weight=weight, categorical_feature=list(m.codes), free_raw_data=False)

    learn, watch = (data(*part) for part in lesson.inner())
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    booster = lightgbm.train(settings, learn, ROUNDS, valid_sets=[watch], callbacks=[stop])
    return lambda x: booster.predict(x, num_iteration=booster.best_iteration)


def _xgboost(lesson: Lesson) -> Predict:
    import xgboost

    m, classes = lesson.matrix, lesson.classes
    objective = {0: "reg:squarederror", 2: "binary:logistic"}.get(classes, "multi:softprob")
    settings: dict[str, Any] = {"objective": objective, "eta": RATE, "seed": lesson.seed}
    settings |= {"nthread": lesson.threads, "verbosity": 0}
    if classes > 2:
        settings["num_class"] = classes
    elif any(m.signs):
        settings["monotone_constraints"] = tuple(m.signs)
    kinds = ["c" if j in m.codes else "q" for j in range(m.x.shape[1])]

    def data(x: FloatArray, y: Any = None, weight: Any = None) -> Any:
        return xgboost.DMatrix(x, y, weight=weight, feature_types=kinds, enable_categorical=True)

    learn, watch = (data(*part) for part in lesson.inner())
    booster = xgboost.train(
        settings, learn, ROUNDS, evals=[(watch, "watch")], early_stopping_rounds=PATIENCE, verbose_eval=False
    )
    return lambda x: booster.predict(data(x), iteration_range=(0, booster.best_iteration + 1))


def _hist_gradient(lesson: Lesson) -> Predict:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    m, classes = lesson.matrix, lesson.classes
    few = [j for j in m.codes if np.nanmax(m.x[:, j], initial=0) < 255]  # its limit; others are read as numbers
    settings: dict[str, Any] = {"learning_rate": RATE, "max_iter": ROUNDS, "n_iter_no_change": PATIENCE}
    settings |= {"early_stopping": True, "validation_fraction": INNER, "random_state": lesson.seed}
    settings |= {"categorical_features": few or None, "monotonic_cst": None if classes > 2 else list(m.signs)}
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    x, y, weight = lesson.part()
    own: dict[str, Any] = {}
    if lesson.groups is not None:
        (x, y, weight), watch = lesson.inner()
        own = dict(zip(("X_val", "y_val", "sample_weight_val"), watch, strict=True))
    with threadpool_limits(lesson.threads):  # it has no such parameter
        model = kind(**settings).fit(x, y, sample_weight=weight, **own)
    return model.predict_proba if classes else model.predict  # type: ignore[no-any-return]


def _catboost(lesson: Lesson) -> Predict:
    import catboost

    m, classes = lesson.matrix, lesson.classes
    settings: dict[str, Any] = {"iterations": ROUNDS, "learning_rate": RATE, "early_stopping_rounds": PATIENCE}
    settings |= {"random_seed": lesson.seed, "thread_count": lesson.threads}
    settings |= {"verbose": False, "allow_writing_files": False}  # it would leave a folder catboost_info behind
    if classes <= 2 and any(m.signs):
        settings["monotone_constraints"] = list(m.signs)

    def data(x: FloatArray, y: Any = None, weight: Any = None) -> Any:
        cells: NDArray[Any] = x
        if m.codes:  # its categories are words, and no number may stand among them, NaN neither
            cells = x.astype(object)
            cells[:, list(m.codes)] = x[:, list(m.codes)].astype(str)
        return catboost.Pool(cells, y, weight=weight, cat_features=list(m.codes))

    learn, watch = (data(*part) for part in lesson.inner())
    kind = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
    model = kind(**settings).fit(learn, eval_set=watch)
    return lambda x: model.predict_proba(data(x)) if classes else model.predict(data(x))


PEERS: dict[str, Callable[[Lesson], Predict]] = {
    "LightGBM": _lightgbm,
    "XGBoost": _xgboost,
    "HistGradientBoosting": _hist_gradient,
    "CatBoost": _catboost,
}
USUAL = ("LightGBM", "XGBoost", "HistGradientBoosting")  # CatBoost is a large package: only where asked for
