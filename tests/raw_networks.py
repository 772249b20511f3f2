"""Networks with a free forest, small and random: numbers, categories and missing values among what it reads.

Directed ones read features with a direction as well, and every tree keeps it.
"""

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

__all__ = [
    "COLUMNS",
    "FAR",
    "broken",
    "directed_forest",
    "directed_network",
    "forest_network",
    "plain_network",
    "random_forest",
    "raw_columns",
    "raw_rows",
    "steps_across",
]

FAR = float(np.finfo(np.float64).max)  # what stands for missing values that count as highest; -FAR: as lowest

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


def directed_forest(
    rng: np.random.Generator, reads: tuple[int, ...], ways: dict[int, int], n_trees: int = 6, depth: int = 4,
    stands: tuple[float, ...] | None = None, codes: tuple[int, ...] = (2,),
) -> FreeForest:  # fmt: skip
    """Trees that rise (+1) or fall (-1) along some raw columns, though others turn them over however they like.

    A node that asks about such a column gives its children the two parts of the leaves it may have; they often meet, or
    are an ulp apart. codes: categories among `reads`.
    """
    nodes: list[tuple[int, float, int, float]] = []
    roots = []
    for _ in range(n_trees):
        roots.append(len(nodes))
        nodes.append((LEAF, 0.0, 0, 0.0))
        waiting = [(len(nodes) - 1, depth, -2.0, 2.0)]
        while waiting:
            at, left, low, high = waiting.pop(int(rng.integers(len(waiting))))
            if left == 0 or rng.random() < 0.1:
                leaf = rng.choice([low, high, rng.uniform(low, high)], p=[0.3, 0.3, 0.4])
                nodes[at] = (LEAF, 0.0, 0, float(leaf))
                continue
            k, child = int(rng.integers(len(reads))), len(nodes)
            cut = float(rng.integers(0, 4)) - 0.5 if reads[k] in codes else float(np.round(rng.normal(), 1))
            middle = rng.uniform(low, high)
            parts = [(low, middle), (max(middle, np.nextafter(middle, high)), high)][:: ways.get(reads[k]) or 1]
            nodes[at] = (k, cut, child, 0.0)
            nodes += [(LEAF, 0.0, 0, 0.0)] * 2
            for place, part in enumerate(parts if ways.get(reads[k]) else [(low, high)] * 2):
                waiting.append((child + place, left - 1, *part))
    features, thresholds, children, values = (list(part) for part in zip(*nodes, strict=True))
    missing = stands or tuple(0.3 for _ in reads)
    return FreeForest(reads, tuple((m, 1.0) for m in missing), features, thresholds, children, values, roots)


def broken(forest: FreeForest, k: int, rng: np.random.Generator, ulp: bool = False) -> FreeForest:
    """The same forest with one pair of leaves the wrong way round for a node that asks about the k-th column.

    ulp: by a single step of a float or integer; else the two are exchanged, where that matters, or set apart.
    """
    rises, values = forest.rises[k], forest.values.copy()
    node = int(rng.choice(np.flatnonzero(forest.features == k)))
    one, two = (int(rng.choice(_leaves(forest, int(forest.children[node]) + side))) for side in (0, 1))
    low, high = (one, two) if rises else (two, one)  # what comes lower has to be the larger one
    if values.dtype.kind == "i":
        step = values[high] + 1
    else:
        step = np.nextafter(values[high], np.inf)
    if ulp or values[low] == values[high]:
        values[low] = step
    else:
        values[[low, high]] = values[[high, low]]
    return FreeForest(
        forest.reads, forest.stands, forest.features, forest.thresholds, forest.children, values, forest.roots
    )


def _leaves(forest: FreeForest, node: int) -> list[int]:
    if forest.features[node] == LEAF:
        return [node]
    first = int(forest.children[node])
    return _leaves(forest, first) + _leaves(forest, first + 1)


def directed_network(rng: np.random.Generator, link: str = "identity", **how) -> FrozenNetwork:
    """plain_network with a forest over dose, in which it rises, sugar and city."""
    return with_forest(plain_network(rng, link), directed_forest(rng, (0, 1, 2), {0: 1}, **how))


def steps_across(forest: FreeForest, k: int, kind: type = np.float64) -> np.ndarray:
    """Numbers in order: every threshold of the k-th column, both neighbours, what lies between, and both ends."""
    cuts = np.unique(forest.thresholds[forest.features == k]).astype(kind)
    far = kind(np.inf)
    ends = [-far, kind(-3), kind(0), kind(3), far]
    with np.errstate(over="ignore"):  # beyond the largest float lies infinity
        beside = [np.nextafter(cuts, far), np.nextafter(cuts, -far)]
    found = [cuts, *beside, cuts[1:] / 2 + cuts[:-1] / 2, np.array(ends, kind)]
    return np.unique(np.concatenate(found)).astype(np.float64)


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
