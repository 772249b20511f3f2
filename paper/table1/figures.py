"""Table 1 as a picture: what selection on test is worth, and ours beside the peers on the same splits."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.results_file import figure_path, read_results
from paper.style import COLOURS, MODELS, new_figure, save
from paper.table1.published import PAPER
from paper.table1.summary import GUARANTEED, summary
from paper.table1.tasks import TASKS

__all__ = ["main"]

LOOKS = {
    "monolip": (MODELS["convex"], "o"),
    "monolip, paper's size": (COLOURS["sky"], "o"),
    "LightGBM": (MODELS["trees"], "s"),
    "XGBoost": (MODELS["trees"], "^"),
    "HistGradientBoosting": (MODELS["trees"], "D"),
    "gradient penalty": (MODELS["unconstrained"], "x"),
}


def main(fast: bool) -> None:
    numbers = read_results("table1", fast=fast)["numbers"]
    tasks = [task for task in TASKS if task.entry in numbers]
    columns = min(4, len(tasks))
    lines = -(-len(tasks) // columns)
    figure, axes = new_figure(lines, columns, size=(2.5 * columns, 2.3 * lines + 0.4), squeeze=False)
    for place, task in zip(axes.flat, tasks, strict=False):
        _entry(place, task.entry, numbers[task.entry])
    for place in axes.flat[len(tasks) :]:
        place.axis("off")
    figure.supxlabel(
        "mean and standard error under `honest`; dashed: the paper's; dotted: ours under its protocol; *: substitute",
        fontsize=8.5,
    )
    save(figure, figure_path("table1.png", fast=fast))


def _entry(axes: Any, entry: str, found: dict[str, Any]) -> None:
    names = [name for name in (*GUARANTEED, "gradient penalty") if found["honest"].get(name)]
    for place, name in enumerate(names):
        mean, error, _ = summary(found["honest"][name])
        colour, marker = LOOKS[name]
        axes.errorbar(mean, place, xerr=error, fmt=marker, color=colour, ms=4.5, lw=1.2, capsize=2)
    peeked = float(np.mean(found["paper"]["monolip"]["values"]))
    axes.axvline(peeked, color=COLOURS["red"], lw=1, ls=":")
    if not found["substitute"]:
        axes.axvline(PAPER[entry].value, color=MODELS["published"], lw=1, ls="--")
    first = axes.get_subplotspec().is_first_col()
    axes.set_yticks(range(len(names)), names if first else [""] * len(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    arrow = "higher is better" if found["metric"] == "accuracy" else "lower is better"
    title = f"{entry}*" if found["substitute"] else entry
    score = {"accuracy": "accuracy, %", "rmse": "RMSE", "mse": "MSE"}[found["metric"]]
    axes.set_title(f"{title}, {score}\n{arrow}", fontsize=8.5)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.locator_params(axis="x", nbins=4)
