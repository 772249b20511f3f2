"""A network with a forest beside it is no network: every verb says who reads its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from monolip.estimators import MonotonicRegressor, WithFreeForest

from .conftest import Line, loans


@pytest.mark.parametrize(
    "words",
    [
        ["certify", "MODEL"],
        ["export", "MODEL", "--format", "json"],
        ["report", "MODEL", "TABLE", "--target", "default"],
        ["audit", "MODEL", "TABLE"],
        ["predict", "MODEL", "TABLE"],
        ["explain", "MODEL", "1", "--data", "TABLE"],
    ],
)
def test_the_command_line_says_who_reads_it(words, line: Line, fitted: Path, tmp_path: Path):
    X = loans().select(["income", "dti", "age"])
    model = WithFreeForest(MonotonicRegressor(monotonic_cst={"income": 1}, max_iter=2))
    model.fit(X, X["dti"].to_numpy()).save(tmp_path / "m.safetensors")
    places = {"MODEL": tmp_path / "m.safetensors", "TABLE": fitted / "loans.csv"}
    done = line(*(places.get(word, word) for word in words))
    assert done.code == 3
    assert "WithFreeForest.load" in " ".join(done.err.split())
