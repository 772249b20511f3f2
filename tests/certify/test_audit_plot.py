"""The picture of an audit shows where the score goes the wrong way, and says so where nothing was found."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.certify import audit
from monolip.errors import InputError
from monolip.report.audit import plot_audit

X = np.random.default_rng(0).normal(size=(80, 3))


def score(x):
    return x[:, 0] - 0.4 * (x[:, 0] > 0.2) - x[:, 2]


def test_every_audited_feature_has_a_panel_with_its_curve_and_its_counterexample():
    report = audit(score, X, [1, 0, -1], max_evaluations=8_000)
    broken, kept = plot_audit(report)
    assert broken.get_xlabel() == "x0 (increasing)"
    assert "worst drop" in broken.get_title()
    assert kept.get_title() == "nothing found (not a proof)"
    curve, ends = broken.lines
    np.testing.assert_array_equal(curve.get_ydata(), report.features[0].curve[1])
    assert list(ends.get_xdata()) == [0.2, np.nextafter(0.2, 1)]
    assert ends.get_ydata()[1] < ends.get_ydata()[0]
    assert len(broken.collections) == 1
    assert len(kept.collections) == 0
    broken.figure.savefig("/dev/null", format="png")


def test_the_worst_panels_are_drawn_and_others_refused():
    report = audit(score, X, [1, 1, -1], max_evaluations=8_000)
    (axis,) = plot_audit(report, max_panels=1)
    assert axis.get_xlabel() == "x0 (increasing)"
    with pytest.raises(InputError, match="AuditReport"):
        plot_audit("report")
