"""monolip fit and predict on folders that are odd: told before any work, by file and row; nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from monolip.cli._exits import Exit
from monolip.estimators.stream.left_out import LeftOut

from ..estimators.streams import mixed, numbers, shrink, write
from .conftest import Line

pytest.importorskip("pyarrow.parquet")
N = 300
FIT = ("-t", "y", "--members", "1", "--json")


@pytest.mark.parametrize("is_left_out", [True, False])
def test_an_infinite_value_ends_a_fit_before_it_begins(line: Line, tmp_path: Path, is_left_out):
    left = LeftOut(0.2, 0).mask(np.arange(N, dtype=np.uint64))
    table, row = numbers(N), int(np.flatnonzero(left == is_left_out)[-1])
    table["a"][row] = np.inf
    done = line("fit", write(tmp_path / "d", table, files=1), *FIT, "-o", tmp_path / "m.safetensors")
    assert done.code == Exit.INPUT
    assert f"part-0.parquet: inputs must be finite or missing (NaN); got infinity in row {row} of" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize("rows", [1, 3])
def test_few_rows_that_count(line: Line, tmp_path: Path, rows):
    """They may all be left out to judge by, or none of them: there is a model or one line, never a traceback."""
    for first in (8, 9, 10, 11, 12):
        weight = np.zeros(N)
        weight[first : first + rows] = 1.0
        folder = write(tmp_path / f"d{first}", {**numbers(N), "w": weight}, files=1)
        done = line("fit", folder, *FIT, "--weight", "w", "-o", tmp_path / "m.safetensors")
        assert done.code == 0 or (done.code == Exit.INPUT and done.err.count("\n") == 1), done


def test_one_column_in_two_roles(line: Line, tmp_path: Path):
    folder = write(tmp_path / "d", numbers(N))
    done = line("fit", folder, *FIT, "--weight", "y", "-o", tmp_path / "m.safetensors")
    assert done.code == Exit.INPUT
    assert "got 'y' twice; drop one" in done.err


def test_a_file_where_the_checkpoint_would_be(line: Line, tmp_path: Path):
    folder, place = write(tmp_path / "d", numbers(N)), tmp_path / "m.safetensors.checkpoint"
    place.write_text("mine")
    done = line("fit", folder, *FIT, "-o", tmp_path / "m.safetensors")
    assert done.code == Exit.INPUT
    assert "m.safetensors.checkpoint is none and cannot be made: File exists; name another" in done.err
    assert place.read_text() == "mine"


def test_predictions_of_a_pattern_lie_outside_of_it(line: Line, tmp_path: Path):
    folder, model = write(tmp_path / "d", numbers(N)), tmp_path / "m.safetensors"
    assert line("fit", folder, *FIT, "-o", model).code == 0
    done = line("predict", model, folder / "*.parquet", "-o", folder / "p.parquet")
    assert done.code == Exit.INPUT
    assert "would read them the next time" in done.err
    assert not (folder / "p.parquet").exists()


def test_a_promise_for_text_does_not_block_the_next_fit(line: Line, tmp_path: Path, monkeypatch):
    shrink(monkeypatch)
    folder, model = write(tmp_path / "d", mixed(3000)), tmp_path / "m.safetensors"
    words = ("fit", folder, *FIT, "--features", "a,b,city", "-o", model)
    done = line(*words, "-i", "a,city")
    assert done.code == Exit.INPUT
    assert "[ordered], then city = [" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    assert line(*words, "-i", "a").code == Exit.OK
