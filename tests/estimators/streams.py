"""Small streams for tests: files of a few hundred rows, and a fit whose sample, batches and stretches are as small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monolip.estimators import _sampling
from monolip.estimators.stream import _plan, _refining, _schedule

CAPACITY = 1024


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that depends on size, at a size for tests."""
    monkeypatch.setattr(_sampling, "MAX_ROWS", CAPACITY)
    monkeypatch.setattr(_schedule, "BATCH_ROWS", 128)
    monkeypatch.setattr(_plan, "HELD_OUT_ROWS", 512)
    monkeypatch.setattr(_plan, "VISITS", 2**13)
    monkeypatch.setattr(_refining, "FIRST", 2)


def numbers(n: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((4, n))
    y = np.tanh(2 * x[0]) + x[1] * (x[2] > 0) + 0.2 * rng.standard_normal(n)
    return {"a": x[0], "b": x[1], "c": x[2], "d": x[3].astype(np.float32), "y": y}


def mixed(n: int, seed: int = 0) -> dict[str, Any]:
    """Numbers with gaps, strings, whole numbers, a weight and an exposure."""
    rng = np.random.default_rng(seed)
    found = numbers(n, seed)
    found["b"] = np.where(rng.random(n) < 0.1, np.nan, found["b"])
    found["city"] = rng.choice(["Rome", "Oslo", "Bonn", None], n, p=[0.5, 0.3, 0.1, 0.1])
    found["whole"] = rng.integers(0, 5, n)
    found["w"] = rng.random(n) + 0.5
    found["o"] = 0.1 * rng.standard_normal(n)
    return found


def write(folder: Path, columns: dict[str, Any], files: int = 3, group_rows: int = 200) -> Path:
    """Parquet files of about equal size."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    size = -(-table.num_rows // files)
    for k in range(files):
        pq.write_table(table.slice(k * size, size), folder / f"part-{k}.parquet", row_group_size=group_rows)
    return folder


def rot(path: Path, column: str = "a") -> None:
    """One bit of one number changes: footer, headers and encodings stay whole."""
    start = pq.read_metadata(path).row_group(0)
    chunk = next(c for c in map(start.column, range(start.num_columns)) if c.path_in_schema == column)
    data = bytearray(path.read_bytes())
    data[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    path.write_bytes(data)
