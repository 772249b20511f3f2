"""A network in training: the arrays, one chunk of steps at a time, and what has been learned so far."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.engine._start import best_constant, new_state, start_params
from monolip.engine._state import State
from monolip.engine._steps import run_steps, total_loss
from monolip.engine.problem import Problem
from monolip.engine.training_options import TrainingOptions
from monolip.errors import InputError

__all__ = ["NetworkArrays", "Trainer"]

FloatArray = NDArray[Any]


class NetworkArrays(NamedTuple):
    """A network as float64 arrays: weights (out, in), biases (out,), sort group size of each hidden layer.

    fan_in: of block-diagonal layers, whose weights are filled up with zeros (None: dense). center: (outputs, d) of
    paper form, f(x) = center . x + network(x); None in convex form.
    """

    weights: tuple[NDArray[np.float64], ...]
    biases: tuple[NDArray[np.float64], ...]
    group_sizes: tuple[int, ...]
    fan_in: int | None
    center: NDArray[np.float64] | None


class Trainer:
    """Owns the state of one fit on some rows of a problem. `network` is what is promised, exactly inside its sets.

    start: a network of the same architecture to go on from; None: a fresh one.
    """

    def __init__(
        self,
        problem: Problem,
        options: TrainingOptions,
        index: ArrayLike | None = None,
        start: NetworkArrays | None = None,
    ) -> None:
        self.problem, self.options = problem, options
        self.index = problem.places(index)
        self._weighed: tuple[NDArray[np.int32], float] | None = None
        self.value, self.slope = problem.kernels
        self.constants = options.constants(problem.architecture.paper_form, problem.dtype)
        self.schedule = options.schedule(problem.dtype)
        self._learned: tuple[FloatArray, int] | None = None
        params = self._fresh() if start is None else problem.layout.flat(*start[:2], problem.dtype)
        self._state: State | None = self._new_state(params)

    @property
    def state(self) -> State:
        """All arrays of training; after `finish` made again for who still asks, with what has been learned."""
        if self._state is None:
            assert self._learned is not None, "finish keeps it"
            params, steps = self._learned
            self._state = self._new_state(params)
            self._state.average[:], self._state.clock[0] = params, steps
        return self._state

    def _new_state(self, params: FloatArray) -> State:
        problem, options = self.problem, self.options
        return new_state(
            problem.layout, params, problem.flat_box(), problem.data, self.index, problem.run, options.seed,
            problem.architecture.paper_form, problem.means if options.centred else np.zeros_like(problem.means),
        )  # fmt: skip

    def _fresh(self) -> FloatArray:
        problem, options, data = self.problem, self.options, self.problem.data
        lower, upper = problem.first_layer_box()
        constant = self._constant()
        if len(data.offset):  # an offset already explains its mean; the network starts with the rest
            constant = constant - data.offset[self.index].mean(0)
        return start_params(
            problem.layout, np.random.default_rng(options.seed), problem.rows_at, self.index, lower, upper,
            options.initial_slope, constant, problem.architecture.paper_form, problem.dtype,
        )  # fmt: skip

    def _constant(self) -> FloatArray:
        data, index = self.problem.data, self.index
        y, weight = data.y[index].astype(np.float64), data.weight[index].astype(np.float64)
        return best_constant(self.problem.loss, y, weight, len(self.problem.layout.output_order))

    @property
    def steps_done(self) -> int:
        return int(self.state.clock[0])

    def advance(self, steps: int) -> None:
        """Do so many steps; how they are cut into calls changes nothing."""
        steps, batch_size = min(steps, self.options.n_steps - self.steps_done), self.options.batch_size
        finite = self._run(steps, min(batch_size, len(self.index)), self.options.centred, learn=True)
        if not finite or not np.isfinite(self.state.stepped.params).all():
            raise InputError(self.why_not_finite(f"gradient of the {self.problem.loss.name} loss"))

    def _run(self, steps: int, batch_size: int, centred: bool, learn: bool) -> bool:
        layout = self.problem.layout
        return run_steps(
            self.problem.data, layout.layers, layout.blocks, self.state, self.slope.address, self.problem.parameter,
            self.constants, self.schedule, steps, batch_size, centred, learn,
        )  # fmt: skip

    def why_not_finite(self, what: str) -> str:
        """The error's text: what overflowed, when, and the largest numbers that went in."""
        data = self.problem.data
        largest = {"|x|": np.abs(data.x).max(), "|y|": np.abs(data.y).max()}
        if len(data.offset):
            largest["|offset|"] = np.abs(data.offset).max()
        found = ", ".join(f"largest {name} = {value:.3g}" for name, value in largest.items())
        return (
            f"the {what} must stay finite; it was not after {self.steps_done} steps ({found});"
            " rescale what is large, or lower slope_rate and bias_rate."
        )

    def loss(self, rows: ArrayLike | None, params: FloatArray | None = None) -> float:
        """Weighted mean loss over rows of the problem, of the network learned so far (or of given parameters)."""
        return self.loss_at(self.problem.places(rows), params)

    def loss_at(self, places: NDArray[np.int32], params: FloatArray | None = None) -> float:
        """`loss` for rows given by where the problem keeps them."""
        layout, data = self.problem.layout, self.problem.data
        params = self.current() if params is None else params
        total = total_loss(
            data, places, layout.layers, layout.blocks, params, self.state.lanes, self.value.address,
            self.problem.parameter,
        )  # fmt: skip
        weight = self._weight_of(places)
        if not weight > 0.0:
            raise InputError(
                "rows that judge a network must count; got weights that are 0 in single precision for all of them; "
                "give them more weight, or leave them out."
            )
        return float(total) / weight

    def finite_loss(self, what: str, places: NDArray[np.int32], params: FloatArray) -> float:
        """`loss_at`; a loss that is not finite is an error that calls it by name."""
        loss = self.loss_at(places, params)
        if not math.isfinite(loss):
            raise InputError(self.why_not_finite(f"{what} {self.problem.loss.name} loss"))
        return loss

    def _weight_of(self, places: NDArray[np.int32]) -> float:
        """Weight of all the rows; remembered, since snapshots are judged on the same rows again and again."""
        if self._weighed is None or self._weighed[0] is not places:
            self._weighed = places, float(self.problem.data.weight[places].sum(dtype=np.float64))
        return self._weighed[1]

    def finish(self, n_watched: int) -> None:
        """Give back what only further steps would need; the first rows trained on stay, to be judged.

        Members are trained one after the other: the next one gets this memory while it is still in the cache.
        """
        self._learned = self.current(), self.steps_done
        self.index, self._state = self.index[:n_watched].copy(), None

    def gradient(self) -> FloatArray:
        """Gradient of the mean loss over the rows trained on, at the last iterate, flat as the parameters are."""
        self.state.clock[1] = len(self.index)  # a new epoch: each row once
        self._run(1, len(self.index), centred=False, learn=False)
        return np.asarray(self.state.stepped.gradient / self.problem.data.weight[self.index].mean())

    def current(self) -> FloatArray:
        """A copy of the parameters to judge: the average of iterates, where one is kept."""
        averaged = self.options.averaging > 0 and self.steps_done > 0
        return (self.state.average if averaged else self.state.stepped.params).copy()

    def network(self, params: FloatArray | None = None) -> NetworkArrays:
        """Parameters as a network whose first-layer rows lie in the slope box exactly, in float64."""
        problem, architecture = self.problem, self.problem.architecture
        weights, biases = problem.layout.dense(self.current() if params is None else params)
        lower, upper = problem.first_layer_box()
        if not architecture.hidden:  # rows are outputs here, and dense() has put them back into the user's order
            users = np.argsort(problem.layout.output_order)
            lower, upper = lower[users], upper[users]  # of one output a single row, which is put where it was
        first = np.minimum(np.maximum(weights[0], lower), upper)
        later = weights[1:] if architecture.paper_form else tuple(np.maximum(w, 0.0) for w in weights[1:])
        sizes = problem.layout.group_sizes
        return NetworkArrays((first, *later), biases, sizes, architecture.fan_in, problem.center)
