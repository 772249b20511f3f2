"""Identifiers among the features are remarked on; features that only look a little like them are not."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as arrow

from monolip.cli._constraints import Constraints
from monolip.cli._identifiers import identifier_remarks

from .conftest import Line

N = 200
RNG = np.random.default_rng(0)
SHUFFLED, COUNT = RNG.permutation(N) + 7000, np.arange(N)


def remarks(name: str, values, **constraints) -> list[str]:
    return identifier_remarks(arrow.table({name: values}), Constraints(**constraints))


@pytest.mark.parametrize(
    "name", ["id", "ID", "client_no", "clientId", "CustomerID", "id_loan", "policy number", "order-nr"]
)
def test_a_name_and_numbers_that_are_all_different(name):
    (said,) = remarks(name, SHUFFLED)
    assert said.startswith(f"{name!r} looks like an identifier")
    assert "--drop" in said
    assert len(remarks(name, SHUFFLED.astype(float))) == 1


@pytest.mark.parametrize("values", [COUNT, COUNT * 2 + 5, COUNT.astype(np.uint64) + 2**63, COUNT.astype(np.float32)])
def test_whole_numbers_that_count_the_rows(values):
    assert "rising from row to row" in remarks("Unnamed: 0", values)[0]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("salary", SHUFFLED),  # all different, and no more than that
        ("population", np.sort(RNG.choice(10**7, N, replace=False))),  # a table that is sorted by a feature
        ("seconds", 1_700_000_000 + 3600 * COUNT),
        ("id", SHUFFLED // 2),  # some are alike: a client with several rows
        ("id", SHUFFLED + 0.5),
        ("id", np.where(COUNT == 3, np.nan, SHUFFLED)),
        ("id", SHUFFLED[:20]),  # too few rows to tell
        ("paid", SHUFFLED),
        ("humid", SHUFFLED),
        ("year", COUNT // 20 + 2000),
        ("id", SHUFFLED.astype(str)),
        ("row", COUNT[::-1]),
        ("x", np.zeros(N)),
    ],
)
def test_other_columns_are_features(name, values):
    assert remarks(name, values) == []


def test_what_a_person_has_named_is_not_remarked_on():
    assert remarks("id", SHUFFLED, directions={"id": 1}) == []
    assert remarks("id", SHUFFLED, slopes={"id": (0.0, 1.0)}) == []
    assert remarks("id", SHUFFLED, categorical=("id",)) == []
    assert remarks("id", SHUFFLED, classes={"yes": {"id": -1}}) == []


def test_a_fit_says_so_and_is_done(line: Line, tmp_path):
    rows = "\n".join(f"{k},{v:.3f},{v + k % 3:.3f}" for k, v in enumerate(RNG.random(120)))
    (tmp_path / "t.csv").write_text(f"client_no,x,y\n{rows}\n")
    done = line("fit", tmp_path / "t.csv", "-t", "y", "-i", "x", "--members", "1", "-o", tmp_path / "m", "--quiet")
    assert done.code == 0
    assert "note: 'client_no' looks like an identifier" in done.err
    assert "--drop client_no" in done.err
    again = line("fit", tmp_path / "t.csv", "-t", "y", "--drop", "client_no", "--members", "1", "-o", tmp_path / "m")
    assert "identifier" not in again.err
