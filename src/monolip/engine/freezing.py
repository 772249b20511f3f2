r"""A trained network as a FrozenNetwork, which proves the promise for the numbers it stores.

later rows: rounded to sums of exactly 1; first rows and biases: as they were trained
"""

from __future__ import annotations

from monolip.convex import ConvexForm, on_simplex
from monolip.engine.trainer import NetworkArrays
from monolip.errors import FreezeError
from monolip.frozen import FrozenNetwork, Trunk
from monolip.slopes import SlopeBounds

__all__ = ["freeze"]


def freeze(network: NetworkArrays, slopes: SlopeBounds) -> FrozenNetwork:
    """One trained network of convex form, with the promise `slopes`: the intervals its problem was made with.

    All outputs share the intervals. A network that breaks them is a FreezeError: what is returned keeps its promise,
    proved in rational arithmetic.

    Args:
        network: of a `TrainingResult` or of one of its snapshots.
        slopes: one interval for each column of the problem.

    Examples:
        >>> import numpy as np
        >>> from monolip.engine import Problem, TrainingOptions, train
        >>> x, slopes = np.linspace(0, 1, 50)[:, None], SlopeBounds([0.0], [3.0])
        >>> result = train(Problem(x, x[:, 0] ** 2, slopes.lower, slopes.upper), TrainingOptions(n_steps=20))
        >>> low, high = freeze(result.network, slopes).slope_range
        >>> bool(low[0] >= 0 and high[0] <= 3)
        True
    """
    if network.center is not None:
        raise FreezeError(
            "a network of the engine is frozen in convex form; got one of paper form, with a residual; train with "
            "Architecture(paper_form=False), or build it with monolip.nn and freeze that."
        )
    later = tuple(on_simplex(weight) for weight in network.weights[1:])
    form = ConvexForm((network.weights[0], *later), network.biases, network.group_sizes)
    return FrozenNetwork(slopes, ((Trunk(form, tuple(range(form.n_outputs))),),))
