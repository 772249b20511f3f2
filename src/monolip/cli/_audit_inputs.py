"""A table as the audited model reads it, and the directions it is audited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from monolip.cli._constraints import label_of, read_constraints
from monolip.cli._data import Table
from monolip.cli._folders import with_folders
from monolip.cli._models import AnyModel
from monolip.cli._names import nearest, require_columns, split_names
from monolip.errors import InputError

__all__ = ["audited_rows", "directions_of"]


def audited_rows(model: AnyModel, table: Table, features: Sequence[str], path: Path) -> tuple[Any, list[str]]:
    """Rows for `audit`, and the names of their columns: by the model's names, by --features, or all in order.

    path: where the table was read; folders key=value above it are columns that may be named.
    """
    given = split_names(features, table.column_names)
    table = with_folders(table, path, model.model, {*given, *(model.names or ())})
    require_columns(given, table.column_names, "--features")
    names = given or list(model.names or ()) or list(table.column_names)
    if model.names is not None and given and len(given) != len(model.names):
        raise InputError(f"the model has {len(model.names)} features; got {len(given)} by --features; name them all.")
    if len(set(names)) < len(names):
        raise InputError("a model's features have distinct names; this one repeats some; pass others by --features.")
    for name in names:
        if name not in table.column_names:
            raise InputError(
                f"a table has the columns that the model reads, or lies below folders named for them; {path} has no "
                f"{name!r}, and no folder {name}=... above it; add it, or rename one: "
                f"{nearest(name, table.column_names)}"
            )
    X = table.select(names)
    if not model.matrix:
        return X, names
    wanted = _width(model)
    if wanted is not None and wanted != len(names):
        raise InputError(
            f"the model reads {wanted} columns and does not name them; got {len(names)}; pass --features with its "
            "columns in order."
        )
    columns = []
    for name in names:
        column = X.column(name).to_pylist()
        if any(isinstance(value, str) for value in column):
            raise InputError(
                f"this model reads numbers; got text in column {name!r}; encode it as in training, or pass --features "
                "without it."
            )
        columns.append([np.nan if value is None else float(value) for value in column])
    return np.array(columns, dtype=np.float64).T.copy(), names


def directions_of(model: AnyModel, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """From options and the file of constraints; without any, what a model of monolip itself promises."""
    wanted = {name: options[name] for name in ("increasing", "decreasing", "slope", "max_slope", "constraints")}
    constraints = read_constraints(names, **wanted)
    labels = getattr(model.model, "classes_", None)
    if labels is not None:
        found = constraints.monotonic_cst(np.asarray(labels).tolist(), options["positive"])
    elif constraints.classes or options["positive"] is not None:
        raise InputError("classes are named for models that name theirs; got one that does not; leave --positive out.")
    else:
        found = constraints.directions or None
    found = found or _promised(model)
    if not found:
        raise InputError(
            "an audit needs a direction; got none, and the model promises none; pass --increasing or --decreasing."
        )
    return found


def _promised(model: AnyModel) -> dict[str, Any]:
    """Of an estimator of monolip: the directions in its slope table."""
    table = getattr(model.model, "slopes_", None)
    signs = {"increasing": 1, "decreasing": -1}
    found: dict[str, Any] = {}
    for row in table or ():
        sign = signs.get(row.promise.partition(" ")[0])
        if sign is None:
            continue
        if row.output:
            found.setdefault(row.feature, {})[label_of(row.output, model.model.classes_.tolist())] = sign
        elif table is not None and table.label is not None:
            found[row.feature] = {table.label: sign}
        else:
            found[row.feature] = sign
    return found


def _width(model: AnyModel) -> int | None:
    """Columns a model without names reads, where it says."""
    if model.names is not None:
        return len(model.names)
    if model.format == "ONNX":
        shape = model.model.get_inputs()[0].shape
        return shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None
    for name in ("num_features", "num_feature"):
        count = getattr(model.model, name, None)
        if callable(count):
            return int(count())
    return getattr(model.model, "n_features", None)
