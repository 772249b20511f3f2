"""The two ends of a FrozenNetwork, raw columns and link: their checks, and their place in its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import FreezeError
from .input_columns import CategoryColumn, NumericColumn
from .input_transform import Column, InputTransform
from .output_link import OutputLink
from .piecewise_linear import PiecewiseLinear
from .raw_slopes import features_with_slopes
from .slopes import SlopeBounds

if TYPE_CHECKING:
    from .frozen import FrozenNetwork

__all__ = ["check_ends", "put_ends", "read_link", "take_ends", "written_link"]

Tensors = dict[str, NDArray[np.float64]]


def check_ends(network: FrozenNetwork) -> None:
    """Widths agree, and the promise in raw units holds for the stored numbers, in exact arithmetic."""
    inputs, link, promise = network.inputs, network.link, network.raw_promise
    for given, kind in ((inputs, InputTransform), (link, OutputLink), (promise, SlopeBounds)):
        if not isinstance(given, kind | None):
            raise FreezeError(f"expected {kind.__name__} or None; got {type(given).__name__}; pass one.")
    width = network.n_features + network.n_free_features
    if inputs is not None and inputs.n_model != width:
        raise FreezeError(
            f"an input transform must give the {width} model columns of its network; got {inputs.n_model}; match them."
        )
    if link is not None and link.n_outputs != network.n_outputs:
        raise FreezeError(
            f"a {link.name} link takes {link.n_outputs} outputs; got a network with {network.n_outputs}; match them."
        )
    if promise is None:
        return
    if inputs is None:
        raise FreezeError("a promise in raw units needs an input transform; got none; pass inputs=.")
    if _surely_keeps(network, promise):
        return
    real = network.raw_slopes
    if promise.feature_names != real.feature_names or promise.lower.shape != real.lower.shape:
        raise FreezeError(
            f"a promise in raw units covers the raw numeric features {real.feature_names} with shape "
            f"{real.lower.shape}; got {promise.feature_names} with {promise.lower.shape}; match them."
        )
    broken = (real.lower < promise.lower) | (real.upper > promise.upper)
    if broken.any():
        at = tuple(int(v) for v in np.argwhere(broken)[0])
        raise FreezeError(
            "the stored weights must keep the promise in raw units, in exact arithmetic; "
            f"{(real.feature_names or ())[at[0]]!r} has slopes in [{real.lower[at]}, {real.upper[at]}] and promises "
            f"[{promise.lower[at]}, {promise.upper[at]}]; widen the promise or train again."
        )


def _surely_keeps(network: FrozenNetwork, promise: SlopeBounds) -> bool:
    """Whether floats alone, rounded outwards, prove the promise: nearly always, and much faster than exact sums."""
    inputs, features = network.inputs, features_with_slopes(network)
    assert inputs is not None, "the caller has checked"
    shape = (len(features),) if network.n_outputs == 1 else (len(features), network.n_outputs)
    if promise.feature_names != tuple(inputs.names[i] for i in features) or promise.lower.shape != shape:
        return False
    for k in range(network.n_outputs):
        box = promise.for_output(k)
        low, high = np.array(network.rough_raw_slopes[k]).reshape(-1, 2).T
        if not ((low >= box.lower) & (high <= box.upper)).all():
            return False
    return True


def take_ends(network: FrozenNetwork, tensors: Tensors) -> dict[str, Any]:
    """JSON of both ends; their numbers go into tensors. The inverse of `put_ends`."""
    inputs, link, promise = network.inputs, network.link, network.raw_promise
    if promise is not None:
        tensors["raw.lower"], tensors["raw.upper"] = promise.lower, promise.upper
    columns = enumerate(inputs.columns) if inputs is not None else ()
    return {
        "inputs": [_take_column(column, f"inputs.{i}", tensors) for i, column in columns] or None,
        "raw_promise": None if promise is None else promise.feature_names,
        "link": None if link is None else written_link(link),
    }


def put_ends(structure: dict[str, Any], tensors: Tensors) -> dict[str, Any]:
    """Keyword arguments of FrozenNetwork: inputs, raw_promise, link."""
    inputs = promise = link = None
    if structure["inputs"] is not None:
        columns = [_put_column(entry, f"inputs.{i}", tensors) for i, entry in enumerate(structure["inputs"])]
        inputs = InputTransform(tuple(columns))
    if structure["raw_promise"] is not None:
        promise = SlopeBounds(tensors["raw.lower"], tensors["raw.upper"], tuple(structure["raw_promise"]))
    if structure["link"] is not None:
        link = read_link(structure["link"])
    return {"inputs": inputs, "raw_promise": promise, "link": link}


def written_link(link: OutputLink) -> dict[str, Any]:
    """JSON of a link. positive: of two classes the position of the one that f is about."""
    return {"name": link.name, "labels": link.labels, "positive": link.positive, "target": link.target}


def read_link(entry: dict[str, Any]) -> OutputLink:
    """The inverse of `written_link`; fields that others add are left to them."""
    labels = entry["labels"]
    return OutputLink(entry["name"], None if labels is None else tuple(labels), entry["positive"], entry["target"])


def _take_column(column: Column, prefix: str, tensors: Tensors) -> dict[str, Any]:
    if isinstance(column, CategoryColumn):
        tensors[f"{prefix}.table"] = column.table
        return {"name": column.name, "categories": list(column.categories), "ordered": column.ordered}
    tensors[f"{prefix}.knots"] = np.concatenate([phi.knots for phi in column.maps])
    tensors[f"{prefix}.values"] = np.concatenate([phi.values for phi in column.maps])
    tensors[f"{prefix}.tails"] = np.array([[phi.left_slope, phi.right_slope] for phi in column.maps])
    if column.missing is not None:
        tensors[f"{prefix}.missing"] = np.array(column.missing)
    lengths = [phi.knots.size for phi in column.maps]
    entry = {"name": column.name, "knots": lengths, "missing": column.missing is not None, "present": column.present}
    return entry if column.seen is None else {**entry, "seen": list(column.seen)}


def _put_column(entry: dict[str, Any], prefix: str, tensors: Tensors) -> Column:
    if "categories" in entry:
        return CategoryColumn(entry["name"], tuple(entry["categories"]), tensors[f"{prefix}.table"], entry["ordered"])
    ends = np.cumsum([int(n) for n in entry["knots"]])[:-1]
    knots, values = (np.split(tensors[f"{prefix}.{part}"], ends) for part in ("knots", "values"))
    tails = tensors[f"{prefix}.tails"].tolist()
    maps = tuple(PiecewiseLinear(k, v, *tail) for k, v, tail in zip(knots, values, tails, strict=True))
    missing = tuple(tensors[f"{prefix}.missing"].tolist()) if entry["missing"] else None
    seen = tuple(entry["seen"]) if "seen" in entry else None
    return NumericColumn(entry["name"], maps, missing, entry["present"], seen)
