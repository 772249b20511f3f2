"""SealedFormat and its parts: the order in which a file is checked, what a seal covers, and files that appear whole."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from monolip import sealed_format
from monolip.errors import FrozenFileError, SlopeError
from monolip.sealed_file import ordinary_size, parts_of, read_first, seal_of, strict_json, write_whole
from monolip.sealed_format import SealedFormat

TOY = SealedFormat("toy", 3, ("int64", "float64"))
NUMBERS = {"a": np.array([1.5, -0.0]), "b": np.array([[2**60 + 1]])}


@dataclass
class Toy:
    structure: dict
    tensors: dict

    @property
    def digest(self):
        return TOY.digest(self.structure, self.tensors)


def packed(structure=None, tensors=None, **more):
    structure, tensors = structure or {"k": 1}, tensors or NUMBERS
    return TOY.pack(structure, tensors, TOY.digest(structure, tensors), **more)


def tensors_of_any_kind():
    values = st.sampled_from([np.int64, np.float64]).flatmap(lambda kind: arrays(kind, array_shapes(max_side=3)))
    return st.dictionaries(st.text(max_size=5), values, max_size=3)


@settings(max_examples=60)
@given(words=st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3)), tensors=tensors_of_any_kind())
def test_a_seal_is_sha256_of_words_names_shapes_and_little_endian_numbers(words, tensors):
    text = json.dumps(words, sort_keys=True).encode()
    for name in sorted(tensors):
        array = tensors[name]
        code = "d" if array.dtype.kind == "f" else "q"
        text += f"|{name}|{array.shape}|".encode() + struct.pack(f"<{array.size}{code}", *array.ravel().tolist())
    if not any(np.isnan(array).any() for array in tensors.values()):  # of NaN struct keeps no payload
        assert seal_of(words, tensors) == hashlib.sha256(text).hexdigest()
    strided = {name: np.asfortranarray(array) for name, array in tensors.items()}
    assert seal_of(words, strided) == seal_of(words, dict(reversed(tensors.items())))


def test_a_seal_covers_every_word_name_shape_and_bit():
    whole = seal_of({"k": 1}, NUMBERS)
    others = [
        seal_of({"k": 1.0}, NUMBERS),
        seal_of({"k": True}, NUMBERS),
        seal_of({"k": 1}, {"a": NUMBERS["a"]}),
        seal_of({"k": 1}, {"a": NUMBERS["a"], "c": NUMBERS["b"]}),
        seal_of({"k": 1}, {**NUMBERS, "a": NUMBERS["a"][None]}),
        seal_of({"k": 1}, {**NUMBERS, "a": np.array([1.5, 0.0])}),
        seal_of({"k": 1}, {**NUMBERS, "b": NUMBERS["b"] - 1}),
    ]
    assert len({whole, *others}) == 1 + len(others)


def test_a_network_comes_back_with_its_digest(tmp_path):
    (tmp_path / "f").write_bytes(packed(extra={"more": "words"}))
    found = TOY.load(tmp_path / "f", Toy, max_bytes=10**6)
    assert found.structure == {"k": 1}
    assert {name: array.tobytes() for name, array in found.tensors.items()} == {
        name: array.tobytes() for name, array in NUMBERS.items()
    }


def test_nothing_is_built_before_the_digest_is_known_to_match(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(TOY.pack({"k": 1}, NUMBERS, "0" * 64))
    with pytest.raises(FrozenFileError, match="f does not match its digest: stored '000"):
        TOY.load(path, lambda *_: pytest.fail("it was built"), max_bytes=10**6)


def test_nothing_is_read_before_size_and_kind_are_known(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(packed())
    monkeypatch.setattr(sealed_format, "read_first", lambda *_: pytest.fail("it was read"))
    with pytest.raises(FrozenFileError, match="more than max_bytes=7; raise it if you trust the file"):
        TOY.load(path, Toy, max_bytes=7)
    with pytest.raises(FrozenFileError, match=r"a model is an ordinary file; .*; name the file that save"):
        TOY.load(tmp_path, Toy, max_bytes=10**6)


@pytest.mark.parametrize("other", [SealedFormat("toys", 3, TOY.dtypes), SealedFormat("toy", 4, TOY.dtypes)])
def test_another_format_or_version_is_named(tmp_path, other):
    (tmp_path / "f").write_bytes(other.pack({}, {}, other.digest({}, {})))
    with pytest.raises(FrozenFileError, match=f"f must hold toy version 3; got '{other.name}' version {other.version}"):
        TOY.load(tmp_path / "f", Toy, max_bytes=10**6)


def test_other_kinds_of_numbers_are_named(tmp_path):
    (tmp_path / "f").write_bytes(TOY.pack({}, {"x": np.ones(2, np.float32)}, ""))
    with pytest.raises(FrozenFileError, match=r"must hold int64 and float64 numbers only; \['x'\] are not; write it"):
        TOY.load(tmp_path / "f", Toy, max_bytes=10**6)


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (
            SlopeError("lower <= upper; got 2; swap them."),
            "f holds a network that is not what it claims; lower <= upper",
        ),
        (KeyError("k"), r"f has a malformed structure \(KeyError\('k'\)\); get an undamaged copy"),
        (RecursionError(), "f has a malformed structure"),
        (OverflowError("large"), "f has a malformed structure"),
    ],
)
def test_what_cannot_be_built_is_an_error_of_the_file(tmp_path, failure, says):
    def build(structure, tensors):
        raise failure

    (tmp_path / "f").write_bytes(packed())
    with pytest.raises(FrozenFileError, match=says):
        TOY.load(tmp_path / "f", build, max_bytes=10**6)


def test_a_network_that_is_not_what_was_read_is_refused(tmp_path):
    (tmp_path / "f").write_bytes(packed())
    with pytest.raises(FrozenFileError, match="f is not written as monolip writes it; get a copy that save"):
        TOY.load(tmp_path / "f", lambda structure, tensors: Toy({}, tensors), max_bytes=10**6)


def test_a_header_too_large_to_be_read_is_not_written():
    with pytest.raises(FrozenFileError, match="at most 50 bytes of names and categories; got"):
        packed(max_header=50)


def test_parts_fail_with_one_kind_of_error():
    from safetensors.numpy import load, save

    good = save(NUMBERS, metadata={"mine": '{"a": 1}'})
    assert parts_of(good, "mine", load)[0] == {"a": 1}
    for data in (b"", good[:-1], good[:12], save({}), save({}, metadata={"mine": "{"}), save({}, {"mine": "[" * 9999})):
        with pytest.raises(ValueError, match=r".") as caught:
            parts_of(data, "mine", load)
        assert type(caught.value) is ValueError or isinstance(caught.value, json.JSONDecodeError)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "\\u0061": 2}}]'])
def test_strict_json_refuses_a_key_that_stands_twice_at_any_depth(text):
    with pytest.raises(ValueError, match="a key stands twice"):
        strict_json(text)
    assert strict_json('{"a": {"a": [1, {"a": 2}]}}') == {"a": {"a": [1, {"a": 2}]}}


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, failing):
    def fail(*_):
        raise OSError("no space left on device")

    write_whole(tmp_path / "f", b"old")
    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="no space left"):
        write_whole(tmp_path / "f", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"f": b"old"}


def test_a_written_file_has_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        write_whole(tmp_path / "f", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600


def test_no_more_is_read_than_was_checked(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    size = ordinary_size(path)
    path.write_bytes(b"123456789")
    assert read_first(path, size) == b"12345"
    assert ordinary_size(tmp_path) is None
    assert ordinary_size(path.parent / "f") == 9
