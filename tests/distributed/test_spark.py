"""Two processes of a real Spark (TorchDistributor on local executors) come to the network of one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from monolip import FrozenNetwork
from monolip.certify import certify

pytest.importorskip("torch")

PROMISE = ("--increasing", "a,b", "--decreasing", "c", "--loss", "squared")
EXAMPLES = Path(__file__).parents[2] / "examples"


def ran(folder: Path, program: str, *arguments: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(EXAMPLES / program), "--table", str(folder), "--float64", *PROMISE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_two_processes_on_spark_fit_what_one_process_fits(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="needs pyspark and Java 17")
    x = np.random.default_rng(0).normal(size=(2048, 4))
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "names.txt").write_text("a\nb\nc\nd\n")
    np.save(tmp_path / "y.npy", np.maximum(x[:, 0], x[:, 1]) - 0.5 * x[:, 2])
    said = ran(tmp_path, "spark_fit.py", "--out", str(tmp_path / "spark.safetensors"), "--processes", "2")
    assert "2 processes on Spark" in said
    ran(tmp_path, "torchrun_fit.py", "--out", str(tmp_path / "one.safetensors"))
    one, two = (FrozenNetwork.load(tmp_path / f"{name}.safetensors") for name in ("one", "spark"))
    assert two.digest in said
    assert np.abs(one.evaluate(x) - two.evaluate(x)).max() < 1e-12
    assert certify(two).digest == two.digest
    assert not list(tmp_path.glob("*.checkpoint"))
