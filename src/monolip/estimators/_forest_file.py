"""The file of a network with a forest beside it: one sealed safetensors file. Data, never code.

Its tensors are those of the network's own file, named network.*, and the nodes of all trees, one tree after the other:
forest.feature, .threshold, .child, .value. Whoever follows a tree ends in a leaf: children come after their parents,
and that is checked before anything is predicted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine.extra_trees import Tree
from monolip.errors import StructureError
from monolip.estimators._forest import Forest
from monolip.estimators._free_columns import FreeColumn, FreeColumns
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import put_together, take_apart
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.sealed_format import SealedFormat

__all__ = ["FORMAT", "FrozenSum"]

Tensors = Mapping[str, NDArray[Any]]
Column = NumericColumn | CategoryColumn
FORMAT = SealedFormat("monolip.WithFreeForest", 1, ("float64", "int64"))
_WHOLE = ("feature", "child")


@dataclass(frozen=True, eq=False)
class FrozenSum:
    """network + share * forest(columns); forest: None where nothing is added."""

    network: FrozenNetwork
    columns: FreeColumns
    forest: Forest | None
    share: float

    def __post_init__(self) -> None:
        inputs = self.network.inputs
        if inputs is None or self.network.n_outputs != 1:
            raise StructureError("a forest stands beside a network with raw columns and one output; got another.")
        if (
            type(self.share) is not float
            or not 0.0 <= self.share <= 1.0
            or (self.share == 0.0) != (self.forest is None)
        ):
            raise StructureError(f"the share of a forest lies in [0, 1], 0 without one; got {self.share!r}.")
        places = self.columns.places
        if list(places) != sorted(set(places)) or not all(0 <= j < inputs.n_raw for j in places):
            raise StructureError(f"a forest sees columns of the table, each once and in order; got {places}.")
        for j, column in zip(places, self.columns.columns, strict=True):
            box = slice(int(inputs.starts[j]), int(inputs.starts[j + 1]))
            if not ((self.network.bounds.lower[box] < 0) & (self.network.bounds.upper[box] > 0)).all():
                raise StructureError(f"a forest sees features without a promise; {inputs.names[j]!r} has a direction.")
            if not _is_same(column, inputs.columns[j]):
                raise StructureError(f"a forest sees columns as the network does; {inputs.names[j]!r} is another.")
        if self.forest is not None:
            for tree in self.forest.trees:
                _check_tree(tree, len(places))

    @cached_property
    def digest(self) -> str:
        return FORMAT.digest(*self.take_apart())

    def take_apart(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """A JSON structure and named tensors."""
        network, own = take_apart(self.network)
        trees = () if self.forest is None else self.forest.trees
        structure = {
            "network": network,
            "share": self.share,
            "columns": [_write(*pair) for pair in zip(self.columns.places, self.columns.columns, strict=True)],
            "nodes": [len(tree.feature) for tree in trees],
        }
        tensors: dict[str, NDArray[Any]] = {f"network.{name}": array for name, array in own.items()}
        for part in Tree._fields if trees else ():
            kind = np.int64 if part in _WHOLE else np.float64
            tensors[f"forest.{part}"] = np.concatenate([getattr(tree, part) for tree in trees]).astype(kind)
        return structure, tensors

    @classmethod
    def load(cls, path: str | PathLike[str], max_bytes: int = 2**31) -> FrozenSum:
        """Read, checked in full; a file that is not what it says is a FrozenFileError."""
        return FORMAT.load(path, cls._put_together, max_bytes=max_bytes)

    @classmethod
    def _put_together(cls, structure: dict[str, Any], tensors: Tensors) -> FrozenSum:
        own = {name.removeprefix("network."): array for name, array in tensors.items() if name.startswith("network.")}
        read = [_read(entry) for entry in structure["columns"]]
        columns = FreeColumns(tuple(place for place, _ in read), tuple(column for _, column in read))
        forest = None
        if structure["nodes"]:
            whole = [tensors[f"forest.{part}"] for part in Tree._fields]
            if {array.shape for array in whole} != {(sum(structure["nodes"]),)}:
                raise StructureError("a tree has a feature, a threshold, a child and a value for each of its nodes.")
            parts = [np.split(array, np.cumsum(structure["nodes"])) for array in whole]
            trees = [Tree(f.astype(np.int32), t, c.astype(np.int32), v) for f, t, c, v in zip(*parts, strict=True)]
            forest = Forest(tuple(trees[:-1]), len(read))
        return cls(put_together(structure["network"], own), columns, forest, structure["share"])


def _is_same(column: FreeColumn, of_f: Column) -> bool:
    """Whether both know the same categories, and what is missing or unknown counts as something known."""
    codes = (column.missing, column.unknown)
    if not isinstance(of_f, CategoryColumn):
        return column.labels is None and column.missing < math.inf and column.unknown == -math.inf
    known = {-math.inf, *map(float, range(len(of_f.categories)))}
    return column.labels is not None and list(column.labels) == list(of_f.categories) and known.issuperset(codes)


def _write(place: int, column: FreeColumn) -> dict[str, Any]:
    values = (None if math.isinf(v) else v for v in (column.missing, column.unknown))
    return {
        "place": place,
        "labels": None if column.labels is None else list(column.labels),
        **dict(zip(("missing", "unknown"), values, strict=True)),
    }


def _read(entry: dict[str, Any]) -> tuple[int, FreeColumn]:
    missing, unknown = (-math.inf if entry[name] is None else float(entry[name]) for name in ("missing", "unknown"))
    labels = entry["labels"]
    found = None if labels is None else {label: number for number, label in enumerate(labels)}
    return int(entry["place"]), FreeColumn(found, missing, unknown)


def _check_tree(tree: Tree, n_features: int) -> None:
    """Every way from the root ends in a leaf, asks of known columns only, and finds a number."""
    at, inner = np.arange(len(tree.feature)), tree.feature >= 0
    good = (
        len(at) > 0
        and {part.shape for part in tree} == {at.shape}
        and bool(((tree.feature >= -1) & (tree.feature < n_features)).all())
        and bool(((tree.child > at) & (tree.child < len(at) - 1))[inner].all())
        and bool(np.isfinite(tree.value).all() and not np.isnan(tree.threshold).any())
    )
    if not good:
        raise StructureError("a tree asks of columns that are not there, leads nowhere, or holds no finite numbers.")
