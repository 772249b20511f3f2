"""The open suite of fifteen tables with monotone features, as standardised arrays and several splits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.missing_data import data_file

__all__ = ["Splits", "list_sets", "read_splits", "split"]

FloatArray = NDArray[np.float32]
HOW = (
    "the suite's files (one Parquet file a table, from public sources, and suite.json) are not published as files and "
    "cannot be rebuilt bit for bit: copy the folder suite/ from where the results were made"
)
MOST_ROWS = 2500
SHA256 = {
    "abalone.parquet": "4d40a129d3b4807df346587979d8bac70c5e40e89ef34cd8b2016350485d6552",
    "airfoil.parquet": "e7c97301df79e36168d1e290d5e2ca6acf286044ffea5e94beec31f59939e5e8",
    "auto_mpg.parquet": "896883ac0a3be9bb1caf9fb20763745a9b6121abdcf5bf6375cb6bf56012857a",
    "california_housing.parquet": "99ec1e5e27c91df6e7d83728932a3d7b69ba3585ac9c2cc65c1c2b9bcd8f4275",
    "compas.parquet": "1f0d52e202128d97938ecf3c35c2949f807d53ce7dd996be3384a8820a8769e8",
    "concrete.parquet": "9e2dd75900cb640f284236fa83fbc171f4f560191feb20e451ef9b9f86b06489",
    "german_credit.parquet": "aec36d0c588c602eb0f5f29780651ecad5e8dc3ad3afb24f66f9879a7c7e429c",
    "heart_disease.parquet": "e24ca3fd4dbf695688e588a0a57fb9fb1f248e7a33b84d972522469acc13d3fc",
    "mammographic.parquet": "a59fc34e01c71e0c7e6d6cfbd9f8f5d6a8ef6aa1485b7c801095e82406000557",
    "medical_cost.parquet": "f50467d1e90a6710be269e3c88291368e3b019db41133513ffea7db88dab3a10",
    "ordinal_esl.parquet": "02ec83bb4c30f9ad1913d7f78bfcbeeb6e6cc18673a676828ab67ae25235fb68",
    "ordinal_lev.parquet": "367b50479cfe6c9927b827939ee861dcdf6d5e94fef289d38864224b9b7c5724",
    "suite.json": "43869962e831cac90a60bf46da417f5c348611e8ae8e9400702fbf1f39509004",
    "taiwan_credit.parquet": "026a78861096f7377041fedecf98218a345fa94e9ea8d6c06ca2c454d5039ad1",
    "wine_quality.parquet": "6c313366b699f6e9113f8a09bab840641b9671098c15fef89fa53699ba6d8467",
    "yacht.parquet": "e4d5aed93bc25c2aed0c68a2466ac9b4fa7c9de64191357aefb06570dc56258e",
}


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
    found: dict[str, dict[str, Any]] = json.loads(_file("suite.json").read_text(encoding="utf-8"))
    return found


def _file(name: str) -> Path:
    """A file of the suite; one with another checksum is refused."""
    return data_file(f"suite/{name}", HOW, SHA256[name])


def read_splits(name: str, seeds: int) -> Splits:
    """The table `name`, split 60 : 20 : 20 at random once a seed; at most 2500 rows of it."""
    import pandas as pd

    facts = list_sets()[name]
    frame = pd.read_parquet(_file(f"{name}.parquet"))
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
