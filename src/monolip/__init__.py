"""monolip: neural networks whose partial derivatives provably stay inside intervals you choose.

>>> from monolip import SlopeBounds
>>> print(SlopeBounds.from_monotonic_cst({"income": -1}, max_slope=2.0, feature_names=["income", "age"]))
feature  promised    slope interval
income   decreasing  [-2, 0]
age      bounded     [-2, 2]
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ._version import __version__

# Where each public name lives. Loaded on first use: importing monolip loads neither torch nor numba.
_HOMES = {
    "Certificate": "certify",
    "ConvexForm": "convex",
    "FixedPointNetwork": "fixed_point",
    "FrozenNetwork": "frozen",
    "MonotonicClassifier": "estimators",
    "MonotonicRegressor": "estimators",
    "Norm": "norms",
    "PaperForm": "paper_form",
    "Rule": "norms",
    "SlopeBounds": "slopes",
    "SlopeSet": "slope_set",
    "audit": "certify",
}
_MODULES = ("certify", "errors", "export", "nn", "report")

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
