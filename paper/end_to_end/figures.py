"""Accuracy on test patients after every epoch, of both heads: what choosing the epoch there would be worth."""

from __future__ import annotations

import numpy as np

from paper.end_to_end import OURS, THEIRS
from paper.results_file import figure_path, read_results
from paper.style import MODELS, new_figure, save

__all__ = ["main"]

LOOKS = {OURS: (MODELS["convex"], "our head"), THEIRS: (MODELS["unconstrained"], "unconstrained head")}


def main(fast: bool) -> None:
    numbers = read_results("end_to_end", fast=fast)["numbers"]
    figure, axes = new_figure(1, 2, size=(7.5, 2.9), sharey=True)
    epochs = np.arange(1, numbers["epochs"] + 1)
    for place, kind in zip(axes, (OURS, THEIRS), strict=True):
        colour, label = LOOKS[kind]
        curves = np.array([row["test"] for row in numbers[kind]])
        place.plot(epochs, curves.T, color=colour, alpha=0.3, lw=1)
        place.plot(epochs, curves.mean(axis=0), color=colour, lw=2)
        for row in numbers[kind]:
            place.plot(row["epoch"], row["honest"], "o", color=colour, ms=4.5)
        place.set_title(label)
        place.set_xlabel("epoch")
    axes[0].set_ylabel("test accuracy, %")
    save(figure, figure_path("end_to_end.png", fast=fast))
