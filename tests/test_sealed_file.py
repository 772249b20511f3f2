"""Sealed files, in every format there is: whatever happens to one, its reader gives the same or an error of its own."""

from __future__ import annotations

import json
import os
import struct

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from monolip.certify.fixed_point import compile_fixed_point
from monolip.engine.trainer import NetworkArrays
from monolip.engine.training import Snapshot, TrainingResult
from monolip.errors import CheckpointError, FrozenFileError
from monolip.estimators import checkpoint
from monolip.estimators._checkpoint_jobs import pack_result, unpack_result
from monolip.estimators.stream._state import read_state, write_state
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork

from .certify.fixed_point_networks import random_network
from .make import frozen_networks

RNG = np.random.default_rng(3)
PLACE = "one.safetensors"


class Format:
    """How a format is written, read and refused. sealed: whether its numbers stand under a digest too."""

    error: type[Exception] = FrozenFileError
    says = "is it a monolip file|must hold|is damaged|not a monolip file|truncated|digest|ordinary file"
    sealed = True


class Frozen(Format):
    network = frozen_networks(RNG)["convex"]

    def write(self, path):
        self.network.save(path)

    def read(self, path):
        return FrozenNetwork.load(path).digest


class FixedPoint(Format):
    network = compile_fixed_point(random_network(RNG), input_ranges=[(-4.0, 4.0)] * 3)

    def write(self, path):
        self.network.save(path)

    def read(self, path):
        return FixedPointNetwork.load(path).digest


class Training(Format):
    error, says = CheckpointError, "a checkpoint('s file is an| holds trainings as monolip writes).*start afresh"
    arrays = NetworkArrays((RNG.normal(size=(4, 3)), RNG.random((1, 4))), (np.ones(4), np.ones(1)), (2,), None, None)

    def write(self, path):
        shot = Snapshot(7, 0.25, None, np.zeros(0))
        shot.__dict__["network"], shot.__dict__["training_loss"] = self.arrays, 0.125
        path.write_bytes(pack_result(TrainingResult(self.arrays, (shot,), 0, "finished", 1.5), "abc"))

    def read(self, path):
        found = unpack_result(checkpoint._read(path), "abc", 3, path)
        return repr(found.network.weights), found.stopped, found.seconds, found.snapshots[0].training_loss


class Stream(Format):
    error, says = CheckpointError, "a checkpoint is as monolip wrote it.*remove the folder"

    def write(self, path):
        write_state(path, {"a": np.arange(5.0), "b": np.ones((2, 3), np.int64)}, {"done": 3})

    def read(self, path):
        tensors, words = read_state(path)
        return repr(sorted(tensors.items())), words


class TorchFit(Format):
    error, says, sealed = CheckpointError, "a fit goes on|a checkpoint (is an ordinary file|holds the network)", False

    def __init__(self):
        torch = pytest.importorskip("torch")
        from monolip.nn.fit_plan import FitPlan

        self.device, self.plan = torch.device("cpu"), FitPlan(epochs=2, batch=64, lanes=4)
        self.model = torch.nn.Linear(3, 2)
        self.optimiser = torch.optim.Adam(self.model.parameters())
        self.model(torch.ones(1, 3)).sum().backward()
        self.optimiser.step()

    def write(self, path):
        from monolip.nn.fit_state import save_state

        save_state(path, self.model, self.optimiser, self.plan, 10, [1.0, float("nan")])

    def read(self, path):
        from monolip.nn.fit_state import load_state

        return repr(load_state(path, self.model, self.optimiser, self.plan, 10, self.device))


FORMATS = [Frozen, FixedPoint, Training, Stream, TorchFit]


@pytest.fixture(scope="module", params=FORMATS, ids=lambda kind: kind.__name__)
def case(request, tmp_path_factory):
    """A format, the bytes of a good file, and a place to put others."""
    kind, path = request.param(), tmp_path_factory.mktemp("sealed") / PLACE
    kind.write(path)
    kind.good, kind.path = path.read_bytes(), path
    kind.meaning = kind.read(path)
    return kind


def attempt(kind, data):
    """What is read, or None and the words of the format's own error; any other error fails the test."""
    kind.path.write_bytes(data)
    try:
        return kind.read(kind.path), ""
    except kind.error as error:
        return None, str(error)


def refuse(kind, data, says=None):
    kind.path.write_bytes(data)
    with pytest.raises(kind.error, match=f"(?s){says or kind.says}") as caught:
        kind.read(kind.path)
    assert PLACE in str(caught.value)


def parted(data):
    """Entries of the header, name of the metadata's entry, what it says, and the numbers."""
    end = 8 + struct.unpack("<Q", data[:8])[0]
    entries = json.loads(data[8:end])
    (name,) = entries["__metadata__"]
    return entries, name, json.loads(entries["__metadata__"][name]), data[end:]


def joined(entries, body):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + body


def saying(data, words):
    """The file with other words in its metadata's entry: a value, or the JSON text itself."""
    entries, name, _, body = parted(data)
    text = words if isinstance(words, str) else json.dumps(words)
    return joined({**entries, "__metadata__": {name: text}}, body)


def tensors_in(entries):
    return [name for name in entries if name != "__metadata__"]


def test_an_undamaged_file_is_read_and_written_again_to_the_bit(case, tmp_path):
    assert attempt(case, case.good) == (case.meaning, "")
    case.write(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == case.good


@settings(max_examples=40)
@given(data=st.data())
def test_a_truncated_file_is_refused(case, data):
    refuse(case, case.good[: data.draw(st.integers(1, len(case.good) - 1))])


@settings(max_examples=60)
@given(length=st.integers(0, 2**64 - 1) | st.integers(0, 3000))
@example(length=2**63)
@example(length=2**31)
def test_a_header_that_lies_about_its_length_is_refused(case, length):
    true = struct.unpack("<Q", case.good[:8])[0]
    assume(length != true)
    refuse(case, struct.pack("<Q", length) + case.good[8:])
    refuse(case, struct.pack("<Q", true + 1) + case.good[8:])
    refuse(case, struct.pack("<Q", true - 1) + case.good[8:])


@settings(max_examples=80)
@given(data=st.data())
def test_a_flipped_bit_is_refused_or_means_the_same(case, data):
    end = len(case.good) if case.sealed else 8 + struct.unpack("<Q", case.good[:8])[0]
    at = data.draw(st.integers(0, end - 1))
    flipped = bytes([case.good[at] ^ 1 << data.draw(st.integers(0, 7))])
    found, refusal = attempt(case, case.good[:at] + flipped + case.good[at + 1 :])
    assert PLACE in refusal or found == case.meaning or not case.sealed


@settings(max_examples=30)
@given(digest=st.text("0123456789abcdef", min_size=64, max_size=64) | st.none() | st.integers() | st.just([]))
def test_a_wrong_digest_is_refused(case, digest):
    if not case.sealed:
        pytest.skip("this format has none")
    _, _, words, _ = parted(case.good)
    key = "digest" if "digest" in words else "seal"
    refuse(case, saying(case.good, {**words, key: digest}), f"does not match its (digest|{key})")


def test_a_missing_a_further_and_a_renamed_tensor_are_refused(case):
    entries, _, _, body = parted(case.good)
    first = tensors_in(entries)[0]
    last = max(tensors_in(entries), key=lambda name: entries[name]["data_offsets"])
    begin = entries[last]["data_offsets"][0]
    refuse(case, joined({k: v for k, v in entries.items() if k != last}, body[:begin]))
    refuse(case, joined({("z" if k == first else k): v for k, v in entries.items()}, body))
    if case.sealed:
        further = {"dtype": "F64", "shape": [1], "data_offsets": [len(body), len(body) + 8]}
        refuse(case, joined({**entries, "z": further}, body + bytes(8)))


@pytest.mark.parametrize("dtype", ["F16", "I32", "U64", "BF16", "BOOL", "C64", "Q99", None, 5])
def test_another_kind_of_numbers_is_refused(case, dtype):
    entries, _, _, body = parted(case.good)
    name = next(name for name in tensors_in(entries) if entries[name]["shape"])
    refuse(case, joined({**entries, name: {**entries[name], "dtype": dtype}}, body))


@pytest.mark.parametrize(
    "text", ["NaN", "[NaN]", "Infinity", '{"format": NaN, "version": NaN}', "null", "[]", '"x"', ""]
)
def test_words_that_are_no_record_are_refused(case, text):
    refuse(case, saying(case.good, text))


def test_nan_for_any_word_is_refused(case):
    entries, _, words, body = parted(case.good)
    for key in words:
        refuse(case, saying(case.good, {**words, key: float("nan")}))
    name = tensors_in(entries)[0]
    refuse(case, joined({**entries, name: {**entries[name], "shape": [float("nan")]}}, body))


def test_a_key_that_stands_twice_is_refused(case):
    entries, _, words, body = parted(case.good)
    for key, value in words.items():
        twice = json.dumps(words)[:-1] + f", {json.dumps(key)}: {json.dumps(value)}}}"
        refuse(case, saying(case.good, twice), "stands twice|is damaged")
    for key, value in entries.items():
        twice = json.dumps(entries)[:-1] + f", {json.dumps(key)}: {json.dumps(value)}}}"
        refuse(case, joined(twice.encode(), body))


@pytest.mark.parametrize("metadata", ["x", None, [], {}, {"other": "{}"}, {"monolip": 5}])
def test_metadata_of_something_else_is_refused(case, metadata):
    entries, _, _, body = parted(case.good)
    refuse(case, joined({**entries, "__metadata__": metadata}, body))
    refuse(case, joined({name: entry for name, entry in entries.items() if name != "__metadata__"}, body))


@pytest.mark.parametrize("other", FORMATS, ids=lambda kind: kind.__name__)
def test_the_file_of_another_format_is_refused(case, other, tmp_path):
    if other is not type(case):
        other().write(tmp_path / PLACE)
        refuse(case, (tmp_path / PLACE).read_bytes())


def test_folders_and_pipes_are_refused_and_links_are_followed(case, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        (tmp_path / f"to {name}").symlink_to(tmp_path / name)
        for path in (tmp_path / name, tmp_path / f"to {name}"):
            with pytest.raises(case.error, match=r"ordinary file; .* is not one; \w+"):
                case.read(path)
    (tmp_path / "good").write_bytes(case.good)
    (tmp_path / "link").symlink_to(tmp_path / "good")
    assert case.read(tmp_path / "link") == case.meaning
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    if not isinstance(case, Stream | TorchFit):  # to these it is as if there were no file
        with pytest.raises(OSError, match="loop"):
            case.read(tmp_path / "loop")
