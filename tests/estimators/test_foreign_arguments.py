"""Arguments of other libraries, and misspelt ones: one sentence that says what to write; all others as in Python."""

from __future__ import annotations

import contextlib
import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.cli import run
from monolip.errors import ArgumentError, InputError, PromiseWarning

BOTH = (MonotonicRegressor, MonotonicClassifier)
X, Y = np.linspace(0, 1, 40)[:, None], np.arange(40.0) > 20


@pytest.mark.parametrize(
    ("given", "write"),
    [
        ({"monotone_constraints": {"debt": 1}}, "write monotonic_cst={'debt': 1}, with -1, 0 or +1 for each feature."),
        ({"monotone_constraints": (1, 0, -1)}, "write monotonic_cst=(1, 0, -1), with"),
        ({"monotone_constraints": "(1,-1)"}, "write monotonic_cst={feature: direction}, with"),
        ({"increasing": True}, r"write monotonic_cst=[1], with"),
        ({"learning_rate": 0.1}, "fit chooses its steps itself, so leave it out."),
        ({"max_depth": 3}, "so leave it out, or set hidden_layer_sizes=."),
        ({"num_leaves": 31}, "it describes trees"),
        ({"early_stopping_rounds": 10}, "write early_stopping=False to train on all rows."),
        ({"callback": []}, "verbose=1 to see the progress, or max_time= to end"),
        ({"callbacks": []}, "it is an argument of fit, so write fit(X, y, callbacks=...)."),
        ({"reg_lambda": 1.0}, "limit slopes by max_slope=."),
        ({"interaction_cst": "no_interactions"}, "which features interact cannot be restricted"),
        ({"iterations": 500}, "max_iter= (passes over the data)"),
        ({"max_bin": 64}, "write n_bins=64, "),
        ({"random_seed": 3}, "write random_state=3."),
        ({"thread_count": 4}, "write n_jobs=4."),
        ({"cat_features": ["city"]}, "write categorical_features=['city']."),
        ({"eval_metric": "auc"}, "sklearn.metrics."),
        ({"validation_split": 0.2}, "write validation_fraction=0.2, "),
        ({"sample_weight": np.ones(40)}, "it is an argument of fit, so write fit(X, y, sample_weight=...)."),
        ({"n_estimator": 3}, "MonotonicX takes no 'n_estimator'; did you mean 'n_estimators'?"),
        ({"hidden_layers_size": 3}, "did you mean 'hidden_layer_sizes'?"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("model", BOTH)
def test_the_constructor_says_what_to_write(model, given, write):
    with pytest.raises(ArgumentError) as caught:
        model(**given)
    said = str(caught.value)
    assert write.replace("MonotonicX", model.__name__) in said
    assert said.startswith(f"{model.__name__} takes no {next(iter(given))!r}")
    assert said.count("\n") == 0
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("model", "given", "write"),
    [
        (MonotonicRegressor, {"objective": "count:poisson"}, "write loss='poisson'."),
        (MonotonicRegressor, {"objective": "reg:squarederror"}, "write loss='squared_error'."),
        (MonotonicRegressor, {"loss_function": "Quantile:alpha=0.9"}, "write loss='quantile'."),
        (MonotonicRegressor, {"objective": "binary:logistic"}, "write MonotonicClassifier, "),
        (MonotonicRegressor, {"objective": max}, "write loss=, one of quantile, "),
        (MonotonicRegressor, {"quantile": 0.9}, "write loss='quantile', loss_parameter=0.9."),
        (MonotonicRegressor, {"alpha": 0.9}, "for a quantile write loss='quantile', loss_parameter=0.9, "),
        (MonotonicRegressor, {"class_weight": "balanced"}, "write fit(X, y, sample_weight=...), "),
        (MonotonicRegressor, {"scale_pos_weight": 3}, "write fit(X, y, sample_weight=...), "),
        (MonotonicClassifier, {"objective": "binary"}, "the log-loss of the classes in y, so leave it out."),
        (MonotonicClassifier, {"loss": "log_loss"}, "the log-loss of the classes in y, so leave it out."),
        (MonotonicClassifier, {"scale_pos_weight": 3}, "write class_weight='balanced', or class_weight={class: "),
        (MonotonicClassifier, {"alpha": 0.1}, "limit slopes by max_slope=."),
    ],
)
def test_some_answers_depend_on_the_estimator_and_the_value(model, given, write):
    with pytest.raises(ArgumentError) as caught:
        model(**given)
    assert write in str(caught.value)


@pytest.mark.parametrize(
    ("given", "write"),
    [
        ({"eval_set": [(X, Y)]}, ".fit takes no 'eval_set': fit takes validation rows out of X itself"),
        ({"eval_X": X, "eval_y": Y}, "takes no 'eval_X' and no 'eval_y':\n- eval_X: fit takes validation rows"),
        ({"validation_data": (X, Y)}, "write fit(X, y, X_val=..., y_val=...) with rows of your own"),
        ({"monotonic_cst": [1]}, "it is an argument of the constructor, so write MonotonicX(monotonic_cst=[1])."),
        ({"verbose": 1}, "so write MonotonicX(verbose=1)."),
        ({"base_margin": Y}, "write fit(X, y, offset=...), one number for each row"),
        ({"exposure": Y}, "offset=np.log(exposure)"),
        ({"weights": Y}, "write fit(X, y, sample_weight=...)"),
        ({"sample_weigth": Y}, "takes no 'sample_weigth'; did you mean 'sample_weight'?"),
        ({"callback": []}, "write fit(X, y, callbacks=...)"),
    ],
)
@pytest.mark.parametrize("model", BOTH)
def test_fit_says_what_to_write(model, given, write):
    with pytest.raises(ArgumentError) as caught:
        model().fit(X, Y, **given)
    assert write.replace("MonotonicX", model.__name__) in str(caught.value)


@pytest.mark.parametrize("model", BOTH)
def test_a_name_that_nobody_brings_along_is_python_s_own_error(model):
    for act in (lambda: model(wavelength=3), lambda: model().fit(X, Y, wavelength=3)):
        with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'wavelength'$") as caught:
            act()
        assert not isinstance(caught.value, ArgumentError)
    with pytest.raises(TypeError, match="positional argument"):
        model([1])
    with pytest.raises(ValueError, match="Invalid parameter 'wavelength'"):
        model().set_params(wavelength=3)


@pytest.mark.parametrize("model", BOTH)
def test_set_params_and_a_grid_search_say_it_too(model):
    with pytest.raises(ArgumentError, match="set_params takes no 'learning_rate': fit chooses its steps itself"):
        model().set_params(learning_rate=0.1)
    with pytest.raises(ArgumentError, match="'max_depth'"):
        GridSearchCV(model(), {"max_depth": [3]}, cv=2).fit(X, Y)


def peers() -> dict[str, tuple[set[str], set[str]]]:
    """Arguments of the constructor and of fit: of installed libraries as they say, of others as documented."""
    found: list[type] = [
        HistGradientBoostingRegressor, HistGradientBoostingClassifier, GradientBoostingRegressor, MLPRegressor,
    ]  # fmt: skip
    with contextlib.suppress(ImportError):
        import lightgbm

        found.append(lightgbm.LGBMClassifier)
    read = {peer.__name__: (arguments(peer.__init__), arguments(peer.fit)) for peer in found}
    return read | {name: (set(init.split()), set(fit.split())) for name, (init, fit) in DOCUMENTED.items()}


def arguments(method) -> set[str]:
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {name for name, one in inspect.signature(method).parameters.items() if one.kind not in several}


DOCUMENTED = {
    "XGBoost": (
        "max_depth max_leaves max_bin grow_policy learning_rate n_estimators verbosity objective booster tree_method "
        "n_jobs gamma min_child_weight max_delta_step subsample sampling_method colsample_bytree colsample_bylevel "
        "colsample_bynode reg_alpha reg_lambda scale_pos_weight base_score random_state missing num_parallel_tree "
        "monotone_constraints interaction_constraints importance_type device validate_parameters enable_categorical "
        "feature_types feature_weights max_cat_to_onehot max_cat_threshold multi_strategy eval_metric "
        "early_stopping_rounds callbacks quantile_alpha tweedie_variance_power huber_slope eta lambda alpha "
        "seed nthread",
        "sample_weight base_margin eval_set verbose xgb_model sample_weight_eval_set base_margin_eval_set",
    ),
    "CatBoost": (
        "iterations learning_rate depth l2_leaf_reg rsm loss_function border_count eval_metric random_seed subsample "
        "thread_count logging_level metric_period class_weights auto_class_weights cat_features early_stopping_rounds "
        "monotone_constraints grow_policy min_data_in_leaf max_leaves task_type silent train_dir nan_mode od_wait",
        "cat_features sample_weight baseline use_best_model eval_set verbose logging_level plot early_stopping_rounds",
    ),
    "EBM": (
        "feature_names feature_types max_bins max_interaction_bins interactions exclude validation_size outer_bags "
        "inner_bags learning_rate greedy_ratio cyclic_progress smoothing_rounds interaction_smoothing_rounds "
        "max_rounds early_stopping_rounds early_stopping_tolerance callback min_samples_leaf min_hessian reg_alpha "
        "reg_lambda max_delta_step gain_scale min_cat_samples cat_smooth missing max_leaves monotone_constraints "
        "objective n_jobs",
        "sample_weight bags init_score",
    ),
    "Keras": ("", "batch_size epochs validation_data validation_split shuffle class_weight sample_weight callbacks"),
}


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("peer", peers())
def test_every_argument_of_a_peer_is_ours_or_explained(peer, model):
    in_init, in_fit = peers()[peer]
    for name in in_init - arguments(model.__init__):
        with pytest.raises(ArgumentError, match=f"'{name}'"):
            model(**{name: 1})
    for name in in_fit - arguments(model.fit):
        with pytest.raises(ArgumentError, match=f"'{name}'"):
            model().fit(X, Y, **{name: 1})


@pytest.mark.parametrize("model", BOTH)
def test_hundreds_of_members_are_taken_for_boosting_rounds(model):
    words = "number of networks that are averaged, 'auto' or 1 to 64, and not of boosting rounds; got 500; leave it out"
    with pytest.raises(InputError, match=words):
        model(n_estimators=500).fit(X, Y)


def test_the_command_line_has_the_same_limit(capsys):
    pytest.importorskip("click")
    assert run(["fit", "table.csv", "--target", "y", "--members", "65"]) == 2
    assert "65 is not in the range 1<=x<=64" in capsys.readouterr().err


@pytest.mark.parametrize("model", BOTH)
def test_signatures_are_exact_for_scikit_learn_and_for_people(model):
    kinds = {p.kind for p in inspect.signature(model).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    assert list(inspect.signature(model.fit).parameters) == [
        "self", "X", "y", "sample_weight", "offset", "groups",
        "X_val", "y_val", "sample_weight_val", "offset_val", "callbacks",
    ]  # fmt: skip
    assert model.fit.__doc__.startswith("Fit on any table")
    assert clone(model(n_bins=3)).get_params()["n_bins"] == 3


def test_a_subclass_may_have_arguments_of_its_own():
    class Mine(MonotonicRegressor):
        def __init__(self, *, alpha=1.0, n_bins="auto"):
            super().__init__(n_bins=n_bins)
            self.alpha = alpha

    assert Mine(alpha=2.0).set_params(alpha=3.0).alpha == 3.0
    with pytest.raises(TypeError, match="unexpected keyword argument 'learning_rate'"):
        Mine(learning_rate=0.1)


def test_a_warning_of_fit_points_at_the_line_that_called_it():
    x = np.random.default_rng(0).normal(size=(600, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MonotonicRegressor(monotonic_cst=[-1], max_iter=5, random_state=0).fit(x, x[:, 0])
    assert [one.filename for one in caught if one.category is PromiseWarning] == [__file__]
