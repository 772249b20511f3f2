"""Importing the estimators loads neither pandas nor scipy.stats, and nobody who needs them can tell."""

from __future__ import annotations

import subprocess
import sys

import pytest

from monolip.estimators._light_imports import deferred


def in_new_process(code):
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


def test_estimators_fit_arrays_without_pandas_and_scipy_stats():
    code = """
import sys
import numpy as np
from monolip import MonotonicClassifier, MonotonicRegressor
x = np.linspace(0, 1, 64)[:, None]
MonotonicRegressor(max_iter=2).fit(x, x[:, 0]).predict(x)
MonotonicClassifier(max_iter=2).fit(x, x[:, 0] > 0.5).predict(x)
print([name for name in ("pandas", "pyarrow", "scipy.stats", "torch", "rich", "matplotlib") if name in sys.modules])
"""
    assert in_new_process(code) == "[]"


def test_scikit_learn_still_reaches_the_real_modules():
    code = """
import sys
import numpy as np
import monolip.estimators
from sklearn.utils import fixes
assert "pandas" not in sys.modules
assert fixes.pd.__version__ and fixes.pd.DataFrame({"a": [1]}).shape == (1, 1)
import pandas
assert fixes.pd.DataFrame is pandas.DataFrame and fixes.pd is not pandas
assert fixes._mode(np.array([1, 2, 2]))[0] == 2
import scipy.stats
assert scipy.stats.norm.cdf(0) == 0.5 and sys.modules["scipy.stats"] is scipy.stats
import pandas.api.types
from sklearn.preprocessing import StandardScaler
print(type(StandardScaler().set_output(transform="pandas").fit_transform(pandas.DataFrame({"a": [1.0, 2.0]}))).__name__)
"""
    assert in_new_process(code) == "DataFrame"


def test_modules_that_are_loaded_or_absent_are_left_alone(monkeypatch):
    with deferred("json", "no_such_module_at_all", "no_such.parent"):
        import json

        assert json.loads("1") == 1
        with pytest.raises(ImportError):
            import no_such_module_at_all  # noqa: F401
    assert sys.modules["json"] is json


def test_a_stand_in_that_is_used_inside_becomes_the_real_module():
    sys.modules.pop("colorsys", None)
    with deferred("colorsys"):
        import colorsys

        assert type(colorsys).__name__ == "_Later"
        assert colorsys.rgb_to_hsv(0, 0, 0) == (0.0, 0.0, 0)
    assert type(sys.modules["colorsys"]).__name__ == "module"
