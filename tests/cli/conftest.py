"""A small table of loans, a model fitted on it once, and `line(...)`: one command line, run in process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monolip.cli import run

try:  # the extra "cli"
    import click  # noqa: F401
    import pyarrow as arrow
    from pyarrow import csv
except ImportError:
    collect_ignore_glob = ["test_*.py"]


@dataclass(frozen=True)
class Done:
    """What one command line printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


Line = Callable[..., Done]


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str]) -> Line:
    def go(*words: Any) -> Done:
        capsys.readouterr()
        code = run([str(word) for word in words])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return go


def loans(n: int = 400, seed: int = 0) -> Any:
    """Default rises in dti and falls in income; age has gaps, purpose is text, id says nothing."""
    rng = np.random.default_rng(seed)
    income, dti = rng.lognormal(10, 0.5, n).round(2), rng.gamma(2, 1, n).round(3)
    purpose, age = rng.choice(["car", "home", "other"], n), rng.integers(18, 80, n)
    z = dti - 2 + 1.5 * (10 - np.log(income)) + 0.5 * (purpose == "car")
    default = np.where(rng.random(n) < 1 / (1 + np.exp(-z)), "yes", "no")
    gaps = [None if gone else int(value) for gone, value in zip(rng.random(n) < 0.05, age, strict=True)]
    columns = {"id": np.arange(n), "income": income, "dti": dti, "age": gaps, "purpose": purpose}
    return arrow.table({**columns, "default": default, "price": (dti * 3 - np.log(income)).round(4)})


FIT = (
    "--target",
    "default",
    "--increasing",
    "dti",
    "--decreasing",
    "income",
    "--drop",
    "id,price",
    "--positive",
    "yes",
)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with loans.csv, and model.safetensors with its certificate."""
    folder = tmp_path_factory.mktemp("loans")
    csv.write_csv(loans(), folder / "loans.csv")
    assert run(["fit", str(folder / "loans.csv"), *FIT, "-o", str(folder / "model.safetensors"), "--json"]) == 0
    return folder
