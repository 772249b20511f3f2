"""Charts as inline SVG: a frame with ticks, and lines, areas, points, bars in it; colours are classes of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.report.html_text import Html, join, short, tag

__all__ = ["Chart", "legend", "worded_ticks"]

FloatArray = NDArray[np.float64]
Ticks = Sequence[tuple[float, str]] | None
RIGHT, TOP, BOTTOM = 14.0, 10.0, 40.0
_LETTER, _NAMES = 6.6, 14  # width of one, about; names below an axis


class Chart:
    """A drawing of numbers; what lies outside its ranges is cut off.

    Args:
        description: what a screen reader says instead.
        x_range, y_range: (low, high), widened where they are empty.
        x_label, y_label: beside the axes; cut to a bounded length.
        x_names: labels of the places 0, 1, 2, ... instead of numbers.
        x_ticks, y_ticks: (place, words) instead of round numbers.
    """

    def __init__(
        self, description: str, x_range: Sequence[float], y_range: Sequence[float], *, x_label: str = "",
        y_label: str = "", x_names: Sequence[str] | None = None, x_ticks: Ticks = None, y_ticks: Ticks = None,
        width: float = 360.0, height: float = 240.0,
    ) -> None:  # fmt: skip
        self.description, self.x_label, self.y_label, self.x_names = description, x_label, y_label, x_names
        self.x_range, self.y_range = _opened(x_range), _opened(y_range)
        self.width, self.height = width, height
        crowded = x_names is not None and _LETTER * max(map(len, x_names)) * len(x_names) > width - 80.0
        self.bottom = BOTTOM + (22.0 if crowded else 0.0)
        self.y_ticks = y_ticks or worded_ticks(*self.y_range)
        self.x_ticks = x_ticks or worded_ticks(*self.x_range)
        self.left = 28.0 + _LETTER * max(len(words) for _, words in self.y_ticks)
        self.parts: list[Html] = []

    def x(self, value: ArrayLike) -> FloatArray:
        low, high = self.x_range
        share = (np.asarray(value, dtype=np.float64) - low) / (high - low)
        return self.left + share * (self.width - self.left - RIGHT)

    def y(self, value: ArrayLike) -> FloatArray:
        low, high = self.y_range
        share = (np.asarray(value, dtype=np.float64) - low) / (high - low)
        return np.clip(self.height - self.bottom - share * (self.height - self.bottom - TOP), -1e4, 1e4)

    def line(self, x: ArrayLike, y: ArrayLike, class_: str) -> None:
        self.parts.append(tag("path", d=Html("M" + "L".join(_pairs(self.x(x), self.y(y)))), class_=f"line {class_}"))

    def area(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, class_: str) -> None:
        places = self.x(x)
        corners = [*_pairs(places, self.y(high)), *reversed(_pairs(places, self.y(low)))]
        self.parts.append(tag("path", d=Html("M" + "L".join(corners) + "Z"), class_=f"area {class_}"))

    def points(self, x: ArrayLike, y: ArrayLike, class_: str, radius: float = 3.0) -> None:
        spots = zip(self.x(x).ravel().tolist(), self.y(y).ravel().tolist(), strict=True)
        circles = [tag("circle", cx=_digits(a), cy=_digits(b), r=_digits(radius)) for a, b in spots]
        self.parts.append(tag("g", *circles, class_=f"points {class_}"))

    def stems(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, class_: str) -> None:
        """Upright lines, for intervals."""
        ends = zip(self.x(x).tolist(), self.y(low).tolist(), self.y(high).tolist(), strict=True)
        d = "".join(f"M{_digits(a)},{_digits(b)}V{_digits(c)}" for a, b, c in ends)
        self.parts.append(tag("path", d=Html(d), class_=f"line {class_}"))

    def bars(self, left: ArrayLike, right: ArrayLike, low: ArrayLike, high: ArrayLike, class_: str) -> None:
        a, b, c, e = self.x(left).tolist(), self.x(right).tolist(), self.y(high).tolist(), self.y(low).tolist()
        boxes = zip(a, b, c, e, strict=True)
        d = "".join(f"M{_digits(p)},{_digits(t)}H{_digits(q)}V{_digits(s)}H{_digits(p)}Z" for p, q, t, s in boxes)
        self.parts.append(tag("path", d=Html(d), class_=f"area {class_}"))

    def render(self) -> Html:
        inner = (self.width - self.left - RIGHT, self.height - self.bottom - TOP)
        view = " ".join(_digits(v) for v in (self.left, TOP, *inner))
        size = {"x": _digits(self.left), "y": _digits(TOP), "width": _digits(inner[0]), "height": _digits(inner[1])}
        plot = tag("svg", *self.parts, viewBox=view, overflow="hidden", **size)
        box = f"0 0 {_digits(self.width)} {_digits(self.height)}"
        return tag("svg", *self._frame(), plot, viewBox=box, role="img", aria_label=self.description, class_="chart")

    def _frame(self) -> list[Html]:
        floor, side = self.height - self.bottom, self.left
        found: list[Html] = []
        for value, words in self.y_ticks:
            at = float(self.y(value))
            found.append(
                tag("path", d=Html(f"M{_digits(side)},{_digits(at)}H{_digits(self.width - RIGHT)}"), class_="grid")
            )
            found.append(_text(side - 6, at + 4, words, text_anchor="end"))
        if self.x_names is None:
            for value, words in self.x_ticks:
                found.append(_text(float(self.x(value)), floor + 15, words, text_anchor="middle"))
        else:
            every = -(-len(self.x_names) // _NAMES)  # of many names some are written
            found += [self._name(j, name, floor) for j, name in enumerate(self.x_names) if j % every == 0]
        found.append(
            tag("path", d=Html(f"M{_digits(side)},{_digits(floor)}H{_digits(self.width - RIGHT)}"), class_="axis")
        )
        middle = (side + self.width - RIGHT) / 2
        found.append(_text(middle, self.height - 6, _cut(self.x_label, 52), text_anchor="middle", class_="label"))
        turn = f"translate(12,{_digits((TOP + floor) / 2)}) rotate(-90)"
        found.append(tag("text", _cut(self.y_label, 34), transform=turn, text_anchor="middle", class_="label"))
        return found

    def _name(self, j: int, name: str, floor: float) -> Html:
        if self.bottom == BOTTOM:
            return _text(float(self.x(j)), floor + 15, name, text_anchor="middle")
        place = f"translate({_digits(float(self.x(j)) + 4)},{_digits(floor + 12)}) rotate(-28)"
        return tag("text", _cut(name, 10), transform=place, text_anchor="end")


def legend(*entries: tuple[str, str]) -> Html:
    """What each class of line or area is, in words."""
    items = [tag("li", tag("span", class_=f"key {class_}", aria_hidden="true"), words) for class_, words in entries]
    return tag("ul", *items, class_="legend")


def nice_ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers between low and high, steps of 1, 2 or 5 times a power of ten.

    >>> nice_ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= rough * 0.75)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = 12 - math.floor(math.log10(step))
    return [round(step * k, digits) for k in range(first, last + 1)] or [low, high]


def worded_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers with as many digits as tell them apart.

    >>> worded_ticks(10.5, 10.52)
    [(10.5, '10.5'), (10.505, '10.505'), (10.51, '10.51'), (10.515, '10.515'), (10.52, '10.52')]
    """
    places = nice_ticks(low, high)
    step, most = abs(places[-1] - places[0]) / max(1, len(places) - 1), max(abs(place) for place in places)
    digits = 3 if not step or not most else max(3, math.floor(math.log10(most)) - math.floor(math.log10(step)) + 1)
    return [(place, short(place, min(digits, 12))) for place in places]


def _opened(span: Sequence[float]) -> tuple[float, float]:
    low, high = float(span[0]), float(span[1])
    if high - low > 1e-12 * max(abs(low), abs(high), 1e-290):
        return low, high
    room = abs(low) * 0.1 or 1.0
    return low - room, high + room


def _pairs(x: FloatArray, y: FloatArray) -> list[str]:
    places = zip(np.atleast_1d(x).tolist(), np.atleast_1d(y).tolist(), strict=True)
    return [f"{_digits(a)},{_digits(b)}" for a, b in places]


def _digits(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(x: float, y: float, words: str, **attributes: Any) -> Html:
    return tag("text", join([words]), x=_digits(x), y=_digits(y), **attributes)
