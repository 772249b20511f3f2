"""Small random networks over raw columns: numbers, a category, and missing values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from monolip.convex import ConvexForm
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds

from .make import mixing

__all__ = ["COLUMNS", "LABELS", "numbered", "plain_network", "raw_columns", "raw_rows"]

LINE = PiecewiseLinear([-2.0, 0.0, 2.0], [-1.0, 0.1, 1.0])
BINS = (PiecewiseLinear([-1.0, 0.0], [-0.5, 0.5]), PiecewiseLinear([0.0, 1.0], [-0.5, 0.5]))
COLUMNS = (
    NumericColumn("dose", (LINE, *BINS), seen=(-2.0, 0.0, 2.0)),  # increasing
    NumericColumn("sugar", (LINE,), missing=(0.25, 1.0), present=0.0, seen=(-2.0, 0.0, 2.0)),
    CategoryColumn("city", ("A", "B", "C"), [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.3, 0.3], [0.5, 0.0]]),
    NumericColumn("acid", (LINE,), missing=(0.0,), seen=(-2.0, 0.0, 2.0)),
)


def plain_network(rng: np.random.Generator, link: str = "identity") -> FrozenNetwork:
    """COLUMNS into one member in convex form; dose is increasing."""
    inputs = InputTransform(COLUMNS)
    lower, upper = np.full(inputs.n_model, -3.0), np.full(inputs.n_model, 3.0)
    lower[: len(COLUMNS[0].maps)] = 0.0
    first = np.clip(lower + (upper - lower) * rng.uniform(-0.2, 1.2, (6, inputs.n_model)), lower, upper)
    weights = (first, mixing(rng, 4, 6), mixing(rng, 1, 4))
    form = ConvexForm(weights, tuple(rng.normal(size=n) for n in (6, 4, 1)), (2, 2))
    meaning = OutputLink("logit", ("no", "yes")) if link == "logit" else OutputLink(link)
    return FrozenNetwork(SlopeBounds(lower, upper), ((Trunk(form, (0,)),),), inputs=inputs, link=meaning)


LABELS = (5.0, 1.0, 2.0)  # of a city, where strings are not known


def numbered(network: FrozenNetwork) -> FrozenNetwork:
    """The same network with cities that are numbers."""
    columns = [CategoryColumn(c.name, LABELS, c.table) if c.name == "city" else c for c in network.inputs.columns]
    return replace(network, inputs=InputTransform(tuple(columns)))


def raw_rows(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """A table of COLUMNS: values at knots, missing ones, labels nobody has seen."""
    found = {name: np.round(rng.normal(size=n), rng.integers(0, 3)) for name in ("dose", "sugar", "acid")}
    for name in ("sugar", "acid"):
        found[name][rng.random(n) < 0.2] = np.nan
    labels = np.array(["A", "B", "C", "elsewhere", None], dtype=object)
    return {**found, "city": labels[rng.integers(0, 5, n)]}


def raw_columns(table: dict[str, np.ndarray], network: FrozenNetwork | None = None) -> list[np.ndarray]:
    """In the order of COLUMNS; cities as the network knows them."""
    if network is not None and network.inputs.columns[2].categories == LABELS:
        known = {"A": LABELS[0], "B": LABELS[1], "C": LABELS[2], "elsewhere": 0.25, None: np.nan}
        table = table | {"city": np.array([known[label] for label in table["city"]])}
    return [table[column.name] for column in COLUMNS]
