"""PyTorch modules in both forms. Needs the `torch` extra; `import monolip` does not load it."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:  # pragma: no cover - exercised by a test that blocks torch in a subprocess
    from ..errors import MissingExtraError

    raise MissingExtraError("PyTorch", "torch") from error

from . import init
from .activations import GroupSort, Householder
from .conv import LipschitzConv2d
from .convex_layers import MixingLinear, SlopeLinear
from .convex_mlp import ConvexMLP
from .fit import Fit, fit
from .fit_group import process_group
from .fit_lanes import Lanes
from .fit_plan import FitPlan
from .fit_start import start_network
from .free_branch import WithFreeBranch
from .linear import LipschitzLinear
from .mlp import LipschitzMLP
from .projection import project_
from .rates import parameter_groups
from .sequential import LipschitzSequential
from .slope_bounded import LipschitzModule, SlopeBounded
from .temperature_loss import TemperatureCrossEntropy
from .verify import Verification, verify

__all__ = [
    "ConvexMLP",
    "Fit",
    "FitPlan",
    "GroupSort",
    "Householder",
    "Lanes",
    "LipschitzConv2d",
    "LipschitzLinear",
    "LipschitzMLP",
    "LipschitzModule",
    "LipschitzSequential",
    "MixingLinear",
    "SlopeBounded",
    "SlopeLinear",
    "TemperatureCrossEntropy",
    "Verification",
    "WithFreeBranch",
    "fit",
    "init",
    "parameter_groups",
    "process_group",
    "project_",
    "start_network",
    "verify",
]
