"""The scikit-learn face: fit on any table, know what is guaranteed, predict bit for bit in order."""

from typing import Any

from monolip.estimators import _light_imports  # noqa: F401  first: it makes importing scikit-learn quick
from monolip.estimators.classifier import MonotonicClassifier
from monolip.estimators.regressor import MonotonicRegressor
from monolip.estimators.slope_table import SlopeTable
from monolip.estimators.threshold import Threshold, choose_threshold
from monolip.lazy_names import lazy_name

__all__ = ["MonotonicClassifier", "MonotonicRegressor", "SlopeTable", "Threshold", "WithFreeForest", "choose_threshold"]


def __getattr__(name: str) -> Any:
    return lazy_name(__name__, {"WithFreeForest": "with_forest"}, name)  # few need it, and it takes time to import
