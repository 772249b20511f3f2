"""The open suite of fifteen tables with monotone features, as standardised arrays and several splits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.missing_data import data_file

__all__ = ["Splits", "list_sets", "read_splits", "split"]

FloatArray = NDArray[np.float32]
HOW = "put the folder suite/ (one Parquet file a table, and suite.json) there"
MOST_ROWS = 2500


@dataclass(frozen=True)
class Splits:
    """Arrays with one split a seed in front: (seeds, rows, features) and (seeds, rows)."""

    name: str
    task: str
    directions: tuple[int, ...]
    train: tuple[FloatArray, FloatArray]
    validation: tuple[FloatArray, FloatArray]
    test: tuple[FloatArray, FloatArray]


def list_sets() -> dict[str, dict[str, Any]]:
    """Facts of each table, by name."""
    found: dict[str, dict[str, Any]] = json.loads(data_file("suite/suite.json", HOW).read_text())
    return found


def read_splits(name: str, seeds: int) -> Splits:
    """The table `name`, split 60 : 20 : 20 at random once a seed; at most 2500 rows of it."""
    import pandas as pd

    facts = list_sets()[name]
    frame = pd.read_parquet(data_file(f"suite/{name}.parquet", HOW))
    y = frame.pop(facts["target"]).to_numpy(dtype=np.float64)
    columns: list[NDArray[np.float64]] = []
    directions: list[int] = []
    for column in frame:
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values):
            numbers = values.to_numpy(dtype=np.float64)
            columns.append(np.where(np.isnan(numbers), np.nanmedian(numbers), numbers))
            directions.append(facts["monotonic_cst"].get(column, 0))
        else:
            columns += [(values == label).to_numpy(dtype=np.float64) for label in sorted(values.dropna().unique())]
            directions += [0] * (len(columns) - len(directions))
    return split(name, facts["task"], tuple(directions), np.column_stack(columns), y, seeds)


def split(
    name: str, task: str, directions: tuple[int, ...], x: NDArray[np.float64], y: NDArray[np.float64], seeds: int
) -> Splits:
    """Standardised with the training rows of each split; a regression target too."""
    parts: list[list[tuple[FloatArray, FloatArray]]] = [[], [], []]
    count = min(len(x), MOST_ROWS)
    ends = int(0.6 * count), int(0.8 * count), count
    for seed in range(seeds):
        rows = np.random.default_rng(seed).permutation(len(x))[:count]
        own, goal = x[rows], y[rows]
        mean, scale = own[: ends[0]].mean(0), own[: ends[0]].std(0)
        own = np.clip((own - mean) / np.where(scale > 0, scale, 1.0), -6.0, 6.0)
        if task == "regression":
            goal = (goal - goal[: ends[0]].mean()) / goal[: ends[0]].std()
        for k, (start, end) in enumerate(zip((0, *ends), ends, strict=False)):
            parts[k].append((own[start:end].astype(np.float32), goal[start:end].astype(np.float32)))
    train, validation, test = ((np.stack([a for a, _ in p]), np.stack([b for _, b in p])) for p in parts)
    return Splits(name, task, directions, train, validation, test)
