"""kill -9, for real: a process that fits a stream is killed again and again, and the result has the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from .streams import numbers, write

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
import pytest
from monolip import MonotonicRegressor
from monolip.estimators.stream import _plan, _refining, fitting
from tests.estimators.streams import shrink

with pytest.MonkeyPatch.context() as patch:
    shrink(patch)
    patch.setattr(fitting, "PAUSE_SECONDS", 0.0)
    patch.setattr(_refining, "PATIENCE", 99)
    model = MonotonicRegressor(monotonic_cst={"a": 1}, hidden_layer_sizes=(8,), random_state=0, max_iter=4)
    model.fit_stream(sys.argv[1], "y", checkpoint=sys.argv[2])
print(model.frozen_.digest)
"""


def start(data: Path, kept: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(data), str(kept)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.mark.slow
def test_a_fit_that_is_killed_again_and_again_ends_with_the_same_bits(tmp_path):
    data = write(tmp_path / "d", numbers(20_000), files=5, group_rows=1000)
    whole, _ = start(data, tmp_path / "whole").communicate(timeout=120)
    kills = 0
    for name, wait in (("pass", 0.05), ("pass", 0.2), ("stretch", 0.0), ("stretch", 0.3), ("stretch", 0.8)):
        process = start(data, tmp_path / "killed")
        deadline = time.monotonic() + 60
        before = _stamp(tmp_path / "killed" / f"{name}.safetensors")
        while process.poll() is None and time.monotonic() < deadline:
            if _stamp(tmp_path / "killed" / f"{name}.safetensors") != before:  # it has written something new
                time.sleep(wait)
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.001)
        process.communicate(timeout=60)
        kills += process.returncode == -signal.SIGKILL
    assert kills >= 3
    last = start(data, tmp_path / "killed")
    assert last.communicate(timeout=120)[0] == whole != ""
    assert last.returncode == 0


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
