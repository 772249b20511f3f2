"""The compiler's promise to trainings: what a kernel computes does not depend on what else a process has compiled."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from llvmlite.binding import Linkage
from numba.core.codegen import CPUCodeLibrary

from monolip.engine._compile import _dispatcher

TRAINING = """
import hashlib, numpy as np
from monolip.engine import Architecture, Problem, TrainingOptions, train
x = np.random.default_rng(0).normal(size=(300, 6))
problem = Problem(x, np.abs(x[:, 0]) - x[:, 1], [-4.0] * 6, [4.0] * 6,
                  architecture=Architecture(hidden=(8, 8), fan_in=None, paper_form=True))
result = train(problem, TrainingOptions(n_steps=4000, batch_size=64))
print(hashlib.sha256(b"".join(w.tobytes() for w in result.network.weights)).hexdigest())
"""


def _mean(x: Any) -> Any:
    total = x[0] * 0
    for value in x:
        total += value * value
    return total / x.size


def test_kernels_inside_a_kernel_are_shared_with_no_other(monkeypatch):
    """Names that several kernels share are bound to whichever copy was loaded first, optimised or not."""
    inner = _dispatcher(_mean, True, True, False)
    seen: dict[str, Linkage] = {}
    optimise = CPUCodeLibrary._optimize_final_module

    def look(library: Any) -> None:
        functions = library._final_module.functions
        seen.update({f.name: f.linkage for f in functions if not f.is_declaration and "_mean" in f.name})
        optimise(library)

    def both(x: Any, out: Any) -> None:
        out[0] = inner(x)

    monkeypatch.setattr(CPUCodeLibrary, "_optimize_final_module", look)
    out = np.zeros(1)
    _dispatcher(both, True, False, False)(np.arange(4.0), out)
    assert out[0] == 3.5
    assert seen
    assert set(seen.values()) == {Linkage.internal}


@pytest.mark.slow
def test_a_process_that_compiles_trains_the_bits_of_one_that_loads(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    runs = [subprocess.run([sys.executable, "-c", TRAINING], capture_output=True, text=True) for _ in range(2)]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    assert runs[0].stdout == runs[1].stdout
