"""The committed schema accepts every document that to_json writes, and refuses what no reader should meet."""

from __future__ import annotations

import copy
import json
from importlib.resources import files

import numpy as np
import pytest

from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import FrozenFileError, MonolipError
from monolip.export import from_json
from monolip.export.json import document_of
from monolip.export.onnx_source import network_for
from tests.certify.fixed_point_networks import table_network
from tests.export.models import RANGES, estimator, frozen

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads(files("monolip.export").joinpath("monolip.schema.json").read_text())
FLOATS = {name: (lambda name=name: frozen()[name]) for name in frozen() if name != "householder"}
FLOATS |= {
    kind: (lambda kind=kind: estimator(kind).frozen_)
    for kind in ("strings", "numbers", "logit", "first", "softmax", "log")
}
WHOLE = ("strings", "logit", "softmax", "log")


def checked(document):
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(document, allow_nan=False)))


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", FLOATS)
def test_every_float_document_is_valid(name):
    checked(document_of(FLOATS[name](), "float64"))


@pytest.mark.parametrize("name", WHOLE)
def test_every_integer_document_is_valid(name):
    checked(document_of(network_for(estimator(name), "fixed-point"), "fixed-point"))


def test_saturating_integers_and_float32_are_valid():
    narrow = compile_fixed_point(frozen()["convex"], "narrow", input_ranges=RANGES)
    assert "activations" in document_of(narrow, "fixed-point")["limits"]
    checked(document_of(narrow, "fixed-point"))
    checked(document_of(network_for(frozen()["convex"], "float32"), "float32"))
    checked(document_of(network_for(table_network(np.random.default_rng(0), "log"), "fixed-point"), "fixed-point"))


def edits():
    def put(*path):
        def edit(document, value):
            for key in path[:-1]:
                document = document[key]
            document[path[-1]] = value

        return edit

    weight = ("tensors", "member.0.trunk.0.0.weight")
    return {
        "another format": (put("format"), "other"),
        "another version": (put("version"), 1),
        "a new key": (put("extra"), 1),
        "an arithmetic": (put("arithmetic"), "float16"),
        "a digest": (put("digest"), "12"),
        "no features": (put("features"), []),
        "a decimal": ((put(*weight)), [["0.5"]]),
        "a number": ((put(*weight)), [[0.5]]),
        "an infinity": ((put(*weight)), [["inf"]]),
        "a form": (put("structure", "members"), [[{"outputs": [0], "form": "other"}]]),
        "a limit": (put("limits", "member.0.trunk.0"), -1.0),
        "an activation": (put("structure", "free_branch"), ["gelu"]),
    }


@pytest.mark.parametrize("name", edits())
def test_what_is_wrong_is_refused_by_the_schema_and_by_the_reader(name, tmp_path):
    document = copy.deepcopy(document_of(frozen()["convex"], "float64"))
    edit, value = edits()[name]
    edit(document, value)
    with pytest.raises(jsonschema.ValidationError):
        checked(document)
    (tmp_path / "f.json").write_text(json.dumps(document))
    with pytest.raises(MonolipError):
        from_json(tmp_path / "f.json")


def test_a_document_of_float64_weights_cannot_call_itself_float32(tmp_path):
    """Other readers may rely on it: weights that float32 rounds would give other bits there."""
    document = document_of(frozen()["convex"], "float64")
    (tmp_path / "f.json").write_text(json.dumps(document | {"arithmetic": "float32"}))
    with pytest.raises(FrozenFileError, match="does not match"):
        from_json(tmp_path / "f.json")
    rounded = network_for(frozen()["convex"], "float32")
    (tmp_path / "g.json").write_text(json.dumps(document_of(rounded, "float32")))
    assert from_json(tmp_path / "g.json") == rounded
