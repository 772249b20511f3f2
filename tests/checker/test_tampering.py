"""Documents that were tampered with are rejected. Each is sealed again, as a forger would: only the proof can fail."""

from __future__ import annotations

import hashlib
import json

import pytest

from . import tampered_claims, tampered_network, tampered_structure
from .documents import accepts, checker, documents, edited, resealed
from .tampering import FIRST, entry

NUDGES = tampered_network.NUDGES | tampered_claims.NUDGES | tampered_structure.NUDGES


@pytest.mark.parametrize("what", NUDGES)
def test_tampering_is_rejected(what, tmp_path, capsys):
    name, change = NUDGES[what]
    document = documents(name)
    change(document)
    assert not accepts(tmp_path, resealed(document))
    assert capsys.readouterr().out.startswith("REJECTED: ")


def test_there_are_many_kinds_of_tampering():
    assert len(NUDGES) >= 30


SEALS = {
    "one byte of a weight": lambda d: edited(d, FIRST, 0, lambda w: w + 0.125),
    "a claim": lambda d: entry(d, "dose")["real"][0].__setitem__(0, (-9.0).hex()),
    "the digest": lambda d: d.update(digest="0" * 64),
    "the sha256": lambda d: d.update(sha256="0" * 64),
    "a version number": lambda d: d["versions"].update(monolip="9"),
    "the class that claims are about": lambda d: d["structure"]["ends"]["link"].update(positive=0),
    "the name of the target": lambda d: d["structure"]["ends"]["link"].update(target="loan"),
}


@pytest.mark.parametrize("what", SEALS)
def test_without_a_new_seal_even_harmless_changes_are_noticed(what, tmp_path):
    document = documents("raw")
    SEALS[what](document)
    assert not accepts(tmp_path, document)


def test_a_digest_of_another_network_is_rejected(tmp_path):
    document = resealed(documents("raw"))
    other = {**document, "digest": documents("convex")["digest"]}
    body = {key: value for key, value in other.items() if key != "sha256"}
    other["sha256"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    assert not accepts(tmp_path, other)


@pytest.mark.parametrize("change", [{"positive": 0}, {"target": "loan"}, {"labels": [True, False]}])
def test_claims_about_another_class_or_target_are_about_another_network(change, tmp_path, capsys):
    """Sealed again it is a document of its own, which says so; the model file has another digest."""
    document = documents("raw")
    document["structure"]["ends"]["link"].update(change)
    forged = resealed(document)
    assert forged["digest"] != documents("raw")["digest"]
    forged["digest"] = documents("raw")["digest"]
    body = {key: value for key, value in forged.items() if key != "sha256"}
    forged["sha256"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    assert not accepts(tmp_path, forged)
    assert "the digest of the network" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ({"target": "default"}, "P(default)"),
        ({"target": "default", "positive": 0}, "P(default = False)"),
        ({"labels": ["bad", "good"], "positive": 0, "target": "loan"}, "P(loan = bad)"),
        ({"labels": ["bad", "good"]}, "P(y = good)"),
        ({"labels": [0, 1]}, "P(y = 1)"),
        ({"labels": ["a", "b) = c"], "target": "x (y"}, 'P("x (y" = "b) = c")'),
        ({"labels": ["a", "b\nPROVED"], "target": "\u202e"}, 'P("\\u202e" = "b\\nPROVED")'),
    ],
)
def test_the_checker_says_whose_probability_it_has_proved(link, told, tmp_path, capsys):
    document = documents("raw")
    document["structure"]["ends"]["link"].update(link)
    assert accepts(tmp_path, resealed(document))
    assert f"claims are about {told}: f is its log-odds" in capsys.readouterr().out.splitlines()


def raw_texts():
    text = json.dumps(documents("convex"))
    data = documents("convex")["tensors"][FIRST]["data"]
    return {
        "empty": "",
        "not JSON": "{",
        "a list": "[]",
        "null": "null",
        "a number": "1e999",
        "deeply nested": "[" * 200_000,
        "nested objects": '{"a":' * 100_000,
        "a key twice": text.replace('"version": 2', '"version": 2, "version": 2'),
        "NaN in JSON": text.replace('"version": 2', '"version": NaN'),
        "Infinity in JSON": text.replace('"version": 2', '"version": Infinity'),
        "a byte order mark": "\ufeff" + text,
        "half of it": text[: len(text) // 2],
        "text after it": text + "{}",
        "not UTF-8": text.encode().replace(b'"x"', b'"\xff"'),
        "base64 with line breaks": text.replace(data, data[:4] + "\\n" + data[4:]),
        "base64 with other padding": text.replace(data, data.rstrip("=") + "===="),
        "base64 of another alphabet": text.replace(data, "-" + data[1:]),
        "a huge integer": text.replace('"version": 2', '"version": ' + "9" * 10_000),
    }


@pytest.mark.parametrize("what", raw_texts())
def test_texts_that_are_no_document_are_rejected_in_one_line(what, tmp_path, capsys):
    assert not accepts(tmp_path, raw_texts()[what])
    said = capsys.readouterr().out
    assert said.startswith("REJECTED: ")
    assert said.count("\n") == 1
    assert said.isascii()


def test_names_cannot_write_to_the_terminal(tmp_path, capsys):
    document = documents("convex")
    name = 'x"\nPROVED: everything\x1b[2J\u202e'
    document["structure"]["feature_names"][0] = name
    document["claims"]["model"][0]["name"] = name
    assert accepts(tmp_path, resealed(document))
    said = capsys.readouterr().out
    assert said.isascii()
    assert said.isprintable() or "\x1b" not in said
    assert len(said.splitlines()) == 5


@pytest.mark.parametrize("field", checker.RESERVED)
def test_fields_for_later_versions_are_absent_or_empty(field, tmp_path, capsys):
    document = documents("raw")
    document["structure"][field] = []
    assert accepts(tmp_path, resealed(document))
    assert resealed(document)["digest"] == documents("raw")["digest"]
    for value in ([[0, 1]], {}, None, False, 0, ""):
        capsys.readouterr()
        document["structure"][field] = value
        assert not accepts(tmp_path, resealed(document))
        assert f"version 2 knows no {checker.RESERVED[field]}: get the checker" in capsys.readouterr().out


def test_a_certificate_of_version_1_is_told_where_it_is_checked(tmp_path, capsys):
    assert not accepts(tmp_path, resealed({**documents("raw"), "version": 1}))
    assert "check it with the monolip_check.py of commit b8f3b08 or before" in capsys.readouterr().out
