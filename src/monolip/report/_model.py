"""What is drawn: the network of a model, the features and output asked for, some rows, and the unit of f."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from monolip.certify.certificate import certify
from monolip.errors import CertificateError, InputError
from monolip.estimators._base import MonotonicBase
from monolip.estimators._schema import Schema, table_like
from monolip.estimators._tables import RawTable
from monolip.frozen import FrozenNetwork
from monolip.input_columns import plain_value

__all__ = [
    "Intervals",
    "certified_slopes",
    "network_to_draw",
    "rows_to_draw",
    "unit_of",
    "wanted_features",
    "wanted_output",
]

Intervals = dict[str, tuple[float, float]]


def network_to_draw(model: Any, drawer: str) -> FrozenNetwork:
    """Of a fitted estimator, or a network that takes raw columns; drawer: the name in the message."""
    if isinstance(model, MonotonicBase):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        network: FrozenNetwork = model.frozen_
        return network
    if isinstance(model, FrozenNetwork) and model.inputs is not None and not model.n_free_features:
        return model
    got = "one without an input transform" if isinstance(model, FrozenNetwork) else type(model).__name__
    raise InputError(
        f"{drawer} draws a fitted MonotonicRegressor or MonotonicClassifier, or a FrozenNetwork that takes raw "
        f"columns; got {got}; pass one (of a Pipeline: its last step)."
    )


def wanted_features(features: Sequence[str] | str | None, names: tuple[str, ...]) -> list[str]:
    wanted = list(names) if features is None else [features] if isinstance(features, str) else list(features)
    unknown = [plain_value(name) for name in wanted if name not in names]
    if unknown or not wanted:
        raise InputError(f"features to draw must be known; got {unknown[:3]}; the features are {list(names[:8])}.")
    return wanted


def wanted_output(network: FrozenNetwork, output: Any) -> int:
    if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < network.n_outputs:
        raise InputError(f"output is a position from 0 to {network.n_outputs - 1}; got {output!r}; correct it.")
    return int(output)


def rows_to_draw(model: Any, network: FrozenNetwork, X: Any, most: int) -> RawTable:
    """Up to `most` rows, spread evenly over the table."""
    assert network.inputs is not None
    own = network.inputs.names != tuple(f"x{j}" for j in range(network.inputs.n_raw))
    schema = getattr(model, "_schema", None) or Schema.of(network.inputs, named=own)
    table = table_like(X, schema, type(model).__name__)
    return table.take(np.unique(np.linspace(0, table.n_rows - 1, most).astype(np.int64)))


def unit_of(network: FrozenNetwork, output: int) -> str:
    """What f is, for an axis: what slopes are of."""
    link = network.link
    if link is None:
        return "f"
    if link.name == "softmax":
        return f"logit of {(link.labels or ())[output]!r}"
    told = {"identity": "prediction", "log": "log of the prediction\n(0.1 more is about 10 % more)"}
    return told.get(link.name, link.unit)


def certified_slopes(model: Any, network: FrozenNetwork, output: int) -> Intervals:
    """(lower, upper) of every numeric feature for one output; of what cannot be certified, from its first layer."""
    try:
        certificate = model.certificate_ if network is not model else certify(network)
    except CertificateError:
        slopes = network.raw_slopes.for_output(output)
        ends = zip(slopes.lower.tolist(), slopes.upper.tolist(), strict=True)
        return dict(zip(slopes.feature_names or (), ends, strict=True))
    claims = list(certificate)[output :: network.n_outputs]
    return {c.feature: (c.lower, c.upper) for c in claims if c.lower is not None and c.upper is not None}
