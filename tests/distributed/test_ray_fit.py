"""Two workers of a real Ray come to the network of one process, and one killed in the middle changes nothing."""

from __future__ import annotations

import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monolip import SlopeBounds
from monolip.certify import certify
from monolip.errors import InputError
from monolip.nn.fit import fit
from monolip.nn.fit_plan import FitPlan
from monolip.nn.fit_start import start_network

distributed = pytest.importorskip("monolip.distributed", exc_type=ImportError)  # needs the extra `ray`
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray warns of itself

NAMES = ("income", "debt", "age")
SLOPES = SlopeBounds.from_monotonic_cst({"income": 1, "debt": -1}, max_slope=2.0, feature_names=NAMES)
PLAN = FitPlan(epochs=4, batch=64, lanes=4)


def table() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(803, 3)).astype(np.float32)  # not a multiple of the lanes
    return x, (np.maximum(x[:, 0], x[:, 2]) - 0.5 * x[:, 1]).astype(np.float32)


def dataset(folder: Path) -> Any:
    import pandas
    import ray.data

    x, y = table()
    frame = pandas.DataFrame(x, columns=list(NAMES)).assign(score=y)
    for k, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_parquet(folder / f"part-{k}.parquet")
    return ray.data.read_parquet(str(folder))


def alone() -> Any:
    return fit(start_network(SLOPES, hidden=(8, 8)), *table(), PLAN)


def check_same(network: Any, losses: tuple[float, ...]) -> None:
    """float32 sums in another order: every step may differ in its last bits, and 48 steps stay below 1e-4."""
    reference = alone()
    assert losses == pytest.approx(reference.losses, rel=1e-4)
    x = table()[0].astype(np.float64)
    assert np.abs(network.evaluate(x) - reference.network.evaluate(x)).max() < 1e-4
    certificate = certify(network)
    assert certificate.digest == network.digest
    low, high = network.slope_range
    assert (low.ravel() >= SLOPES.lower).all()
    assert (high.ravel() <= SLOPES.upper).all()


def test_two_workers_fit_what_one_process_fits(cluster: Any, tmp_path: Path) -> None:
    for folder in ("table", "cores"):
        (tmp_path / folder).mkdir()

    def tell(rank: int, epochs: int, loss: float) -> None:
        (tmp_path / "cores" / str(rank)).write_text(" ".join(map(str, os.sched_getaffinity(0))))

    done = distributed.fit_on_ray(
        dataset(tmp_path / "table"), "score", SLOPES, PLAN, hidden=(8, 8), workers=2, storage=tmp_path / "runs",
        resources={"CPU": 1.5},  # all there are: the table is read before they are taken
        pin=True, on_epoch=tell,
    )  # fmt: skip
    check_same(done.network, done.losses)
    held = {path.read_text() for path in (tmp_path / "cores").iterdir()}
    assert len(held) == min(2, len(os.sched_getaffinity(0)))  # one core each, where there are two


def test_a_killed_worker_is_replaced_and_the_fit_finishes(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    marks = tmp_path / "marks"
    marks.mkdir()

    def die_once(rank: int, epochs: int, loss: float) -> None:
        (marks / f"rank-{rank}-epoch-{epochs}-{os.getpid()}").touch()
        if epochs == 1:
            time.sleep(8.0)  # Ray Train looks at its workers every few seconds, and keeps what it has seen
        if rank == 1 and epochs == 2 and not (marks / "killed").exists():
            (marks / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    done = distributed.fit_on_ray(
        dataset(tmp_path / "table"), "score", SLOPES, PLAN, hidden=(8, 8), workers=2, storage=tmp_path / "runs",
        on_epoch=die_once,
    )  # fmt: skip
    check_same(done.network, done.losses)
    assert (marks / "killed").exists()
    seen = [path.name.split("-") for path in marks.glob("rank-1-*")]
    assert len({pid for *_, pid in seen}) == 2, "the worker was replaced by another process"
    epochs = sorted(int(epoch) for _, _, _, epoch, _ in seen)
    assert epochs in ([1, 2, 3, 4], [1, 2, 2, 3, 4]), "the first epoch was kept"


@pytest.mark.parametrize(("killed", "words"), [(False, "no memory left on this worker"), (True, "OOM killer")])
def test_workers_that_keep_failing_are_named_and_the_checkpoint_stays(
    killed: bool, words: str, cluster: Any, tmp_path: Path
) -> None:
    (tmp_path / "table").mkdir()

    def always(rank: int, epochs: int, loss: float) -> None:
        """Out of memory: as Python meets it, and as the system ends it."""
        if rank == 1 and epochs >= 2:
            if killed:
                os.kill(os.getpid(), signal.SIGKILL)
            raise MemoryError("no memory left on this worker")

    options = {"hidden": (8, 8), "workers": 2, "storage": tmp_path / "runs", "max_failures": 0}
    with pytest.raises(distributed.WorkerError, match=words) as caught:
        distributed.fit_on_ray(dataset(tmp_path / "table"), "score", SLOPES, PLAN, on_epoch=always, **options)
    assert "Rank 1" in str(caught.value)
    kept = any((tmp_path / "runs").rglob("fit.safetensors"))
    assert ("goes on from it" if kept else "no checkpoint was written yet") in str(caught.value)
    done = distributed.fit_on_ray(dataset(tmp_path / "table"), "score", SLOPES, PLAN, **options)
    check_same(done.network, done.losses)


@pytest.mark.parametrize("damage", ["pages", "column"])
def test_a_bad_file_is_named_and_the_checkpoint_stays(damage: str, cluster: Any, tmp_path: Path) -> None:
    import pandas
    import ray.data

    folder = tmp_path / "table"
    folder.mkdir()
    table, bad = dataset(folder), folder / "part-1.parquet"
    good = bad.read_bytes()
    options = {"hidden": (8, 8), "workers": 2, "storage": tmp_path / "runs", "max_failures": 0}

    def stop(rank: int, epochs: int, loss: float) -> None:
        if epochs >= 2:
            raise RuntimeError("stopped")

    with pytest.raises(distributed.WorkerError, match="stopped"):
        distributed.fit_on_ray(table, "score", SLOPES, PLAN, on_epoch=stop, **options)
    if damage == "pages":
        bad.write_bytes(good[:100] + bytes(1400) + good[1500:])
    else:
        pandas.read_parquet(bad).drop(columns=["debt"]).to_parquet(bad)
    with pytest.raises(distributed.WorkerError, match=r"part-1.parquet (cannot be read|has no 'debt')"):
        distributed.fit_on_ray(ray.data.read_parquet(str(folder)), "score", SLOPES, PLAN, **options)
    bad.write_bytes(good)
    done = distributed.fit_on_ray(ray.data.read_parquet(str(folder)), "score", SLOPES, PLAN, **options)
    check_same(done.network, done.losses)


def test_missing_values_are_told_before_a_worker_starts(cluster: Any, tmp_path: Path) -> None:
    import pandas
    import ray.data

    dataset(tmp_path)
    path = tmp_path / "part-1.parquet"
    frame = pandas.read_parquet(path)
    frame.loc[frame.index[3], "debt"] = np.nan
    frame.to_parquet(path)
    with pytest.raises(InputError, match="1 missing or infinite values in 'debt'"):
        distributed.fit_on_ray(ray.data.read_parquet(str(tmp_path)), "score", SLOPES, PLAN, storage=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_column_that_is_not_there_is_named_before_anything_starts(cluster: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InputError, match="scor"):
            distributed.fit_on_ray(dataset(tmp_path), "scor", SLOPES, PLAN, storage=tmp_path / "runs")
