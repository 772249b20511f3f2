"""Pictures of what a fitted model does and guarantees, and a report of all of it as one HTML page.

>>> from monolip.report import write_report
>>> write_report.__name__
'write_report'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monolip.lazy_names import lazy_name

if TYPE_CHECKING:  # what type checkers and editors read; at run time a name is loaded on first use
    from monolip.report.audit import plot_audit
    from monolip.report.certificate import plot_certificate
    from monolip.report.comparing import Comparison, compare
    from monolip.report.explaining import Explanation, explain
    from monolip.report.heatmap import plot_heatmap
    from monolip.report.history import plot_history
    from monolip.report.html_report import write_report
    from monolip.report.robustness import plot_certified_accuracy
    from monolip.report.shapes import plot_shapes

# Where each public name lives. Loaded on first use: a report needs no matplotlib, a plot no report.
_HOMES = {
    "Comparison": "comparing",
    "Explanation": "explaining",
    "compare": "comparing",
    "explain": "explaining",
    "plot_audit": "audit",
    "plot_certificate": "certificate",
    "plot_certified_accuracy": "robustness",
    "plot_heatmap": "heatmap",
    "plot_history": "history",
    "plot_shapes": "shapes",
    "write_report": "html_report",
}

__all__ = [
    "Comparison",
    "Explanation",
    "compare",
    "explain",
    "plot_audit",
    "plot_certificate",
    "plot_certified_accuracy",
    "plot_heatmap",
    "plot_history",
    "plot_shapes",
    "write_report",
]


if not TYPE_CHECKING:  # else every misspelt name would be there, as Any

    def __getattr__(name: str) -> Any:
        return lazy_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
