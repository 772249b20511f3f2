"""What type checkers and editors see of the public names: mypy --strict on a user's programs, in one run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .test_public_api import PUBLIC

SOURCE = Path(__file__).parents[1] / "src"

WRONG = """
from monolip import MonotonicClassifier, MonotonicRegressor

MonotonicRegressor(monotonic_cst="increasing")
MonotonicRegressor(loss="squared", random_state=0)
MonotonicClassifier(n_estimators="many")
"""

RIGHT = """
import numpy as np

from monolip import Certificate, MonotonicClassifier, MonotonicRegressor, SlopeBounds, audit, certify, errors
from monolip.certify import AuditReport
from monolip.engine import Architecture
from monolip.export import ParityReport, to_c
from monolip.report import compare, write_report

X, y = np.zeros((9, 2)), np.arange(9.0)
directions = {"debt": 1, "income": -1}
caps = {"debt": 2.0}
intervals = {"age": (0.0, 1.0)}
for model in (
    MonotonicRegressor(),
    MonotonicRegressor(monotonic_cst=directions, slopes=intervals, max_slope=caps, loss="poisson", random_state=0),
    MonotonicRegressor(monotonic_cst=[1, 0], max_slope=3, hidden_layer_sizes=[16, 16], n_estimators=8, n_bins=0),
    MonotonicRegressor(monotonic_cst=np.array([1, 0]), missing={"debt": "lowest"}, verbose=True),
    MonotonicRegressor(categorical_features=["purpose"], hidden_layer_sizes=32, missing="highest", max_time=60),
    MonotonicRegressor(categorical_features={"grade": ["C", "B", "A"], "purpose": None}),
):
    fitted: MonotonicRegressor = model.fit(X, y, sample_weight=None, offset=y, groups=list("aaabbbccc"))
    paper: Certificate = fitted.certificate_
    found: AuditReport = audit(fitted, X, directions)
    steps: np.ndarray = fitted.predict(X, offset=y)
for classifier in (
    MonotonicClassifier(monotonic_cst={"debt": {"bad": 1}, "income": -1}, class_weight="balanced"),
    MonotonicClassifier(slopes={"debt": {"bad": (0, 1)}}, class_weight={"bad": 2.0, "good": 1.0}),
    MonotonicClassifier(categorical_features=[True, False], random_state=np.random.RandomState(0)),
):
    chances: np.ndarray = classifier.fit(X, y > 3).predict_proba(X)
try:
    certify.certify(fitted.frozen_)
except errors.CertificateError:
    raise
bounds: SlopeBounds = SlopeBounds.from_monotonic_cst(directions, max_slope=2.0, feature_names=["debt", "income"])
parity: ParityReport = to_c(fitted, "model.c")
shape: Architecture = Architecture(hidden=(4,))
"""

PACKAGES = {**PUBLIC, "monolip.estimators": {"MonotonicClassifier", "MonotonicRegressor", "Threshold"}}
PACKAGES["monolip.export"] = {"ParityReport", "from_json", "to_c", "to_json", "to_onnx", "to_torch", "torch_module"}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says of each program, line by line. The package is found by its path, as where it is installed."""
    folder = tmp_path_factory.mktemp("user")
    shown = "".join(
        f"import {package}\n" + "".join(f"reveal_type({package}.{name})\n" for name in sorted(names))
        for package, names in PACKAGES.items()
    )
    misspelt = "".join(f"from {package} import Klassifier  # noqa\n" for package in PACKAGES)
    programs = {"wrong": WRONG, "right": RIGHT, "shown": shown, "misspelt": misspelt}
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    flags = ["--config-file=", "--strict", "--follow-imports=silent", "--hide-error-context", "--no-error-summary"]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *flags, "--disable-error-code=type-arg", *(f"{name}.py" for name in programs)],
        capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, "MYPYPATH": str(SOURCE)},
    )  # fmt: skip
    assert run.stderr == ""
    lines = run.stdout.splitlines()
    return {name: [line for line in lines if line.startswith(f"{name}.py")] for name in programs}


def test_three_wrong_arguments_are_three_errors(told: dict[str, list[str]]) -> None:
    errors = [line for line in told["wrong"] if " error: " in line]
    assert [int(line.split(":")[1]) for line in errors] == [4, 5, 6]
    for line, name in zip(errors, ("monotonic_cst", "loss", "n_estimators"), strict=True):
        assert f'Argument "{name}" to "Monotonic' in line


def test_a_correct_program_has_no_error(told: dict[str, list[str]]) -> None:
    assert told["right"] == []


def test_every_public_name_has_a_type(told: dict[str, list[str]]) -> None:
    revealed = [line for line in told["shown"] if "Revealed type is" in line]
    assert len(revealed) == sum(map(len, PACKAGES.values())) == len(told["shown"])
    assert [line for line in revealed if 'Revealed type is "Any"' in line] == []


def test_a_misspelt_name_is_an_error(told: dict[str, list[str]]) -> None:
    assert len([line for line in told["misspelt"] if 'has no attribute "Klassifier"' in line]) == len(PACKAGES)
