"""What a fit did: the validation loss of each member after each stage of training."""

from __future__ import annotations

from typing import Any, NamedTuple

from monolip.errors import InputError
from monolip.estimators._base import MonotonicBase
from monolip.estimators._facts import stays_additive
from monolip.report.style import BLUE, COLORS, DASHES, GREY, RED, one_axis, panels, styled

__all__ = ["plot_history"]

MOST_MARKS = 5  # labels of the axis of steps
MANY_TIMES = 20  # the lowest loss: from there on the axis of losses is logarithmic


@styled
def plot_history(model: Any, *, axis: Any = None) -> Any:
    """One curve per member: its validation loss after each stage, against the training steps so far.

    Step 0 is the additive model. A ring marks the stage that the model consists of. Members with the same bins share a
    colour; grey curves are of bins that were left out because their validation loss was much higher.

    If a model was trained on a stream, a second panel shows the validation loss of the ensemble against the rows of the
    stream. The two panels use different validation rows, so their losses cannot be compared.

    Args:
        model: a fitted MonotonicRegressor or MonotonicClassifier (also one loaded from a file).
        axis: a matplotlib axis to draw on, for the panel of the members; None for a new figure.

    Returns: the matplotlib axis of the members. Without validation rows (early_stopping=False) it says so.
    """
    if not isinstance(model, MonotonicBase) or not hasattr(model, "history_"):
        raise InputError(
            "plot_history draws a fitted MonotonicRegressor or MonotonicClassifier; got "
            f"{type(model).__name__}{'' if not isinstance(model, MonotonicBase) else ', not fitted'}; "
            f"{'pass its estimator_.' if hasattr(model, 'estimator_') else 'fit it first.'}"
        )
    stream = [row for row in model.history_ if "stream_rows" in row]
    title = "Validation loss of each member"
    if stream and axis is None:
        axis, beside = panels(2, 2)
        title += ", on the sample"
        _draw_stream(beside, stream)
    elif stream:
        title += ", on the sample\n(training on the stream is not shown)"
    axis = one_axis(axis, 5.4, 3.4)
    axis.set_title(title)
    axis.set_xlabel("training steps")
    axis.set_ylabel("validation loss")
    curves = _curves(model.history_)
    if not curves:
        axis.text(0.5, 0.5, "no validation rows", transform=axis.transAxes, ha="center", va="center")
        return axis
    _draw_members(axis, curves)
    if not stream and stays_additive(model.frozen_):
        axis.set_title("Training did not improve the validation loss\nof the additive model, which is kept")
    return axis


class Curve(NamedTuple):
    """Of a member: its bins per feature, steps so far and validation losses; where the chosen stage is, if anywhere."""

    n_bins: int
    steps: list[int]
    losses: list[float]
    chosen: int | None


def _curves(history: list[dict[str, Any]]) -> list[Curve]:
    """Return the curve of each member with validation rows."""
    found = []
    for member in sorted({row["member"] for row in history if "member" in row}):
        rows = [row for row in history if row.get("member") == member and row["validation_loss"] is not None]
        steps = [sum(row["steps"] for row in rows[: k + 1]) for k in range(len(rows))]
        chosen = next((k for k, row in enumerate(rows) if row["chosen"]), None)
        if rows:
            found.append(Curve(rows[0]["n_bins"], steps, [row["validation_loss"] for row in rows], chosen))
    return found


def _draw_members(axis: Any, curves: list[Curve]) -> None:
    kinds = list(dict.fromkeys(curve.n_bins for curve in curves))
    used = [n_bins for n_bins in kinds if any(c.chosen is not None for c in curves if c.n_bins == n_bins)]
    told: set[str] = set()
    for n_bins, steps, losses, chosen in curves:
        left_out = bool(used) and n_bins not in used
        color = GREY if left_out else COLORS[2 * kinds.index(n_bins) % len(COLORS)]
        words = f"{n_bins} bins per feature" if n_bins else "no bins"
        label = f"{words}{', left out' if left_out else ''}"
        style = {"color": color, "linestyle": DASHES[kinds.index(n_bins) % len(DASHES)], "linewidth": 1.2}
        axis.plot(steps, losses, marker=".", alpha=0.5 if left_out else 1.0, label=_once(label, told), **style)
        if chosen is not None:
            ring = {"color": RED, "marker": "o", "markersize": 8, "fillstyle": "none", "linestyle": "none", "zorder": 3}
            axis.plot(steps[chosen], losses[chosen], label=_once("chosen stage", told), **ring)
    every = [loss for curve in curves for loss in curve.losses]
    if 0 < MANY_TIMES * min(every) < max(every):
        axis.set_yscale("log")
    _steps_axis(axis, max((curve.steps for curve in curves), key=len))
    _legend_above(axis, len(told))


def _once(label: str, told: set[str]) -> str:
    """Return the label the first time, and later one that no legend shows."""
    shown = f"_{label}" if label in told else label
    told.add(label)
    return shown


def _steps_axis(axis: Any, steps: list[int]) -> None:
    """Give stages, which double, equal widths: a logarithmic axis that begins at 0, labelled at ends of stages."""
    from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter

    if len(steps) > 2:
        axis.set_xscale("symlog", linthresh=max(steps[1], 1), base=2)
        apart = -(-(len(steps) - 1) // MOST_MARKS)
        axis.xaxis.set_major_locator(FixedLocator([steps[0], *steps[:0:-apart]]))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.minorticks_off()
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _draw_stream(axis: Any, stream: list[dict[str, Any]]) -> None:
    from matplotlib.ticker import EngFormatter

    rows, losses = [row["stream_rows"] for row in stream], [row["validation_loss"] for row in stream]
    axis.plot(rows, losses, color=BLUE, marker="o", markersize=4)
    best = min(range(len(losses)), key=losses.__getitem__)
    axis.plot(rows[best], losses[best], color=RED, marker="o", markersize=8, fillstyle="none", label="chosen")
    axis.set_title("Validation loss of the ensemble, on the stream\n(of other rows than the members')")
    axis.set_xlabel("rows of the stream (0: fit of the sample)")
    axis.set_ylabel("validation loss")
    axis.xaxis.set_major_formatter(EngFormatter())
    axis.legend()


def _legend_above(axis: Any, count: int) -> None:
    """Draw the legend above the curves, in room that is made for it."""
    forward, back = axis.transScale, axis.transScale.inverted()
    (_, bottom), (_, top) = forward.transform([(1, y) for y in axis.get_ylim()])
    room = (top - bottom) * 0.11 * -(-count // 2)
    axis.set_ylim(axis.get_ylim()[0], back.transform((1, top + room))[1])
    axis.legend(loc="upper center", ncol=2)
