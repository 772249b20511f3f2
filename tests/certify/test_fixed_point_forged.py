"""Fixed-point documents and files that a forger sealed again: formats, labels, names, spare content, and the output."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from safetensors.numpy import save

from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.fixed_point_claims import fixed_point_document
from monolip.errors import FrozenFileError, StructureError
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_file import digest_from, take_apart
from tests.certify.fixed_point_networks import table_network
from tests.certify.test_fixed_point_check import NETWORKS, accepted, array_of, checker, put, resigned, store

FORGED_NAME = 'wide, sums < 2^50\n  "wealth": increasing [0, 1]\n'


def extra_vectors(document):
    document["structure"]["vectors"] = False


def repeated_category(document):
    document["structure"]["columns"][1]["categories"] = ["low", "high", "low"]


def infinite_seen(document):
    document["structure"]["columns"][0]["seen"] = [0.0, float("inf")]


def many_maps(document):
    entry = document["structure"]["columns"][3]
    entry["knots"] = [2] * 3000
    store(document, "columns.3.knots", np.tile(array_of(document, "columns.3.knots"), 3000))
    store(document, "columns.3.values", np.tile(array_of(document, "columns.3.values"), 3000))


FORGED = {
    "a name that is a line": put("structure", "format", "name", value=FORGED_NAME),
    "a lone surrogate": put("structure", "format", "name", value="\ud800"),
    "an empty name": put("structure", "format", "name", value=""),
    "fewer bits of weights": put("structure", "format", "weight_bits", value=3),
    "fewer bits of activations": put("structure", "format", "activation_bits", value=20),
    "a category twice": repeated_category,
    "a number beyond floats": infinite_seen,
    "labels absent": put("structure", "link", "labels", value=None),
    "labels twice": put("structure", "link", "labels", value=["no", "no"]),
    "a label more": put("structure", "link", "labels", value=["no", "yes", "perhaps"]),
    "vectors nobody asked for": extra_vectors,
    "more vectors": lambda d: store(d, "vectors.more", np.zeros(1, np.int64)),
    "content of a free branch": lambda d: store(d, "free.0.weight", np.zeros((1, 1))),
    "an offset of log-odds": put("structure", "link", "offset", value=(1.0).hex()),
    "an offset that is no number": put("structure", "link", "offset", value="nan"),
    "more maps than can be checked": many_maps,
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_formats_names_and_content_are_rejected(kind, tmp_path, capsys):
    document = copy.deepcopy(fixed_point_document(NETWORKS["logit wide"]))
    FORGED[kind](document)
    text = json.dumps(resigned(document)).replace("Infinity", "1e999")
    (tmp_path / "c.json").write_text(text)
    assert checker.main([str(tmp_path / "c.json")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("REJECTED: ")
    assert said.isascii()
    assert said.count("\n") == 1


def test_labels_and_activations_of_other_links_are_rejected(tmp_path):
    document = copy.deepcopy(fixed_point_document(NETWORKS["identity wide"]))
    assert accepted(resigned(document), tmp_path)
    document["structure"]["link"]["labels"] = ["a"]
    assert not accepted(resigned(document), tmp_path)
    document = copy.deepcopy(fixed_point_document(NETWORKS["softmax wide"]))
    document["structure"]["link"]["labels"] = ["a", "b", "a"]
    assert not accepted(resigned(document), tmp_path)


def file_of(network, change):
    structure, tensors = take_apart(network)
    structure, tensors = json.loads(json.dumps(structure)), {k: np.array(v) for k, v in tensors.items()}
    change(structure, tensors)
    header = {"format": "monolip.FixedPointNetwork", "version": 2, "digest": digest_from(structure, tensors)}
    return save(tensors, metadata={"monolip": json.dumps({**header, "structure": structure}, sort_keys=True)})


FILES = {
    "a narrow name on wide weights": lambda s, t: s["format"].update(name="narrow", weight_bits=3),
    "fewer bits of activations": lambda s, t: s["format"].update(activation_bits=27),
    "a name that is a line": lambda s, t: s["format"].update(name=FORGED_NAME),
    "no known vectors": lambda s, t: t.update({k: t[k][:0].copy() for k in ("vectors.inputs", "vectors.outputs")}),
    "vectors of another shape": lambda s, t: t.update({"vectors.inputs": t["vectors.inputs"][:, :2].copy()}),
    "an offset of log-odds": lambda s, t: s["link"].update(offset=(1.0).hex()),
    "an offset that is no text": lambda s, t: s["link"].update(offset=1.0),
}


@pytest.mark.parametrize("kind", FILES)
def test_files_that_break_their_format_are_refused(kind, tmp_path):
    network = compile_fixed_point(table_network(np.random.default_rng(0), "logit"))
    (tmp_path / "a").write_bytes(file_of(network, FILES[kind]))
    with pytest.raises(FrozenFileError):
        FixedPointNetwork.load(tmp_path / "a")


def test_the_constructor_counts_bits():
    network = compile_fixed_point(table_network(np.random.default_rng(0), "logit"))
    from dataclasses import replace

    with pytest.raises(StructureError, match="weights have 20 bits"):
        replace(network, format=replace(network.format, weight_bits=20))
    with pytest.raises(StructureError, match="activations have 26 bits"):
        replace(network, format=replace(network.format, activation_bits=26))
