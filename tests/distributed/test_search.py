"""The search examples run: alone, as two processes that share a file, and on Ray Tune."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from monolip import MonotonicRegressor

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.filterwarnings("ignore")  # Optuna warns of options it calls experimental
def test_a_search_in_memory_improves_and_its_best_can_be_fitted() -> None:
    optuna = pytest.importorskip("optuna")
    example = runpy.run_path(str(EXAMPLES / "search_optuna.py"))
    study = example["search"](None, "test", 6, 1)
    assert len(study.trials) == 6
    assert study.best_value == min(trial.value for trial in study.trials)
    assert example["objective"](optuna.trial.FixedTrial(study.best_params)) == study.best_value
    with pytest.raises(SystemExit, match="share a storage"):
        example["search"](None, "test", 6, 2)


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["journal:search.log", "sqlite:///search.db"])
def test_two_processes_share_a_search(tmp_path: Path, storage: str) -> None:
    pytest.importorskip("optuna")
    command = [sys.executable, str(EXAMPLES / "search_optuna.py"), "--trials", "9", "--workers", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--storage", storage], capture_output=True, text=True, timeout=120, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("9 trials")
    assert (
        MonotonicRegressor.load(tmp_path / "best.safetensors").frozen_.digest
        in (tmp_path / "best.certificate.json").read_text()
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_tune_spreads_chunks_of_fits(cluster: Any, tmp_path: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "search_ray_tune.py"), run_name="search_ray_tune")
    found = example["search"](2, 3, tmp_path)
    assert len(found) == 2
    assert not found.errors
    assert found.get_best_result().metrics["error"] == min(result.metrics["error"] for result in found)
