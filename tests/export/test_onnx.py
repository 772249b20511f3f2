"""ONNX files: the promised bits in ONNX Runtime, in every batch; what cannot be certified is not written."""

from __future__ import annotations

import itertools
import json
import sys

import numpy as np
import pytest

from monolip import MonotonicRegressor
from monolip.certify.certificate import certify
from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import CertificateError, FreezeError, InputError, MissingExtraError, PrecisionError, StructureError
from monolip.export import onnx as onnx_module
from monolip.export.onnx import as_tensor, onnx_bytes, to_onnx
from monolip.export.onnx_graph import Graph
from monolip.export.onnx_layers import comparators
from monolip.export.onnx_source import network_for
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.input_transform import InputTransform
from tests.export.models import RANGES, estimator, frozen, table, two_track

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

KINDS = [name for name in frozen() if name != "householder"]
FORMS = [("float32", False), ("float32", True), ("float64", False), ("float64", True), ("fixed-point", False)]


def session_of(data):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def numbers_of(columns):
    return table()[columns].to_numpy()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("arithmetic", "in_order"), FORMS)
def test_every_network_keeps_its_bits_or_is_refused_with_a_reason(tmp_path, name, arithmetic, in_order):
    network, path = frozen()[name], tmp_path / "f.onnx"
    if name == "L1 to L1" and arithmetic != "float64":
        with pytest.raises(FreezeError, match=r"convex form|GroupSort"):
            to_onnx(network, path, arithmetic=arithmetic, in_order=in_order, input_ranges=RANGES)
        assert not path.exists()
        return
    report = to_onnx(network, path, arithmetic=arithmetic, in_order=in_order, input_ranges=RANGES, rows=300)
    assert report.passed
    assert report.measured
    free = network.free_branch is not None
    assert report.exact == ((arithmetic == "fixed-point" or in_order) and network.is_convex and not free)
    usual = [row.max_difference for row in report.rows if row.inputs != "extreme"]
    assert max(usual) <= (0.0 if report.exact else 3e-6 if arithmetic == "float32" else 1e-14)
    onnx.checker.check_model(onnx.load(path), full_check=True)


@pytest.mark.parametrize("kind", ["numbers", "strings", "logit", "first", "softmax", "log"])
@pytest.mark.parametrize(("arithmetic", "in_order"), FORMS)
def test_estimators_with_transforms_categories_and_missing_values(tmp_path, kind, arithmetic, in_order):
    path = tmp_path / "f.onnx"
    report = to_onnx(estimator(kind), path, arithmetic=arithmetic, in_order=in_order, predictions=True, rows=200)
    assert report.passed
    assert report.max_difference <= (0.0 if report.exact else 3e-6 if arithmetic == "float32" else 1e-13)
    onnx.checker.check_model(onnx.load(path), full_check=True)


def test_the_files_hold_no_sort_and_no_function_that_is_not_monotone(tmp_path):
    for kind, (arithmetic, in_order) in itertools.product(["softmax", "log"], FORMS):
        to_onnx(
            estimator(kind), tmp_path / "f.onnx", arithmetic=arithmetic, in_order=in_order, predictions=True, rows=9
        )
        used = {node.op_type for node in onnx.load(tmp_path / "f.onnx").graph.node}
        assert not used & {"TopK", "Sigmoid", "Softmax", "Exp", "Pow", "Tanh", "Erf"}


@pytest.mark.parametrize("kind", ["numbers", "logit", "first", "softmax", "log"])
def test_fixed_point_predictions_are_those_of_the_library_bit_for_bit_in_any_batch(kind):
    model = estimator(kind)
    X = numbers_of(["a", "b", "g"])
    session = session_of(onnx_bytes(network_for(model, "fixed-point"), "fixed-point", predictions=True))
    expected = compile_fixed_point(model.frozen_).predict(list(X.T)).reshape(len(X), -1)
    for size in (len(X), 1, 7):
        parts = [session.run(None, {"X": X[at : at + size]})[1] for at in range(0, len(X), size)]
        assert np.array_equal(np.concatenate(parts), expected)


@pytest.mark.parametrize("kind", ["numbers", "logit", "log"])
def test_a_second_runtime_gives_the_same_bits(kind):
    """onnx's own reference evaluator, which is numpy and shares nothing with ONNX Runtime."""
    reference = pytest.importorskip("onnx.reference")
    X = numbers_of(["a", "b", "g"])
    for arithmetic, in_order in (("fixed-point", False), ("float64", True)):
        network = network_for(estimator(kind), arithmetic)
        data = onnx_bytes(network, arithmetic, in_order=in_order, predictions=kind != "numbers")
        ours = session_of(data).run(None, {"X": X})
        theirs = reference.ReferenceEvaluator(onnx.load_from_string(data)).run(None, {"X": X})
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_one_ulp_steps_never_fall_in_fixed_point_whatever_the_batch():
    network = network_for(two_track(), "fixed-point", input_ranges=[(-4.0, 4.0)] * 4)
    session = session_of(onnx_bytes(network, "fixed-point"))
    rng = np.random.default_rng(0)
    low = rng.normal(scale=2.0, size=(20_000, 4))
    for feature in (0, 1, 3):
        high = low.copy()
        high[:, feature] = np.nextafter(low[:, feature], np.inf)
        together = session.run(None, {"X": low})[0]
        apart = [session.run(None, {"X": part})[0] for part in np.array_split(high, 37)]
        assert (np.concatenate(apart) >= together).all()


@pytest.mark.parametrize("kind", ["logit", "softmax", "log"])
def test_float64_in_order_gives_the_probabilities_of_the_library(kind):
    model, X = estimator(kind), numbers_of(["a", "b", "g"])
    session = session_of(onnx_bytes(network_for(model, "float64"), "float64", in_order=True, predictions=True))
    scores, found = session.run(None, {"X": X})
    assert np.array_equal(scores, model.frozen_.evaluate_raw(list(X.T)))
    assert np.array_equal(found, model.frozen_.link.apply(scores).reshape(len(X), -1))


def test_float_probabilities_never_fall_from_one_float_to_the_next():
    network = network_for(estimator("logit"), "float32")
    session = session_of(onnx_bytes(network, "float32", in_order=True, predictions=True))
    low = np.linspace(0.0, 10.0, 4000, dtype=np.float32)
    high = np.nextafter(low, np.float32(np.inf))
    rows = [np.stack([x, np.zeros_like(x), np.ones_like(x)], axis=1) for x in (low, high)]
    below, above = (session.run(None, {"X": x})[1][:, 1] for x in rows)
    assert (above >= below).all()
    assert below[-1] > below[0]


def test_strings_are_inputs_by_name_and_the_empty_one_is_missing():
    model, X = estimator("strings"), table()
    session = session_of(onnx_bytes(network_for(model, "float64"), "float64", in_order=True))
    assert [port.name for port in session.get_inputs()] == list(X.columns)
    feed = {name: X[[name]].to_numpy(object if name == "city" else np.float64, copy=True) for name in X.columns}
    feed["city"][::5], feed["city"][1::5] = "", "nowhere"
    labels = [None if v == "" else v for v in feed["city"].ravel()]
    columns = [X["a"].to_numpy(), X["b"].to_numpy(), X["g"].to_numpy(), labels]
    assert np.array_equal(session.run(None, feed)[0], model.frozen_.evaluate_raw(columns))


def test_nan_without_a_rule_gives_nan_in_that_row_only():
    for network, arithmetic in ((frozen()["convex"], "float32"), (frozen()["ensemble"], "fixed-point")):
        data = onnx_bytes(network_for(network, arithmetic, input_ranges=RANGES), arithmetic)
        x = np.ones((5, 3), dtype=np.float32 if arithmetic == "float32" else np.float64)
        x[2, 1] = np.nan
        score = session_of(data).run(None, {"X": x})[0]
        assert np.isnan(score[2]).all()
        assert np.isfinite(np.delete(score, 2, axis=0)).all()


def test_metadata_names_the_network_its_certificate_and_its_promises(tmp_path):
    model = estimator("numbers")
    report = to_onnx(model, tmp_path / "f.onnx", arithmetic="fixed-point", rows=20)
    fixed = compile_fixed_point(model.frozen_)
    found = {p.key: p.value for p in onnx.load(tmp_path / "f.onnx").metadata_props}
    assert found["monolip.digest"] == fixed.digest == report.digest
    assert found["monolip.source"] == model.frozen_.digest
    assert found["monolip.certificate"] == certify(fixed).document["sha256"] == report.certificate
    assert json.loads(found["monolip.features"]) == ["a", "b", "g"]
    assert ["a", "increasing"] in [[claim[0], claim[2]] for claim in json.loads(found["monolip.claims"])]


def test_the_bytes_are_reproducible_and_need_no_package(monkeypatch):
    network = network_for(two_track(), "float32")
    first = onnx_bytes(network, "float32")
    for package in ("onnx", "onnxruntime", "google.protobuf"):
        monkeypatch.setitem(sys.modules, package, None)
    assert onnx_bytes(network, "float32") == first


def test_without_onnxruntime_nothing_is_written_and_the_line_that_installs_it_is_printed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[onnx\]" in a checkout'):
        to_onnx(two_track(), tmp_path / "f.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("harm", [lambda s: s + 2.0**-40, lambda s: -s])
def test_a_runtime_that_does_not_give_the_bits_is_refused(tmp_path, monkeypatch, harm):
    true_runner = onnx_module._runner

    def harmed(data):
        run, version = true_runner(data)
        return (lambda columns: harm(run(columns))), version

    monkeypatch.setattr(onnx_module, "_runner", harmed)
    for form in ({"arithmetic": "fixed-point"}, {"arithmetic": "float64", "in_order": True}):
        with pytest.raises(PrecisionError, match="bits"):
            to_onnx(estimator("numbers"), tmp_path / "f.onnx", rows=50, **form)
    assert not list(tmp_path.iterdir())


def test_the_report_counts_the_drops_of_an_artefact_that_falls(tmp_path, monkeypatch):
    true_runner = onnx_module._runner
    monkeypatch.setattr(onnx_module, "_runner", lambda data: ((lambda c: -true_runner(data)[0](c)), "none"))
    with pytest.raises(PrecisionError, match=r"numbers up to rounding(.|\n)* drops"):
        to_onnx(estimator("numbers"), tmp_path / "f.onnx", rows=50)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "options", "error", "text"),
    [
        (lambda: frozen()["householder"], {}, CertificateError, "Householder"),
        (lambda: frozen()["convex"], {"arithmetic": "half"}, InputError, "arithmetic is one of"),
        (lambda: frozen()["convex"], {"arithmetic": "fixed-point"}, InputError, "input_ranges"),
        (lambda: frozen()["convex"], {"predictions": True}, InputError, "link"),
        (lambda: compile_fixed_point(estimator("log").frozen_), {"arithmetic": "float32"}, InputError, "fixed-point"),
        (lambda: object(), {}, InputError, "fit or freeze"),
    ],
)
def test_refusals_say_why_and_write_nothing(tmp_path, model, options, error, text):
    with pytest.raises(error, match=text):
        to_onnx(model(), tmp_path / "f.onnx", **options)
    assert not list(tmp_path.iterdir())


def with_categories(labels):
    column = CategoryColumn("c", labels, np.eye(len(labels) + 2, 3))
    source = frozen()["convex"]
    return FrozenNetwork(source.promise, source.members, inputs=InputTransform((column,)))


def test_categories_that_no_tensor_can_hold_are_refused():
    with pytest.raises(StructureError, match="both"):
        onnx_bytes(with_categories(("a", 1)), "float64")
    with pytest.raises(StructureError, match="exact"):
        onnx_bytes(network_for(with_categories((0.1, 0.2)), "float32"), "float32")
    with pytest.raises(StructureError, match="exact"):
        onnx_bytes(with_categories((2**53 + 1, 1)), "float64")


def test_a_column_keeps_its_name_where_an_output_has_it_too(tmp_path, rng):
    pytest.importorskip("onnxruntime")
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"score": rng.choice(["a", "b"], 200), "model_score": rng.normal(size=200)})
    y = X["model_score"] + (X["score"] == "a")
    model = MonotonicRegressor(monotonic_cst={"model_score": 1}, max_iter=3, random_state=0).fit(X, y)
    to_onnx(model, tmp_path / "m.onnx", arithmetic="float64", in_order=True)
    session = session_of((tmp_path / "m.onnx").read_bytes())
    assert [port.name for port in session.get_outputs()] == ["model_model_score"]
    given = {"score": X[["score"]].to_numpy(object), "model_score": X[["model_score"]].to_numpy()}
    assert np.array_equal(session.run(None, given)[0][:, 0], model.predict(X))


@pytest.mark.parametrize("n", range(1, 10))
def test_comparators_sort_every_row_of_zeros_and_ones_and_so_everything(n):
    rows = np.array(list(itertools.product([0, 1], repeat=n)))
    expected = np.sort(rows, axis=1)
    for i, j in comparators(n):
        rows[:, i], rows[:, j] = rows[:, [i, j]].min(axis=1), rows[:, [i, j]].max(axis=1)
    assert np.array_equal(rows, expected)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(("op", "neutral"), [("Mul", 1.0), ("Add", 0.0)])
def test_numbers_that_are_nearly_neutral_are_not_optimised_away(kind, op, neutral):
    for step in (1e-3, 1e-6, 1e-8, 1e-9, 1e-12):
        value = np.dtype(kind).type(neutral + step)
        graph = Graph(kind)
        x = graph.add("Mul", graph.input("X", kind, 1), graph.constant([[2.0]]))
        graph.output("score", graph.add("Mul", graph.with_row(op, x, [value]), graph.constant([[0.5]])), 1)
        given = np.array([[1.0], [0.0], [3.0]], dtype=kind)
        expected = (given * 2 * value if op == "Mul" else given * 2 + value) / 2
        assert np.array_equal(session_of(graph.to_bytes({}, "")).run(None, {"X": given})[0], expected)


def test_columns_become_tensors():
    assert as_tensor(["a", None], None).tolist() == [["a"], [""]]
    numbers = as_tensor([1.0, None, 5.0], np.float64).ravel()
    assert np.isnan(numbers[1])
    assert numbers[::2].tolist() == [1.0, 5.0]
