"""A free forest in ONNX files: Python's leaves and Python's bits, in every form, batch and runtime."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from monolip.certify.auditing import audit
from monolip.errors import PrecisionError, StructureError
from monolip.estimators._freezing import with_forest
from monolip.export import onnx as onnx_module
from monolip.export import onnx_forest, onnx_protobuf
from monolip.export.onnx import onnx_bytes, to_onnx
from monolip.export.onnx_forest import with_forest as in_graph
from monolip.export.onnx_graph import Graph
from monolip.export.onnx_inputs import model_columns, raw_tensors
from monolip.export.onnx_lowering import graph_of
from monolip.export.onnx_parity import reference_scores
from monolip.export.onnx_source import network_for
from monolip.free_forest import FreeForest
from monolip.input_transform import InputTransform
from tests.export.forest_rows import by_name, numbered, telling_columns
from tests.forests import COLUMNS, forest_network, plain_network

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

FORMS = [("float32", False), ("float32", True), ("float64", False), ("float64", True), ("fixed-point", False)]
EXACT = [("float32", True), ("float64", True), ("fixed-point", False)]
STEP = FreeForest((1,), ((0.0, 0.0),), [0, -1, -1], [0.0, 0, 0], [1, 0, 0], [0, -1.0, 3.0], [0])


def session_of(data, threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def scores_of(session, columns):
    return session.run(None, by_name(columns, session.get_inputs()))[0]


def test_rows_tell_a_forest_from_one_with_another_comparison():
    """What the other tests rely on: x <= threshold gives other numbers in many of their rows, as does no forest."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        network = forest_network(rng, n_trees=20)
        columns, forest = telling_columns(network, rng), network.inputs.forest
        true = network.inputs.evaluate(columns)[:, -1]
        later = np.where(forest.features >= 0, np.nextafter(forest.thresholds, np.inf), 0.0)
        other = InputTransform(COLUMNS, replace(forest, thresholds=later)).evaluate(columns)[:, -1]
        assert (other != true).mean() > 0.1
        assert (true != 0).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("has_trees", [True, False])
def test_the_column_has_the_bits_of_python_whatever_the_layers_are(seed, has_trees):
    rng = np.random.default_rng(seed)
    for cities in (numbered, lambda network: network):
        network = cities(forest_network(rng, n_trees=int(rng.integers(1, 40)), depth=int(rng.integers(1, 5))))
        graph, inputs = Graph("float64", has_trees), network.inputs
        raw = raw_tensors(graph, inputs.columns, "float64")
        x = in_graph(graph, model_columns(graph, inputs.columns, raw), inputs, raw)
        graph.output("columns", x, inputs.n_model)
        columns = telling_columns(network, rng)
        assert np.array_equal(scores_of(session_of(graph.to_bytes({}, "")), columns), inputs.evaluate(columns))


@pytest.mark.parametrize(("arithmetic", "in_order"), EXACT)
@pytest.mark.parametrize("cities", [numbered, lambda network: network], ids=["numbers", "strings"])
def test_scores_have_the_bits_of_python_in_any_batch_and_by_any_threads(arithmetic, in_order, cities):
    rng = np.random.default_rng(1)
    network = network_for(cities(forest_network(rng, n_trees=30, depth=4)), arithmetic)
    data = onnx_bytes(network, arithmetic, in_order=in_order)
    columns = telling_columns(network, rng, 700)
    if arithmetic == "float32":
        columns = [c.astype(np.float32).astype(np.float64) if c.dtype.kind == "f" else c for c in columns]
    expected = reference_scores(network, columns, arithmetic)
    for threads in (1, 4):
        session = session_of(data, threads)
        for size in (700, 7, 1):
            parts = [scores_of(session, [c[at : at + size] for c in columns]) for at in range(0, 210, size)]
            found = np.concatenate(parts)
            assert np.array_equal(found, expected[: len(found)])


@pytest.mark.parametrize(("arithmetic", "in_order"), FORMS)
def test_files_are_measured_valid_and_name_what_carries_no_promise(tmp_path, arithmetic, in_order):
    network, path = forest_network(np.random.default_rng(2), "logit"), tmp_path / "f.onnx"
    report = to_onnx(network, path, arithmetic=arithmetic, in_order=in_order, predictions=True, rows=300)
    assert report.passed
    assert report.exact == ((arithmetic, in_order) in EXACT)
    assert report.max_difference <= (0.0 if report.exact else 3e-6 if arithmetic == "float32" else 1e-14)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert {entry.domain: entry.version for entry in model.opset_import} == {"": 13, "ai.onnx.ml": 3}
    claims = json.loads({p.key: p.value for p in model.metadata_props}["monolip.claims"])
    assert {name: promise for name, _, promise, *_ in claims}["sugar"] == "free"
    assert [row[3:5] for row in claims if row[0] in ("sugar", "city")] == [[None, None]] * 2


@pytest.mark.parametrize(
    "forest",
    [
        STEP,
        FreeForest((2,), ((0.3, 2.0),), [0, -1, -1], [0.5, 0, 0], [1, 0, 0], [0, -1.0, 3.0], [0]),
        FreeForest((1, 3), ((0.0, 0.0),) * 2, [-1, 1, -1, -1, -1], [0, 0.5, 0, 0, 0], [0, 2, 0, 0, 0],
                   [0.25, 0, -0.0, 1e300, -1e300], [0, 1, 4]),
    ],
    ids=["one tree", "a category alone", "trees of one leaf"],
)  # fmt: skip
def test_small_forests(forest):
    rng = np.random.default_rng(3)
    columns = telling_columns(forest_network(rng), rng)
    for arithmetic, in_order in EXACT[1:] if abs(forest.values).max() < 10 else EXACT[1:2]:
        network = network_for(with_forest(plain_network(rng), forest), arithmetic)
        expected = reference_scores(network, columns, arithmetic)
        for has_trees in (True, False):
            data = graph_of(network, arithmetic, in_order=in_order, has_trees=has_trees).to_bytes({}, "")
            assert np.array_equal(scores_of(session_of(data), columns), expected)


def test_a_second_runtime_gives_the_same_bits():
    """onnx's own reference evaluator, which is numpy; its trees do not read thresholds in float64, so we do."""
    reference = pytest.importorskip("onnx.reference")
    from onnx.reference.ops.aionnxml.op_tree_ensemble_regressor import TreeEnsembleRegressor as Without

    class TreeEnsembleRegressor(Without):
        op_domain = "ai.onnx.ml"

        def _run(self, X, nodes_values_as_tensor=None, target_weights_as_tensor=None, **rest):
            given = {"nodes_values": nodes_values_as_tensor, "target_weights": target_weights_as_tensor}
            return super()._run(X, **rest | given)

    rng = np.random.default_rng(4)
    source = numbered(forest_network(rng, "logit"))
    columns = telling_columns(source, rng, 60)
    for arithmetic, in_order in EXACT[1:]:
        data = onnx_bytes(network_for(source, arithmetic), arithmetic, in_order=in_order, predictions=True)
        feed = {"X": np.stack(columns, axis=1)}
        ours = session_of(data).run(None, feed)
        model = onnx.load_from_string(data)
        theirs = reference.ReferenceEvaluator(model, new_ops=[TreeEnsembleRegressor]).run(None, feed)
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize(("arithmetic", "in_order"), FORMS)
@pytest.mark.parametrize("harm", ["values", "comparison"])
def test_a_file_with_another_forest_is_not_written(tmp_path, monkeypatch, arithmetic, in_order, harm):
    network = with_forest(plain_network(np.random.default_rng(5)), STEP)  # its threshold is a knot, where reports look
    true = onnx_module.onnx_bytes

    def harmed(*args, **options):
        model = onnx.load_from_string(true(*args, **options))
        (trees,) = [node for node in model.graph.node if node.op_type == "TreeEnsembleRegressor"]
        (modes,) = [attribute for attribute in trees.attribute if attribute.name == "nodes_modes"]
        modes.strings[0] = b"BRANCH_LEQ"
        return model.SerializeToString()

    if harm == "comparison":
        monkeypatch.setattr(onnx_module, "onnx_bytes", harmed)
    else:
        monkeypatch.setattr(onnx_forest, "_values", lambda g, values: g.constant(0 * values, "float64"))
    with pytest.raises(PrecisionError):
        to_onnx(network, tmp_path / "f.onnx", arithmetic=arithmetic, in_order=in_order, rows=300)
    assert not list(tmp_path.iterdir())


def test_what_the_operator_for_trees_cannot_hold_is_refused(monkeypatch):
    network = forest_network(np.random.default_rng(6))
    monkeypatch.setattr(onnx_forest, "MOST_NODES", 10)
    with pytest.raises(StructureError, match="up to 10 nodes"):
        onnx_bytes(network, "float64")


def test_an_exported_file_is_audited(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(7)
    network = forest_network(rng)
    to_onnx(network, tmp_path / "f.onnx", arithmetic="fixed-point", rows=20)
    columns = dict(zip(network.inputs.names, telling_columns(network, rng, 100), strict=True))
    table = pandas.DataFrame(columns | {"city": ["" if v is None else v for v in columns["city"]]})
    table["sugar"] = table["sugar"].replace([np.inf, -np.inf], 0.0)
    report = audit(tmp_path / "f.onnx", table, {"dose": 1, "sugar": 1}, max_evaluations=20_000)
    found = {feature.name: feature for feature in report.features}
    assert found["dose"].share_affected == 0
    assert found["sugar"].share_beyond_rounding > 0.5  # a forest jumps: nothing is promised of what it reads


def test_packed_numbers_are_those_of_the_format():
    values = np.array([0, 1, 127, 128, 300, 16383, 16384, 2**25, 2**31, 2**62])
    assert onnx_protobuf._varints(values) == b"".join(onnx_protobuf._varint(int(v)) for v in values)
    assert onnx_protobuf._varints(np.zeros(3, np.int64)) == bytes(3)
