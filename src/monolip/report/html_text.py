"""Markup that is safe by construction: plain strings are escaped when they enter a tag, only `Html` passes as it is.

Names, categories and titles come from users and from files. They are cut to a bounded length, and characters that
could reorder or hide text (controls, bidirectional overrides, lone surrogates) are shown as a replacement character.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from monolip.rounding import digits_down, digits_up, score_text

__all__ = [
    "DASH",
    "MINUS",
    "Html",
    "data_island",
    "grouped",
    "join",
    "plain",
    "short",
    "short_down",
    "short_score",
    "short_up",
    "table",
    "tag",
]

DASH, MINUS = "\u2013", "\u2212"  # where there is no number; and the sign people write
LONG = 30  # rows of a table that are shown without scrolling
MUCH = 24  # characters of a head that get a column of some width, whatever the screen
MOST = 120  # characters of one string of the user's
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Html(str):
    """Markup: goes into a page as it is."""


def plain(text: object, most: int = MOST) -> str:
    """A string of the user's, fit to be shown: bounded, and without characters that deceive.

    >>> plain("a" + chr(8238) + "b"), len(plain("x" * 999))
    ('a\ufffdb', 120)
    """
    shown = _HIDDEN.sub("\ufffd", str(text))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def tag(name: str, *content: object, **attributes: Any) -> Html:
    """<name attributes>content</name>. `aria_label` gives aria-label, `class_` class; None and False are left out.

    >>> tag("p", "1 < 2", tag("b", "!"), class_="note")
    '<p class="note">1 &lt; 2<b>!</b></p>'
    """
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        shown = value if isinstance(value, Html) else escape(plain(value, 4000))
        written.append(attribute if value is True else f'{attribute}="{shown}"')
    head = " ".join([name, *written])
    if name in ("input", "br", "meta", "col"):
        return Html(f"<{head}>")
    return Html(f"<{head}>{join(content)}</{name}>")


def join(parts: Iterable[object], between: str = "") -> Html:
    """Parts one after the other; those that are not Html are escaped."""
    shown = (part if isinstance(part, Html) else escape(plain(part, 20_000)) for part in parts)
    return Html(between.join(shown))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], caption: str, *, numeric: int = 1) -> Html:
    """A table with a caption; the first cell of a row heads it; cells from number `numeric` on are numbers."""
    heads = []
    for j, cell in enumerate(head):
        words = ("num" if j >= numeric else "", "much" if len(str(cell)) > MUCH else "")
        heads.append(tag("th", cell, scope="col", class_=" ".join(filter(None, words)) or None))
    lines = []
    for row in rows:
        cells = [tag("th", row[0], scope="row")]
        cells += [tag("td", cell, class_="num" if j >= numeric else None) for j, cell in enumerate(row[1:], start=1)]
        lines.append(tag("tr", *cells))
    long = "scroll long" if len(lines) > LONG else "scroll"
    body = (tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *lines))
    return tag("div", tag("table", *body), class_=long, role="region", aria_label=caption, tabindex="0")


def short(value: float | None, digits: int = 4) -> str:
    """A number as people write it: four digits, thousands apart, a real minus.

    >>> short(1234567.0), short(0.000123456), short(-2.5), short(float("inf"))
    ('1,234,567', '1.235e-4', '−2.5', '∞')
    """
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    if size and (size >= 1e9 or size < 1e-3):
        mantissa, power = f"{size:.{digits - 1}e}".split("e")
        text = (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + f"e{int(power)}"
    else:
        text = grouped(size, digits)
    return f"{MINUS}{text}" if value < 0 and text.strip("0.") else text


def short_score(value: float | None, digits: int = 4) -> str:
    """`short` for a score of which 1 is the best: what is not perfect does not read as if it were.

    >>> short_score(0.99999), short_score(1.0), short_score(0.98765, 3)
    ('0.99999', '1', '0.988')
    """
    text = short(value, digits)
    return text if value is None or text != "1" else score_text(value, digits)


def short_down(value: float | None, digits: int = 4) -> str:
    """`short`, never above the value: what is proved of a number is proved of what is printed.

    >>> short_down(1.98765, 2), short_down(-1.98765, 2), short_down(0.5, 2), short_down(12345.6, 2)
    ('1.9', '−2', '0.5', '12,345')
    """
    return short(value if value is None else digits_down(value, _digits(value, digits)), digits)


def short_up(value: float | None, digits: int = 4) -> str:
    """`short`, never below the value.

    >>> short_up(1.21, 2), short_up(0.000123456)
    ('1.3', '1.235e-4')
    """
    return short(value if value is None else digits_up(value, _digits(value, digits)), digits)


def _digits(value: float, digits: int) -> int:
    """As many as `short` shows: at least the whole part."""
    return max(digits, len(str(int(abs(value))))) if abs(value) < 1e9 else digits


def grouped(size: float, digits: int) -> str:
    """A number of ordinary size, at least its whole part."""
    whole = len(str(int(size))) if size >= 1 else 1 + math.floor(math.log10(size)) if size else 1
    text = f"{size:,.{max(0, digits - whole)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def data_island(name: str, value: Any, *, is_written: bool = False) -> Html:
    """JSON that a script reads, and no markup can end: <, > and & are written as escapes of JSON.

    is_written: value is JSON already.

    >>> data_island("d", ["</script>"])
    '<script type="application/json" id="d">["\\\\u003c/script\\\\u003e"]</script>'
    """
    text = value if is_written else json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json" id="{escape(name)}">{text}</script>')
