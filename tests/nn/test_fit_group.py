"""Two real processes under torchrun come to the network of one, within a stated distance; a killed one is caught up.

The distance: gradients are the same sums in another order. In float64 that stays below 1e-12 over these 80 steps, in
float32 below 1e-4 (outputs are about 1).
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from monolip import FrozenNetwork
from monolip.certify import certify
from monolip.errors import InputError
from monolip.nn.fit import fit
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


def test_processes_that_are_more_than_a_few_add_up_on_the_way(tmp_path: Path) -> None:
    program = tmp_path / "many.py"
    program.write_text(
        "import runpy\n"
        "import monolip.nn.fit_gradients as gradients\n"
        "gradients.FEW = 1\n"
        f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')\n"
    )
    ring, told = launch(tmp_path, 2, "--epochs", "1", program=program), launch(tmp_path, 2, "--epochs", "1")
    assert ring.digest == told.digest  # a sum of two is the same in either order


@pytest.mark.slow
def test_float32_stays_close_and_each_process_reads_its_own_rows_of_a_table_on_disk(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(4099, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", np.maximum(x[:, 0], x[:, 1]) - x[:, 2])
    (tmp_path / "names.txt").write_text("a\nb\nc\nd\n")
    own = ("--table", str(tmp_path), "--increasing", "a,b", "--decreasing", "c", "--loss", "squared")
    one, two = (launch(tmp_path, processes, *own) for processes in (1, 2))
    assert distance(one, two) < 1e-4
    assert two.slopes.feature_names == ("a", "b", "c", "d")
    assert two.slopes.lower.tolist() == [0.0, 0.0, -2.0, -2.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "add --increasing --decreasing --loss"),
     (("--increasing", "a", "--decreasing", "", "--loss", "squared"), "has no x.npy")],
)  # fmt: skip
def test_a_table_of_the_users_has_promises_of_the_users(
    arguments: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["torchrun_fit.py", "--table", str(tmp_path), *arguments])
    with pytest.raises(SystemExit):
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert words in capsys.readouterr().err


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


def test_shapes_of_deep_networks_are_compared_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many numbers in the same arrays but for the last two, beyond what a message shows."""
    told = []
    monkeypatch.setattr(sys.modules["monolip.nn.fit"], "begin_together", lambda facts, error: told.append(facts))
    for last in ((4, 6), (6, 4), (4, 6)):
        model = torch.nn.ParameterList([torch.zeros(size) for size in ((16, 16),) * 500] + [torch.zeros(last)])
        with pytest.raises(InputError, match="can be frozen"):
            fit(model, np.zeros((8, 2)), np.zeros(8))
    one, other, again = told
    assert one["parameters of the network"] == other["parameters of the network"]
    assert one["shapes of its parameters"] != other["shapes of its parameters"]
    assert one == again
    assert len(json.dumps(one)) < 2048  # there is room for an error beside it


TOGETHER = """
import sys
import numpy as np, torch
from monolip import SlopeBounds
from monolip.errors import InputError
from monolip.nn.fit import fit
from monolip.nn.fit_group import process_group
from monolip.nn.fit_plan import FitPlan
from monolip.nn.fit_start import start_network

torch.set_num_threads(1)
with process_group() as (rank, world):
    for case in ("nan", "missing", "rows", "plan", "width", "shape", "checkpoint", "fine"):
        x = np.random.default_rng(0).normal(size=(64, 2))
        y = x[:, 0].copy()
        if rank == 1 and case in ("nan", "missing"):
            (y if case == "nan" else x)[-1] = np.nan
        if rank == 1 and case == "rows":
            x, y = x[:40], y[:40]
        plan = FitPlan(epochs=1 + (rank if case == "plan" else 0), batch=32)
        hidden = {"width": (4 + 2 * rank,), "shape": (4, 2) if rank else (6,)}.get(case, (4,))
        model = start_network(SlopeBounds([0.0, 0.0], [1.0, 1.0]), hidden=hidden)
        try:
            fit(model, x, y, plan, checkpoint=sys.argv[1] if case == "checkpoint" else None)
            print(f"{case} on rank {rank}: fitted\\n", end="", flush=True)
        except InputError as error:
            print(f"{case} on rank {rank}: {error}\\n", end="", flush=True)
        except ValueError as error:
            print(f"{case} on rank {rank}: {type(error).__name__}\\n", end="", flush=True)
"""


def test_all_processes_begin_or_all_say_who_could_not(tmp_path: Path) -> None:
    """Nobody waits for a process that gave up, even where the caller catches the error and goes on."""
    program = tmp_path / "together.py"
    program.write_text(TOGETHER)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(program)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=100, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines() if " on rank " in line.split(": ")[0])
    assert len(said) == 16
    assert "NaN or infinity in 1 of 32 rows" in said["nan on rank 1"]
    assert "rank 1 could not (InputError: targets" in said["nan on rank 0"]
    assert "rank 1 could not (InputError: features" in said["missing on rank 0"]
    assert "rows of the table is 64 on rank 0 and 40 on rank 1" in said["rows on rank 0"]
    assert "epochs is 2 on rank 1 and 1 on rank 0" in said["plan on rank 1"]
    assert "parameters of the network" in said["width on rank 0"]
    assert "shapes of its parameters is" in said["shape on rank 1"], "as many numbers, in other arrays"
    assert said["checkpoint on rank 0"] == said["checkpoint on rank 1"] == "CheckpointError"
    assert said["fine on rank 0"] == said["fine on rank 1"] == "fitted"
