"""Arguments that people bring along from other libraries: an error of one sentence says what to write here.

`explained` wraps `__init__` and `fit`. Their own signatures stay as they are, so type checkers, editors and
scikit-learn see the exact arguments; only a call with an argument that does not exist meets this module. A name that
XGBoost, LightGBM, CatBoost, EBM, Keras or scikit-learn have is answered from the tables below, a close misspelling with
"did you mean", and any other name with Python's own TypeError.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, Self, TypeVar

from monolip.errors import ArgumentError

__all__ = ["ExplainedParameters", "explained"]

Function = TypeVar("Function", bound=Callable[..., Any])

_CLOSE = 0.75  # how alike two names are, from 0 to 1, so that one is taken for a misspelling of the other

_VALIDATION = (
    "fit takes validation rows out of X itself, so leave it out, or write fit(X, y, X_val=..., y_val=...) with rows of "
    "your own"
)
_STOPPING = (
    "training stops early on validation rows by default, so leave it out, or write early_stopping=False to train on "
    "all rows"
)
_LENGTH = (
    "fit decides how long to train, so leave it out, or set an upper limit with max_iter= (passes over the data) or "
    "max_time= (seconds)"
)
_STRENGTH = (
    "fit chooses the strength of regularisation on validation rows, so leave it out, or limit slopes by max_slope="
)
_TREES = "it describes trees, and a model here is an average of networks, so leave it out, or set hidden_layer_sizes="
_METRIC = (
    "validation rows are judged by the loss that is fitted, so leave it out, and measure the fitted model with "
    "sklearn.metrics"
)
_CATEGORIES = (
    "columns of strings and categories are read as categories, so leave it out, or name others in categorical_features="
)
_GROUPS = (
    "groups= names rows that belong together, and rankings are not fitted, so write groups={value} if these are such "
    "names"
)
_MONOTONE = "write monotonic_cst={value}, with -1, 0 or +1 for each feature"
_LOG_LOSS = "a classifier is fitted by the log-loss of the classes in y, so leave it out"


def _table(*rows: tuple[str, str]) -> dict[str, str]:
    """Answer by name, from rows of an answer and the names that it is for; {value} stands for what was given."""
    return {name: answer for answer, names in rows for name in names.split()}


_FOR_BOTH = _table(
    (_VALIDATION, "eval_set eval_X eval_y eval_names eval_group eval_qid evals X_val y_val X_valid y_valid bags"),
    (_VALIDATION, "sample_weight_val sample_weight_eval_set eval_sample_weight eval_class_weight eval_init_score"),
    (_VALIDATION, "base_margin_eval_set validation_data train_split use_best_model"),
    (
        "write validation_fraction={value}, the share of validation rows, up to 0.5",
        "validation_split validation_size test_size",
    ),
    (_STOPPING, "early_stopping_rounds early_stopping_round early_stopping_tolerance early_stopping_min_delta tol"),
    (_STOPPING, "n_iter_no_change patience min_delta od_wait od_type od_pval first_metric_only"),
    (_LENGTH, "num_boost_round num_iterations num_iteration iterations num_trees num_rounds nrounds n_iter epochs"),
    (_LENGTH, "max_epochs max_rounds max_fun"),
    (
        "fit chooses its steps itself, so leave it out",
        "learning_rate learning_rate_init eta lr shrinkage_rate power_t momentum nesterovs_momentum beta_1 beta_2 "
        "epsilon optimizer solver max_delta_step leaf_estimation_iterations leaf_estimation_method score_function "
        "shuffle boost_from_average warmup_rounds",
    ),
    (_STRENGTH, "reg_lambda reg_alpha lambda lambda_ lambda_l1 lambda_l2 l2_regularization l1_ratio l2_leaf_reg C"),
    (_STRENGTH, "weight_decay dropout ccp_alpha penalty path_smooth cat_smooth cat_l2 random_strength gain_scale"),
    (_STRENGTH, "model_size_reg linear_lambda smoothing_rounds interaction_smoothing_rounds drop_rate"),
    (_TREES, "max_depth depth num_leaves max_leaves max_leaf_nodes min_samples_leaf min_samples_split gamma init"),
    (_TREES, "min_child_weight min_child_samples min_data_in_leaf min_split_gain min_gain_to_split min_split_loss"),
    (_TREES, "min_sum_hessian_in_leaf min_weight_fraction_leaf min_impurity_decrease min_hessian grow_policy"),
    (_TREES, "tree_method booster boosting boosting_type num_parallel_tree splitter criterion linear_tree updater"),
    (_TREES, "extra_trees multi_strategy greedy_ratio cyclic_progress min_cat_samples max_cat_to_onehot"),
    (_TREES, "max_cat_threshold one_hot_max_size refresh_leaf process_type"),
    (
        "members learn from all rows and features, so leave it out",
        "subsample subsample_freq subsample_for_bin sampling_method sampling_frequency bootstrap bootstrap_type "
        "colsample_bytree colsample_bylevel colsample_bynode rsm feature_fraction feature_fraction_bynode "
        "bagging_fraction bagging_freq bagging_seed bagging_temperature max_samples max_features oob_score "
        "feature_weights data_sample_strategy outer_bags inner_bags",
    ),
    (
        "write n_bins={value}, the number of bins of a numeric feature, 0 to 256",
        "max_bin max_bins border_count n_quantiles max_interaction_bins",
    ),
    (
        "which features interact cannot be restricted, so leave it out",
        "interaction_cst interaction_constraints interactions exclude",
    ),
    (
        "a model is an average of networks and has no trees, so leave it out, and to average a network with trees, use "
        "scikit-learn's VotingRegressor (docs/howto/averaging.md)",
        "trees",
    ),
    (_METRIC, "eval_metric metric metrics scoring custom_metric feval"),
    (
        "write fit(X, y, offset=...), one number for each row, and predict with an offset as well",
        "base_margin init_score baseline margin",
    ),
    ("write fit(X, y, offset=np.log(exposure)), and predict with an offset as well", "exposure"),
    ("fit finds the constant itself, so leave it out", "base_score fit_intercept"),
    ("write categorical_features={value}", "categorical_feature cat_features cat_feature categorical_columns"),
    (_CATEGORIES, "enable_categorical feature_types text_features embedding_features"),
    (
        "estimators are fitted on the processor, with n_jobs= threads, so leave it out",
        "device devices device_type task_type gpu_id gpu_ram_part predictor used_ram_limit",
    ),
    (
        "write fit(X, y, callbacks=...) with functions of a row of history_, verbose=1 to see the progress, or "
        "max_time= to end training after so many seconds",
        "callbacks callback monitor",
    ),
    ("write verbose=0 or verbose=1", "verbosity silent logging_level verbose_eval metric_period plot disp"),
    ("write random_state={value}", "seed random_seed"),
    ("write n_jobs={value}", "n_threads num_threads nthread thread_count workers"),
    (
        "set warm_start=True before the first fit, then raise n_estimators and fit again on the same rows",
        "init_model xgb_model",
    ),
    ("features are named by the columns of a DataFrame, so pass one to fit", "feature_name feature_names"),
    (
        "leave it out, and measure importance with sklearn.inspection.permutation_importance",
        "importance_type compute_importances",
    ),
    (
        "the layers of a network are fixed but for their widths, so leave it out, or set hidden_layer_sizes=",
        "activation hidden_activation n_layers num_layers layers module",
    ),
    (_MONOTONE, "monotone_constraints monotonic_constraints monotone_constraint monotonic_constraint monotone_cst"),
    (_MONOTONE, "monotonicity monotonicities mono_constraints constraints increasing"),
    (
        "constraints hold exactly, without a method or a penalty to choose, so leave it out",
        "monotone_constraints_method monotone_penalty",
    ),
    ("write max_slope={value}", "lipschitz_const lipschitz_constant lipschitz lip_const"),
    ("missing values are read as they are, so leave it out, or order them by missing=", "nan_mode"),
    (_GROUPS, "group qid group_id"),
    ("write fit(X, y, sample_weight=...), one number for each row", "weight weights"),
    ("the classes are those of y, so leave it out", "num_class n_classes class_names classes_count classes"),
    ("fit writes no files, so leave it out", "train_dir allow_writing_files save_snapshot snapshot_file"),
    ("every argument is checked, so leave it out", "validate_parameters"),
)
_FOR_CLASSES = _table(
    (_LOG_LOSS, "objective loss loss_function loss_parameter quantile quantile_alpha delta huber_slope power"),
    (_LOG_LOSS, "tweedie_variance_power"),
    (_STRENGTH, "alpha"),
    (
        "write class_weight='balanced', or class_weight={class: weight}",
        "scale_pos_weight is_unbalance auto_class_weights class_weights pos_weight",
    ),
)
_FOR_NUMBERS = _table(
    ("write loss='quantile', loss_parameter={value}", "quantile quantile_alpha"),
    (
        "for a quantile write loss='quantile', loss_parameter={value}, and for a penalty leave it out, as fit chooses "
        "the strength of regularisation",
        "alpha",
    ),
    ("write loss='huber', loss_parameter={value}", "delta huber_slope"),
    ("write loss='tweedie', loss_parameter={value}", "power tweedie_variance_power"),
    (
        "write fit(X, y, sample_weight=...), one number for each row",
        "scale_pos_weight is_unbalance auto_class_weights class_weights class_weight pos_weight",
    ),
)
# how other libraries call a loss contains one of these
_LOSSES = {
    "quantile": "quantile", "poisson": "poisson", "gamma": "gamma", "tweedie": "tweedie", "huber": "huber",
    "absolute": "absolute_error", "mae": "absolute_error", "l1": "absolute_error",
    "square": "squared_error", "rmse": "squared_error", "mse": "squared_error", "l2": "squared_error",
    "regression": "squared_error",
}  # fmt: skip


def explained(function: Function) -> Function:
    """A method with the same signature whose unknown arguments are explained, where `explain` knows them."""
    own = frozenset(signature(function).parameters)

    @wraps(function)
    def checked(self: Any, *args: Any, **given: Any) -> Any:
        if not given.keys() <= own:
            explain(type(self), function.__name__, {name: given[name] for name in given if name not in own})
        return function(self, *args, **given)

    return checked  # type: ignore[return-value]


class ExplainedParameters:
    """A mixin for estimators: set_params, and so a grid search, explains unknown parameters as the constructor does."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the constructor by name, as with every estimator of scikit-learn."""
        own: Any = super()
        known = self.get_params() if params else {}  # type: ignore[attr-defined]
        # A name with two underscores is a field of fit_options, which names its fields itself.
        explain(
            type(self), "set_params", {name: params[name] for name in params if name not in known and "__" not in name}
        )
        return own.set_params(**params)  # type: ignore[no-any-return]


def explain(owner: type, method: str, unknown: Mapping[str, Any]) -> None:
    """Raise an ArgumentError that says what to write instead of these arguments; return where nothing is known of them.

    owner: an estimator class. method: "__init__", "fit" or "set_params". unknown: the arguments it does not have.
    """
    answers = {name: answer for name, value in unknown.items() if (answer := _answer(owner, method, name, value))}
    if not answers:
        return
    place = f"{owner.__name__}.{method}" if method != "__init__" else owner.__name__
    rule = f"{place} takes no {' and no '.join(map(repr, answers))}"
    if len(answers) == 1:
        (answer,) = answers.values()
        raise ArgumentError(f"{rule}{answer}")
    raise ArgumentError("\n".join([f"{rule}:", *(f"- {name}{answer}" for name, answer in answers.items())]))


def _answer(owner: type, method: str, name: str, value: Any) -> str | None:
    """What follows the name in the message, or None."""
    init, fit = _arguments(owner, "__init__"), _arguments(owner, "fit")
    if method == "fit" and name in init:
        return f": it is an argument of the constructor, so write {owner.__name__}({name}={_shown(value)})."
    if method != "fit" and name in fit and name not in ("X", "y"):
        return f": it is an argument of fit, so write fit(X, y, {name}=...)."
    words = _advice(getattr(owner, "_is_classifier", False), name, value)
    if words is not None:
        return f": {words.replace('{value}', _shown(value))}."
    close = difflib.get_close_matches(name, fit if method == "fit" else init, n=1, cutoff=_CLOSE)
    return f"; did you mean {close[0]!r}?" if close else None


def _arguments(owner: Any, method: str) -> list[str]:
    return [name for name in signature(getattr(owner, method)).parameters if name != "self"]


def _advice(is_classifier: bool, name: str, value: Any) -> str | None:
    special = _FOR_CLASSES if is_classifier else _FOR_NUMBERS
    if name in special:
        return special[name]
    if name in ("objective", "loss_function"):
        return _loss_of(value)
    words = _FOR_BOTH.get(name)
    if words is _MONOTONE and not _is_grammar(value):  # XGBoost's "(1,-1)", CatBoost's "debt:1", isotonic's True
        return _MONOTONE.replace("{value}", "[1]" if value is True else "{feature: direction}")
    return words


def _loss_of(objective: Any) -> str:
    """For a regressor: the loss of the same meaning."""
    text = str(objective).lower()
    if any(word in text for word in ("binary", "logistic", "logloss", "log_loss", "multi", "cross", "softmax")):
        return "write MonotonicClassifier, which is fitted by the log-loss"
    found = [loss for word, loss in _LOSSES.items() if word in text]
    return f"write loss={found[0]!r}" if found else f"write loss=, one of {', '.join(dict.fromkeys(_LOSSES.values()))}"


def _is_grammar(value: Any) -> bool:
    """Whether monotonic_cst takes it as it is."""
    return isinstance(value, Mapping) or (isinstance(value, Iterable) and not isinstance(value, str | bytes))


def _shown(value: Any) -> str:
    """A value to copy; "..." for one that is long, or that has no short name."""
    text = reprlib.repr(value)
    return text if len(text) <= 60 and "\n" not in text and not text.startswith("<") else "..."
