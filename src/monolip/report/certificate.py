"""A certificate as a picture: the certified slope of every feature, and the direction it gives."""

from __future__ import annotations

from typing import Any

from monolip.certify.certificate import Certificate, Claim, certify
from monolip.errors import InputError
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork
from monolip.report.html_text import plain
from monolip.report.style import BLUE, GREEN, GREY, RED, one_axis, styled
from monolip.rounding import interval_text

__all__ = ["plot_certificate"]

_COLORS = {"increasing": BLUE, "decreasing": RED, "flat": GREEN, "bounded": GREY, "free": GREY}
_WORDS = {"bounded": "bounded: no direction", "free": "free: nothing is certified"}
MAX_ROWS = 60


@styled
def plot_certificate(model: Any, *, axis: Any = None, max_rows: int = MAX_ROWS) -> Any:
    """One bar a feature (and output): the slopes it provably has, times the range its training data had.

    Raw units differ too much to share an axis, so a bar is what the feature can do along its whole training range; the
    interval in raw units is written beside it. A feature without a range is drawn per unit. Categories, which
    have no slopes, show their direction in words.

    Args:
        model: a Certificate, a fitted estimator, a FrozenNetwork or a FixedPointNetwork.
        axis: a matplotlib axis to draw on; None for a figure of its own. max_rows: of more, the first are drawn.

    Returns: the matplotlib axis.
    """
    certificate = _certificate_of(model)
    ranges, claims = _ranges(certificate), list(certificate)[: max(1, int(max_rows))]
    axis = one_axis(axis, 7.0, 1.1 + 0.34 * len(claims))
    seen: set[str] = set()
    sizes: list[float] = []
    for place, claim in enumerate(claims):
        word = claim.promise
        label = None if word in seen else _WORDS.get(word, word)
        seen.add(word)
        if claim.lower is None or claim.upper is None:
            axis.plot([0.0], [place], "D", color=_COLORS[word], markersize=5, label=label)
            continue
        width = ranges.get(claim.feature, 1.0)
        low, high = claim.lower * width, claim.upper * width
        axis.barh(place, high - low, left=low, height=0.56, color=_COLORS[word], label=label)
        sizes += [abs(low), abs(high)]
    axis.axvline(0.0, color="black", linewidth=0.9)
    _scale(axis, [size for size in sizes if size > 0.0])
    axis.set_ylim(len(claims) - 0.4, -0.6)  # the first feature on top
    axis.set_yticks(range(len(claims)), [_name(claim) for claim in claims])
    twin = axis.secondary_yaxis("right")
    twin.set_yticks(range(len(claims)), [_interval(claim) for claim in claims])
    twin.spines["right"].set_visible(False)
    twin.tick_params(length=0)
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("what the feature can do along its training range, in units of f")
    axis.set_title(f"certified of network {certificate.digest[:12]}; right: slope per raw unit")
    axis.figure.legend(loc="outside lower center", ncol=4) if axis.figure.axes[0] is axis else axis.legend()
    return axis


def _scale(axis: Any, sizes: list[float]) -> None:
    """As wide to both sides; logarithmic where features differ so much that small ones would vanish."""
    widest, least = max(sizes, default=1.0), min(sizes, default=1.0)
    if widest > 30.0 * least:
        axis.set_xscale("symlog", linthresh=least)
    axis.set_xlim(-1.3 * widest, 1.3 * widest)


def _certificate_of(model: Any) -> Certificate:
    if isinstance(model, Certificate):
        return model
    network = getattr(model, "frozen_", model)
    if not isinstance(network, FrozenNetwork | FixedPointNetwork):
        raise InputError(
            "plot_certificate draws a Certificate, or certifies a fitted estimator or a network; got "
            f"{type(model).__name__}; pass one of those."
        )
    found: Certificate = model.certificate_ if network is not model else certify(network)
    return found


def _ranges(certificate: Certificate) -> dict[str, float]:
    """Width of the training data, by raw feature, where the network remembers it."""
    structure = certificate.document["structure"]
    entries = (structure.get("ends") or {}).get("inputs") or structure.get("columns") or ()
    found = {entry["name"]: entry["seen"] for entry in entries if entry.get("seen")}
    return {name: float(seen[-1]) - float(seen[0]) for name, seen in found.items() if seen[-1] > seen[0]}


def _name(claim: Claim) -> str:
    feature = plain(claim.feature, 40)  # a longer one leaves no room for the bars
    return f"{feature}, {plain(claim.output, 20)}" if claim.output else feature


def _interval(claim: Claim) -> str:
    if claim.lower is None or claim.upper is None:
        return claim.promise
    return interval_text(claim.lower, claim.upper)
