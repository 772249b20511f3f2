"""What a forest can stand beside, and what its user is told."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from monolip.errors import InputError
from monolip.estimators._checks import threads, whole
from monolip.estimators._free_columns import free_places
from monolip.estimators._promises import read_promises
from monolip.estimators.classifier import MonotonicClassifier
from monolip.estimators.regressor import MonotonicRegressor

__all__ = ["COPIES", "MANY_COPIES", "NONE_FREE", "TOO_FEW", "check_forest", "places_of"]

MANY_COPIES = 0.1  # of the rows
MOST_TREES = 100_000
TOO_FEW = (
    "too few rows can be held out to judge a forest by: 16 at least, of each class as many, and with groups four of "
    "them for every part; the model is the estimator alone"
)
NONE_FREE = "something is promised of every feature, so there is none for a forest"
COPIES = (
    "{:.0%} of the rows have features that another row has as well; a forest learns such rows by heart, and rows held "
    "out take that for a gain; if they are of one customer, or copies, name them by fit(groups=)"
)


def check_forest(model: Any, y: Any) -> None:
    """What cannot be meant is refused before anything is fitted."""
    if not isinstance(model.estimator, MonotonicRegressor | MonotonicClassifier):
        kind = isinstance(model.estimator, type)
        raise InputError(
            "a forest is added to a MonotonicRegressor or a MonotonicClassifier; got "
            f"{'the class ' + model.estimator.__name__ if kind else type(model.estimator).__name__}; pass one of them"
            f"{', made by calling it' if kind else ''}."
        )
    loss: Any = getattr(model.estimator, "loss", "squared_error")
    if not isinstance(loss, str) or loss != "squared_error":
        raise InputError(
            f"a forest learns what squared_error leaves over; got loss={loss!r}; choose that loss, or leave the "
            "forest out."
        )
    whole("n_trees", model.n_trees, 1, high=MOST_TREES)
    whole("min_samples_leaf", model.min_samples_leaf, 1, high=2**31)
    threads(model.n_jobs)
    cv: Any = model.cv
    if cv is not None and (isinstance(cv, str | type) or not hasattr(cv, "split")):
        whole("cv", cv, 2, "None, a splitter of scikit-learn's")
    if isinstance(model.estimator, MonotonicClassifier) and _has_many_classes(y):
        raise InputError(
            f"Only binary classification is supported with a forest; got {len(np.unique(y))} classes; fit the "
            "estimator without one, or one class against the others."
        )


def places_of(f: Any) -> list[int]:
    """Columns of a fitted estimator that nothing is promised of."""
    classes = getattr(f, "classes_", None)
    return free_places(read_promises(f._schema, f.monotonic_cst, f.slopes, f.max_slope, f.missing, classes))


def _has_many_classes(y: Any) -> bool:
    """Of a target that is not one of classes the estimator tells."""
    with warnings.catch_warnings(), suppress(ValueError, TypeError):
        warnings.simplefilter("ignore")
        return str(type_of_target(y)) == "multiclass"
    return False
