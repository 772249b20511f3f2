"""The system says no, for real: files may not grow, as on a full disk, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
resource = pytest.importorskip("resource")

import pyarrow.parquet as pq  # noqa: E402

from monolip import MonotonicRegressor  # noqa: E402

from .streams import numbers, write  # noqa: E402

pytestmark = pytest.mark.slow  # five processes

ROOT = Path(__file__).parents[2]
PROGRAM = """
import resource, signal, sys
import pytest
from monolip import MonotonicRegressor
from monolip.errors import MonolipError
from monolip.estimators.stream import fitting
from tests.estimators.streams import shrink

verb, data, place, limit = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then a write fails as on a full disk, and says so
with pytest.MonkeyPatch.context() as patch:
    shrink(patch)
    patch.setattr(fitting, "PAUSE_SECONDS", 0.0)
    if verb == "fit":
        model = MonotonicRegressor(monotonic_cst={"a": 1}, hidden_layer_sizes=(8,), random_state=0, max_iter=2)
    else:
        model = MonotonicRegressor.load(place + ".model")
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    try:
        if verb == "fit":
            print(model.fit_stream(data, "y", checkpoint=place).frozen_.digest)
        else:
            print(model.predict_stream(data, place))
    except MonolipError as error:
        print(error)
        sys.exit(3)
"""


def run(verb: str, data: Path, place: Path, limit: int) -> tuple[int, str]:
    command = [sys.executable, "-c", PROGRAM, verb, str(data), str(place), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode in (0, 3), done.stderr[-2000:]
    return done.returncode, done.stdout.strip()


def test_a_checkpoint_that_cannot_be_written_is_named_and_the_one_before_goes_on(tmp_path):
    data = write(tmp_path / "d", numbers(4000))
    whole = run("fit", data, tmp_path / "whole", 2**30)
    code, said = run("fit", data, tmp_path / "c", 40_000)  # the sample of the first batches fits, that of more does not
    assert code == 3
    assert "pass.safetensors could not be" in said
    assert "make room" in said
    assert (tmp_path / "c" / "pass.safetensors").stat().st_size <= 40_000
    assert not list((tmp_path / "c").glob(".monolip-*"))
    assert run("fit", data, tmp_path / "c", 2**30) == whole


def test_predictions_that_do_not_fit_leave_no_file(tmp_path):
    columns, place = numbers(9000), tmp_path / "out" / "p.parquet"
    place.parent.mkdir()
    data = write(tmp_path / "d", columns)
    X = pq.read_table(data).drop_columns(["y"])
    MonotonicRegressor(random_state=0, max_iter=1).fit(X, columns["y"]).save(f"{place}.model")
    assert run("predict", data, place, 2**30) == (0, "9000")
    place.unlink()
    code, said = run("predict", data, place, 20_000)
    assert code == 3
    assert "p.parquet could not be" in said
    assert "make room" in said
    assert [path.name for path in place.parent.iterdir()] == ["p.parquet.model"]
