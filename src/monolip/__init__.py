"""monolip: neural networks whose partial derivatives provably stay inside intervals you choose.

>>> from monolip import SlopeBounds
>>> print(SlopeBounds.from_monotonic_cst({"income": -1}, max_slope=2.0, feature_names=["income", "age"]))
feature  promised    slope interval
income   decreasing  [-2, 0]
age      bounded     [-2, 2]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monolip._version import __version__
from monolip.lazy_names import lazy_name

if TYPE_CHECKING:  # what type checkers and editors read; at run time a name is loaded on first use
    from monolip import certify, engine, errors, export, nn, report
    from monolip.certify import Certificate, audit
    from monolip.convex import ConvexForm
    from monolip.estimators import FitOptions, MonotonicClassifier, MonotonicRegressor
    from monolip.fixed_point import FixedPointNetwork
    from monolip.frozen import FrozenNetwork
    from monolip.norms import Norm, Rule
    from monolip.paper_form import PaperForm
    from monolip.slope_set import SlopeSet
    from monolip.slopes import SlopeBounds

# Where each public name lives. Loaded on first use: importing monolip loads neither torch nor numba.
_HOMES = {
    "Certificate": "certify",
    "ConvexForm": "convex",
    "FitOptions": "estimators",
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

__all__ = [
    "Certificate",
    "ConvexForm",
    "FitOptions",
    "FixedPointNetwork",
    "FrozenNetwork",
    "MonotonicClassifier",
    "MonotonicRegressor",
    "Norm",
    "PaperForm",
    "Rule",
    "SlopeBounds",
    "SlopeSet",
    "__version__",
    "audit",
    "certify",
    "engine",
    "errors",
    "export",
    "nn",
    "report",
]


if not TYPE_CHECKING:  # else every misspelt name would be there, as Any

    def __getattr__(name: str) -> Any:
        return lazy_name(__name__, _HOMES | dict.fromkeys(_MODULES, ""), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
