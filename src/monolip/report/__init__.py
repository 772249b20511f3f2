"""Pictures of what a fitted model does and guarantees, and a report of all of it as one HTML page.

>>> from monolip.report import write_report
>>> write_report.__name__
'write_report'
"""

from __future__ import annotations

from typing import Any

from monolip.lazy_names import lazy_name

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

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    return lazy_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
