"""JSON documents: the network's bits by the standard library alone, and readers that believe nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip import MonotonicRegressor
from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import CertificateError, FreezeError, FrozenFileError, PrecisionError
from monolip.export import json as json_module
from monolip.export import json_reference
from monolip.export.json import document_of, from_json, to_json
from monolip.export.onnx_parity import reference_scores
from monolip.export.onnx_source import network_for
from monolip.sealed_format import RESERVED
from tests.export.models import RANGES, estimator, frozen, table
from tests.raw_networks import numbered, plain_network, raw_columns, raw_rows


@pytest.mark.parametrize("name", [name for name in frozen() if name != "householder"])
@pytest.mark.parametrize("arithmetic", ["float64", "float32", "fixed-point"])
def test_documents_give_the_bits_and_come_back_as_the_same_network(tmp_path, name, arithmetic):
    network, path = frozen()[name], tmp_path / "f.json"
    if (name, arithmetic) in {("L1 to L1", "float32"), ("L1 to L1", "fixed-point"), ("free branch", "fixed-point")}:
        with pytest.raises(FreezeError):
            to_json(network, path, arithmetic=arithmetic, input_ranges=RANGES)
        assert not path.exists()
        return
    report = to_json(network, path, arithmetic=arithmetic, input_ranges=RANGES, rows=30)
    assert report.passed
    assert report.max_difference <= (1e-14 if name == "free branch" else 0.0)
    assert from_json(path) == network_for(network, arithmetic, input_ranges=RANGES)


@pytest.mark.parametrize("kind", ["strings", "numbers", "logit", "first"])
def test_estimators_with_transforms_and_categories(tmp_path, kind):
    for arithmetic in ("float64", "fixed-point"):
        report = to_json(estimator(kind), tmp_path / "f.json", arithmetic=arithmetic, rows=12)
        assert report.passed
        assert report.exact
        assert from_json(tmp_path / "f.json").digest == report.digest


def test_the_reference_runs_alone_and_prints_the_score(tmp_path):
    model, X = estimator("strings"), table()
    to_json(model, tmp_path / "f.json", rows=3)
    row = [1.5, None, 2.0, "y"]
    program = Path(json_reference.__file__).read_text(encoding="utf-8")
    (tmp_path / "reference.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-I", str(tmp_path / "reference.py"), str(tmp_path / "f.json"), json.dumps(row)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert list(X.columns) == json.loads((tmp_path / "f.json").read_text())["features"]
    expected = model.frozen_.evaluate_raw([np.array([1.5]), np.array([np.nan]), np.array([2.0]), ["y"]])
    assert json.loads(done.stdout) == expected[0].tolist()


@settings(max_examples=30)
@given(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3))
def test_any_floats_give_the_bits_of_evaluate(row):
    network = frozen()["ensemble"]
    document = json_reference.parsed(document_of(network, "float64"))
    assert json_reference.score(document, row) == network.evaluate([row])[0].tolist()


def written(tmp_path, arithmetic="float64"):
    path = tmp_path / "f.json"
    to_json(frozen()["convex"], path, arithmetic=arithmetic, input_ranges=RANGES, rows=3)
    return path, json.loads(path.read_text())


def edits():
    def weight(d):
        d["tensors"]["member.0.trunk.0.0.weight"][0][0] = (0.123).hex()

    def steep(d):
        d["tensors"]["member.0.trunk.0.0.weight"][0][0] = (9.0).hex()

    def limit(d):
        d["limits"]["member.0.trunk.0"] = 1.0

    def name(d):
        d["features"][0] = "another"

    def decimal(d):
        d["tensors"]["member_weights"] = [1.0]

    def ragged(d):
        d["tensors"]["member.0.trunk.0.0.weight"][0].append((0.0).hex())

    def word(d):
        d["tensors"]["member_weights"] = ["one"]

    def gone(d):
        del d["structure"]["members"]

    def version(d):
        d["version"] = 3

    def more(d):
        d["extra"] = 1

    return [weight, steep, limit, name, decimal, ragged, word, gone, version, more]


@pytest.mark.parametrize("edit", edits(), ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("arithmetic", ["float64", "fixed-point"])
def test_edited_documents_are_errors(tmp_path, edit, arithmetic):
    path, document = written(tmp_path, arithmetic)
    if edit.__name__ == "limit" and arithmetic == "fixed-point":
        document["limits"]["activations"] = 1
    else:
        edit(document)
    path.write_text(json.dumps(document))
    with pytest.raises(FrozenFileError):
        from_json(path)


def test_damaged_files_are_errors(tmp_path):
    path, _ = written(tmp_path)
    text = path.read_text()
    twice = text.replace('"version": 2', '"version": 2, "version": 2', 1)
    for bad in (text[:-20], "", "[]", "null", "{" * 5000, '{"format": NaN}', twice):
        path.write_text(bad)
        with pytest.raises(FrozenFileError):
            from_json(path)
    path.write_text(text)
    with pytest.raises(FrozenFileError, match="max_bytes"):
        from_json(path, max_bytes=100)


@pytest.mark.parametrize("field", RESERVED)
def test_fields_for_later_versions_are_absent_or_empty(tmp_path, field):
    path, _ = written(tmp_path)
    document = json.loads(path.read_text())
    document["structure"][field] = []
    path.write_text(json.dumps(document))
    assert from_json(path).digest == document["digest"]
    assert json_reference.read(path)
    document["structure"][field] = [[0, 1]]
    path.write_text(json.dumps(document))
    with pytest.raises(FrozenFileError, match=f"does not support {RESERVED[field]}"):
        from_json(path)
    with pytest.raises(ValueError, match=f"knows no .*{field}"):
        json_reference.read(path)


def test_a_document_of_version_1_names_what_reads_it(tmp_path):
    path, _ = written(tmp_path)
    path.write_text(path.read_text().replace('"version": 2', '"version": 1', 1))
    with pytest.raises(FrozenFileError, match=r"got version 1, .* monolip at commit b8f3b08 or before, or export"):
        from_json(path)


def test_what_cannot_be_certified_or_loses_bits_is_not_written(tmp_path, monkeypatch):
    with pytest.raises(CertificateError, match="Householder"):
        to_json(frozen()["householder"], tmp_path / "f.json")
    monkeypatch.setattr(json_module, "score", lambda document, row: [json_reference.score(document, row)[0] + 1e-12])
    with pytest.raises(PrecisionError, match="bits"):
        to_json(
            compile_fixed_point(estimator("numbers").frozen_), tmp_path / "f.json", arithmetic="fixed-point", rows=5
        )
    assert not list(tmp_path.iterdir())


def test_a_row_of_another_length_is_refused_with_the_names():
    document = json_reference.parsed(document_of(network_for(estimator("logit"), "float64"), "float64"))
    with pytest.raises(ValueError, match="a value for each of a, b, g; got 2 values"):
        json_reference.score(document, [1.0, 2.0])


def test_a_label_like_the_sentinel_for_unseen_ones_is_exported(tmp_path):
    X = table()[["a", "city"]].replace({"city": {"x": "\x00 unseen"}})
    model = MonotonicRegressor(monotonic_cst={"a": 1}, categorical_features=["city"], max_iter=1, random_state=0)
    assert to_json(model.fit(X, X.a), tmp_path / "f.json", rows=100).passed


@pytest.mark.parametrize("arithmetic", ["float64", "float32", "fixed-point"])
@pytest.mark.parametrize("cities", [numbered, lambda network: network], ids=["numbers", "strings"])
def test_raw_columns_give_the_bits_and_come_back(tmp_path, arithmetic, cities):
    rng = np.random.default_rng(0)
    source = cities(plain_network(rng))
    assert to_json(source, tmp_path / "f.json", arithmetic=arithmetic, rows=20).max_difference == 0.0
    network, document = network_for(source, arithmetic), json_reference.read(tmp_path / "f.json")
    columns = raw_columns(raw_rows(rng, 300), source)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    found = [json_reference.score(document, list(row)) for row in rows]
    sums = "float64" if arithmetic == "float32" else arithmetic
    assert np.array_equal(found, reference_scores(network, columns, sums))
    assert from_json(tmp_path / "f.json") == network
