"""What every exporter must do: measure its own artefact, keep directions, say what it wrote, refuse the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monolip.errors import MonolipError
from monolip.export import ParityReport, to_c
from monolip.export.c_build import find_compiler
from tests.certify.fixed_point_networks import random_network, table_network
from tests.raw_networks import plain_network

# name of the exporter, how to call it, what it writes; add new exporters here
Exporter = Callable[..., ParityReport]
EXPORTERS: dict[str, tuple[Exporter, str]] = {"c": (to_c, "model.h")}
ARITHMETICS = ("float32", "float64", "fixed-point")
NETWORKS = {"table": table_network, "raw columns": plain_network}
CASES = [(name, a, kind) for name in EXPORTERS for a in ARITHMETICS for kind in NETWORKS]

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler: the artefact cannot be run")


class Fitted:
    """As much of a fitted estimator as exporters use."""

    def __init__(self, network: Any) -> None:
        self.frozen_ = network


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def exported(request, tmp_path_factory):
    name, arithmetic, kind = request.param
    exporter, filename = EXPORTERS[name]
    path = tmp_path_factory.mktemp(name) / filename
    network = NETWORKS[kind](np.random.default_rng(21), "logit")
    return exporter, network, path, exporter(Fitted(network), path, arithmetic=arithmetic)


def test_the_report_is_about_the_artefact_that_was_run(exported):
    _, _, path, report = exported
    assert path.exists()
    assert isinstance(report, ParityReport)
    assert report.measured
    assert report.passed
    assert report.path == path.name
    assert {row.inputs for row in report.rows} == {"random", "boundary", "extreme"}
    assert all(row.rows >= 100 and row.pairs >= 100 for row in report.rows)


def test_no_direction_is_broken(exported):
    assert exported[3].drops == 0
    assert all(row.largest_drop == 0 for row in exported[3].rows)


def test_the_report_prints_and_saves_itself(exported, tmp_path):
    report = exported[3]
    report.save(tmp_path / "report.json")
    saved = json.loads((tmp_path / "report.json").read_text())
    assert saved["digest"] == report.digest
    assert saved["passed"] is True
    assert len(saved["rows"]) == 3
    assert report.digest[:12] in str(report)


def test_an_estimator_and_its_network_give_the_same_file(exported, tmp_path):
    exporter, network, path, report = exported
    again = exporter(network, tmp_path / path.name, arithmetic=report.arithmetic)
    assert again.digest == report.digest
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", list(EXPORTERS))
def test_what_is_no_network_is_refused_and_nothing_is_written(name, tmp_path):
    exporter, filename = EXPORTERS[name]
    path = Path(tmp_path, filename)
    for model in (None, "model", np.zeros(3), object()):
        with pytest.raises(MonolipError):
            exporter(model, path)
    with pytest.raises(MonolipError):
        exporter(random_network(np.random.default_rng(0)), path, arithmetic="float16")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("drop", [0.0, 1e-9])
def test_the_scan_finds_an_artefact_that_falls(drop):
    """The measurement itself is tested: one broken direction in one of many places must show."""
    from monolip.certify.certificate import certify
    from monolip.export.parity import measure_parity

    network = random_network(np.random.default_rng(2))

    def artefact(x: Any) -> Any:
        f = network.evaluate(x)
        return f - drop * (x[:, :1] > 0.0)

    rows = measure_parity(artefact, network.evaluate, network, certify(network))
    assert (sum(row.drops for row in rows) > 0) == (drop > 0)
    assert (max(row.max_difference for row in rows) > 0) == (drop > 0)
