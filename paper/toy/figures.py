"""Figure 2 again, and the same with one outlier; from the results file alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.results_file import figure_path, read_results
from paper.style import COLOURS, MODELS, new_figure, save

__all__ = ["main"]

TITLES = {"unconstrained": "unconstrained network", "lmn": "LMN"}


def _panel(axis: Any, shown: np.ndarray, data: dict[str, Any], fits: dict[str, Any], title: str) -> None:
    """Light lines for seeds, dark ones for their mean; shaded where there are no data."""
    x, y = np.array(data["x"]), np.array(data["y"])
    for side in ((shown[0], x[0]), (x[-1], shown[-1])):
        axis.axvspan(*side, color="#ececec", linewidth=0, zorder=0)
    for name, label in TITLES.items():
        curves = np.array([one["curve"] for one in fits[name]])
        axis.plot(shown, curves.T, color=MODELS[name], linewidth=0.6, alpha=0.35)
        axis.plot(shown, curves.mean(axis=0), color=MODELS[name], linewidth=2.2, label=label)
    convex = np.array([one["curve"] for one in fits["convex"]])
    axis.plot(shown, convex.T, "--", color=MODELS["convex"], linewidth=0.5, alpha=0.35)
    axis.plot(shown, convex.mean(axis=0), "--", color=MODELS["convex"], linewidth=1.5, label="convex form")
    truth = np.tanh(2.0 * shown) + 0.1 * shown
    axis.plot(shown, truth, ":", color="black", linewidth=1.1, label="truth")
    axis.plot(x, y, "o", color=COLOURS["purple"], markersize=3.4, markeredgewidth=0, label="data")
    axis.set(title=title, xlabel="x", xlim=(shown[0], shown[-1]), ylim=(-2.6, 2.6), xticks=[-2, -1, 0, 1, 2])


def fits(numbers: dict[str, Any], fast: bool) -> None:
    figure, axes = new_figure(1, 2, size=(8.4, 3.5), sharey=True)
    shown = np.array(numbers["shown"])
    titles = ("data that rise at the right edge", "data that fall at the right edge")
    for axis, data, title in zip(axes, numbers["realisations"], titles, strict=True):
        _panel(axis, shown, data, data, title)
    axes[0].set_ylabel("y")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    save(figure, figure_path("toy_fits.png", fast=fast))


def outlier(numbers: dict[str, Any], fast: bool) -> None:
    figure, axes = new_figure(1, 2, size=(8.4, 3.5), sharey=True)
    shown, data = np.array(numbers["shown"]), numbers["realisations"][0]
    _panel(axes[0], shown, data, data, "without the outlier")
    _panel(axes[1], shown, data, numbers["outlier"], "with one outlier")
    axes[1].plot(*numbers["outlier"]["at"], "*", color="black", markersize=9, zorder=5)
    axes[0].set(ylabel="y", ylim=(-2.6, 3.4))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    save(figure, figure_path("toy_outlier.png", fast=fast))


def main(fast: bool) -> None:
    numbers = read_results("toy", fast=fast)["numbers"]
    fits(numbers, fast)
    outlier(numbers, fast)
