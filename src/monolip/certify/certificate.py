"""Certificate: claims about one frozen network, with everything a stranger needs to check them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from os import PathLike
from typing import Any, NamedTuple

from monolip.certify.checker import run_checker
from monolip.certify.claims_about import claims_about
from monolip.certify.document import FORMAT, VERSION, document_of, seal
from monolip.certify.exact_slopes import layer_norms
from monolip.errors import CertificateError, MonolipError
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork
from monolip.raw_slopes import features_with_slopes
from monolip.rounding import interval_text
from monolip.sealed_file import named_path, writing_to
from monolip.sealed_format import BEFORE
from monolip.slopes import SlopeBounds, promise_word

__all__ = ["Certificate", "Claim", "certify", "require_certifiable"]

# The words of documents, which are a format of their own, as people read them
_WORDS = {
    "slope interval": promise_word(False, False),
    "no promise": promise_word(False, False, has_interval=False),
}


class Claim(NamedTuple):
    """What is proved of one feature and output; lower, upper: bounds of the slope, None where none is claimed.

    promise: the word of `monolip.slopes.promise_word`: increasing, decreasing, flat, bounded or free.
    """

    feature: str
    output: str
    promise: str
    lower: float | None
    upper: float | None
    missing: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """Claims about one digest; `save` it beside the model, and check it by `python monolip_check.py CERTIFICATE.json`.

    Iterating gives a `Claim` for each feature (and output): of raw features where the network takes any, else of model
    columns. "increasing", "decreasing" and "flat" hold bit for bit in the stated order of operations, intervals in
    exact arithmetic.

    Examples:
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> form = ConvexForm(([[0.0], [1.0]], [[0.0, 1.0]]), ([0.0, 0.0], [0.0]), (2,))
        >>> print(certify(FrozenNetwork(SlopeBounds([0.0], [1.0], ("dose",)), ((Trunk(form, (0,)),),))))
        feature  certified   certified slope  missing
        dose     increasing  [0, 1]           refused
    """

    document: dict[str, Any]

    @property
    def digest(self) -> str:
        """Of the network the claims are about."""
        return str(self.document["digest"])

    @property
    def kind(self) -> str:
        return str(self.document["kind"])

    def to_json(self) -> str:
        return json.dumps(self.document, sort_keys=True)

    def check(self) -> str:
        """Run the independent checker on this document: what it proved, or a CertificateError."""
        return run_checker(self.to_json())

    def save(self, path: str | PathLike[str]) -> None:
        target = named_path(path)
        with writing_to(target):
            target.write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """A document that is intact and of this format. Its claims are proved by the checker, not here."""
        try:
            document = json.loads(text)
            kind, version = document["format"], document["version"]
            intact = (kind, version) == (FORMAT, VERSION) and seal(document) == document
            certificate = cls(document)
            _ = list(certificate), certificate.kind, claims_about(document)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise CertificateError(
                f"a certificate is a JSON document written by to_json; got another ({type(error).__name__}); get an "
                "undamaged copy."
            ) from None
        if kind == FORMAT and version == 1:
            raise CertificateError(
                f"a certificate is a document of version {VERSION}; got version 1, of a model that may hold trees; "
                f"check it with {BEFORE} and the monolip_check.py there, or certify the model again."
            )
        if not intact:
            raise CertificateError(
                "a certificate carries the sha256 of itself; got a document that does not match it, or of another "
                "format; get an undamaged copy."
            )
        return certificate

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Certificate:
        return cls.from_json(named_path(path).read_bytes())

    def __iter__(self) -> Iterator[Claim]:
        claims, structure = self.document["claims"], self.document["structure"]
        labels = (structure.get("ends", structure).get("link") or {}).get("labels") or ()
        for j, entry in enumerate(claims["raw"] or claims["model"]):
            name = str(j) if entry["name"] is None else entry["name"]  # a table may have a column called ""
            pairs = entry["real"] or [None] * len(entry["promise"])
            for k, (word, pair) in enumerate(zip(entry["promise"], pairs, strict=True)):
                low, high = (None, None) if pair is None else map(float.fromhex, pair)
                output = str(labels[k]) if len(labels) == len(pairs) > 1 else str(k) if len(pairs) > 1 else ""
                yield Claim(name, output, _WORDS.get(word, word), low, high, entry["missing"])

    @property
    def cells(self) -> list[list[str]]:
        """The table as text, the head first; intervals rounded outward, so that what is printed is proved too."""
        rows = [["feature", "output", "certified", "certified slope", "missing"]]
        for row in self:
            interval = "-" if row.lower is None or row.upper is None else interval_text(row.lower, row.upper, 6)
            rows.append([row.feature, row.output, row.promise, interval, row.missing or "-"])
        return rows if any(row[1] for row in rows[1:]) else [[row[0], *row[2:]] for row in rows]

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.cells, strict=True)]
        lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in self.cells)
        return "\n".join([*lines, *filter(None, [claims_about(self.document)])])

    def __repr__(self) -> str:
        return f"Certificate ({self.kind}) of network {self.digest[:12]}\n{self}"

    def _repr_html_(self) -> str:
        about = escape(claims_about(self.document))
        rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self.cells]
        head = rows[0].replace("td>", "th>")
        return f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in rows[1:]) + f"</table>{about}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.document == other.document

    def __hash__(self) -> int:
        return hash(self.document["sha256"])


def require_certifiable(network: FrozenNetwork) -> None:
    """Raise CertificateError unless `certify` will succeed: known layers, and slopes that are finite floats.

    The promise itself was proved, in exact arithmetic, when the network was constructed: this costs microseconds.
    """
    for trunk in (trunk for member in network.members for trunk in member):
        layer_norms(trunk.form)
    if network.inputs is None or not features_with_slopes(network) or _is_finite(network.raw_promise):
        return  # the promise holds the slopes, and need not be computed again in rational arithmetic
    if not _is_finite(network.raw_slopes):
        raise CertificateError(
            "differences of certified slopes are finite floats; got slopes beyond 1e308; rescale the steepest feature."
        )


def _is_finite(box: SlopeBounds | None) -> bool:
    """Whether no difference of two slopes inside leaves the range of floats."""
    return box is not None and math.isfinite(float(box.upper.max()) - float(box.lower.min()))


def certify(network: FrozenNetwork | FixedPointNetwork) -> Certificate:
    """The certificate of kind real+ordered: slope intervals in exact arithmetic, directions bit for bit.

    Of a FixedPointNetwork that of kind fixed-point: directions of the deployed integers, slopes up to a margin.

    Raises CertificateError for what the checker could not prove: Householder reflections, L2 norms, slopes beyond the
    range of floats.
    """
    if isinstance(network, FixedPointNetwork):
        from monolip.certify.fixed_point_claims import certify_fixed_point  # imports this module

        return certify_fixed_point(network)
    if not isinstance(network, FrozenNetwork):
        raise CertificateError(
            f"a FrozenNetwork is certified; got {type(network).__name__}; pass estimator.frozen_, or freeze(module)."
        )
    try:
        require_certifiable(network)
        return Certificate(document_of(network))
    except CertificateError:
        raise
    except MonolipError as error:
        raise CertificateError(f"this network cannot be certified; {error}") from error
