"""What looking at the test set is worth, and how wide the uncertainty really is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paper.results_file import figure_path, read_results
from paper.style import COLOURS, new_figure, save

__all__ = ["main"]


def main(fast: bool) -> None:
    findings = read_results("what_was_wrong", fast=fast)["numbers"]["findings"]
    figure, axes = new_figure(1, 3, size=(9.6, 3.0), width_ratios=[1.5, 1, 1])
    for place, (panel, needed) in zip(axes, PANELS, strict=True):
        absent = [name for name in needed if name not in findings]
        if absent:  # its data set is missing; the other panels are drawn all the same
            place.set_axis_off()
            place.text(0.5, 0.5, "not checked:\n" + "\n".join(absent), ha="center", va="center", fontsize=8)
        else:
            panel(place, *[findings[name]["numbers"] for name in needed])
    save(figure, figure_path("what_was_wrong.png", fast=fast))


def _looking(axes: Any, found: dict[str, Any]) -> None:
    epochs = np.arange(1, len(found["plain"]) + 1)
    axes.plot(epochs, found["plain"], color=COLOURS["grey"], lw=0.7, label="this epoch, threshold 1/2")
    axes.plot(epochs, found["running_maximum"], color=COLOURS["red"], label="best so far, best threshold")
    axes.axhline(np.mean(found["honest"]), color=COLOURS["blue"], lw=1, ls="--", label="chosen on validation rows")
    axes.set(xlabel="epoch", ylabel="COMPAS test accuracy, %", title="one run of 37 parameters", xscale="log")
    low = min(np.percentile(found["plain"], 10), np.mean(found["honest"])) - 1
    axes.set_ylim(low, max(found["running_maximum"]) + 1.6)
    axes.legend(loc="upper left", fontsize=7.5)


def _spreads(axes: Any, looked: dict[str, Any], spread: dict[str, Any]) -> None:
    rows = [
        ("looked at test", looked["peeked"], COLOURS["red"]),
        ("validation", looked["honest"], COLOURS["blue"]),
        ("seeds, one split", spread["over_seeds"], COLOURS["grey"]),
        ("random splits", spread["over_splits"], COLOURS["black"]),
    ]
    rng = np.random.default_rng(0)
    for place, (_, values, colour) in enumerate(rows):
        axes.plot(values, place + rng.uniform(-0.15, 0.15, len(values)), "o", ms=3, color=colour, alpha=0.8)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set(xlabel="COMPAS test accuracy, %", title="a dot is a run")


def _splits(axes: Any, found: dict[str, Any]) -> None:
    axes.hist(found["random"], bins=8, color=COLOURS["sky"])
    for k, value in enumerate(found["theirs"]):
        axes.axvline(value, ymax=0.68, color=COLOURS["red"], lw=1.2, label="the script's splits" if k == 0 else None)
    axes.axvline(7.58, ymax=0.68, color=COLOURS["black"], lw=1, ls="--", label="published 7.58")
    axes.set(
        xlabel="AutoMPG mean squared error",
        ylabel="random splits",
        title=f"HistGradientBoosting, {len(found['random'])} splits",
    )
    axes.set_ylim(top=axes.get_ylim()[1] * 1.45)
    axes.legend(loc="upper right", fontsize=7.5)


PANELS: tuple[tuple[Callable[..., None], tuple[str, ...]], ...] = (
    (_looking, ("selection_on_test",)),
    (_spreads, ("selection_on_test", "seeds_are_not_splits")),
    (_splits, ("auto_splits",)),
)
