"""What a fit did: the loss on the rows that each member held out, after every stretch of training."""

from __future__ import annotations

from typing import Any

from monolip.errors import InputError
from monolip.estimators._base import MonotonicBase
from monolip.estimators._facts import stays_at_start
from monolip.report.style import BLUE, COLORS, DASHES, RED, one_axis, panels, styled

__all__ = ["plot_history"]


@styled
def plot_history(model: Any, *, axis: Any = None) -> Any:
    """One curve a member: its hold-out loss against the steps it had made, a marker after each stretch.

    Of a model that was trained on a stream a second panel shows the loss of all members together against the rows of
    the stream that they had seen. Both panels judge by rows held out, but by other ones: a member by rows of the
    sample, the stream by rows that are in no sample; so the two are not to be compared.

    Args:
        model: a fitted MonotonicRegressor or MonotonicClassifier (also one loaded from a file).
        axis: a matplotlib axis to draw on, for one panel: the title says what of a stream it shows; None for a figure
            of its own.

    Returns: the matplotlib axis of the members. Where nothing was held out (early_stopping=False) it says so, and where
    rows held out were better off with the additive start, too.
    """
    if not isinstance(model, MonotonicBase) or not hasattr(model, "history_"):
        raise InputError(
            "plot_history draws a fitted MonotonicRegressor or MonotonicClassifier; got "
            f"{type(model).__name__}{'' if not isinstance(model, MonotonicBase) else ', not fitted'}; "
            f"{'pass its estimator_.' if hasattr(model, 'estimator_') else 'fit it first.'}"
        )
    stream = [entry for entry in model.history_ if "stream_rows" in entry]
    if stream and axis is None:
        axis, beside = panels(2, 2)
        axis.set_title("members, on the sample")
        _draw_stream(beside, stream)
    elif stream:
        axis.set_title("members, on the sample\n(what the stream added is not shown)")
    axis = one_axis(axis, 5.4, 3.4)
    axis.set_xlabel("training steps")
    curves = _curves(_taken(model))
    if not curves:
        trained = any(entry.get("n_steps") for entry in model.history_)
        words = "no rows were held out" if trained else "nothing was trained"
        axis.text(0.5, 0.5, words, transform=axis.transAxes, ha="center", va="center")
        return axis
    for member, (steps, losses) in sorted(curves.items()):
        style = {"color": COLORS[member % len(COLORS)], "linestyle": DASHES[member % len(DASHES)]}
        axis.plot(steps, losses, marker="o", markersize=4, label=f"member {member}", **style)
    if not stream and stays_at_start(model.frozen_):
        axis.set_title("training did not beat the additive start,\nwhich was kept")
        axis.set_xlim(left=0)
    elif max(steps[-1] for steps, _ in curves.values()) >= 8 * min(steps[0] for steps, _ in curves.values()):
        _double_steps(axis)
    axis.set_ylabel("hold-out loss")
    if len(curves) > 1:
        _legend_above(axis, len(curves))
    return axis


def _double_steps(axis: Any) -> None:
    """Stretches double, so the scale is logarithmic, with plain numbers: powers of ten would lie over each other."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_xscale("log")
    low, high = axis.get_xlim()
    marks = (1, 2, 5) if high < 50 * low else (1, 3) if high < 1000 * low else (1,)
    axis.xaxis.set_major_locator(LogLocator(subs=marks, numticks=12))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _draw_stream(axis: Any, stream: list[dict[str, Any]]) -> None:
    from matplotlib.ticker import EngFormatter

    rows, losses = [entry["stream_rows"] for entry in stream], [entry["holdout_loss"] for entry in stream]
    axis.plot(rows, losses, color=BLUE, marker="o", markersize=4)
    best = min(range(len(losses)), key=losses.__getitem__)
    axis.plot(rows[best], losses[best], color=RED, marker="o", markersize=7, fillstyle="none", label="kept")
    axis.set_title("all members, on the stream\n(judged by other rows than the members)")
    axis.set_xlabel("rows of the stream (0: fit of the sample)")
    axis.set_ylabel("hold-out loss")
    axis.xaxis.set_major_formatter(EngFormatter())
    axis.legend()


def _legend_above(axis: Any, count: int) -> None:
    """Over the curves, in room made for it: inside of a small picture it would hide one."""
    across = 2 if count in (2, 4) else 3
    bottom, top = axis.get_ylim()
    axis.set_ylim(bottom, top + (top - bottom) * 0.1 * -(-count // across))
    axis.legend(loc="upper center", ncol=across)


def _taken(model: Any) -> list[dict[str, Any]]:
    """Of paths with other bins or features the one that the model comes from."""
    history = [entry for entry in model.history_ if "member" in entry]  # a stretch of a stream is of all of them
    history = [entry for entry in history if entry.get("taken", True)]  # files of before do not say
    tried = {entry.get("n_bins") for entry in history}
    if len(tried) < 2 or None in tried:
        return history
    maps = [len(column.maps) - 1 for column in model.frozen_.inputs.columns if hasattr(column, "maps")]
    bins = min(tried, key=lambda number: abs(number - max(maps, default=0)))
    return [entry for entry in history if entry["n_bins"] == bins]


def _curves(history: list[dict[str, Any]]) -> dict[int, tuple[list[int], list[float]]]:
    """Steps so far and loss, by member; stretches without a loss are counted and not drawn."""
    curves: dict[int, tuple[list[int], list[float]]] = {}
    so_far: dict[int, int] = {}
    for entry in history:
        member = int(entry["member"])
        so_far[member] = so_far.get(member, 0) + int(entry["n_steps"])
        if entry["holdout_loss"] is not None:
            steps, losses = curves.setdefault(member, ([], []))
            steps.append(so_far[member])
            losses.append(float(entry["holdout_loss"]))
    return curves
