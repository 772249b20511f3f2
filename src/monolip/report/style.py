"""One style for every picture: colours that colour-blind people can tell apart, quiet frames, and where axes come from.

Colours are those of Okabe and Ito; lines that share a picture also differ in dash, width or marker.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from monolip.errors import MissingExtraError

__all__ = [
    "BLUE",
    "COLORS",
    "DASHES",
    "GREEN",
    "GREY",
    "HEAT",
    "ORANGE",
    "PURPLE",
    "RED",
    "legend_below",
    "one_axis",
    "panels",
    "styled",
]

BLUE, ORANGE, GREEN, RED, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
GREY = "#6B7280"
COLORS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, GREY)
HEAT = "cividis"
DASHES = ("-", "--", ":", "-.")

SETTINGS: Any = {
    "font.size": 9.5,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.5,
    "axes.edgecolor": "#9CA3AF",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E5E7EB",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "xtick.color": "#4B5563",
    "ytick.color": "#4B5563",
    "lines.linewidth": 1.8,
    "figure.max_open_warning": 0,  # who draws many pictures closes them; a fit of ours must not warn
}

P = ParamSpec("P")
T = TypeVar("T")


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """A function that draws, in this style and no other; without matplotlib it says what to install."""

    @wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            from matplotlib import rc_context
        except ImportError:
            raise MissingExtraError("matplotlib", "plot") from None
        with rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return inside


def one_axis(axis: Any, width: float, height: float) -> Any:
    """The axis given, or one of a figure of its own, which pyplot (and a notebook) shows."""
    if axis is not None:
        return axis
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained").subplots()


def panels(count: int, n_columns: int, figure: Any = None) -> Any:
    """Axes for `count` panels, at most n_columns side by side, as an array (count,); figure: one to draw in."""
    across = max(1, min(int(n_columns), count))
    rows = -(-count // across)
    if figure is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(4.0 * across, 3.0 * rows + 0.2 + 0.8 / across), layout="constrained")
    axes = figure.subplots(rows, across, squeeze=False).ravel()
    for spare in axes[count:]:
        spare.remove()
    return axes[:count]


def legend_below(axes: Any, n_columns: int) -> None:
    """One legend for all panels, each word once."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        legend = axes[0].figure.legend(found.values(), found.keys(), loc="outside lower center", ncol=max(1, n_columns))
        for line in legend.get_lines():
            line.set_alpha(None)  # one faint line of many would not be seen
