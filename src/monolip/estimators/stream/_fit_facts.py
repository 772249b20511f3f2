"""What a fit of a stream is about, as JSON: a checkpoint of other facts is refused."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from numbers import Integral
from typing import Any

from monolip._version import __version__
from monolip.estimators.stream._batch import Layout
from monolip.estimators.stream._plan import Plan
from monolip.estimators.stream.source import Source

__all__ = ["fit_facts"]

_NO_FACTS = ("n_jobs", "verbose", "max_time")  # threads change no bit, and a budget begins anew


def fit_facts(model: Any, files: Source, layout: Layout, plan: Plan, seed: int) -> dict[str, Any]:
    """Everything a bit of the result depends on."""
    own = {name: _plain(value) for name, value in model.get_params(deep=False).items() if name not in _NO_FACTS}
    if not isinstance(model.random_state, Integral):  # a generator: what it has just given
        own["random_state"] = {"drawn": seed}
    share = {} if layout.left_out is None else {"left out": [layout.left_out.share, layout.left_out.seed]}
    return {
        **share,
        "estimator": type(model).__name__,
        "files": files.listing,
        "order of files (sha256)": hashlib.sha256(json.dumps(list(files.listing)).encode()).hexdigest(),
        "columns": {
            "list of features": list(layout.features),
            "target": layout.target,
            "sample_weight": layout.weight,
            "offset": layout.offset,
        },
        "arguments": own,
        "plan": [plan.capacity, plan.held_out, plan.batch_rows, plan.n_passes],
        "versions": {"monolip": __version__, "numpy": version("numpy"), "numba": version("numba")},
        "processor": platform.machine(),
    }


def _plain(value: Any) -> Any:
    """An argument as JSON, every entry of it: a repr cuts long arrays short."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else repr(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):  # arrays, numbers of numpy, columns of data frames
        return _plain(value.tolist())
    return value if value is None or isinstance(value, str | int | float) else repr(value)
