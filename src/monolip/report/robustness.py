"""Certified accuracy against radius: the share of rows that are right, and provably stay so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from monolip.certify.robustness import CertifiedRadii
from monolip.errors import InputError
from monolip.report.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, one_axis, styled

__all__ = ["plot_certified_accuracy"]

_COLORS = (GREY, ORANGE, GREEN, BLUE, PURPLE, RED)


@styled
def plot_certified_accuracy(
    radii: CertifiedRadii | Mapping[str, CertifiedRadii], right: Any, *, largest: float | None = None, axis: Any = None
) -> Any:
    """One falling curve a method: at radius r, the share of rows decided rightly that no change up to r can flip.

    Args:
        radii: of `certified_radius`, or several by the name they get in the legend.
        right: bool per row, whether the decision is right; (n,).
        largest: the end of the radius axis; None: where the best curve has lost nearly all finite radii.
        axis: a matplotlib axis to draw on; None for a figure of its own.

    Returns: the matplotlib axis.
    """
    curves = {radii.method: radii} if isinstance(radii, CertifiedRadii) else dict(radii)
    if not curves or not all(isinstance(found, CertifiedRadii) for found in curves.values()):
        raise InputError("radii are what certified_radius returns; got others or none; pass them, or a dict of them.")
    norms = {found.norm for found in curves.values()}
    if len(norms) > 1:
        raise InputError(f"one picture shows radii of one norm; got {sorted(norms)}; draw one picture for each.")
    good = np.asarray(right, dtype=bool)
    end = float(largest) if largest is not None else _end(curves)
    axis = one_axis(axis, 5.0, 3.4)
    for k, (name, found) in enumerate(curves.items()):
        steps = np.unique(found.radius[np.isfinite(found.radius) & (found.radius < end)])
        at = np.concatenate([[0.0], steps, np.nextafter(steps, np.inf), [end]])
        at.sort()
        shares, width = found.certified_accuracy(good, at), max(1.2, 3.0 - 0.6 * k)  # equal curves stay visible
        axis.plot(at, shares, color=_COLORS[k % len(_COLORS)], linewidth=width, label=name)
    axis.axhline(good.mean(), color="black", linewidth=0.8, linestyle=":", label="accuracy, nothing moved")
    axis.set_xlim(0.0, end)
    axis.set_ylim(0.0, 1.0)
    axis.set_xlabel(f"radius, {norms.pop()}, in units of scale")
    axis.set_ylabel("certified accuracy")
    axis.legend(loc="upper right", framealpha=0.9)
    return axis


def _end(curves: Mapping[str, CertifiedRadii]) -> float:
    finite = [found.radius[np.isfinite(found.radius)] for found in curves.values()]
    ends = [float(np.quantile(radius, 0.98)) for radius in finite if len(radius)]
    return max(ends, default=1.0) or 1.0
