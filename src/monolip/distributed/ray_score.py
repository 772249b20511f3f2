"""score_on_ray: predictions for a Ray Dataset, by a model that travels as the bytes of its own file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from monolip.errors import InputError
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.sealed_file import named_path

__all__ = ["score_on_ray"]


def score_on_ray(
    dataset: Any,
    model: Any,
    *,
    features: Sequence[str] | None = None,
    output: str = "prediction",
    probability: bool = False,
    workers: int | tuple[int, int] = 2,
    batch_size: int = 65_536,
) -> Any:
    """The dataset with one more column (or one an output): the bits that model gives on one machine.

    Every worker reads the model's file, which proves its promise again, and scores whole batches. Ray Data streams:
    neither the driver nor a worker holds the table.

    Args:
        dataset: ray.data.Dataset.
        model: path of a model file, or a fitted MonotonicRegressor, MonotonicClassifier or FrozenNetwork.
        features: columns in the model's order, where a FrozenNetwork has no names for them.
        output: name of the new column; several outputs get output_0, output_1, ...
        probability: of a classifier: class probabilities instead of labels.
        workers: how many, or (at least, at most).
        batch_size: rows scored together.
    """
    content = _content(model)
    scorer = _Scorer(content, features, output, probability)  # here too: a bad model or column is known at once
    schema = dataset.schema()
    missing = [name for name in scorer.features if name not in schema.names]
    if missing:
        raise InputError(f"every feature of the model is a column; {missing[:5]} are not; got {schema.names[:20]}.")
    _refuse_texts(scorer, dict(zip(schema.names, map(str, schema.types), strict=True)))
    return dataset.map_batches(
        _Scorer,
        fn_constructor_args=(content, features, output, probability),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=_pool(workers),
    )


def _refuse_texts(scorer: _Scorer, types: dict[str, str]) -> None:
    """Before the first row is read; what other types hold is seen by the model itself."""
    inputs = getattr(scorer.model, "frozen_", scorer.model).inputs
    labels = {c.name for c in inputs.columns if isinstance(c, CategoryColumn)} if inputs is not None else set()
    for name in scorer.features:
        if name not in labels and types[name] in ("string", "large_string"):
            raise InputError(
                f"{name!r} held numbers in training; the dataset holds {types[name]}; convert it (a key of folders: by "
                f'read_parquet(..., partitioning=Partitioning("hive", field_types={{{name!r}: int}}))).'
            )


def _pool(workers: int | tuple[int, int]) -> Any:
    pool = import_module("ray.data").ActorPoolStrategy
    return pool(size=workers) if isinstance(workers, int) else pool(min_size=workers[0], max_size=workers[1])


def _content(model: Any) -> bytes:
    if isinstance(model, str | PathLike):
        return named_path(model).read_bytes()
    if not hasattr(model, "save"):
        raise InputError(
            f"a scored model is a file, or has save(); got {type(model).__name__}; pass a fitted estimator."
        )
    with tempfile.TemporaryDirectory(prefix="monolip-") as folder:
        model.save(Path(folder) / "model.safetensors")
        return (Path(folder) / "model.safetensors").read_bytes()


class _Scorer:
    """One worker's model. Called with an Arrow table, it returns the table with its predictions."""

    def __init__(self, content: bytes, features: Sequence[str] | None, output: str, probability: bool) -> None:
        with tempfile.TemporaryDirectory(prefix="monolip-") as folder:
            path = Path(folder) / "model.safetensors"
            path.write_bytes(content)
            self.model = _load(path)
        network = self.model if isinstance(self.model, FrozenNetwork) else self.model.frozen_
        known = network.slopes.feature_names if network.inputs is None else network.inputs.names
        names = features or known
        if names is None:
            raise InputError("columns are found by name; this network has none; pass features=[...] in its order.")
        self.features, self.output, self.probability = list(names), output, probability

    def __call__(self, table: Any) -> Any:
        pyarrow = import_module("pyarrow")
        values = self._values(table)
        columns = [values] if values.ndim == 1 else list(values.T)
        for k, column in enumerate(columns):
            name = self.output if len(columns) == 1 else f"{self.output}_{k}"
            table = table.append_column(name, pyarrow.array(column))
        return table

    def _values(self, table: Any) -> Any:
        rows = table.select(self.features)
        if isinstance(self.model, FrozenNetwork):
            if self.model.inputs is not None:
                return self.model.evaluate_raw({name: rows[name].to_numpy() for name in self.features})
            return self.model.evaluate(np.column_stack([rows[name].to_numpy() for name in self.features]))
        return np.asarray(self.model.predict_proba(rows) if self.probability else self.model.predict(rows))


def _load(path: Path) -> Any:
    """An estimator where the file holds one, a FrozenNetwork otherwise; both prove the promise."""
    from monolip import estimators
    from monolip.estimators._saving import read_entry

    network = FrozenNetwork.load(path)
    entry = read_entry(path)
    if entry is None:
        return network
    name = json.loads(entry).get("estimator")
    known: dict[str, Any] = {
        "MonotonicRegressor": estimators.MonotonicRegressor,
        "MonotonicClassifier": estimators.MonotonicClassifier,
    }
    if name not in known:
        raise InputError(f"a scored model is a regressor or a classifier; the file holds a {name!r}; pass another.")
    return known[name].load(path)
