"""Pictures of what a fitted model does and of what it guarantees."""

from monolip.report.shapes import plot_shapes

__all__ = ["plot_shapes"]
