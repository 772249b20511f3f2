"""MonotonicRegressor: the scikit-learn face of the idea, for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from monolip.errors import InputError
from monolip.estimators._argument_types import Categories, Directions, Missing, RegressionLoss, Seed, SlopeCaps, Slopes
from monolip.estimators._base import MonotonicBase
from monolip.estimators._checks import flag
from monolip.estimators._foreign_arguments import explained
from monolip.estimators._groups import read_groups
from monolip.estimators._tables import read_table, refuse_infinite
from monolip.estimators._targets import Target, number_target, number_target_like
from monolip.estimators._validation_rows import UsersRows, read_users_rows, validation_reader
from monolip.estimators.fit_options import FitOptions

__all__ = ["MonotonicRegressor"]


class MonotonicRegressor(RegressorMixin, MonotonicBase):  # type: ignore[misc]
    """A network whose slopes provably stay in the intervals asked for; increasing means increasing, bit for bit.

        lower_i <= d predict / d x_i <= upper_i     for every x, in the user's units (of log predict under a log link)

    Every numeric feature has a certified slope interval, in every fit.

    Args:
        monotonic_cst: -1, 0 or +1 for each feature, as an array by position or a dict by feature; None for no
            direction. In a dict, here and below, a feature is the name or label of its column, else its position.
        slopes: {feature: (lower, upper)}, explicit intervals in raw units; such a feature is calibrated linearly.
        max_slope: a number is in standard deviations (target's per feature's; log units under a log link), not in raw
            units as in SlopeBounds; a dict {feature: cap} is in raw units; None for a generous cap.
        loss: squared_error, absolute_error, huber, quantile, poisson, gamma or tweedie (the last three: log link).
        loss_parameter: the quantile, Tweedie's power, or Huber's delta in (robust) standard deviations.
        hidden_layer_sizes: widths of the hidden layers, even numbers; None: those of fit_options.
        n_estimators: networks that are averaged; "auto": the number in fit_options, larger with few rows.
        max_iter: passes over the data at most; None: the stages of fit_options.
        batch_size: rows per step, or "auto".
        early_stopping: choose the regulariser and the number of training stages by validation loss; False trains on all
            rows, for a fixed number of stages.
        validation_fraction: share of the rows that a member is validated on, in (0, 0.5]; None: that of fit_options.
            With few rows every member has its own validation rows; with many rows all members share them.
        categorical_features: features, a mask, or {feature: [low, ..., high]} for ordered ones; None goes by type:
            strings and categories are categories.
        missing: "state" (a value of its own, no promise), "lowest" or "highest" (numbers and ordered categories); or a
            dict by feature.
        n_bins: bins per numeric feature of the piecewise-linear encoding, 0 to 256; "auto": more with many rows, fewer
            with many features (see fit_options). Members that see different numbers of them are averaged.
        fit_options: a FitOptions, which holds every number of the fit procedure; None: its defaults. FitOptions.fast()
            and FitOptions.accurate() are presets. hidden_layer_sizes, n_estimators, n_bins, batch_size and
            validation_fraction override the fields of the same name.
        max_time: seconds after which training ends with what it has (reading and encoding the table are not bounded);
            the one setting that costs reproducibility.
        warm_start: set before the first fit; fit again on the same rows with only n_estimators raised adds members
            (other rows, by a digest of X and y, are refused).
        n_jobs: threads; changes no bit of the result. random_state: a seed.
        verbose: 1 prints a line on standard error for each row of history_; 0 prints nothing. On a terminal a bar shows
            fits that take longer than two seconds.

    A fit finds the best additive function inside the slope intervals and trains networks around it. Training goes in
    stages, each twice as long as the one before and with less decay towards the additive function, until the validation
    loss stops improving. The chosen stage is then trained once more with all rows, and the networks are averaged
    (docs/architecture.md).

    Of more than 262,144 rows a random part of that size is trained on (the steps would not visit more), so that time
    and memory stay bounded; under a log link targets above zero stay in it whole where they are rare, and weights make
    up for that. `predict` works through any table in chunks.

    Beyond the training data f goes on gently as far as four standard deviations from a feature's mean and is flat from
    there (or from the last value seen, where that lies further out); a feature given in `slopes=` goes on linearly.
    A category unseen in training counts as the average one. NaN in a column without NaN in training counts as the
    median (missing="state"), or as the lowest or highest value; in a category as the average one. A constraint
    that the data contradict is kept, and `fit` warns (PromiseWarning): mostly its sign is wrong.

    Attributes:
        slopes_: what was promised and what is certified, per raw feature; print it. frozen_: the FrozenNetwork behind
            every prediction.
        certificate_: the same with everything an independent checker needs (docs/certificates.md); save it.
        history_: a table, as a list with one dict per member and stage: member, n_bins, stage (0: the additive model),
            refit, steps, slope_decay, training_loss, validation_loss, seconds, chosen. n_iter_: passes over the data.
            Both are kept in files.
        n_estimators_: networks that are averaged, also where the additive models among them are merged into one.
        n_features_in_, feature_names_in_: the columns seen in fit.

    Examples:
        >>> import numpy as np
        >>> x = np.linspace(0, 1, 300)[:, None]
        >>> model = MonotonicRegressor(monotonic_cst=[1], random_state=0).fit(x, np.sqrt(x[:, 0]))
        >>> bool((np.diff(model.predict(x)) >= 0).all()), model.slopes_["x0"][0] >= 0
        (True, True)
    """

    @explained
    def __init__(
        self,
        *,
        monotonic_cst: Directions | None = None,
        slopes: Slopes | None = None,
        max_slope: SlopeCaps | None = None,
        loss: RegressionLoss = "squared_error",
        loss_parameter: float | None = None,
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
        self.loss = loss
        self.loss_parameter = loss_parameter
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
        """Fit on any table.

        Parameters
        ----------
        X : table of shape (n, features)
            Data frame, Arrow table or array.
        y : array of shape (n,)
            Target, in its own units.
        sample_weight : array of shape (n,), default None
            At least 0; None counts every row once.
        offset : array of shape (n,), default None
            Added to f; under a log link, the logarithm of an exposure.
        groups : array of shape (n,), default None
            Names; rows of one group are in the same fold.
        X_val, y_val : table and array, default None
            Validation rows of your own (out of time, for instance). They decide stages and ridge strengths in place of
            random folds, and the model is never trained on them.
        sample_weight_val, offset_val : arrays, default None
            Weights and offsets of the validation rows.
        callbacks : function or list of functions, default None
            Called after each stage with a row of `history_` as a dict; one that returns True ends training with what
            there is.
        """
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None; pass y.")
        own = read_users_rows(
            X_val, y_val, sample_weight_val, offset_val,
            groups=groups, training_offset=offset, early_stopping=self.early_stopping,
        )  # fmt: skip
        table = read_table(X)
        refuse_infinite(table)
        target = number_target(y, self.loss, self.loss_parameter, sample_weight, offset, table.n_rows)

        def target_of(rows: UsersRows, n_rows: int) -> Target:
            return number_target_like(target, rows.y, self.loss, self.loss_parameter, rows.weight, rows.offset, n_rows)

        target = replace(target, groups=read_groups(groups, table.n_rows))
        return self._fit(table, target, None, validation_reader(own, type(self).__name__, target_of), callbacks)

    def predict(self, X: Any, offset: Any = None, exact: bool = False) -> NDArray[np.float64]:
        """Predictions, shape (n,); non-decreasing bit for bit where that is promised.

        exact: by the fixed-point network (docs/fixed_point.md), which gives the same bits in every runtime. Columns
            of slopes= are clamped there four widths of their training data beyond it; compile_fixed_point(frozen_,
            input_ranges=) declares other ranges.
        """
        if flag("exact", exact):
            network, integers = self._evaluate_exact(X, offset)
            return network.link.apply(integers)
        f = self._evaluate(X, offset)
        assert self.frozen_.link is not None
        return self.frozen_.link.apply(f)

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """R^2 of predict(X, offset=offset): 1 is best, and the best constant has 0.

        A model that was fitted with an offset is scored with one. In cross-validation scikit-learn's metadata routing
        hands it on: set_fit_request(offset=True) and set_score_request(offset=True).
        """
        from sklearn.metrics import r2_score  # slow to import

        return float(r2_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))
