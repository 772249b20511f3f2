"""What Ray reads and a fit cannot use is named with the column; no cluster is needed to see it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monolip.errors import InputError

ray_rows = pytest.importorskip("monolip.distributed.ray_rows", exc_type=ImportError)
ray_fit = pytest.importorskip("monolip.distributed.ray_fit", exc_type=ImportError)  # needs the extra `ray`


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"debt": np.ones(2)}, "without 'income'"),
        ({"income": np.array(["high", "low"])}, "'income'; convert it"),
        ({"income": np.array([1.0, np.nan, np.inf])}, "2 missing or infinite values in 'income'"),
    ],
)
def test_a_bad_column_is_named(column: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        ray_rows.column_of(column, "income")
    assert str(caught.value).count(";") >= 2
    assert ray_rows._look(column, ["income"])["wrong"][0] == str(caught.value)


class Part:
    """A part of a table, as Ray Data hands it out."""

    def __init__(self, **columns: Any) -> None:
        self.columns = {name: np.asarray(values) for name, values in columns.items()}

    def map_batches(self, look: Any, fn_kwargs: dict[str, Any], **options: Any) -> Part:
        return Part(**look(self.columns, **fn_kwargs))

    def take_all(self) -> list[dict[str, Any]]:
        n_rows = len(next(iter(self.columns.values())))
        return [{name: values[k] for name, values in self.columns.items()} for k in range(n_rows)]


@pytest.mark.parametrize(
    ("loss", "bad", "words"),
    [("logistic", [0, 2], "'y' goes from 0 to 2"), ("cross-entropy", [0, 3], "0 to 2 as"),
     ("cross-entropy", [0.5, 1.0], "holds others from 0 to 1")],
)  # fmt: skip
def test_targets_are_those_of_the_loss_before_any_worker_starts(loss: str, bad: list[Any], words: str) -> None:
    plan, good = type("Plan", (), {"loss": loss}), Part(x=[0.5, -3.0], y=[0, 1])
    ray_rows.refuse_unusable([good, good], ["x"], "y", plan, 3)
    with pytest.raises(InputError, match=words):
        ray_rows.refuse_unusable([good, Part(x=[0.5, 1.0], y=bad)], ["x"], "y", plan, 3)


def test_features_that_were_not_scaled_are_warned_of() -> None:
    plan = type("Plan", (), {"loss": "squared"})
    with pytest.warns(UserWarning, match="'income' goes from 3 to 2.5e\\+05; divide"):
        ray_rows.refuse_unusable(
            [Part(age=[1.0, 2.0], income=[3.0, 250_000.0], y=[0, 1])], ["age", "income"], "y", plan, 1
        )


def test_a_checkpoint_is_promised_only_where_there_is_one(tmp_path: Path) -> None:
    assert "no checkpoint was written yet" in ray_fit._kept(str(tmp_path))
    assert "a checkpoint under s3://bank/runs" in ray_fit._kept("s3://bank/runs")
    (tmp_path / "checkpoint_1").mkdir()
    (tmp_path / "checkpoint_1" / "fit.safetensors").touch()
    assert "the last checkpoint under" in ray_fit._kept(str(tmp_path))


def test_numbers_of_any_kind_pass() -> None:
    for values in (np.array([True, False]), np.array([1, 2]), np.array([0.5], np.float32)):
        assert np.array_equal(ray_rows.column_of({"x": values}, "x"), values)


def test_long_errors_of_a_cluster_are_shortened_to_their_ends() -> None:
    text = "\n".join(["Training failed", "of something", *["Traceback"] * 50, "MemoryError", "no memory left"])
    assert ray_fit._short(RuntimeError(text)) == "Training failed / of something / MemoryError / no memory left"


def test_a_worker_that_died_is_told_before_those_that_lost_it() -> None:
    lost = ["[Rank 0,2 Error Snippet]:", "Traceback", "RuntimeError: connection closed by peer"]
    dead = [
        "[Rank 1 Error Snippet]:",
        "The actor died unexpectedly.",
        "Worker exit detail: the OOM killer " + 900 * ".",
    ]
    said = ray_fit._short(RuntimeError("\n".join(["Training failed due to worker errors:", *lost, *dead])))
    assert said.startswith("[Rank 1] Worker exit detail: the OOM killer ....")
    assert said.endswith(" / [Rank 0,2] RuntimeError: connection closed by peer")


def test_without_ray_the_error_is_the_line_that_installs_it() -> None:
    code = "import sys; sys.modules['ray'] = None\nimport monolip.distributed"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install ".[ray]"' in run.stderr


def test_a_bad_file_of_a_dataset_is_found_and_what_cannot_be_seen_is_not_judged(tmp_path: Path) -> None:
    from monolip.distributed.bad_files import what_is_wrong_with_files

    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    for k in range(3):
        parquet.write_table(arrow.table({"x": np.arange(900.0) + k, "y": np.arange(900.0)}), tmp_path / f"{k}.parquet")

    class Dataset:
        def __init__(self, *more: str) -> None:
            self.files = [*map(str, tmp_path.glob("*.parquet")), *more]

        def input_files(self) -> list[str]:
            return self.files

    bad, good = tmp_path / "1.parquet", (tmp_path / "1.parquet").read_bytes()
    assert what_is_wrong_with_files(Dataset(), ["x", "y"]) is None
    bad.write_bytes(good[:1000] + bytes(2000) + good[3000:])
    assert "1.parquet cannot be read" in (what_is_wrong_with_files(Dataset(), ["x", "y"]) or "")
    assert what_is_wrong_with_files(Dataset("s3://bank/a.parquet"), ["x", "y"]) is None
    parquet.write_table(arrow.table({"x": ["a"], "y": [0.0]}), bad)
    assert "'x' holds strings" in (what_is_wrong_with_files(Dataset(), ["x", "y"]) or "")
    parquet.write_table(arrow.table({"y": [0.0]}), bad)
    assert "1.parquet has no 'x'" in (what_is_wrong_with_files(Dataset(), ["x", "y"]) or "")
    assert what_is_wrong_with_files(object(), ["x"]) is None


def test_ray_tells_which_files_a_dataset_is_made_of(tmp_path: Path) -> None:
    """By a plan that is not public; test_ray_fit asks a real one."""
    from monolip.distributed.bad_files import _paths_of

    class Step:
        def __init__(self, *before: Any) -> None:
            self.input_dependencies = list(before)

    class ListFiles(Step):
        paths = ("loans",)

    class ReadFiles(Step):
        pass

    class Project(Step):
        pass

    class Dataset:
        def __init__(self, dag: Any) -> None:
            self._logical_plan = type("Plan", (), {"dag": dag})

    assert _paths_of(Dataset(ReadFiles(ListFiles()))) == ["loans"]
    assert _paths_of(Dataset(Project(ReadFiles(ListFiles())))) == []  # its columns may have other names
