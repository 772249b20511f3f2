"""The scikit-learn face: fit on any table, know what is guaranteed, predict bit for bit in order."""

from monolip.estimators import _light_imports  # noqa: F401  first: it makes importing scikit-learn quick
from monolip.estimators.classifier import MonotonicClassifier
from monolip.estimators.fit_options import FitOptions
from monolip.estimators.regressor import MonotonicRegressor
from monolip.estimators.slope_table import SlopeTable
from monolip.estimators.threshold import Threshold, choose_threshold

__all__ = ["FitOptions", "MonotonicClassifier", "MonotonicRegressor", "SlopeTable", "Threshold", "choose_threshold"]
