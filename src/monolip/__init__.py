"""monolip: neural networks whose partial derivatives provably stay inside intervals you choose.

>>> from monolip import SlopeBounds
>>> print(SlopeBounds.from_monotonic_cst({"income": -1}, max_slope=2.0, feature_names=["income", "age"]))
feature  promised    slope interval
income   decreasing  [-2, 0]
age      bounded     [-2, 2]
"""

from __future__ import annotations

from typing import Any

from monolip._version import __version__
from monolip.lazy_names import lazy_name

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
_MODULES = ("certify", "engine", "errors", "export", "nn", "report")

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    return lazy_name(__name__, _HOMES | dict.fromkeys(_MODULES, ""), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
