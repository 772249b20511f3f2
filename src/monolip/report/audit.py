"""What an audit found, drawn: the score along each feature at its worst row, and where it goes the wrong way."""

from __future__ import annotations

from typing import Any

import numpy as np

from monolip.certify.audit_report import AuditedFeature, AuditReport, Counterexample
from monolip.errors import InputError
from monolip.report.style import BLUE, RED, legend_below, panels, styled
from monolip.rounding import share_text

__all__ = ["plot_audit"]

_CURVE, _WRONG = BLUE, RED


@styled
def plot_audit(report: AuditReport, *, n_columns: int = 3, max_panels: int = 12, figure: Any = None) -> Any:
    """One panel a feature (and output): the score along it at the row of its worst counterexample, the fall in red.

    Args:
        report: what `audit` returned.
        n_columns: panels side by side. max_panels: the worst ones are drawn.
        figure: a matplotlib figure to draw in; None for a new one.

    Returns: the matplotlib axes, one a panel, shape (n,).
    A panel without red shows a row where nothing was found, which is not a proof.
    """
    if not isinstance(report, AuditReport):
        raise InputError(f"plot_audit draws an AuditReport; got {type(report).__name__}; pass what audit returned.")
    shown = sorted(report.features, key=lambda feature: -feature.worst_drop)[: max(1, max_panels)]
    axes = panels(len(shown), n_columns, figure)
    several = len({feature.output for feature in report.features}) > 1
    for axis, feature in zip(axes, shown, strict=True):
        _panel(axis, feature, _worst(report, feature), several)
    legend_below(axes, 1)
    return axes


def _worst(report: AuditReport, feature: AuditedFeature) -> Counterexample | None:
    mine = [one for one in report.violations if (one.feature, one.output) == (feature.name, feature.output)]
    return mine[0] if mine else None


def _panel(axis: Any, feature: AuditedFeature, worst: Counterexample | None, several: bool) -> None:
    values, scores = feature.curve
    axis.plot(values, scores, color=_CURVE, linewidth=1.6, label="score along the feature, other columns fixed")
    _mark_wrong_way(axis, feature)
    numeric = worst is not None and isinstance(worst.value_from, int | float)
    if worst is not None and numeric:
        ends = [worst.value_from, worst.value_to], [worst.before, worst.after]
        words = "counterexample (the step should not lower the score)"
        axis.plot(*ends, "o", color=_WRONG, markersize=5, markerfacecolor="white", label=words, zorder=4)
    if worst is None:
        axis.set_title("nothing found (not a proof)", fontsize=9)
    else:
        share = f"{share_text(feature.share_affected, 0)} of rows, worst drop {feature.worst_drop:.3g}"
        kind = "" if worst.size == "beyond rounding" else ", rounding"
        axis.set_title(share + kind, fontsize=9)
    axis.set_xlabel(f"{feature.name} ({'increasing' if feature.direction > 0 else 'decreasing'})")
    axis.set_ylabel(f"score of {feature.output!r}" if several else "score")


def _mark_wrong_way(axis: Any, feature: AuditedFeature) -> None:
    """Red where the score is below what it already was on the way (above it, for a decreasing feature)."""
    values, scores = feature.curve
    ahead = np.maximum.accumulate(scores) if feature.direction > 0 else np.minimum.accumulate(scores)
    if np.any(ahead != scores):
        words = "wrong way round: lower than an earlier value (decreasing: higher)"
        axis.fill_between(values, scores, ahead, color=_WRONG, alpha=0.3, linewidth=0, label=words)
