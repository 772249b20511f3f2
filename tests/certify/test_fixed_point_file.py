"""Files of fixed-point networks: the same network comes back, and nothing else is let in."""

from __future__ import annotations

import json
import pickle
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import FrozenFileError, StructureError
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_file import digest_from, put_together, take_apart
from tests.certify.fixed_point_networks import random_network, table_network
from tests.make import frozen_networks

RANGES = [(-4.0, 4.0)] * 3


def networks():
    rng = np.random.default_rng(0)
    yield compile_fixed_point(table_network(rng, "softmax"))
    yield compile_fixed_point(table_network(rng, "log"), "narrow")
    yield compile_fixed_point(random_network(rng, "paper", depth=3, n_outputs=2), input_ranges=RANGES)
    yield compile_fixed_point(frozen_networks(rng)["free branch"], input_ranges=RANGES)


@pytest.mark.parametrize("network", list(networks()), ids=lambda n: f"{n.link.name} {n.format.name}")
def test_files_and_pickles_bring_back_the_same_network(network, tmp_path):
    network.save(tmp_path / "a")
    again = FixedPointNetwork.load(tmp_path / "a")
    assert again == network
    assert again.digest == network.digest
    assert pickle.loads(pickle.dumps(network)) == network
    x = network.vectors[0]
    np.testing.assert_array_equal(again.evaluate(x), network.evaluate(x))
    assert not again.members[0][0].weights[0].flags.writeable


def rewritten(network, change, *, sign=True):
    """The bytes of a file whose structure and tensors were changed; with sign, under a new and correct digest."""
    structure, tensors = take_apart(network)
    structure, tensors = json.loads(json.dumps(structure)), {k: np.array(v) for k, v in tensors.items()}
    change(structure, tensors)
    digest = digest_from(structure, tensors) if sign else network.digest
    header = {"format": "monolip.FixedPointNetwork", "version": 2, "digest": digest, "structure": structure}
    return save(tensors, metadata={"monolip": json.dumps(header, sort_keys=True)})


def nudge(name, by=1, at=0):
    def change(_, tensors):
        tensors[name].reshape(-1)[at] += by

    return change


def put(*path, value):
    def change(structure, _):
        for key in path[:-1]:
            structure = structure[key]
        structure[path[-1]] = value

    return change


TAMPERED = {
    "mixing row off by one": nudge("member.0.trunk.0.1.weight"),
    "negative mixing weight": lambda s, t: t["member.0.trunk.0.1.weight"].__setitem__(
        (0, slice(0, 2)), [-1, 2**24 + 1]
    ),
    "member weight": nudge("member_weights"),
    "weight beyond the accumulator": nudge("member.0.trunk.0.0.weight", 2**50),
    "bias beyond the accumulator": nudge("member.0.trunk.0.0.bias", 2**60),
    "map that falls": nudge("columns.0.values", 2**29),
    "knot that is not a number": nudge("columns.0.knots", np.nan),
    "range turned round": lambda s, t: t["columns.3.knots"].__setitem__(slice(None), [5.0, -5.0]),
    "range beyond the format": lambda s, t: t["columns.3.values"].__setitem__(slice(None), [-(2**27), 2**27]),
    "ordered table that falls": nudge("columns.1.table", 2**25 + 2**20),
    "a factor of none": put("link", "factor", value=0),
    "a negative factor": put("link", "factor", value=-1),
    "a factor that overflows": put("link", "factor", value=2**50),
    "a shift of exponentials": put("link", "shift", value=64),
    "known output": nudge("vectors.outputs"),
    "shift": put("format", "shift", value=23),
    "huge shift": put("format", "shift", value=10**9),
    "shift as a boolean": put("format", "shift", value=True),
    "group size": put("members", 0, 0, "group_sizes", 0, value=3),
    "outputs": put("members", 0, 0, "outputs", 0, value=5),
    "form": put("members", 0, 0, "form", value="paper"),
    "layers": put("members", 0, 0, "group_sizes", value=[2, 2, 2, 2]),
    "missing as floats": lambda s, t: t.__setitem__("columns.0.missing", t["columns.0.missing"] + 0.5),
    "present as a float": put("columns", 0, "present", value=0.5),
    "knots that do not add up": put("columns", 0, "knots", 0, value=99),
    "unknown field": put("format", "extra", value=1),
    "sorted outputs, of a later version": put("sorted_outputs", value=[[0]]),
    "relations, of a later version": put("relations", value=[["a", "b"]]),
    "link": put("link", "name", value="identity"),
    "nested": put("columns", 0, "name", value=[[[[]]]]),
    "tensor of another type": lambda s, t: t.__setitem__("member_weights", t["member_weights"] * 1.0),
    "tensor nobody asked for": lambda s, t: t.__setitem__("more", np.zeros(1)),
    "float32": lambda s, t: t.__setitem__("more", np.zeros(1, np.float32)),
    "missing tensor": lambda s, t: t.pop("member_weights"),
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_tampered_files_are_refused_even_with_a_correct_digest(kind, tmp_path):
    network = compile_fixed_point(table_network(np.random.default_rng(0), "logit"))
    (tmp_path / "a").write_bytes(rewritten(network, TAMPERED[kind]))
    with pytest.raises(FrozenFileError):
        FixedPointNetwork.load(tmp_path / "a")


def test_an_untouched_file_passes_the_same_way(tmp_path):
    network = compile_fixed_point(table_network(np.random.default_rng(0), "logit"))
    (tmp_path / "a").write_bytes(rewritten(network, lambda s, t: None))
    assert FixedPointNetwork.load(tmp_path / "a") == network
    (tmp_path / "a").write_bytes(rewritten(network, put("relations", value=[]), sign=False))
    assert FixedPointNetwork.load(tmp_path / "a") == network
    (tmp_path / "a").write_bytes(rewritten(network, nudge("member.0.trunk.0.0.weight"), sign=False))
    with pytest.raises(FrozenFileError, match="does not match its digest"):
        FixedPointNetwork.load(tmp_path / "a")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_bytes_give_an_error_never_a_crash(data):
    network = compile_fixed_point(random_network(np.random.default_rng(0)), "narrow", input_ranges=RANGES)
    whole = rewritten(network, lambda s, t: None)
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[at] ^= data.draw(st.integers(1, 255))
    damaged = bytes(damaged[: data.draw(st.sampled_from([len(whole), at]))])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        path.write_bytes(damaged)
        with suppress(FrozenFileError):
            assert FixedPointNetwork.load(path) == network  # where the damage touched nothing that is read


def test_networks_that_break_a_rule_cannot_be_built():
    network = compile_fixed_point(random_network(np.random.default_rng(0), members=2), input_ranges=RANGES)
    structure, tensors = take_apart(network)
    assert put_together(structure, tensors) == network
    (trunk,) = network.members[0]
    with pytest.raises(StructureError, match="with sum 2"):
        replace(network, member_weights=network.member_weights + 1)
    with pytest.raises(StructureError, match="one weight each"):
        replace(network, members=network.members[:1])
    with pytest.raises(StructureError, match="exactly 2"):
        replace(network, members=((replace(trunk, weights=(trunk.weights[0], trunk.weights[1] * 2)),),) * 2)
    with pytest.raises(StructureError, match="integers below 2"):
        replace(trunk, weights=(trunk.weights[0] * 1.0, trunk.weights[1]))
    large = ((replace(trunk, weights=(trunk.weights[0] * 2**9, trunk.weights[1])),),) * 2
    with pytest.raises(StructureError, match="every sum must stay below"):
        replace(network, members=large)
