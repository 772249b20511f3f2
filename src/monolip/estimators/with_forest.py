"""WithFreeForest: a monotone estimator, and beside it a forest over the features nobody asked anything of."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from monolip.errors import InputError
from monolip.estimators._checks import whole
from monolip.estimators._free_columns import FreeColumns, free_places
from monolip.estimators._leftover import Leftover, best_share, is_hopeless
from monolip.estimators._promises import read_promises
from monolip.estimators._schema import table_like
from monolip.estimators._seed import first_number
from monolip.estimators._tables import RawTable, read_table
from monolip.estimators._targets import read_offsets
from monolip.estimators.classifier import MonotonicClassifier
from monolip.estimators.regressor import MonotonicRegressor

__all__ = ["WithFreeForest"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
MOST_ROWS = 65_536  # that a tree grows on
_OF_F = frozenset({"classes_", "n_features_in_", "feature_names_in_"})  # true of the sum as well
_OF_F_ALONE = frozenset({
    "calibration", "calibration_", "certificate_", "fit_stream", "frozen_", "model_columns", "predict_stream",
    "recalibrate", "save", "slopes_", "threshold", "to_torch",
})  # fmt: skip


def _classifies(model: WithFreeForest) -> bool:
    return isinstance(model.estimator, MonotonicClassifier)


class WithFreeForest(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """f(x) + share * g(free features): what f promises holds for the sum, bit for bit, since g does not see it.

    Trees find jumps, and rows that nearly come again, which a network has no cheap way to. The forest (scikit-learn's
    ExtraTreesRegressor) learns what f leaves over, from the features without direction, interval or cap, and
    cross-validation decides how much of it is added: nothing, where rows held out gain nothing. What is given up: the
    slope bounds of the free features (a forest jumps), and files, exports and certificates of the sum; those of
    `estimator_` speak of f alone.

    Args:
        estimator: a MonotonicRegressor (loss squared_error) or a MonotonicClassifier (two classes), fitted or not.
        n_trees, min_samples_leaf: of the forest.
        cv: parts of the rows; everything is fitted without each of them once, to choose the share (a part on which a
            forest does harm ends that).
        n_jobs: threads of the forest. random_state: a seed for forest and parts; the estimator has its own.

    Attributes:
        estimator_: f. forest_: g, None where nothing of it is added. share_: of g, 0 to 1.
        gain_: part of the loss that rows held out gained by it.
        free_features_: names of the features that g sees; they carry no promise. The slopes of all others are those in
            estimator_.slopes_.
        classes_, n_features_in_, feature_names_in_: those of f.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(600, 2))
        >>> y = X[:, 0] + np.floor(40 * X[:, 1]) % 3  # jumps forty times
        >>> model = WithFreeForest(MonotonicRegressor(monotonic_cst=[1, 0], random_state=0), random_state=0).fit(X, y)
        >>> model.free_features_, model.share_, model.gain_ > 0.1
        (('x1',), 1.0, True)
    """

    def __init__(
        self, estimator: Any, *, n_trees: int = 30, min_samples_leaf: int = 2, cv: int = 4, n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.estimator = estimator
        self.n_trees = n_trees
        self.min_samples_leaf = min_samples_leaf
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Self:
        """Fit f to all rows, and a forest to what it leaves over, where parts held out say that it is worth adding."""
        parts, seed = self._check(), first_number(self.random_state)
        f = clone(self.estimator).fit(X, y, sample_weight, offset)
        classes = getattr(f, "classes_", None)
        if classes is not None and len(classes) > 2:
            raise InputError(
                f"Only binary classification is supported with a forest; got {len(classes)} classes; fit the estimator."
            )
        places = free_places(read_promises(f._schema, f.monotonic_cst, f.slopes, f.max_slope, f.missing, classes))
        table = read_table(X)
        columns = FreeColumns.learn(table, f._schema, places)
        left, free = Leftover.of(y, classes, sample_weight, offset), columns.encode(table)
        share, gain = self._judge(table, y, left, free, parts, seed) if places else (0.0, 0.0)
        every = np.arange(len(free))
        self.forest_ = self._grow(free, left, self._outputs(f, X), every, seed) if share else None
        self.estimator_, self._columns, self.share_, self.gain_ = f, columns, share, gain
        self.free_features_ = tuple(f._schema.names[j] for j in places)
        return self

    def _check(self) -> int:
        """The number of parts; what cannot be meant is refused before anything is fitted."""
        if not isinstance(self.estimator, MonotonicRegressor | MonotonicClassifier):
            raise InputError(
                "a forest is added to a MonotonicRegressor or a MonotonicClassifier; got "
                f"{type(self.estimator).__name__}; pass one of them."
            )
        loss = getattr(self.estimator, "loss", "squared_error")
        if loss != "squared_error":
            raise InputError(f"a forest learns what squared_error leaves over; got loss={loss!r}; fit it alone.")
        whole("n_trees", self.n_trees, 1)
        whole("min_samples_leaf", self.min_samples_leaf, 1)
        return whole("cv", self.cv, 2)

    def _judge(
        self, table: RawTable, y: Any, left: Leftover, free: NDArray[np.float32], parts: int, seed: int
    ) -> tuple[float, float]:
        """(share, gain): f and forest are fitted without each part, whose rows then say what the forest is worth."""
        labels, fs, gs = column_or_1d(y), np.zeros(len(free)), np.zeros(len(free))
        for kept, held in left.parts(parts, seed):
            f = clone(self.estimator).fit(table.take(kept), labels[kept], left.weight[kept], left.shift[kept])
            outputs = self._outputs(f, table)
            fs[held], gs[held] = outputs[held], self._grow(free, left, outputs, kept, seed).predict(free[held])
            if is_hopeless(left, fs, gs, held):
                return 0.0, 0.0
        return best_share(left, fs, gs)  # where there were no parts, nothing is gained by a forest of zeros

    def _grow(self, free: NDArray[np.float32], left: Leftover, f: FloatArray, rows: Rows, seed: int) -> Any:
        from sklearn.ensemble import ExtraTreesRegressor

        many = len(rows) > MOST_ROWS
        forest = ExtraTreesRegressor(
            int(self.n_trees), min_samples_leaf=int(self.min_samples_leaf), bootstrap=many,
            max_samples=MOST_ROWS if many else None, n_jobs=self.n_jobs, random_state=seed,
        )  # fmt: skip
        return forest.fit(free[rows], *left.after(f, rows))

    @staticmethod
    def _outputs(f: Any, X: Any) -> FloatArray:
        """Of the estimator alone, in the units that are added."""
        return np.asarray(f.decision_function(X) if hasattr(f, "classes_") else f.predict(X))

    def _shift(self, X: Any, offset: Any) -> Any:
        """What is added to f in every row."""
        check_is_fitted(self, "estimator_")
        if self.forest_ is None:
            return offset
        table = table_like(X, self.estimator_._schema, type(self).__name__)
        own = self.share_ * self.forest_.predict(self._columns.encode(table))
        given = read_offsets(offset, table.n_rows)
        return own if given is None else own + given

    def predict(self, X: Any, offset: Any = None) -> NDArray[Any]:
        """Numbers, or the most probable class; shape (n,)."""
        shift = self._shift(X, offset)
        return np.asarray(self.estimator_.predict(X, offset=shift))

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, offset: Any = None) -> FloatArray:
        """Probabilities, shape (n, 2), each monotone bit for bit where that is promised."""
        shift = self._shift(X, offset)
        return np.asarray(self.estimator_.predict_proba(X, offset=shift))

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, offset: Any = None) -> FloatArray:
        """Log-odds of the second class, shape (n,)."""
        shift = self._shift(X, offset)
        return np.asarray(self.estimator_.decision_function(X, offset=shift))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R^2 of a regressor."""
        from sklearn.metrics import accuracy_score, r2_score

        kind = accuracy_score if _classifies(self) else r2_score
        return float(kind(y, self.predict(X), sample_weight=sample_weight))

    def __getattr__(self, name: str) -> Any:
        if name in _OF_F and "estimator_" in self.__dict__:
            return getattr(self.estimator_, name)
        words = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in _OF_F_ALONE:
            words += f": a forest has no slopes, files or exports; estimator_.{name} is that of f alone, without it"
        raise AttributeError(words)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "input_tags", "target_tags"):
            setattr(tags, name, getattr(own, name))
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        return tags
