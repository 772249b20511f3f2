"""Figures are drawn in matplotlib's own style, whatever other tests of the process set, and closed after each test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield
    import matplotlib.pyplot as plt

    plt.close("all")
