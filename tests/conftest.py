"""One hypothesis profile for the whole suite: the same examples in every run, no time limit on a shared machine.

To search further with fresh examples:  HYPOTHESIS_PROFILE=search pytest tests/test_slopes.py
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=100, suppress_health_check=_QUIET)
settings.register_profile("search", deadline=None, max_examples=5000, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


def pytest_configure(config: pytest.Config) -> None:
    """Tests promise directions whatever their rows say; those about the warning ask for it themselves."""
    config.addinivalue_line("filterwarnings", "ignore::monolip.errors.PromiseWarning")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20230501)
