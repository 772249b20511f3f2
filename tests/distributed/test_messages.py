"""What a worker reads and cannot use is named with the worker and the column; no cluster is needed to see it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from monolip.errors import InputError

ray_fit = pytest.importorskip("monolip.distributed.ray_fit", exc_type=ImportError)  # needs the extra `ray`


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"debt": np.ones(2)}, "without 'income'"),
        ({"income": np.array(["high", "low"])}, "'income'; convert it"),
        ({"income": np.array([1.0, np.nan, np.inf])}, "2 missing or infinite values in 'income'"),
    ],
)
def test_a_bad_column_is_named_with_its_worker(column: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        ray_fit._numbers(column, "income", 3)
    assert "worker 3" in str(caught.value)
    assert str(caught.value).count(";") >= 2


def test_numbers_of_any_kind_pass() -> None:
    for values in (np.array([True, False]), np.array([1, 2]), np.array([0.5], np.float32)):
        assert np.array_equal(ray_fit._numbers({"x": values}, "x", 0), values)


def test_long_errors_of_a_cluster_are_shortened_to_their_ends() -> None:
    text = "\n".join(["Training failed", "[Rank 1]", *["Traceback"] * 50, "MemoryError", "no memory left"])
    assert ray_fit._short(RuntimeError(text)) == "Training failed / [Rank 1] / MemoryError / no memory left"


def test_without_ray_the_error_is_the_line_that_installs_it() -> None:
    code = "import sys; sys.modules['ray'] = None\nimport monolip.distributed"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "monolip[ray]"' in run.stderr
