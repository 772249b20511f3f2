"""Random changes of real certificates: whatever the checker still accepts is still true."""

from __future__ import annotations

import base64
import json
import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monolip.certify.document_claims import claims_of
from monolip.frozen_file import put_together

from .documents import accepts, documents, resealed

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
NAMES = ["raw, promised", "raw, free branch", "raw, classes", "raw, both forms"]
NAMES += ["convex", "L1 to L1"]


def paths(value, at=()):
    """Every place in a JSON document."""
    yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from paths(value[key], (*at, key))


def place(document, path):
    for key in path[:-1]:
        document = document[key]
    return document


def other_number(data, text):
    """A float64 tensor, or a claimed number, with a change that may be one ulp or everything."""
    value = float.fromhex(text)
    steps = [math.nextafter(value, math.inf), math.nextafter(value, -math.inf), -value, value / 2, 0.0, value + 1.0]
    return (data.draw(st.sampled_from(steps)) + 0.0).hex()


def other_tensor(data, text):
    raw = base64.b64decode(text)
    values = list(struct.unpack(f"<{len(raw) // 8}d", raw))
    if values:
        k = data.draw(st.integers(0, len(values) - 1))
        values[k] = float.fromhex(other_number(data, values[k].hex()))
    return base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode()


def other_value(data, value, key):
    if isinstance(value, str) and key == "data":
        return other_tensor(data, value)
    if isinstance(value, str) and value.lstrip("-").startswith("0x"):
        return other_number(data, value)
    words = [
        "increasing",
        "decreasing",
        "flat",
        "slope interval",
        "no promise",
        "state",
        "lowest",
        "highest",
        "refused",
    ]
    options = [None, True, False, 0, 1, 2, -1, 0.5, "", [], {}, *words]
    if data.draw(st.integers(0, 3)):  # of the same type, so that the schema alone cannot refuse it
        if isinstance(value, bool):
            options = [not value]
        elif isinstance(value, int):
            options = [value + 1, value - 1, 0, 2 * value]
        elif isinstance(value, str) and value in words:
            options = words
        elif isinstance(value, list) and value:
            options = [value[1:], value[:-1], value[::-1], value + value[:1]]
        elif value is None:
            options = words
    return data.draw(st.sampled_from(options))


def mutated(data, document):
    for _ in range(data.draw(st.integers(1, 2))):
        part = data.draw(st.sampled_from(["structure", "tensors", "claims", "arithmetic", "kind"]))
        found = [(part, *path) for path in paths(document[part])]
        path = data.draw(st.sampled_from(found))
        home, key = place(document, path), path[-1]
        home[key] = other_value(data, home[key], key)
    return resealed(document)


def still_true(document):
    """Whether monolip, which shares no code with the checker, proves the same claims of the network carried."""
    structure = json.loads(json.dumps(document["structure"]))
    tensors = {}
    for name, entry in document["tensors"].items():
        array = np.frombuffer(base64.b64decode(entry["data"]), "<f8").reshape(entry["shape"])
        tensors[name] = array
    shape = tensors["lower"].shape
    tensors["lower"], tensors["upper"] = np.full(shape, -1e300), np.full(shape, 1e300)
    structure.pop("l2_radius", None)
    structure["slope_set"] = False
    if "ends" in structure:
        structure["ends"]["raw_promise"] = None
        for column in structure["ends"]["inputs"] or ():
            column.pop("seen", None)  # for drawing only
    network = put_together(structure, tensors)
    proved, claimed = claims_of(network), document["claims"]
    for side in ("model", "raw"):
        assert (proved[side] is None) == (claimed[side] is None)
        for own, said in zip(proved[side] or (), claimed[side] or (), strict=True):
            assert [own[k] for k in ("name", "promise", "missing")] == [said[k] for k in ("name", "promise", "missing")]
            for what in ("real", "differences"):
                assert (own[what] is None) == (said[what] is None)
                for (a, b), (low, high) in zip(said[what] or (), own[what] or (), strict=True):
                    assert Fraction(float.fromhex(a)) <= Fraction(float.fromhex(low))
                    assert Fraction(float.fromhex(high)) <= Fraction(float.fromhex(b))
    if claimed["limit"] is not None:
        assert 0 < float.fromhex(claimed["limit"]) <= 2 * float.fromhex(proved["limit"])
    return True


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_accepted_after_a_change_is_true(name, tmp_path):
    @SETTINGS
    @given(data=st.data())
    def check(data):
        document = mutated(data, documents(name))
        assert not accepts(tmp_path, document) or still_true(document)

    check()


@pytest.mark.parametrize("name", ["raw", "L1 to L1"])
def test_bytes_changed_in_a_file_never_change_what_is_accepted(name, tmp_path):
    original = documents(name)
    text = json.dumps(original).encode()

    @SETTINGS
    @given(at=st.integers(0, len(text) - 1), byte=st.integers(0, 255), cut=st.integers(0, 3))
    def check(at, byte, cut):
        changed = text[:at] + bytes([byte]) + text[at + cut :]
        assert not accepts(tmp_path, changed) or json.loads(changed) == original

    check()


@pytest.mark.parametrize("name", ["raw", "raw, classes", "L1 to L1", "ensemble"])
def test_every_claimed_number_is_as_tight_as_it_can_be(name, tmp_path):
    """One ulp inwards in any single claim is rejected: nothing is accepted on trust."""
    original = documents(name)
    places = [p for p in paths(original["claims"]) if "real" in p or "differences" in p or "norms" in p]
    for path in places:
        value = place(original["claims"], path)[path[-1]]
        if not isinstance(value, str):
            continue
        upwards = path[-1] == 0 and "norms" not in path
        document = documents(name)
        moved = math.nextafter(float.fromhex(value), math.inf if upwards else -math.inf)
        place(document["claims"], path)[path[-1]] = (moved + 0.0).hex()
        assert not accepts(tmp_path, resealed(document)), path


def test_a_claim_may_be_wider_than_what_is_proved(tmp_path):
    document = documents("raw")
    document["claims"]["raw"][2]["real"][0] = [(-100.0).hex(), (100.0).hex()]
    assert accepts(tmp_path, resealed(document))


def test_the_oracle_of_these_tests_notices_a_false_claim():
    document = documents("raw")
    document["claims"]["raw"][2]["real"][0][0] = (0.25).hex()
    with pytest.raises(AssertionError):
        still_true(document)
    assert still_true(documents("raw"))
