"""Rows that find what a forest's exporter gets wrong: thresholds and their neighbours, infinities, missing values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.input_transform import InputTransform
from tests.forests import COLUMNS, raw_rows

__all__ = ["LABELS", "at_thresholds", "by_name", "numbered", "telling_columns"]

LABELS = (5.0, 1.0, 2.0)  # of a city, where strings are not known


def numbered(network: FrozenNetwork) -> FrozenNetwork:
    """The same network with cities that are numbers."""
    inputs = network.inputs
    columns = [CategoryColumn(c.name, LABELS, c.table) if c.name == "city" else c for c in inputs.columns]
    return replace(network, inputs=InputTransform(tuple(columns), inputs.forest))


def at_thresholds(network: FrozenNetwork, rng: np.random.Generator, n: int = 300) -> dict[str, np.ndarray]:
    """raw_rows, with sugar at the thresholds of the forest, one ulp below and above, or infinite, or missing."""
    forest, table = network.inputs.forest, raw_rows(rng, n)
    k = forest.reads.index(1)
    found = rng.choice(np.append(forest.thresholds[forest.features == k], 0.0), n)
    found[::4], found[1::4] = np.nextafter(found[::4], np.inf), np.nextafter(found[1::4], -np.inf)
    far = rng.random(n)
    found[far < 0.05], found[far > 0.95] = -np.inf, np.inf
    found[(far > 0.4) & (far < 0.5)] = np.nan
    return table | {"sugar": found}


def telling_columns(network: FrozenNetwork, rng: np.random.Generator, n: int = 300) -> list[np.ndarray]:
    """at_thresholds in the order of COLUMNS; cities as the network knows them."""
    table = at_thresholds(network, rng, n)
    city = next(c for c in network.inputs.columns if c.name == "city")
    if city.categories == LABELS:
        known = {"A": LABELS[0], "B": LABELS[1], "C": LABELS[2], "elsewhere": 0.25, None: np.nan}
        table["city"] = np.array([known[label] for label in table["city"]])
    return [table[column.name] for column in COLUMNS]


def by_name(columns: list[np.ndarray], ports: list) -> dict[str, np.ndarray]:
    """What a session of onnxruntime is fed: one tensor, or one for each column where some are strings."""
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}
    if len(ports) == 1:
        return {ports[0].name: np.stack(columns, axis=1).astype(kinds[ports[0].type])}
    feed = {}
    for port, values in zip(ports, columns, strict=True):
        text = port.type == "tensor(string)"
        given = np.array(["" if v is None else v for v in values], object) if text else values.astype(kinds[port.type])
        feed[port.name] = given[:, None]
    return feed
