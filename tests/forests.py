"""Networks with a free forest, small and random: numbers, categories and missing values among what it reads."""

from __future__ import annotations

import numpy as np

from monolip.convex import ConvexForm
from monolip.estimators._freezing import with_forest
from monolip.free_forest import LEAF, FreeForest
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds

from .make import mixing

__all__ = ["COLUMNS", "forest_network", "plain_network", "random_forest", "raw_columns", "raw_rows"]

LINE = PiecewiseLinear([-2.0, 0.0, 2.0], [-1.0, 0.1, 1.0])
BINS = (PiecewiseLinear([-1.0, 0.0], [-0.5, 0.5]), PiecewiseLinear([0.0, 1.0], [-0.5, 0.5]))
COLUMNS = (
    NumericColumn("dose", (LINE, *BINS), seen=(-2.0, 0.0, 2.0)),  # increasing
    NumericColumn("sugar", (LINE,), missing=(0.25, 1.0), present=0.0, seen=(-2.0, 0.0, 2.0)),
    CategoryColumn("city", ("A", "B", "C"), [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.3, 0.3], [0.5, 0.0]]),
    NumericColumn("acid", (LINE,), missing=(0.0,), seen=(-2.0, 0.0, 2.0)),
)


def random_forest(rng: np.random.Generator, n_trees: int = 5, depth: int = 3, reads: tuple[int, ...] = (1, 2)):
    """Trees of any shape over some of COLUMNS; thresholds among the values that raw_rows draws, too."""
    features, thresholds, children, values, roots = [], [], [], [], []
    for _ in range(n_trees):
        roots.append(len(features))
        waiting = [0]
        first = len(features)
        features.append(None)
        while waiting:
            node = first + waiting.pop()
            if node - first < 2**depth - 1 and rng.random() < 0.8:
                k = int(rng.integers(len(reads)))
                cut = float(rng.integers(0, 4)) - 0.5 if reads[k] == 2 else float(np.round(rng.normal(), 1))
                child = len(features)
                features[node] = (k, cut, child, 0.0)
                features += [None, None]
                waiting += [child - first, child + 1 - first]
            else:
                features[node] = (LEAF, 0.0, 0, float(rng.normal()))
    nodes = features
    features, thresholds, children, values = (list(part) for part in zip(*nodes, strict=True))
    stands = tuple((-1e300 if rng.random() < 0.5 else 0.3, 1.0) for _ in reads)
    return FreeForest(reads, stands, features, thresholds, children, values, roots)


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


def forest_network(rng: np.random.Generator, link: str = "identity", **how) -> FrozenNetwork:
    """The same with a random forest over sugar and city."""
    return with_forest(plain_network(rng, link), random_forest(rng, **how))


def raw_rows(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """A table of COLUMNS: values at thresholds and knots, missing ones, labels nobody has seen."""
    found = {name: np.round(rng.normal(size=n), rng.integers(0, 3)) for name in ("dose", "sugar", "acid")}
    for name in ("sugar", "acid"):
        found[name][rng.random(n) < 0.2] = np.nan
    labels = np.array(["A", "B", "C", "elsewhere", None], dtype=object)
    return {**found, "city": labels[rng.integers(0, 5, n)]}


def raw_columns(table: dict[str, np.ndarray]) -> list[np.ndarray]:
    """In the order of COLUMNS."""
    return [table[column.name] for column in COLUMNS]
