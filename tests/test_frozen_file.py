"""Files of frozen networks: whatever happens to one, loading gives the same network or a FrozenFileError."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as to_bytes

from monolip.errors import FrozenFileError, MonolipError
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import FORMAT, VERSION
from monolip.sealed_format import RESERVED

from .make import frozen_networks

NETWORKS = frozen_networks(np.random.default_rng(11))
KINDS = list(NETWORKS)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of every kind of file, and a scratch path."""
    folder = tmp_path_factory.mktemp("files")
    data = {}
    for kind, network in NETWORKS.items():
        network.save(folder / "one")
        data[kind] = (folder / "one").read_bytes()
    return data, folder / "scratch"


def load(data, path):
    path.write_bytes(data)
    return FrozenNetwork.load(path)


def same_or_refused(kind, data, path):
    """The whole promise of this module."""
    try:
        network = load(data, path)
    except FrozenFileError:
        return "refused"
    x = np.random.default_rng(0).normal(size=(4, NETWORKS[kind].n_features + NETWORKS[kind].n_free_features))
    assert network.digest == NETWORKS[kind].digest
    assert network.evaluate(x).tobytes() == NETWORKS[kind].evaluate(x).tobytes()
    assert str(network) == str(NETWORKS[kind])
    return "same"


def take_apart(data):
    """Header and tensors of a file, by hand: {"format", "version", "digest", "structure"}, {name: array}."""
    length = struct.unpack("<Q", data[:8])[0]
    entries = json.loads(data[8 : 8 + length])
    header = json.loads(entries.pop("__metadata__")["monolip"])
    body = data[8 + length :]
    tensors = {}
    for name, entry in entries.items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(body[begin:end], dtype="<f8").reshape(entry["shape"]).copy()
    return header, tensors


def digest_of(structure, tensors):
    """The digest as the format defines it, written a second time."""
    sha = hashlib.sha256(json.dumps([FORMAT, VERSION, structure], sort_keys=True).encode())
    for name in sorted(tensors):
        sha.update(f"|{name}|{tensors[name].shape}|".encode() + tensors[name].astype("<f8").tobytes())
    return sha.hexdigest()


def write(header, tensors, digest=None):
    """A file with a digest that matches: what somebody who knows the format can make."""
    header = {**header, "digest": digest or digest_of(header["structure"], tensors)}
    return to_bytes(tensors, metadata={"monolip": json.dumps(header)})


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_loaded_to_the_bit(saved, kind, tmp_path, rng):
    network, path = NETWORKS[kind], tmp_path / "f.monolip"
    network.save(str(path))
    again = FrozenNetwork.load(str(path))
    assert again == network
    assert again.digest == network.digest
    x = rng.normal(size=(50, network.n_features + network.n_free_features))
    assert again.evaluate(x).tobytes() == network.evaluate(x).tobytes()
    assert again.bounds == network.bounds
    assert again.free_names == network.free_names
    again.save(path)
    assert path.read_bytes() == saved[0][kind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_digest_is_what_the_format_says(saved, kind):
    header, tensors = take_apart(saved[0][kind])
    assert header["digest"] == NETWORKS[kind].digest == digest_of(header["structure"], tensors)
    assert same_or_refused(kind, write(header, tensors), saved[1]) == "same"


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(data=st.data())
def test_flipped_bits_are_found(saved, kind, data):
    files, path = saved
    damaged = bytearray(files[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    same_or_refused(kind, bytes(damaged), path)


@pytest.mark.parametrize("kind", ["convex", "householder"])
def test_every_flipped_bit_of_every_number_is_refused(saved, kind):
    files, path = saved
    start = 8 + struct.unpack("<Q", files[kind][:8])[0]
    for place in range(start, len(files[kind])):
        damaged = bytearray(files[kind])
        damaged[place] ^= 1 << place % 8
        outcome = same_or_refused(kind, bytes(damaged), path)
        zero = struct.unpack_from("<d", damaged, start + (place - start) // 8 * 8)[0] == 0.0
        assert outcome == "refused" or zero  # the sign of a zero bound means nothing


@pytest.mark.parametrize("kind", ["householder", "free branch"])
def test_every_damaged_byte_of_the_header_is_refused_or_means_the_same(saved, kind):
    files, path = saved
    end = 8 + struct.unpack("<Q", files[kind][:8])[0]
    for place in range(end):
        damaged = bytearray(files[kind])
        damaged[place] = b'\x20"0\xff'[place % 4]
        same_or_refused(kind, bytes(damaged), path)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(data=st.data())
def test_cuts_insertions_and_repeats_are_found(saved, kind, data):
    files, path = saved
    good = files[kind]
    a, b = sorted(data.draw(st.tuples(*[st.integers(0, len(good))] * 2)))
    extra = data.draw(st.binary(min_size=1, max_size=40))
    for damaged in (good[:a], good[a:], good[:a] + good[b:], good[:a] + extra + good[a:], good[:b] + good[a:]):
        if damaged != good:
            same_or_refused(kind, damaged, path)
    for damaged in (good[:-1], good + b"\0", good + good):
        assert same_or_refused(kind, damaged, path) == "refused"


@settings(max_examples=200)
@given(st.binary(max_size=300))
@example(b"")
@example(b"\0" * 8)
@example(b"\xff" * 16)
@example(struct.pack("<Q", 2) + b"{}")
@example(struct.pack("<Q", 4) + b"null")
@example(b"PK\x03\x04 a zip file, perhaps a pickle")
def test_random_bytes_are_refused(saved, data):
    with pytest.raises(FrozenFileError):
        load(data, saved[1])
    with pytest.raises(FrozenFileError):
        load(struct.pack("<Q", len(data)) + data, saved[1])


@pytest.mark.parametrize("length", [0, 1, 7, 100, 10**6, 2**31, 2**63, 2**64 - 1])
def test_a_header_that_lies_about_its_length_is_refused(saved, length):
    good = saved[0]["convex"]
    with pytest.raises(FrozenFileError):
        load(struct.pack("<Q", length) + good[8:], saved[1])


def raw(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def monolip_header(text):
    return raw({"__metadata__": {"monolip": text}})


def monolip_format(text):
    return monolip_header('{"version": 2, "digest": "", "structure": {}, "format": ' + text + "}")


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    "data",
    [
        raw(b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
        monolip_header(DEEP),
        monolip_format(DEEP),
        monolip_format("[" * 900 + "]" * 900),
        monolip_format("9" * 10_000),
        monolip_format("NaN"),
        monolip_header(
            '{"format": "monolip.FrozenNetwork", "version": 2, "digest": "", "structure": {"members": ' + DEEP + "}}"
        ),
        raw({"__metadata__": "x"}),
        raw({"__metadata__": None}),
        raw({"__metadata__": {"monolip": 5}}),
        raw({"__metadata__": {"monolip": "5"}}),
        raw({"__metadata__": {"monolip": '"x"'}}),
        raw({"__metadata__": {"monolip": "{}"}}),
        raw({"a": {"dtype": "F64", "shape": [2**62, 2**62], "data_offsets": [0, 8]}}, b"\0" * 8),
        raw({"a": {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}}, b"\0" * 8),
        raw("{}".encode("utf-16")),
        raw(b"\xef\xbb\xbf{}"),
        raw([]),
    ],
    ids=range(18),
)
def test_malicious_headers_are_refused(saved, data):
    with pytest.raises(FrozenFileError):
        load(data, saved[1])


def with_entries(data, change):
    """The file with its safetensors entries edited and everything else as it was."""
    length = struct.unpack("<Q", data[:8])[0]
    entries = json.loads(data[8 : 8 + length])
    change(entries)
    return raw(entries, data[8 + length :])


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [2**40, 2**40]},
        {"shape": [2**63]},
        {"shape": [0]},
        {"shape": []},
        {"shape": [3, 1]},
        {"shape": [1.5]},
        {"shape": None},
        {"dtype": "I64"},
        {"dtype": "U64"},
        {"dtype": "C64"},
        {"dtype": "F32"},
        {"dtype": "BF16"},
        {"dtype": "F8_E4M3"},
        {"dtype": "Q99"},
        {"data_offsets": [0, 10**9]},
        {"data_offsets": [24, 0]},
        {"data_offsets": [-8, 16]},
        {"data_offsets": [0]},
    ],
    ids=str,
)
def test_wrong_shapes_types_and_offsets_are_refused(saved, change):
    files, path = saved
    with pytest.raises(FrozenFileError):
        load(with_entries(files["convex"], lambda entries: entries["lower"].update(change)), path)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, bool])
def test_numbers_that_are_not_float64_are_refused(saved, dtype):
    header, tensors = take_apart(saved[0]["convex"])
    tensors["lower"] = tensors["lower"].astype(dtype)
    with pytest.raises(FrozenFileError, match=r"must hold float64 numbers only; \['lower'\] are not"):
        load(write(header, tensors), saved[1])


@pytest.mark.parametrize("kind", KINDS)
def test_missing_renamed_and_extra_tensors_are_refused(saved, kind):
    header, tensors = take_apart(saved[0][kind])
    for name in tensors:
        rest = {other: array for other, array in tensors.items() if other != name}
        for changed in (rest, {**rest, name + "x": tensors[name]}, {**tensors, "extra": np.zeros(3)}):
            for digest in (None, header["digest"]):  # recomputed, or left as it was
                with pytest.raises(FrozenFileError):
                    load(write(header, changed, digest), saved[1])


EXTREME = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1.7e308, 5e-324, np.nan, np.inf, -np.inf, 1.0 + 2**-52, 1e-300]
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(data=st.data())
def test_edited_numbers_with_a_matching_digest_are_proved_again(saved, kind, data):
    """Somebody who recomputes the digest still cannot make a file that breaks its promise."""
    header, tensors = take_apart(saved[0][kind])
    for _ in range(data.draw(st.integers(1, 3))):
        array = tensors[data.draw(st.sampled_from(sorted(tensors)))]
        where = tuple(data.draw(st.integers(0, n - 1)) for n in array.shape) if array.size else ()
        if array.size:
            array[where] = data.draw(EXTREME | st.floats())
    try:
        network = load(write(header, tensors), saved[1])
    except FrozenFileError:
        return
    low, high = network.slope_range  # another network, but one that keeps the promise it states
    bounds = [v.reshape(network.n_features, -1) for v in (network.slopes.lower, network.slopes.upper)]
    assert (low >= bounds[0].min(axis=1)).all()
    assert (high <= bounds[1].max(axis=1)).all()
    assert np.isfinite(network.evaluate(np.zeros(network.n_features + network.n_free_features))).all()
    assert network.digest == digest_of(header["structure"], tensors)


def break_promise(tensors):
    tensors["member.0.trunk.0.0.weight"][0, 0] = np.nextafter(2.0, 3.0)


def break_simplex(tensors):
    row = tensors["member.0.trunk.0.1.weight"][0]
    row[np.argmax(row)] = np.nextafter(row.max(), 2.0)


def break_sign(tensors):
    row = tensors["member.0.trunk.0.1.weight"][0]
    row[[0, 1]] = [-0.25, row[0] + row[1] + 0.25]


def break_members(tensors):
    tensors["member_weights"][0] += 2.0**-52


def break_finiteness(tensors):
    tensors["member.0.trunk.0.0.bias"][0] = np.nan


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (break_promise, "keep the promise in exact arithmetic"),
        (break_simplex, "sum exactly 1"),
        (break_sign, "must be >= 0"),
        (break_members, "member weights must be >= 0 with sum exactly 1"),
        (break_finiteness, "must be finite"),
    ],
)
def test_a_broken_promise_with_a_matching_digest_is_rejected_by_the_proof(saved, edit, message):
    header, tensors = take_apart(saved[0]["convex"])
    edit(tensors)
    with pytest.raises(FrozenFileError, match="not what it claims; .*" + message):
        load(write(header, tensors), saved[1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["sort 2", "sort 0", "reflect", "relu", "convex", "paper", float("inf"), 2**70, -1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def places(value, path=()):
    """Every place inside a JSON value."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def put(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(data=st.data())
def test_an_edited_structure_is_refused_or_is_another_honest_network(saved, kind, data):
    header, tensors = take_apart(saved[0][kind])
    path = data.draw(st.sampled_from(list(places(header["structure"]))))
    structure = put(header["structure"], path, data.draw(JSON))
    same_or_refused(kind, write({**header, "structure": structure}, tensors, header["digest"]), saved[1])
    if not isinstance(structure, dict):
        return
    try:
        network = load(write({**header, "structure": structure}, tensors), saved[1])
    except FrozenFileError:
        return
    assert network.digest == digest_of(structure, tensors)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_and_extra_fields_of_the_structure_are_refused(saved, kind):
    header, tensors = take_apart(saved[0][kind])
    structure = header["structure"]
    for name in structure:
        without = {key: value for key, value in structure.items() if key != name}
        with pytest.raises(FrozenFileError):
            load(write({**header, "structure": without}, tensors), saved[1])
    with pytest.raises(FrozenFileError, match=r"not written as monolip writes it|does not match its digest"):
        load(write({**header, "structure": {**structure, "note": 1}}, tensors), saved[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "must hold monolip.FrozenNetwork version 2; got 'other' version 2"),
        ({"version": 3}, "got 'monolip.FrozenNetwork' version 3; use the monolip that wrote it"),
        ({"version": "2"}, "version '2'"),
        ({"version": 1}, "got version 1, .* read it with monolip at commit b8f3b08 or before, or fit and save"),
        ({"extra": 1}, "missing or unknown fields"),
        ({"structure": []}, "missing or unknown fields"),
    ],
)
def test_other_formats_and_versions_are_named(saved, change, message):
    header, tensors = take_apart(saved[0]["convex"])
    with pytest.raises(FrozenFileError, match=message):
        load(write({**header, **change}, tensors, header["digest"]), saved[1])


@pytest.mark.parametrize("field", RESERVED)
def test_fields_for_later_versions_are_absent_or_empty(saved, field):
    header, tensors = take_apart(saved[0]["convex"])
    for value in ([[0, 1]], {}, None, 0, "x", True):
        changed = {**header, "structure": {**header["structure"], field: value}}
        with pytest.raises(FrozenFileError, match=f"does not support {RESERVED[field]}; .* with the later version"):
            load(write(changed, tensors), saved[1])
    empty = {**header, "structure": {**header["structure"], field: []}}
    assert load(write(empty, tensors, header["digest"]), saved[1]) == NETWORKS["convex"]


@pytest.mark.parametrize("digest", ["0" * 64, "", None, 5, [[]], "x" * 10**6])
def test_a_digest_that_does_not_match_is_refused_in_a_readable_message(saved, digest):
    header, tensors = take_apart(saved[0]["convex"])
    data = to_bytes(tensors, metadata={"monolip": json.dumps({**header, "digest": digest})})
    with pytest.raises(FrozenFileError, match=r"does not match its digest.*get an undamaged copy") as caught:
        load(data, saved[1])
    assert len(str(caught.value)) < 1000


def test_oversized_files_are_refused_before_they_are_read(saved, monkeypatch):
    files, path = saved
    path.write_bytes(files["convex"])
    size = len(files["convex"])
    assert FrozenNetwork.load(path, max_bytes=size) == NETWORKS["convex"]
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("the file was read"))
    with pytest.raises(FrozenFileError, match=f"has {size} bytes, more than max_bytes={size - 1}; raise it"):
        FrozenNetwork.load(path, max_bytes=size - 1)


def test_a_path_that_does_not_exist_is_file_not_found(tmp_path):
    rule = "a model is loaded from a file that save.. wrote; there is none of this name; correct the path: '.*nothing'"
    with pytest.raises(FileNotFoundError, match=rule):
        FrozenNetwork.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"a folder that exists; .*; make it first: '.*no folder'") as found:
        NETWORKS["convex"].save(tmp_path / "no folder" / "file")
    assert (found.value.errno, found.value.filename) == (2, str(tmp_path / "no folder"))
    with pytest.raises(IsADirectoryError, match="this is a folder; name a file in it"):
        NETWORKS["convex"].save(tmp_path)


@pytest.mark.parametrize(
    ("begin", "kind"),
    [
        (b"PAR1\x15\x04\x15\x90", "a Parquet table"),
        (b'{"a": 1234567}', "a JSON file"),
        (b"\x80\x04\x95" * 4, "a pickle"),
    ],
)
def test_files_of_other_kinds_are_called_by_name(tmp_path, begin, kind):
    path = tmp_path / "file"
    path.write_bytes(begin + bytes(100))
    with pytest.raises(
        FrozenFileError,
        match=rf"a model is a file that save\(\) wrote; .*file is not a monolip file but {kind}.*; name another",
    ):
        FrozenNetwork.load(path)


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing):
    path = tmp_path / "model"
    NETWORKS["convex"].save(path)
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="no space left"):
        NETWORKS["ensemble"].save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_saving_replaces_a_file_and_obeys_the_umask(tmp_path):
    path = tmp_path / ("m" * 250)
    old = os.umask(0o022)
    try:
        NETWORKS["ensemble"].save(path)
        NETWORKS["convex"].save(path)
    finally:
        os.umask(old)
    assert FrozenNetwork.load(path) == NETWORKS["convex"]
    assert path.stat().st_mode & 0o777 == 0o644
    with pytest.raises(OSError, match="this is a folder"):
        NETWORKS["convex"].save(tmp_path)


def test_a_file_error_is_a_monolip_error_and_a_value_error():
    assert issubclass(FrozenFileError, MonolipError)
    assert issubclass(FrozenFileError, ValueError)


def test_pipes_and_folders_are_not_model_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(FrozenFileError, match="an ordinary file"):
            FrozenNetwork.load(path)


def test_values_that_only_compare_equal_are_refused(saved):
    files, path = saved
    for before, after in (
        (b'\\"slope_set\\": false', b'\\"slope_set\\": 0    '),
        (b'\\"version\\": 2', b'\\"version\\": 2.0'),
    ):
        data = bytearray(files["convex"])
        assert before in data
        changed = bytes(data).replace(before, after, 1)
        grown = len(changed) - len(data)
        header = int.from_bytes(changed[:8], "little") + grown
        path.write_bytes(header.to_bytes(8, "little") + changed[8:])
        with pytest.raises(FrozenFileError):
            FrozenNetwork.load(path)
