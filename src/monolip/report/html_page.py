"""The page itself: template, style, scripts and sections put together into one text, and written."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from monolip._version import __version__
from monolip.errors import InputError
from monolip.report.html_judging import Judgement
from monolip.report.html_promises import direction_of
from monolip.report.html_subject import Subject
from monolip.report.html_text import DASH, Html, data_island, join, plain, short_score, tag

__all__ = ["page_of", "summary_of"]

MOST_BYTES = 2**26  # of the certificate that travels in the page
_NAV = {
    "promises": "Promises",
    "whatif": "What if",
    "quality": "Accuracy",
    "shapes": "Learned",
    "robustness": "Robustness",
    "groups": "Groups",
}


def summary_of(subject: Subject, headline: str, judgement: Judgement | None, verdict: str) -> Html:
    """The head of the page: what it is about, and four numbers."""
    n_outputs = range(subject.network.n_outputs)
    directed = sum(any(direction_of(subject, n, k) != "free" for k in n_outputs) for n in subject.names)
    what = " or ".join(subject.labels[:6]) if subject.labels else subject.target
    tiles = [(f"{directed} of {len(subject.names)}", "features with a proved direction")]
    tiles += [(verdict.split(",")[0].capitalize(), f"by the independent checker{', '.join(verdict.split(',')[1:2])}")]
    if judgement is not None:
        name, value = next(iter(judgement.main.metrics.items()))
        tiles.append((short_score(value, 3), f"{name}, on rows not learned from" if judgement.is_unseen else name))
    items = [tag("li", tag("strong", value), tag("span", words)) for value, words in tiles]
    bits = "check rows give Python's bits in this browser"
    items.append(tag("li", tag("strong", DASH, id="bits"), tag("span", bits, id="bits-words")))
    members = len(subject.network.members)
    lead = (
        f"A network in convex form ({members} member{'s' if members > 1 else ''}) that predicts {what} from "
        f"{len(subject.names)} features, with slopes that provably stay inside intervals."
    )
    return tag("div", tag("h1", plain(headline)), tag("p", lead, class_="lead"), tag("ul", *items, class_="tiles"))


def page_of(subject: Subject, headline: str, data: Any, sections: Sequence[Html]) -> str:
    """The whole file as text; data: what the scripts read."""
    text = {name: _resource(name) for name in ("page.html", "page.css", "scorer.js", "whatif.js", "page.js")}
    scripts = [text[name] for name in ("scorer.js", "whatif.js", "page.js")]
    certificate = subject.certificate.to_json()
    if len(certificate) > MOST_BYTES:
        raise InputError(
            f"a certificate of at most {MOST_BYTES} bytes fits in a page; got {len(certificate)}; save it on its own, "
            "and report on a smaller network."
        )
    shown = [(name, words) for name, words in _NAV.items() if any(f'id="{name}"' in part for part in sections)]
    return Template(text["page.html"]).substitute(
        policy=escape(_policy(scripts, text["page.css"])),
        title=escape(plain(headline)),
        style=text["page.css"],
        nav=join(tag("a", words, href=f"#{name}") for name, words in shown),
        body=join(sections),
        footer=join([f"Written by monolip {__version__}. Network {subject.network.digest[:16]}."]),
        data=data_island("certificate", certificate, is_written=True) + data_island("page-data", data),
        scorer=scripts[0],
        whatif=scripts[1],
        page=scripts[2],
    )


def _policy(scripts: Sequence[str], style: str) -> str:
    """Only our own scripts and style may run, by their hashes, and nothing may be fetched."""
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in (*scripts, style)]
    return (
        f"default-src 'none'; script-src {' '.join(hashes[:-1])}; style-src {hashes[-1]}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _resource(name: str) -> str:
    return (files("monolip.report") / "page" / name).read_text(encoding="utf-8")
