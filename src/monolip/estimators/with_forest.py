"""WithFreeForest: a monotone estimator, and beside it a forest over the features nobody asked anything of."""

from __future__ import annotations

import warnings
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from monolip.errors import FrozenFileError
from monolip.estimators._forest import FreeRows
from monolip.estimators._forest_checks import COPIES, MANY_COPIES, NONE_FREE, TOO_FEW, check_forest, places_of
from monolip.estimators._forest_file import FORMAT, FrozenSum
from monolip.estimators._forest_worth import Growth, refits, worth
from monolip.estimators._free_columns import FreeColumns
from monolip.estimators._left_out import LeftOut
from monolip.estimators._leftover import Leftover, outputs_of, read_groups
from monolip.estimators._saving import owner_of, read_entry, read_parameters, write_parameters
from monolip.estimators._schema import table_like
from monolip.estimators._seed import first_number
from monolip.estimators._tables import read_table
from monolip.estimators._targets import read_offsets
from monolip.estimators.classifier import MonotonicClassifier
from monolip.estimators.regressor import MonotonicRegressor
from monolip.estimators.threshold import Threshold, choose_threshold
from monolip.frozen_file import write_model
from monolip.sealed_format import building_from

__all__ = ["WithFreeForest"]

FloatArray = NDArray[np.float64]
_ENTRY, _ENTRY_OF_F = "monolip.forest", "monolip.forest.estimator"  # in a file, beside the numbers
_OF_F = frozenset({"classes_", "n_features_in_", "feature_names_in_"})  # true of the sum as well
_OF_F_ALONE = frozenset({
    "calibration", "calibration_", "certificate_", "fit_stream", "frozen_", "model_columns", "predict_stream",
    "from_torch", "history_", "n_estimators_", "n_iter_", "recalibrate", "slopes_", "to_torch",
})  # fmt: skip


def _classifies(model: WithFreeForest) -> bool:
    return isinstance(model.__dict__.get("estimator_", model.estimator), MonotonicClassifier)


class WithFreeForest(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """f(x) + share * g(free features): what f promises holds for the sum, bit for bit, since g does not see it.

    Trees find jumps, and rows that nearly come again, which a network has no cheap way to. The forest (extremely
    randomised trees) learns what f leaves over, from the features without direction, interval or cap, and rows held out
    decide how much of it is added: nothing, where they gain nothing. What is given up: the
    slope bounds of the free features (a forest jumps), and exports and certificates of the sum; those of `estimator_`
    speak of f alone. Where rows belong together (of one customer, or copies), say so by `fit(groups=)`: a
    forest learns them by heart, and parts that tear them apart take that for a gain.

    Args:
        estimator: a MonotonicRegressor (loss squared_error) or a MonotonicClassifier (two classes), fitted or not.
        n_trees, min_samples_leaf: of the forest.
        cv: who chooses the share. None: the rows that the members of f hold out while it is fitted, or four parts where
            there are groups or nothing is held out. A number of parts, or a splitter of scikit-learn's: everything is
            fitted without each part once, which takes as many fits more. A part on which a forest clearly does harm
            ends either.
        n_jobs: threads of the forest. random_state: a seed for forest and parts; the estimator has its own.

    Attributes:
        estimator_: f. forest_: g (forest_.trees are arrays of its nodes), None where nothing of it is added.
        share_: of g, 0 to 1.
        gain_: part of the loss (squared error, log-loss) that rows held out gained by it; of all shares tried the best.
        free_features_: names of the features that g sees; they carry no promise. The slopes of all others are those in
            estimator_.slopes_.
        classes_, n_features_in_, feature_names_in_: those of f.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(600, 2))
        >>> y = X[:, 0] + np.floor(40 * X[:, 1]) % 3  # forty stretches, up and down
        >>> model = WithFreeForest(MonotonicRegressor(monotonic_cst=[1, 0], random_state=0), random_state=0).fit(X, y)
        >>> model.free_features_, model.share_, model.gain_ > 0.1
        (('x1',), 1.0, True)
    """

    is_no_network = (
        "exports, certificates, radii, explanations and reports are of networks; got WithFreeForest, a network with a "
        "forest beside it; model.estimator_ is the network alone, and what is found of it does not speak of the forest."
    )

    def __init__(
        self, estimator: Any, *, n_trees: int = 30, min_samples_leaf: int = 2, cv: Any = None,
        n_jobs: int | None = None, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.estimator = estimator
        self.n_trees = n_trees
        self.min_samples_leaf = min_samples_leaf
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, groups: Any = None) -> Self:
        """Fit f to all rows, and a forest to what it leaves over, where parts held out say that it is worth adding.

        groups: (n,), rows of one group are never torn apart when the share is chosen. Ctrl-C ends it with f alone.
        """
        check_forest(self, y)
        groups = read_groups(groups, y)
        seed, shown = first_number(self.random_state), list[LeftOut]()
        growth = Growth(int(self.n_trees), int(self.min_samples_leaf), self.n_jobs, seed)
        f = self._fitted(shown, X, y, sample_weight, offset)
        share, gain, forest, columns, told = 0.0, 0.0, None, FreeColumns((), ()), list[str]()
        try:
            places, table = places_of(f), read_table(X)
            columns, left = FreeColumns.learn(table, f._schema, places), Leftover.of(f, y, sample_weight, offset)
            free = FreeRows(columns.encode(table))
            if places and not f._interrupted:
                own = self.cv is None and groups is None and any(len(one) for one in shown) and left.can_be_judged()
                others = refits(self.estimator, self.cv, X, table, y, sample_weight, left, groups, seed)
                found = worth(shown[0] if own else others, left, free, growth)
                share, gain = found or (share, gain)
                told += [TOO_FEW] if found is None else []
            if share:
                f_all = outputs_of(f, table)
                forest = growth.forest(free, np.arange(table.n_rows), left, f_all)
                copies = free.copies(f_all, left.after(f_all)[0]) if groups is None else 0.0
                told += [COPIES.format(copies)] if copies > MANY_COPIES else []
        except KeyboardInterrupt:
            share, gain, forest = 0.0, 0.0, None
            told = ["fit was interrupted; the model is the estimator alone, without a forest"]
        self.estimator_, self.forest_, self._columns, self.share_, self.gain_ = f, forest, columns, share, gain
        self.free_features_ = tuple(f._schema.names[j] for j in columns.places)
        told += [] if places_of(f) else [NONE_FREE]
        for words in told:  # as errors they leave the model whole
            warnings.warn(words, stacklevel=2)
        return self

    def _fitted(self, shown: list[LeftOut], *data: Any) -> Any:
        """f of all rows, its warnings pointing to who called `fit`; shown: gets what its members held out."""
        f = clone(self.estimator)
        f._on_left_out = shown.append
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            f = f.fit(*data)
        del f._on_left_out
        for one in told:
            warnings.warn(one.message, one.category, stacklevel=3)
        return f

    def _read(self, X: Any, offset: Any) -> tuple[Any, Any]:
        """The table, and what is added to f in every row."""
        check_is_fitted(self, "estimator_")
        schema = self.estimator_._schema
        table = replace(table_like(X, schema, type(self).__name__), named=schema.named)  # f would tell again
        if self.forest_ is None:
            return table, offset
        own = self.share_ * self.forest_.predict(self._columns.encode(table))
        given = read_offsets(offset, table.n_rows)
        return table, own if given is None else own + given

    def predict(self, X: Any, offset: Any = None) -> NDArray[Any]:
        """Numbers, or the most probable class; shape (n,)."""
        table, shift = self._read(X, offset)
        return np.asarray(self.estimator_.predict(table, shift))

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, offset: Any = None) -> FloatArray:
        """Probabilities, shape (n, 2), each monotone bit for bit where that is promised."""
        table, shift = self._read(X, offset)
        return np.asarray(self.estimator_.predict_proba(table, shift))

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, offset: Any = None) -> FloatArray:
        """Log-odds of the second class, shape (n,)."""
        table, shift = self._read(X, offset)
        return np.asarray(self.estimator_.decision_function(table, shift))

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def threshold(self, X: Any, y: Any = None, **target: Any) -> Threshold:
        """The threshold on decision_function for rate=, recall= or efficiency= (see choose_threshold)."""
        positive = None if y is None else column_or_1d(y) == self.classes_[1]
        return choose_threshold(self.decision_function(X), positive, **target)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R^2 of a regressor."""
        from sklearn.metrics import accuracy_score, r2_score

        kind = accuracy_score if _classifies(self) else r2_score
        return float(kind(y, self.predict(X), sample_weight=sample_weight))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the whole of it as one safetensors file: data, never code."""
        check_is_fitted(self, "estimator_")
        whole = FrozenSum(self.estimator_.frozen_, self._columns, self.forest_, self.share_)
        own = {**self.get_params(deep=False), "gain": self.gain_}
        del own["estimator"]
        extra = {
            _ENTRY: write_parameters(type(self).__name__, own, whole.digest),
            _ENTRY_OF_F: self.estimator_._entry(),
        }
        write_model(path, FORMAT.pack(*whole.take_apart(), whole.digest, extra=extra))

    @classmethod
    def load(cls, path: str | PathLike[str], *, max_bytes: int = 2**31) -> Self:
        """A fitted model that predicts the same bits. Settings that no file can hold (a splitter) are None."""
        whole, text = FrozenSum.load(path, max_bytes), read_entry(path, _ENTRY_OF_F)
        names = frozenset((*cls._get_param_names(), "gain")) - {"estimator"}
        own = read_parameters(read_entry(path, _ENTRY), cls.__name__, names, whole.digest, path)
        kind = MonotonicClassifier if owner_of(text) == MonotonicClassifier.__name__ else MonotonicRegressor
        f = kind._of(whole.network, text, path)
        gain = own.pop("gain")
        if type(gain) is not float or not 0.0 <= gain <= 1.0:
            raise FrozenFileError(f"{path} has malformed parameters (gain={gain!r}); get an undamaged copy.")
        with building_from(path):
            free = {f._schema.names[j] for j in places_of(f)} - set(f._capped)
        if not {f._schema.names[j] for j in whole.columns.places} <= free:
            raise FrozenFileError(f"{path} holds a forest that sees a feature with a promise; get an undamaged copy.")
        model = cls(clone(f), **own)
        model.estimator_, model.forest_, model._columns = f, whole.forest, whole.columns
        model.share_, model.gain_ = whole.share, gain
        model.free_features_ = tuple(f._schema.names[j] for j in whole.columns.places)
        return model

    def __getattr__(self, name: str) -> Any:
        if name in _OF_F and "estimator_" in self.__dict__:
            return getattr(self.estimator_, name)
        words = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in _OF_F_ALONE:
            words += f", which only f has: estimator_.{name} is that of f alone, without the forest"
        raise AttributeError(words)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        if not isinstance(self.estimator, BaseEstimator):  # fit refuses it
            return tags
        own = get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "input_tags", "target_tags"):
            setattr(tags, name, getattr(own, name))
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        return tags
