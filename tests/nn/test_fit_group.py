"""Two real processes under torchrun come to the network of one, within a stated distance; a killed one is caught up.

The distance: gradients are the same sums in another order. In float64 that stays below 1e-12 over these 80 steps, in
float32 below 1e-4 (outputs are about 1).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from monolip import FrozenNetwork
from monolip.certify import certify
from monolip.errors import InputError
from monolip.nn.fit_group import add_up, everywhere_the_same, process_group, rank_0_says, rank_and_world

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "torchrun_fit.py"


def launch(folder: Path, processes: int, *arguments: str, program: Path = EXAMPLE) -> FrozenNetwork:
    """Run the example under torchrun (or alone) and read what it wrote; a hang is an error after 100 seconds."""
    out = folder / f"network-{processes}.safetensors"
    start = [] if processes == 1 else ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    if "--max-restarts" in arguments:
        start += ["--max-restarts=3"]
        arguments = tuple(word for word in arguments if word != "--max-restarts")
    command = [sys.executable, *start, str(program), "--out", str(out), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"{processes} processes" in done.stdout
    return FrozenNetwork.load(out)


def distance(a: FrozenNetwork, b: FrozenNetwork) -> float:
    x = np.random.default_rng(1).normal(size=(500, 4))
    return float(np.abs(a.evaluate(x) - b.evaluate(x)).max())


def test_two_processes_fit_what_one_fits(tmp_path: Path) -> None:
    one, two = (launch(tmp_path, processes, "--float64", "--epochs", "2") for processes in (1, 2))
    assert distance(one, two) < 1e-12
    certificate = certify(two)
    assert certificate.digest == two.digest
    low, high = two.slope_range
    assert (low.ravel() >= two.slopes.lower).all()
    assert (high.ravel() <= two.slopes.upper).all()


@pytest.mark.slow
def test_float32_stays_close_and_each_process_reads_its_own_rows_of_a_table_on_disk(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(4099, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", np.maximum(x[:, 0], x[:, 1]) - x[:, 2])
    one, two = (launch(tmp_path, processes, "--table", str(tmp_path)) for processes in (1, 2))
    assert distance(one, two) < 1e-4


@pytest.mark.slow
def test_torchrun_restarts_a_killed_process_and_nothing_is_lost(tmp_path: Path) -> None:
    program = tmp_path / "killed.py"
    program.write_text(
        "import os, pathlib, runpy, signal, sys\n"
        "import importlib\n"
        "home = importlib.import_module('monolip.nn.fit')\n"
        "real, mark = home.fit, pathlib.Path('killed')\n"
        "def fit(*args, on_epoch, **options):\n"
        "    def tell(epoch):\n"
        "        on_epoch(epoch)\n"
        "        if epoch.number == 2 and os.environ.get('RANK') == '1' and not mark.exists():\n"
        "            mark.touch()\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(*args, on_epoch=tell, **options)\n"
        "home.fit = fit\n"
        f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')\n"
    )
    arguments = ("--float64", "--epochs", "4", "--checkpoint", str(tmp_path / "fit.safetensors"), "--max-restarts")
    two = launch(tmp_path, 2, *arguments, program=program)
    assert (tmp_path / "killed").exists()
    one = launch(tmp_path, 1, "--float64", "--epochs", "4")
    assert distance(one, two) < 1e-12


def test_a_process_alone_is_its_own_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with process_group() as place:
        assert place == rank_and_world() == (0, 1)
    assert add_up(torch.ones(1)).item() == 1.0
    everywhere_the_same("00" * 32, torch.device("cpu"))
    assert rank_0_says(True)
    assert not rank_0_says(False)


def test_one_clock_decides_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0's answer reaches a process that would have said the opposite."""
    monkeypatch.setattr("monolip.nn.fit_group.rank_and_world", lambda: (1, 2))
    monkeypatch.setattr("torch.distributed.get_backend", lambda: "gloo")
    for answer in (True, False):
        monkeypatch.setattr("torch.distributed.broadcast", lambda told, source, answer=answer: told.fill_(answer))
        assert rank_0_says(not answer) is answer


def test_processes_that_came_to_different_networks_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def gather(found: list[torch.Tensor], mine: torch.Tensor) -> None:
        for k, tensor in enumerate(found):
            tensor.copy_(mine + (k == 2))

    monkeypatch.setattr("monolip.nn.fit_group.rank_and_world", lambda: (0, 4))
    monkeypatch.setattr("torch.distributed.all_gather", gather)
    with pytest.raises(InputError, match="rank 2 differ from rank 0"):
        everywhere_the_same("00" * 32, torch.device("cpu"))
