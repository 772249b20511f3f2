"""Compiled kernels (numba): ordered evaluation, searches for broken promises, and training of tabular networks.

ordered           evaluate_ordered: one stated order of operations, the same bits in any batch
bfloat16          evaluate_bfloat16: the same in an emulated half precision
ulp_search        search_decreases: try to break a direction by one-ulp steps
adversarial_search  attack_directions: a billion pairs of four kinds of chains
integer_search    attack_integers, evaluate_carried: the same for fixed-point networks

architecture      Architecture: layers, sort groups, fan-in, form
losses            Loss: what is learned
row_source        RowSource: a table whose rows are made when asked for
problem           Problem: rows, slope intervals, loss and architecture; checked and copied once
training_options  TrainingOptions: the constants of the recipe
training          train: one network, with snapshots, early stopping, a time limit and a clean stop
members           train_members: several in threads
trainer           Trainer: one network, step by step
additive          fit_additive: the best additive function inside the slope intervals, where training starts
anchored          Anchored: training around such a start
judging           mean_loss: the loss of several members together
freezing          freeze: a trained network as a FrozenNetwork

Modules that begin with an underscore are kernels and layouts. Networks are plain arrays: see trainer.NetworkArrays.
The names below are public: one network, trained as its caller says, every snapshot of it to be looked at.

>>> import numpy as np
>>> from monolip import SlopeBounds
>>> from monolip.engine import Architecture, Problem, TrainingOptions, freeze, train
>>> x = np.linspace(-1, 1, 64)[:, None]
>>> rising = SlopeBounds.from_monotonic_cst([1], max_slope=2.0)
>>> problem = Problem(x, np.tanh(x[:, 0]), rising.lower, rising.upper, architecture=Architecture(hidden=(4,)))
>>> result = train(problem, TrainingOptions(n_steps=50, n_snapshots=5))
>>> len(result.snapshots), freeze(result.network, rising).n_features
(5, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monolip.lazy_names import lazy_name

if TYPE_CHECKING:  # what type checkers and editors read; at run time a name is loaded on first use
    from monolip.engine.architecture import Architecture
    from monolip.engine.freezing import freeze
    from monolip.engine.losses import Loss
    from monolip.engine.problem import Problem
    from monolip.engine.trainer import NetworkArrays
    from monolip.engine.training import Snapshot, TrainingResult, train
    from monolip.engine.training_options import TrainingOptions

# Where each public name lives. Loaded on first use: a name of the engine may load numba.
_HOMES = {
    "Architecture": "architecture",
    "Loss": "losses",
    "NetworkArrays": "trainer",
    "Problem": "problem",
    "Snapshot": "training",
    "TrainingOptions": "training_options",
    "TrainingResult": "training",
    "freeze": "freezing",
    "train": "training",
}

__all__ = [
    "Architecture",
    "Loss",
    "NetworkArrays",
    "Problem",
    "Snapshot",
    "TrainingOptions",
    "TrainingResult",
    "freeze",
    "train",
]


if not TYPE_CHECKING:  # else every misspelt name would be there, as Any

    def __getattr__(name: str) -> Any:
        return lazy_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
