"""A real Ray on this machine with two CPUs, one for the tests of a module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason='needs Ray; pip install ".[ray]"')
    pytest.importorskip("torch")
    variables = {"RAY_TRAIN_V2_ENABLED": "1", "OMP_NUM_THREADS": "1", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 would starve its workers on a busy machine
    root = str(Path(__file__).parents[2])  # what tests hand to workers is found there by name
    variables["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    ray.init(
        num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=2**28,
        runtime_env={"env_vars": variables},
    )  # fmt: skip
    yield ray
    ray.shutdown()
