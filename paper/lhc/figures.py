"""Figures 3 and 4 again, the boundaries of all seeds, and what smearing does; from the results file alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.results_file import figure_path, read_results
from paper.style import COLOURS, MODELS, new_figure, save

from .lifetime_bins import BINS

__all__ = ["main"]

TITLES = {"unconstrained": "unconstrained network", "trees": "monotone LightGBM", "lmn": "LMN", "convex": "convex form"}
# The three monotone curves lie on each other: a broad band, a line and dots keep all of them in sight.
LINES: dict[str, dict[str, Any]] = {
    "unconstrained": {"linewidth": 1.6, "marker": "o", "markersize": 3.0},
    "trees": {"linewidth": 5.0, "alpha": 0.55, "solid_capstyle": "round"},
    "lmn": {"linewidth": 1.6},
    "convex": {"linewidth": 0.0, "marker": "D", "markersize": 3.2},
}
DISPLACEMENT, MOMENTUM = r"$\log\,\min\,\chi^2_{\mathrm{IP}}$", r"sum of $p_{\mathrm{T}}$  [GeV]"


def heat_maps(numbers: dict[str, Any], fast: bool) -> None:
    """Figure 3: score over displacement and momentum; the line is the boundary at 660 kHz, selected above and right."""
    figure, axes = new_figure(1, 4, size=(10.2, 2.95), sharey=True)
    for axis, (name, title) in zip(axes, TITLES.items(), strict=True):
        row = numbers["seeds"][0]["2"][name]
        extent = [*row["limits"][0], *row["limits"][1]]
        probability = np.array(row["map_permille"]) / 1000.0
        shown = axis.imshow(
            probability,
            origin="lower",
            extent=extent,
            aspect="auto",
            cmap="RdBu",
            vmin=0,
            vmax=1,
            interpolation="nearest",
        )
        for line in row["boundary"]:
            axis.plot(*np.array(line).T, color="black", linewidth=1.6)
        axis.set(title=title, xlabel=DISPLACEMENT, xlim=extent[:2], ylim=extent[2:])
        axis.spines[["top", "right"]].set_visible(True)
    axes[0].set_ylabel(MOMENTUM)
    figure.colorbar(shown, ax=axes, pad=0.01, aspect=24, label="signal probability")
    save(figure, figure_path("lhc_heat_maps.png", fast=fast))


def efficiencies(numbers: dict[str, Any], fast: bool) -> None:
    """Figure 4: efficiency at 660 kHz against proper lifetime, mean and spread over seeds."""
    figure, axes = new_figure(1, 2, size=(8.6, 3.3), sharey=True)
    centres = np.add(BINS[1:], BINS[:-1]) / 2
    counts, edges = np.array(numbers["lifetimes"]["counts"]), np.array(numbers["lifetimes"]["edges"])
    for axis, n in zip(axes, ("2", "4"), strict=True):
        axis.stairs(0.28 * counts / counts.max(), edges, fill=True, color="#d9d9d9", zorder=0)
        for name, title in TITLES.items():
            curves = np.array([one[n][name]["by_lifetime"] for one in numbers["seeds"]])
            mean, spread = curves.mean(axis=0), curves.std(axis=0, ddof=1)
            axis.plot(centres, mean, color=MODELS[name], label=title, **LINES[name])
            axis.fill_between(centres, mean - spread, mean + spread, color=MODELS[name], alpha=0.15, linewidth=0)
        axis.set(title=f"{n} features", xlabel="proper lifetime [ps]", xlim=(0, 20.2), ylim=(0, 0.85))
        axis.set_xticks([0, 5, 10, 15, 20])
    axes[0].set_ylabel("efficiency at 660 kHz")
    axes[0].text(3.1, 0.115, "natural lifetimes", color="#6b6b6b", fontsize=8.5)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    save(figure, figure_path("lhc_efficiency.png", fast=fast))


def boundaries(numbers: dict[str, Any], fast: bool) -> None:
    """The boundary of every seed, with how far one turns along it, in right angles."""
    figure, axes = new_figure(1, 4, size=(10.0, 2.8), sharey=True, sharex=True)
    for axis, (name, title) in zip(axes, TITLES.items(), strict=True):
        for one in numbers["seeds"]:
            for line in one["2"][name]["boundary"]:
                axis.plot(*np.array(line).T, color=MODELS[name], linewidth=1.0, alpha=0.8)
        turns = np.mean([one["2"][name]["turning"] for one in numbers["seeds"]])
        axis.set(title=f"{title}\nturns {turns:.1f} right angles", xlabel=DISPLACEMENT)
    limits = numbers["densities"]["limits"]
    axes[0].set(ylabel=MOMENTUM, xlim=limits[0], ylim=limits[1])
    save(figure, figure_path("lhc_boundaries.png", fast=fast))


def smearing(numbers: dict[str, Any], fast: bool) -> None:
    """How far the score of each candidate moves in an unstable detector, against the most that is certified."""
    figure, axes = new_figure(1, 2, size=(7.2, 3.2), sharey=True, sharex=True)
    pairs = {n: np.array(numbers["seeds"][0][n]["lmn"]["smeared"]["pairs"]) for n in ("2", "4")}
    least, most = 1e-3, 1.3 * max(points.max() for points in pairs.values())
    for axis, (n, points) in zip(axes, pairs.items(), strict=True):
        ends = np.array([least, most])
        axis.fill_between(ends, ends, most, color="#d9d9d9", linewidth=0)
        axis.plot(ends, ends, color="black", linewidth=1.0)
        axis.plot(*np.maximum(points, least).T, ".", color=MODELS["lmn"], markersize=2.2, alpha=0.5, rasterized=True)
        axis.set(xscale="log", yscale="log", xlim=(1e-2, most), ylim=(least, most))
        axis.set(title=f"LMN, {n} features", xlabel="most that is certified  [log-odds]")
        axis.text(0.05, 0.93, "excluded by the certificate", transform=axis.transAxes, color=COLOURS["grey"], va="top")
    axes[0].set_ylabel("move of the score  [log-odds]")
    save(figure, figure_path("lhc_smearing.png", fast=fast))


def main(fast: bool) -> None:
    numbers = read_results("lhc", fast=fast)["numbers"]
    for draw in (heat_maps, efficiencies, boundaries, smearing):
        draw(numbers, fast)
