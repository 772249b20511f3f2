"""MonotonicClassifier: the scikit-learn face of the idea, for classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from monolip.errors import InputError
from monolip.estimators._argument_types import Categories, ClassDirections, ClassSlopes, Missing, Seed, SlopeCaps
from monolip.estimators._base import MonotonicBase
from monolip.estimators._checks import check_class_weight, check_labels, flag
from monolip.estimators._facts import Facts
from monolip.estimators._foreign_arguments import explained
from monolip.estimators._groups import read_groups
from monolip.estimators._held_out import HeldOut
from monolip.estimators._named_class import named_class
from monolip.estimators._tables import read_table, refuse_infinite
from monolip.estimators._targets import (
    Target,
    class_target,
    class_target_like,
    codes_among,
    plain_labels,
    read_weights,
    target_name,
    without_name,
)
from monolip.estimators._validation_rows import UsersRows, read_users_rows, validation_reader
from monolip.estimators.calibration import Calibration, best_scaling, measure_calibration, of_named_class
from monolip.estimators.fit_options import FitOptions
from monolip.estimators.freeze import rescale
from monolip.estimators.threshold import Threshold, choose_threshold
from monolip.frozen import FrozenNetwork
from monolip.input_columns import plain_value
from monolip.output_link import ordered_log

__all__ = ["MonotonicClassifier"]

FloatArray = NDArray[np.float64]


class MonotonicClassifier(ClassifierMixin, MonotonicBase):  # type: ignore[misc]
    """A classifier whose probabilities provably rise or fall with the features asked for, bit for bit.

    Two classes: f is the log-odds of one of them, and  lower_i <= df/dx_i <= upper_i. Constraints name it:
    ``monotonic_cst={"debt": {"bad": 1}}`` means that P(bad) never falls in debt (and P(good) never rises). All of them
    name the same class. Numbers and booleans may do without: a plain +1 makes P(second class) rise, 1 of {0, 1} and
    True of {False, True}. Labels such as "bad" and "good" have no such order, and a constraint has to name one.
    slopes_, the certificate, the report and every export speak of the class that constraints name; without any, of the
    second. classes_ and the columns of predict_proba stay in sorted order.
    More classes: directions always name a class, ``monotonic_cst={"income": {"high": 1}}``; per feature one rising and
    one falling class can be promised.

    Args:
        monotonic_cst: {feature: {class: -1 or +1}}; of two classes that are numbers or booleans also -1, 0 or +1 for
            each feature, as an array by position or a dict by feature; None for no direction. In a dict, here and
            below, a feature is the name or label of its column, else its position.
        slopes: {feature: {class: (lower, upper)}} in log-odds per raw unit, two classes only; of numbers and booleans
            also {feature: (lower, upper)}, of the second class; calibrated linearly.
        max_slope: a number is in log-odds per standard deviation of the feature; a dict {feature: cap} in log-odds per
            raw unit; None for a generous cap.
        class_weight: {class: weight}, "balanced" or None.
        categorical_features: features, a mask, or {feature: [low, ..., high]} for ordered ones; None goes by type:
            strings and categories are categories.
        missing: "state" (a value of its own, no promise), "lowest" or "highest" (numbers and ordered categories); or a
            dict by feature.

    All other arguments (hidden_layer_sizes, n_estimators, max_iter, batch_size, early_stopping, validation_fraction,
    n_bins, fit_options, max_time, warm_start, n_jobs, random_state, verbose), the fit and its limits are as in
    MonotonicRegressor: of more than 262,144 rows a part is trained on (rare classes whole, with weights that make up
    for it), f is flat far beyond the training data except in features given in `slopes=`, unseen categories count as
    the average one, unexpected NaN as the median. Networks of two classes are trained around an additive model; those
    of more classes start from a constant.

    Attributes:
        slopes_: what was promised and what is certified, per raw feature (and class); print it. frozen_: the
            FrozenNetwork behind it all.
        certificate_: the same with everything an independent checker needs (docs/certificates.md); save it.
        classes_: the labels, in the order of predict_proba's columns.
        calibration_: how far probabilities were from frequencies on validation rows (each member on its own, before the
            refit with all rows); None without validation rows, and after recalibrate.
        history_, n_iter_, n_estimators_, n_features_in_, feature_names_in_: as in MonotonicRegressor.

    Examples:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 200)[:, None]
        >>> y = np.where(x[:, 0] + 0.3 * np.sin(9 * x[:, 0]) > 0, "good", "bad")
        >>> model = MonotonicClassifier(monotonic_cst={0: {"good": 1}}, random_state=0).fit(x, y)
        >>> bool((np.diff(model.predict_proba(x)[:, 1]) >= 0).all()), model.classes_.tolist()
        (True, ['bad', 'good'])
    """

    @explained
    def __init__(
        self,
        *,
        monotonic_cst: ClassDirections | None = None,
        slopes: ClassSlopes | None = None,
        max_slope: SlopeCaps | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        hidden_layer_sizes: int | Sequence[int] | None = None,
        n_estimators: int | Literal["auto"] = "auto",
        max_iter: int | None = None,
        batch_size: int | Literal["auto"] = "auto",
        early_stopping: bool = True,
        validation_fraction: float | None = None,
        categorical_features: Categories | None = None,
        missing: Missing = "state",
        n_bins: int | Literal["auto"] = "auto",
        fit_options: FitOptions | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Seed | None = None,
        verbose: int = 0,
    ) -> None:
        self.monotonic_cst = monotonic_cst
        self.slopes = slopes
        self.max_slope = max_slope
        self.class_weight = class_weight
        self.hidden_layer_sizes = hidden_layer_sizes
        self.n_estimators = n_estimators
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.missing = missing
        self.n_bins = n_bins
        self.fit_options = fit_options
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _is_classifier = True
    _calibration: Calibration | None = None
    _held_out: HeldOut | None = None  # until its calibration is asked for

    @explained
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        groups: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset_val: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Fit on any table; labels of any kind.

        Parameters
        ----------
        X : table of shape (n, features)
            Data frame, Arrow table or array.
        y : array of shape (n,)
            Labels. The name of a pandas or polars series is kept as the target's name.
        sample_weight : array of shape (n,), default None
            At least 0; None counts every row once. `class_weight` multiplies them.
        offset : array of shape (n,), default None
            Added to decision_function, the log-odds of classes_[1] (two classes only).
        groups : array of shape (n,), default None
            Names; rows of one group are validated on together, or not at all.
        X_val, y_val : table and array, default None
            Validation rows of your own (out of time, for instance), of classes that occur in y. They decide stages and
            ridge strengths in place of random folds, and the model is never trained on them.
        sample_weight_val, offset_val : arrays, default None
            Weights and offsets of the validation rows; class_weight counts for them as for training rows.
        callbacks : function or list of functions, default None
            Called after each stage with a row of `history_` as a dict; one that returns True ends training with what
            there is.
        """
        own = read_users_rows(
            X_val, y_val, sample_weight_val, offset_val,
            groups=groups, training_offset=offset, early_stopping=self.early_stopping,
        )  # fmt: skip
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None; pass y.")
        check_class_weight(self.class_weight)
        name, y = target_name(y), plain_labels(without_name(y))
        table = read_table(X)
        refuse_infinite(table)
        whole = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu"  # nothing for scikit-learn to look at
        labels = y if whole else column_or_1d(y, warn=True)
        if len(labels) != table.n_rows:
            raise InputError(
                f"X and y must have the same number of rows; got {table.n_rows} and {len(labels)}; match them."
            )
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            word = "NaN" if np.isnan(labels).any() else "infinity (inf)"
            raise InputError(f"class labels must be known; y contains {word}; drop those rows.")
        check_labels(y, labels)
        if not whole:
            check_classification_targets(labels)
        weight = read_weights(sample_weight, table.n_rows)
        classes = np.unique(labels)
        codes = classes.searchsorted(labels)  # to find few classes is quicker than to sort all rows by them
        if whole and 2 * len(classes) > len(labels):  # few whole numbers are always classes; of many it warns
            check_classification_targets(labels)
        balance = None
        if self.class_weight is not None:
            balance = read_weights(compute_sample_weight(self.class_weight, labels), table.n_rows)
            assert balance is not None
            weight = read_weights(balance if weight is None else balance * weight, table.n_rows)
        seen = classes if weight is None else classes[np.unique(codes[weight > 0])]
        if len(seen) < 2:
            raise InputError(
                f"a classifier needs rows of at least two classes; got only one class, {plain_value(seen[0])!r}; check "
                "the target."
            )
        classes = classes + 0.0 if classes.dtype.kind == "f" else classes  # -0.0 is no other class than 0.0
        positive = named_class(self.monotonic_cst, self.slopes, classes, table.names) if len(classes) == 2 else None
        target = class_target(codes, classes, weight, offset, positive, name)
        target = replace(target, groups=read_groups(groups, table.n_rows))

        by_class = None if balance is None else np.zeros(len(classes))
        if by_class is not None:
            by_class[codes] = balance

        def target_of(rows: UsersRows, n_rows: int) -> Target:
            own_labels = column_or_1d(plain_labels(without_name(rows.y)), warn=True)
            if len(own_labels) != n_rows:
                raise InputError(
                    f"X_val and y_val have the same number of rows; got {n_rows} and {len(own_labels)}; match them."
                )
            check_labels(rows.y, own_labels)
            return class_target_like(target, own_labels, classes, rows.weight, rows.offset, by_class)

        self._fit(table, target, classes, validation_reader(own, type(self).__name__, target_of), callbacks)
        self.classes_ = classes  # only now: a refit that fails leaves the old model whole
        return self

    def decision_function(self, X: Any, offset: Any = None) -> FloatArray:
        """Log-odds of classes_[1], shape (n,), as in scikit-learn; with more classes one logit each, (n, n_classes).

        Where constraints name classes_[0], these are the negatives of what slopes_ and the certificate speak of.
        """
        f = self._evaluate(X, offset)
        assert self.frozen_.link is not None
        return f if f.shape[1] > 1 else -f[:, 0] if self.frozen_.link.positive == 0 else f[:, 0]

    def predict_proba(self, X: Any, offset: Any = None, exact: bool = False) -> FloatArray:
        """Probabilities, shape (n, n_classes), each monotone bit for bit where that is promised.

        exact: by the fixed-point network (docs/fixed_point.md), which gives the same bits in every runtime. Rows then
        add up to 1 within 4e-6 only (2e-6 for two classes): divide them by their sums for log_loss. Directions and the
        ranks of rows by one class are unaffected.
        """
        if flag("exact", exact):
            network, integers = self._evaluate_exact(X, offset)
            return network.link.apply(integers)
        f = self._evaluate(X, offset)
        assert self.frozen_.link is not None
        return self.frozen_.link.apply(f)

    def predict_log_proba(self, X: Any, offset: Any = None, exact: bool = False) -> FloatArray:
        """Natural logarithms of predict_proba, as monotone bit for bit as it is; -inf where a probability is 0."""
        return ordered_log(self.predict_proba(X, offset=offset, exact=exact))

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Accuracy of predict(X, offset=offset): the share of rows whose class it is, by weight.

        A model that was fitted with an offset is scored with one. In cross-validation scikit-learn's metadata routing
        hands it on: set_fit_request(offset=True) and set_score_request(offset=True).
        """
        from sklearn.metrics import accuracy_score  # slow to import

        return float(accuracy_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))

    def predict(self, X: Any, offset: Any = None, exact: bool = False) -> NDArray[Any]:
        """The most probable class; of two the one that constraints name (else the second) if its log-odds are above 0.

        exact: in integers.
        """
        if flag("exact", exact):
            network, integers = self._evaluate_exact(X, offset)
            return np.asarray(self.classes_[network.decide(integers)])
        f = self._evaluate(X, offset)
        assert self.frozen_.link is not None
        return np.asarray(self.classes_[self.frozen_.link.decide(f)])

    def threshold(self, X: Any, y: Any = None, **target: Any) -> Threshold:
        """Return the threshold on decision_function for rate=, recall= or efficiency= (see choose_threshold).

        For two classes. Above it, classes_[1] is most probable, whichever class the constraints name; the printed
        table says so.
        """
        scores = self.decision_function(X)
        if scores.ndim != 1:
            raise InputError(f"a threshold needs two classes; got {len(self.classes_)}; threshold P of one class.")
        positive = None if y is None else self._codes(y) == 1
        assert self.frozen_.link is not None
        return choose_threshold(scores, positive, **target)._replace(about=self.frozen_.link.probability(1))

    def calibration(self, X: Any, y: Any, n_bins: int = 10) -> Calibration:
        """Return how far probabilities are from frequencies on rows that fit has not seen.

        Of two classes, those of the class that constraints name, else of the second.
        """
        probabilities, codes = self.predict_proba(X), self._codes(y)
        assert self.frozen_.link is not None
        return measure_calibration(*of_named_class(self.frozen_.link, probabilities, codes), n_bins)

    def recalibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Scale (and, with two classes, shift) log-odds to fit these rows, under the same promise; changes self."""
        f, codes = self._evaluate(X), self._codes(y)
        weight = read_weights(sample_weight, len(f))
        if self.frozen_.link is not None and self.frozen_.link.positive == 0:
            codes = 1 - codes  # f is about the first class
        self._adopt(rescale(self.frozen_, *best_scaling(f, codes, weight)), self._schema)
        self._calibration = self._held_out = None  # that was another model
        return self

    @property
    def calibration_(self) -> Calibration | None:
        """See Attributes; fit keeps the members' outputs for validation rows, and measures when first asked for."""
        check_is_fitted(self)
        held, link = self._held_out, self.frozen_.link
        if held is not None and link is not None:
            self._calibration = held.calibration(link)
            self._held_out = None
        return self._calibration

    def _know(self, facts: Facts, held_out: HeldOut | None = None) -> None:
        super()._know(facts)
        self._calibration, self._held_out = facts.calibration, held_out

    def __getstate__(self) -> dict[str, Any]:
        if self.__sklearn_is_fitted__():
            _ = self.calibration_  # a pickle holds the result, not the rows
        return super().__getstate__()

    def _codes(self, y: Any) -> NDArray[np.int64]:
        labels = column_or_1d(y)
        codes, unknown = codes_among(self.classes_, labels)
        if len(unknown):
            raise InputError(
                f"labels must be among the classes seen in fit, {self.classes_.tolist()[:8]}; got "
                f"{np.unique(labels[unknown]).tolist()[:3]}; drop those rows, or give labels of the same type."
            )
        return codes

    def _loaded(self, network: FrozenNetwork) -> None:
        assert network.link is not None
        self.classes_ = np.array(network.link.labels)
