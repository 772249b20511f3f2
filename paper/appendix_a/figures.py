"""Images still wrong against time, ours and the published recipe, one panel a data set."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from paper.appendix_a.tables import NAMES
from paper.results_file import figure_path, read_results
from paper.style import COLOURS, new_figure, save

__all__ = ["main"]

RULES = {
    "true": "blue",
    "random": "red",
    "threshold": "green",
    "coin, original": "blue",
    "coin, random": "red",
}


def main(*, fast: bool) -> None:
    """Writes appendix_a_curves.png."""
    numbers = read_results("appendix_a", fast=fast)["numbers"]
    figure, axes = new_figure(1, 4, size=(10.4, 3.4), sharey=True)
    for axis, (kind, title) in zip(axes, NAMES.items(), strict=True):
        axis.set_title(title)
        for name, task in numbers["tasks"].items():
            if name.split(" ", 1)[0] == kind:
                _draw(axis, name.split(" ", 1)[1], task)
        axis.set_xscale("log")
        axis.set_xlim(0.1, 30.0)
        axis.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        axis.set_yscale("symlog", linthresh=1.0, linscale=0.5)
        axis.set_ylim(-0.25, 1.3e5)
        axis.set_yticks([0, 1, 10, 100, 1000, 10_000], ["0", "1", "10", "100", "1,000", "10,000"])
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set_xlabel("seconds")
        if axis.get_legend_handles_labels()[0]:
            axis.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.12), handlelength=1.0, handletextpad=0.5)
    axes[0].set_ylabel("images wrong that can be right")
    handles = [Line2D([], [], color="black", ls=style) for style in ("-", ":")]
    shown = f"published recipe, first {numbers['published_epochs']:,} of 100,000 epochs"
    names = ["ours, each seed (dot: all right, checked in float64)", shown]
    figure.legend(handles, names, loc="outside lower center", ncols=2)
    save(figure, figure_path("appendix_a_curves.png", fast=fast))


def _draw(axis: Any, rule: str, task: dict[str, Any]) -> None:
    colour, attainable = COLOURS[RULES[rule]], task["attainable"]
    for k, run in enumerate(task["runs"]):
        seconds, _, right = np.array(run["curve"]).T
        axis.plot(seconds, attainable - right, color=colour, lw=1.1, alpha=0.9, label=rule if k == 0 else None)
        if run["right"] == attainable:
            axis.plot(run["seconds"], 0, "o", ms=4, color=colour, clip_on=False)
    seconds, _, right = np.array(task["published"]["curve"]).T
    axis.plot(seconds, attainable - right, color=colour, lw=1.0, ls=":")
