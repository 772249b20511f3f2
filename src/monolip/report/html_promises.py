"""What the model promises, in the user's units, with the certificate and how to check it again."""

from __future__ import annotations

from monolip.certify.certificate import Claim
from monolip.errors import CertificateError
from monolip.estimators.slope_table import SlopeRow
from monolip.report.html_subject import Subject
from monolip.report.html_text import DASH, Html, short_down, short_up, table, tag

__all__ = [
    "answer_words",
    "checker_verdict",
    "direction_of",
    "focus_of",
    "promises_section",
    "sentence_of",
    "told_direction",
    "told_scale",
    "told_slope",
]

ARROWS = {"increasing": "↑", "decreasing": "↓", "flat": "→", "free": ""}
_MISSING = {
    "state": "a state of its own",
    "lowest": "counts as lowest",
    "highest": "counts as highest",
    "refused": "refused",
}
MOST_ROWS = 400


def direction_of(subject: Subject, feature: str, output: int = 0) -> str:
    """What is proved of the answer (of classes: of P(class)): "increasing", "decreasing", "flat"; else "free"."""
    label = subject.labels[output] if subject.link == "softmax" else ""
    if subject.link == "softmax":  # the certificate speaks of logits, the table of probabilities
        row = next(row for row in subject.slopes if (row.feature, row.output) == (feature, label))
        word = row.promise.split()[0]
    else:
        word = subject.claims[feature, label].promise
    return word if word in ("increasing", "decreasing", "flat") else "free"


def told_direction(subject: Subject, feature: str, output: int = 0) -> str:
    """The direction of what sentences are about, which may be the class that f is not about."""
    return _told(subject, direction_of(subject, feature, output))


def _told(subject: Subject, word: str) -> str:
    """A word for the class that f is about, as one for the class that sentences are about."""
    turned = {"increasing": "decreasing", "decreasing": "increasing"} if subject.is_turned else {}
    return turned.get(word, word)


def told_slope(subject: Subject, low: float, high: float) -> tuple[float, float]:
    """A slope interval of f, the log-odds of one of two classes, as that of the class that sentences are about."""
    return (-high, -low) if subject.is_turned else (low, high)


def told_scale(subject: Subject) -> str:
    """What those slopes are of."""
    return f"log-odds of {subject.probability(subject.named)}" if subject.is_turned else subject.scale


def focus_of(subject: Subject) -> int:
    """The output that pictures show: of several classes the one with the most promises."""
    outputs = range(subject.network.n_outputs)
    return max(outputs, key=lambda k: sum(direction_of(subject, name, k) != "free" for name in subject.names))


def answer_words(subject: Subject, output: int = 0) -> str:
    """What the direction is of."""
    if subject.link == "softmax":
        return subject.probability(output)
    if subject.labels:
        return subject.probability(subject.named)
    return "the prediction" if subject.target == "prediction" else f"the predicted {subject.target}"


def sentence_of(subject: Subject, feature: str, output: int = 0) -> str:
    """The promise as a sentence."""
    word, answer = told_direction(subject, feature, output), answer_words(subject, output)
    verb = {"increasing": "never lowers", "decreasing": "never raises", "flat": "never changes"}.get(word)
    return f"Raising {feature} {verb} {answer}." if verb else f"{feature} may move {answer} either way."


def promises_section(subject: Subject, verdict: str) -> Html:
    directed = [
        (name, k)
        for name in subject.names
        for k in range(max(1, subject.network.n_outputs))
        if direction_of(subject, name, k) != "free"
    ]
    directed.sort(key=lambda one: direction_of(subject, *one) == "flat")  # what moves comes first
    items = [
        tag("li", tag("span", ARROWS[told_direction(subject, name, k)], class_="arrow", aria_hidden="true"),
            sentence_of(subject, name, k))
        for name, k in directed[:60]
    ]  # fmt: skip
    how = (
        "and hold bit for bit in the scores below"
        if all(_is_bitwise(subject, name, k) for name, k in directed)
        else "of differences of logits, in exact arithmetic: the probabilities below follow them up to rounding"
    )
    lead = (
        "These hold for every possible input, whatever the other columns are, not only near the data. They were proved "
        f"of the stored numbers, {how}."
        if items
        else "No direction was asked for and none was found in the weights. Slopes are bounded as follows."
    )
    return tag(
        "section",
        tag("h2", "What it promises"),
        tag("p", lead),
        tag("ul", *items, class_="promises") if items else "",
        _slope_table(subject),
        _certificate(subject, verdict),
        id="promises",
    )


def _is_bitwise(subject: Subject, feature: str, output: int) -> bool:
    """Whether the direction of P(class) follows from signs: its own logit goes one way, no other goes with it."""
    if subject.link != "softmax":
        return True
    word = direction_of(subject, feature, output)
    against = {"increasing": "decreasing", "decreasing": "increasing"}.get(word, word)
    found = [subject.claims[feature, label].promise for label in subject.labels]
    return all(one in ("flat", word if k == output else against) for k, one in enumerate(found))


def _slope_table(subject: Subject) -> Html:
    several = subject.link == "softmax"
    of = f" of {answer_words(subject)}" if subject.link == "logit" else ""
    head = ["feature", *(["class"] if several else []), f"promised{of}", f"certified{of}"]
    head += [f"certified slope of {told_scale(subject)}, per unit"]
    odds = bool(subject.labels)
    head += ["|change of P| per unit, at most"] if odds else []
    head += ["missing values"]
    rows = [_slope_row(subject, row, several, odds) for row in list(subject.slopes)[:MOST_ROWS]]
    note = (
        "Promised is what was asked for before the fit: a direction, a bounded slope, or nothing (free). Certified is "
        "what was proved of the model that came out, which may be more: a feature nobody asked anything of has a slope "
        "that is bounded, too, and may turn out to have a direction (in exact arithmetic, not bit for bit: it is then "
        "bounded by an interval that begins or ends at 0, and not called increasing or decreasing). A certified slope "
        "holds for every pair of inputs that differ in that number only; it is exact arithmetic."
    )
    words = f"What was promised and what is certified of {len(subject.names)} features"
    return tag("div", table(head, rows, words, numeric=len(head) - 2 - odds), tag("p", note, class_="note"))


def _slope_row(subject: Subject, row: SlopeRow, several: bool, odds: bool) -> list[object]:
    claim: Claim = subject.claims[row.feature, row.output]
    k = subject.labels.index(row.output) if several else 0
    low, high = claim.lower, claim.upper
    word = told_direction(subject, row.feature, k)
    arrow = f"{ARROWS[word]}\N{NO-BREAK SPACE}" if ARROWS[word] else ""
    proved = "bounded" if word == "free" and low is not None else word
    first, gap, kind = row.promise.partition(" ")  # "(category)", or nothing
    asked = _told(subject, first) + gap + kind
    asked += "" if row.promised is None else f", {_interval(*told_slope(subject, *row.promised))}"
    slope = DASH if low is None or high is None else _interval(*told_slope(subject, low, high))
    cells: list[object] = [subject.with_unit(row.feature), *([row.output] if several else [])]
    cells += [asked, arrow + proved, slope, *([short_up(row.probability)] if odds else [])]
    return [*cells, _MISSING.get(claim.missing or "", DASH)]


def _interval(low: float, high: float) -> str:
    """Rounded outward: what is printed is proved too."""
    return f"{short_down(low)} to {short_up(high)}"


def _certificate(subject: Subject, verdict: str) -> Html:
    document = subject.certificate.document
    commands = (
        "python -I monolip_check.py certificate.json\npython -I monolip_digest.py MODEL.safetensors certificate.json"
    )
    facts = [
        ("network", tag("code", document["digest"])),
        ("certificate", tag("code", document["sha256"])),
        ("independent checker", verdict),
        ("arithmetic", document["arithmetic"]),
    ]
    rows = [cell for name, value in facts for cell in (tag("dt", name), tag("dd", value))]
    return tag(
        "div",
        tag("h3", "Certificate"),
        tag("p", "The certificate is inside this file, with every number of the network. Anybody can prove it again: "
            "save it and run the checker, one file of plain Python that shares no code with monolip."),
        tag("dl", *rows, class_="facts"),
        tag("p", tag("button", "Save certificate.json", type="button", id="save-certificate")),
        tag("pre", commands, tabindex="0", aria_label="Commands to check the certificate"),
        tag("p", "The first command proves the claims about the network in the certificate. The second shows that it "
            "is the network of your model file. Both programs are plain Python and need nothing else: they lie in the "
            "folder checker of monolip's sources and in share/monolip of an environment where it is installed; ask "
            "whoever sent this page for them, or get them where monolip is published.", class_="note"),
        class_="card",
    )  # fmt: skip


def checker_verdict(subject: Subject, check: bool) -> str:
    """What the checker said when the report was written; a certificate it rejects is an error."""
    if not check:
        return "not run when this report was written"
    lines = subject.certificate.check().strip().splitlines()
    if not lines:
        raise CertificateError("the checker says what it proved; got nothing; run Certificate.check() and report it.")
    return f"{lines[0].split(':')[0]}, when this report was written"
