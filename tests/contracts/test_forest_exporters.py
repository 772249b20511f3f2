"""Exporters that write a free forest: an artefact in every arithmetic they know, and what it reads held to no slope.

Other exporters write or refuse it in tests of their own.
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from monolip.certify.certificate import certify
from monolip.errors import FreezeError
from monolip.export import from_json, to_torch
from monolip.export.parity_inputs import directions_of
from tests.contracts.test_bad_inputs import FORMS, known, runner
from tests.contracts.test_exporters import EXPORTERS, NEEDS
from tests.export.forest_rows import numbered, telling_columns
from tests.forests import directed_network, forest_network, plain_network, steps_across

WRITERS = ("onnx", "onnx in order", "json", "torch")
CASES = [(name, arithmetic) for name in WRITERS for arithmetic in EXPORTERS[name][2]]


@cache
def network(cities: str = "strings", directed: bool = False):
    """sugar, city: read by a forest (directed: dose too); dose: increasing and without a rule for missing values."""
    found = (directed_network if directed else forest_network)(np.random.default_rng(8), "logit")
    return numbered(found) if cities == "numbers" else found


@pytest.mark.parametrize("directed", [False, True], ids=["", "directed"])
@pytest.mark.parametrize(("name", "arithmetic"), CASES, ids=[", ".join(case) for case in CASES])
def test_a_forest_is_written_and_measured(name, arithmetic, directed, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    exporter, filename, _, options = EXPORTERS[name]
    given = network("numbers" if name == "torch" else "strings", directed)
    report = exporter(given, tmp_path / filename, arithmetic=arithmetic, **options)
    assert [item.name for item in tmp_path.iterdir()] == [filename]
    assert report.passed
    assert report.exact == (name in ("json", "onnx in order") or arithmetic == "fixed-point")
    assert report.max_difference == 0.0 if report.exact else report.max_difference < 3e-6
    assert sum(row.pairs for row in report.rows) > 0  # of dose, at least
    if arithmetic == "float64":
        assert (report.digest, report.certificate) == (given.digest, certify(given).document["sha256"])


@pytest.mark.parametrize("directed", [False, True])
def test_what_the_forest_reads_is_scanned_for_the_directions_it_has(directed):
    given = network(directed=directed)
    scanned = {i for i, _, _ in directions_of(given, certify(given))}
    assert 0 in scanned
    assert not scanned & {1, 2}
    assert set(given.inputs.free) == ({0, 1, 2} if directed else {1, 2})


@pytest.mark.parametrize("form", FORMS)
def test_no_step_across_a_threshold_of_a_directed_feature_falls(form):
    """In one artefact and batch: rows that walk other ways through the trees are added up in the same order."""
    given = network("numbers" if form.startswith("torch") else "strings", directed=True)
    run, rng = runner(given, form), np.random.default_rng(0)
    steps = steps_across(given.inputs.forest, 0, np.float32 if form.endswith("float32") else np.float64)
    others = telling_columns(given, rng, 8)[1:]
    if form.endswith("float32"):
        others = [c.astype(np.float32).astype(np.float64) if c.dtype.kind == "f" else c for c in others]
    others = [np.repeat(column, len(steps)) for column in others]
    found = run([np.tile(steps, 8), *(c if c.dtype.kind == "f" else c.tolist() for c in others)])
    found = np.asarray(found, dtype=np.float64).reshape(8, len(steps))
    assert np.isfinite(found).all()
    assert (np.diff(found, axis=1) >= 0).all()
    assert (np.diff(found, axis=1) > 0).sum() > 8


@pytest.mark.parametrize("form", FORMS)
def test_bad_inputs_have_one_result(form):
    """NaN where there is no rule gives NaN in that row only; elsewhere something stands for what is missing."""
    given = network("numbers" if form.startswith("torch") else "strings")
    numbers = form.startswith("torch")
    dose = np.array([0.5, 1.0, np.nan, np.inf, -np.inf, 0.0])
    sugar = np.array([np.nan, np.inf, 0.0, -np.inf, 1.5, np.nan])
    city = np.array([5.0, 0.25, 1.0, np.nan, 2.0, 1.0]) if numbers else ["A", "?", "B", None, "C", "B"]
    acid = np.array([0.0, np.nan, 1.0, 1.0, -1.0, np.inf])
    found = runner(given, form)([dose, sugar, city, acid])
    assert np.isnan(found[2]).all()
    rest = [np.delete(c, 2) if isinstance(c, np.ndarray) else c[:2] + c[3:] for c in (dose, sugar, city, acid)]
    assert np.array_equal(np.delete(found, 2, axis=0), known(given, form, rest))


def test_a_forest_makes_a_file_of_its_own(tmp_path):
    """Left out, it would be the file of the network without it."""
    exporter, filename, _, options = EXPORTERS["json"]
    plain = plain_network(np.random.default_rng(8), "logit")
    for source, folder in ((plain, "a"), (network(), "b")):
        (tmp_path / folder).mkdir()
        exporter(source, tmp_path / folder / filename, **options)
    a, b = (json.loads((tmp_path / folder / filename).read_text()) for folder in "ab")
    assert set(b["tensors"]) - set(a["tensors"]) == {"forest.nodes", "forest.roots"}
    assert from_json(tmp_path / "b" / filename).inputs.forest is not None


def test_torch_has_no_strings_with_or_without_a_forest(tmp_path):
    pytest.importorskip("torch")
    with pytest.raises(FreezeError, match="torch has no strings"):
        to_torch(network(), tmp_path / "f.pt2")
    assert not list(tmp_path.iterdir())
