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
    "GroupSort",
    "Householder",
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
    "init",
    "parameter_groups",
    "project_",
    "verify",
]
