"""One look for every figure: sans-serif, thin axes, the Okabe-Ito colours, which colour-blind readers tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

__all__ = ["COLOURS", "MODELS", "new_figure", "save"]

COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "red": "#D55E00",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
    "black": "#000000",
    "grey": "#777777",
}

# The same model has the same colour in every figure.
MODELS = {
    "unconstrained": COLOURS["red"],
    "lmn": COLOURS["green"],
    "convex": COLOURS["blue"],
    "trees": COLOURS["orange"],
    "published": COLOURS["black"],
}

SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.5,
    "savefig.dpi": 160,
    "svg.hashsalt": "monolip",  # the same figure gives the same file
}


def new_figure(rows: int = 1, columns: int = 1, *, size: tuple[float, float], **more: Any) -> tuple[Figure, Any]:
    """Figure and axes of so many inches, in the style of this folder."""
    plt.rcParams.update(SETTINGS)
    return plt.subplots(rows, columns, figsize=size, layout="constrained", **more)


def save(figure: Figure, path: Path) -> None:
    """Write without a date or a program's version, so that a figure changes only when its numbers do."""
    metadata: dict[str, Any] = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    figure.savefig(path, metadata=metadata)
    plt.close(figure)
