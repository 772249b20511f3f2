"""Pictures of what a fitted model does and of what it guarantees."""

from monolip.report.audit import plot_audit
from monolip.report.robustness import plot_certified_accuracy
from monolip.report.shapes import plot_shapes

__all__ = ["plot_audit", "plot_certified_accuracy", "plot_shapes"]
