"""Fixed-point certificates: the independent checker proves them, and no edited one passes."""

from __future__ import annotations

import base64
import copy
import hashlib
import importlib.util
import json
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.certify.certificate import Certificate
from monolip.certify.checker import checker_path, run_checker
from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.fixed_point_claims import certify_fixed_point, fixed_point_claims, fixed_point_document
from monolip.errors import MonolipError
from monolip.fixed_point_file import put_together
from monolip.fixed_point_format import FixedPointFormat
from monolip.fixed_point_inputs import FixedInputs
from monolip.fixed_point_map import FixedMap
from tests.certify.fixed_point_networks import random_network, table_network
from tests.make import frozen_networks

RANGES = [(-4.0, 4.0)] * 3
spec = importlib.util.spec_from_file_location("monolip_check", checker_path())
checker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checker)


def networks():
    rng = np.random.default_rng(0)
    for preset in ("wide", "narrow"):
        for link in ("identity", "log", "logit", "softmax"):
            yield f"{link} {preset}", compile_fixed_point(table_network(rng, link), preset)
        for form in ("convex", "paper"):
            for depth in (1, 2, 4):
                network = random_network(rng, form, depth, n_outputs=2, members=2)
                yield f"{form} {depth} {preset}", compile_fixed_point(network, preset, input_ranges=RANGES)
        branch = frozen_networks(rng)["free branch"]
        yield f"free branch {preset}", compile_fixed_point(branch, preset, input_ranges=RANGES)


NETWORKS = dict(networks())


def sealed(document):
    body = {key: value for key, value in document.items() if key != "sha256"}
    return {**body, "sha256": hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()}


def accepted(document, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(document))
    return checker.main([str(path)]) == 0


@pytest.mark.parametrize("name", NETWORKS)
def test_certificates_of_every_kind_of_network_are_proved(name, tmp_path, capsys):
    assert accepted(fixed_point_document(NETWORKS[name]), tmp_path), capsys.readouterr().out


def test_it_is_proved_without_monolip_in_reach():
    proved = run_checker(json.dumps(fixed_point_document(NETWORKS["logit wide"])))
    assert "PROVED: fixed-point claims" in proved
    assert '"amount": increasing' in proved
    assert "float64" in proved
    certificate = certify_fixed_point(NETWORKS["logit wide"])
    assert "PROVED: fixed-point claims" in certificate.check()
    assert Certificate.from_json(certificate.to_json()).digest == NETWORKS["logit wide"].digest
    assert [claim.promise for claim in certificate] == ["increasing", "increasing", "free", "decreasing"]
    free = run_checker(json.dumps(fixed_point_document(NETWORKS["free branch wide"])))
    assert '"u": free' in free


def array_of(document, name):
    entry = document["tensors"][name]
    raw = base64.b64decode(entry["data"])
    return np.frombuffer(raw, "<" + entry["dtype"]).reshape(entry["shape"]).copy()


def store(document, name, array):
    kind = "f8" if array.dtype.kind == "f" else "i8"
    data = base64.b64encode(np.ascontiguousarray(array, "<" + kind).tobytes()).decode()
    document["tensors"][name] = {"dtype": kind, "shape": list(array.shape), "data": data}


def resigned(document):
    """A forger's best: the digest of the edited network, and a new seal."""
    tensors = checker.read_tensors(document["tensors"])
    document["digest"] = checker.digest_of(("monolip.FixedPointNetwork", 2), document["structure"], tensors)
    return sealed(document)


def edit(name, change):
    def apply(document):
        array = array_of(document, name)
        result = change(array)
        store(document, name, array if result is None else result)

    return apply


def claim(i, key, change):
    def apply(document):
        entry = document["claims"]["raw"][i]
        entry[key] = change(entry[key])

    return apply


def put(*path, value):
    def apply(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return apply


def lower(text, by=1e-9):
    return (float.fromhex(text) - by).hex()


def add(at, by):
    def change(array):
        array.reshape(-1)[at] += by

    return change


FORGED = {
    "a mixing row off by one": edit("member.0.trunk.0.1.weight", add(0, 1)),
    "a negative first weight of an increasing feature": edit("member.0.trunk.0.0.weight", add(0, -(2**30))),
    "a first weight beyond the claimed slope": edit("member.0.trunk.0.0.weight", add(0, 2**27)),
    "a sum that overflows": edit("member.0.trunk.0.0.weight", add(4, 2**50)),
    "a bias that overflows": edit("member.0.trunk.0.0.bias", add(0, 2**61)),
    "member weights that are no average": edit("member_weights", add(0, 1)),
    "negative member weights": edit("member_weights", lambda a: a * 0 + [-1, 2**24 + 1]),
    "nodes that fall": edit("columns.0.values", add(0, 2**26)),
    "knots in disorder": edit("columns.0.knots", lambda a: a[::-1]),
    "a knot that is not a number": edit("columns.0.knots", lambda a: a * np.nan),
    "knots far apart": edit("columns.3.knots", lambda a: np.array([-1e300, 1e300])),
    "inputs beyond their bits": edit("columns.3.values", lambda a: np.array([-(2**26), 2**26])),
    "an ordered table that falls": edit("columns.1.table", lambda a: a[[2, 1, 0, 3, 4]]),
    "a table of floats": edit("columns.1.table", lambda a: a.astype(float)),
    "a huge factor": put("structure", "link", "factor", value=2**40),
    "a negative factor": put("structure", "link", "factor", value=-1),
    "another shift": put("structure", "format", "shift", value=23),
    "an impossible shift": put("structure", "format", "shift", value=10**6),
    "a narrower accumulator": put("structure", "format", "accumulator_bits", value=52),
    "fewer input bits": put("structure", "format", "input_bits", value=20),
    "saturation that is not a boolean": put("structure", "format", "saturate", value=1),
    "a group size": put("structure", "members", 0, 0, "group_sizes", value=[4, 4]),
    "paper form": put("structure", "members", 0, 0, "form", value="paper"),
    "an output twice": put("structure", "members", 0, 0, "outputs", value=[0, 0]),
    "no members": put("structure", "members", value=[]),
    "another link": put("structure", "link", "name", value="softmax"),
    "an unknown field": put("structure", "more", value=1),
    "a name twice": put("structure", "columns", 3, "name", value="amount"),
    "another name": put("structure", "columns", 3, "name", value="speed"),
    "a feature more without a promise": lambda d: d["claims"]["raw"].append(d["claims"]["raw"][2]),
    "a carrier too narrow": put("claims", "carriers", value=["int64", "float64", "int32"]),
    "no carriers": put("claims", "carriers", value=[]),
    "a direction that is not there": claim(2, "promise", lambda v: ["increasing"]),
    "a direction turned round": claim(0, "promise", lambda v: ["decreasing"]),
    "a direction left out": claim(0, "promise", lambda v: ["slope interval"]),
    "a slope claimed too small": claim(0, "real", lambda v: [[v[0][0], lower(v[0][1])]]),
    "a slope claimed too large": claim(0, "real", lambda v: [[(1e-9).hex(), v[0][1]]]),
    "slopes left out": claim(0, "real", lambda v: None),
    "a margin too small": claim(0, "margin", lambda v: [lower(v[0], 1e-12)]),
    "a margin left out": claim(0, "margin", lambda v: None),
    "margins more than outputs": claim(0, "margin", lambda v: v * 2),
    "missing values elsewhere": claim(0, "missing", lambda v: "highest"),
    "missing values nowhere": claim(0, "missing", lambda v: "state"),
    "a claim that is no number": claim(0, "margin", lambda v: ["nan"]),
    "no features": put("claims", "raw", value=[]),
    "another arithmetic": put("arithmetic", value="float32"),
    "a tensor more": lambda d: store(d, "more", np.zeros(1)),
    "a tensor less": lambda d: d["tensors"].pop("member_weights"),
    "bytes that do not fit the shape": put("tensors", "member_weights", "shape", value=[3]),
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_certificates_are_rejected_even_when_signed_again(kind, tmp_path):
    document = copy.deepcopy(fixed_point_document(NETWORKS["logit wide"]))
    FORGED[kind](document)
    try:
        document = resigned(document)
    except ValueError:  # bytes that do not fit: the digest cannot even be computed
        document = sealed(document)
    assert not accepted(document, tmp_path)


def test_damage_is_seen_by_the_seal_and_the_digest(tmp_path):
    document = copy.deepcopy(fixed_point_document(NETWORKS["logit wide"]))
    assert accepted(document, tmp_path)
    edit("member.0.trunk.0.0.weight", add(0, 1))(document)
    assert not accepted(document, tmp_path)
    assert not accepted(sealed(document), tmp_path)


@pytest.mark.parametrize("preset", ["wide", "narrow"])
def test_a_paper_form_residual_one_unit_short_is_rejected(preset, tmp_path):
    document = copy.deepcopy(fixed_point_document(NETWORKS[f"paper 2 {preset}"]))
    assert accepted(document, tmp_path)
    edit("member.0.trunk.0.residual", add(0, -1))(document)
    assert not accepted(resigned(document), tmp_path)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_accepted_claims_no_more_than_the_integers_give(data):
    """Numbers of real certificates are changed and signed again: an accepted one is as true as a fresh one."""
    name = data.draw(
        st.sampled_from(["logit wide", "softmax narrow", "paper 2 wide", "convex 4 narrow", "free branch wide"])
    )
    document = copy.deepcopy(fixed_point_document(NETWORKS[name]))
    for _ in range(data.draw(st.integers(1, 2))):
        tensor = data.draw(st.sampled_from(sorted(document["tensors"])))
        array = array_of(document, tensor)
        if array.size:
            by = data.draw(st.sampled_from([-(2**29), -(2**20), -3, -1, 1, 2, 2**14, 2**24, 2**40]))
            add(data.draw(st.integers(0, array.size - 1)), by)(array)
            store(document, tensor, array)
    with tempfile.TemporaryDirectory() as folder:
        if not accepted(resigned(document), Path(folder)):
            return
    tensors = {key: array_of(document, key) for key in document["tensors"]}
    try:
        network = put_together(document["structure"], tensors)
    except MonolipError as error:
        assert "free" in tensor, error  # noqa: PT017 - the constructor also looks at what carries no claim
        return
    true = fixed_point_claims(network)
    assert document["claims"]["carriers"] == true["carriers"]
    for claimed, proved in zip(document["claims"]["raw"], true["raw"], strict=True):
        assert (claimed["promise"], claimed["missing"]) == (proved["promise"], proved["missing"])
        for mine, yours in zip(claimed["real"] or (), proved["real"] or (), strict=True):
            (a, b), (low, high) = ([Fraction(float.fromhex(v)) for v in pair] for pair in (mine, yours))
            assert a <= low
            assert high <= b
        for mine, yours in zip(claimed["margin"] or (), proved["margin"] or (), strict=True):
            assert float.fromhex(yours) <= float.fromhex(mine)


def test_wide_integers_that_no_float_holds_are_claimed_exactly(tmp_path):
    """A format for 64-bit sums: weights beyond 2^53, slopes in exact arithmetic all the same."""
    long = FixedPointFormat("long", 31, 26, 31, 63, 63)
    network = compile_fixed_point(random_network(np.random.default_rng(0), depth=3), long, input_ranges=RANGES)
    (trunk,) = network.members[0]
    first = trunk.weights[0] << 20  # odd numbers below, so that floats would round
    first = np.where(first != 0, first + np.sign(first), 0)
    quiet = [replace(column, maps=(FixedMap([0.0, 1.0], [0, 1]),)) for column in network.inputs.columns]
    wide = replace(
        network,
        inputs=FixedInputs(tuple(quiet)),
        members=((replace(trunk, weights=(first, *trunk.weights[1:])),),),
        vectors=None,
    )
    assert wide.carriers == ("int64",)
    assert np.abs(first).max() > 2**53
    assert accepted(fixed_point_document(wide), tmp_path)
