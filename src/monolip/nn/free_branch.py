"""Free inputs: an unconstrained module in front of a constrained network, for features nobody asked a slope of."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..errors import FreezeError, PromiseError, StructureError
from ..free_branch import FreeBranch
from ..frozen import FrozenNetwork
from ..slopes import SlopeBounds
from .convex_mlp import ConvexMLP
from .fixed import FixedOptions
from .freezable import check_is_data, check_no_hooks
from .slope_bounded import SlopeBounded

__all__ = ["WithFreeBranch"]

_NAMES = {nn.Identity: "identity", nn.ReLU: "relu", nn.Tanh: "tanh", nn.SiLU: "silu"}


class WithFreeBranch(FixedOptions):
    r"""f(x, u) = network([x, branch(u)]): slopes promised for x, nothing promised for u.

    The branch may be anything (an image backbone, an embedding); whatever it computes does not depend on x, so
    df/dx stays inside the network's intervals.

    Args:
        network: a ConvexMLP or SlopeBounded over the constrained features followed by the branch's outputs.
        branch: a module from the free inputs to `branch_features` numbers.
        branch_features: how many of the network's inputs, the last ones, the branch feeds.

    Shape: x (..., n_features), u whatever the branch takes -> (..., out_features).

    Examples:
        >>> slopes = SlopeBounds.from_monotonic_cst([1, 0, 0], 1.0)  # one increasing feature, two branch outputs
        >>> f = WithFreeBranch(ConvexMLP(slopes), nn.Linear(10, 2), branch_features=2)
        >>> f(torch.randn(5, 1), torch.randn(5, 10)).shape
        torch.Size([5, 1])
        >>> print(f.slopes)
        feature  promised    slope interval
        0        increasing  [0, 1]
    """

    _fixed = frozenset({"slopes", "branch_features"})

    def __init__(self, network: ConvexMLP | SlopeBounded, branch: nn.Module, branch_features: int) -> None:
        super().__init__()
        if not isinstance(network, ConvexMLP | SlopeBounded):
            raise PromiseError(
                f"the network behind a free branch must carry slopes; got {type(network).__name__}; use ConvexMLP or "
                "SlopeBounded."
            )
        is_int = isinstance(branch_features, int) and not isinstance(branch_features, bool)
        if not is_int or not 0 < branch_features < network.in_features:
            raise StructureError(
                f"the branch must feed some of the {network.in_features} inputs, not all; got branch_features="
                f"{branch_features!r}; the network's slopes list the constrained features first, then the branch's."
            )
        self.network, self.branch, self.branch_features = network, branch, branch_features

    @property
    def slopes(self) -> SlopeBounds:
        """The promise, for the constrained features only."""
        inside, d = self.network.slopes, self.network.in_features - self.branch_features
        names = None if inside.feature_names is None else inside.feature_names[:d]
        return SlopeBounds(inside.lower[:d], inside.upper[:d], names)

    def forward(self, x: Tensor, free: Tensor) -> Tensor:
        features = self.branch(free)
        if features.shape[-1] != self.branch_features:
            raise StructureError(
                f"the branch must give {self.branch_features} features; got {features.shape[-1]}; correct one of them."
            )
        dtype = torch.promote_types(x.dtype, features.dtype)
        joined: Tensor = self.network(torch.cat([x.to(dtype), features.to(dtype)], -1))
        return joined

    def freeze(self, *, from_features: bool = False) -> FrozenNetwork:
        """A FrozenNetwork over [x, u]; with `from_features`, over [x, branch(u)], for branches that cannot be stored.

        A branch is stored when it is dense: nn.Linear with ReLU, Tanh, SiLU or nothing after it.
        """
        check_is_data(self, WithFreeBranch)
        frozen: FrozenNetwork = self.network.freeze()
        if from_features:
            return frozen
        return FrozenNetwork(frozen.promise, frozen.members, frozen.member_weights, free_branch=_dense(self.branch))


def _dense(branch: nn.Module) -> FreeBranch:
    layers = list(branch) if type(branch) is nn.Sequential else [branch]  # a subclass may do anything
    weights: list[Any] = []
    biases: list[Any] = []
    activations: list[str] = []
    check_no_hooks(branch)
    for layer in layers:
        if type(layer) is nn.Linear:
            weight = layer.weight.detach().double().cpu().numpy()
            weights.append(weight)
            biases.append(weight[:, 0] * 0 if layer.bias is None else layer.bias.detach().double().cpu().numpy())
            activations.append("identity")
        elif type(layer) in _NAMES and activations and activations[-1] == "identity":
            activations[-1] = _NAMES[type(layer)]
        else:
            raise FreezeError(
                f"a free branch is frozen when it is dense (nn.Linear, ReLU, Tanh, SiLU); got {type(layer).__name__}: "
                "convolutions and other code are not stored in a FrozenNetwork; use freeze(from_features=True), which "
                "freezes from the branch's feature vector on, and export the branch by itself."
            )
    return FreeBranch(tuple(weights), tuple(biases), tuple(activations))
