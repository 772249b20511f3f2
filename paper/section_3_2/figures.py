"""Every variant against the base: one dot a table, the mean and its standard error."""

from __future__ import annotations

from matplotlib.ticker import NullFormatter

from paper.results_file import figure_path, read_results
from paper.section_3_2.tables import CLAIMS
from paper.style import COLOURS, new_figure, save

__all__ = ["main"]

SHOWN = dict(zip(CLAIMS, ("orange", "blue", "sky", "green", "purple", "red"), strict=True))


def main(*, fast: bool) -> None:
    """Writes section_3_2_variants.png."""
    found = read_results("section_3_2", fast=fast)["numbers"]["comparison"]
    names = [name for claim in CLAIMS for name, one in found.items() if one["claim"] == claim]
    figure, axis = new_figure(size=(7.6, 4.9))
    for height, name in enumerate(reversed(names)):
        one = found[name]
        colour = COLOURS[SHOWN[one["claim"]]]
        ratios = list(one["ratios"].values())
        axis.plot(ratios, [height] * len(ratios), "o", ms=3, color=colour, alpha=0.45, mew=0)
        axis.errorbar(one["test"], height, xerr=one["error"], fmt="D", ms=5, color=colour, capsize=3, lw=1.4)
    axis.axvline(1.0, color="black", lw=0.8)
    axis.set_xscale("log")
    ticks = [
        t for t in (0.5, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0) if axis.get_xlim()[0] < t < axis.get_xlim()[1]
    ]
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_yticks(range(len(names)), reversed(names))
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("test loss relative to Eq. 11 per vector with the budget at the input (left is better)")
    handles = [axis.plot([], [], "D", color=COLOURS[colour], label=claim)[0] for claim, colour in SHOWN.items()]
    axis.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), title="question", alignment="left")
    save(figure, figure_path("section_3_2_variants.png", fast=fast))
