r"""Training on the stream: members go on from the fit of the sample, over buffers of shuffled rows.

buffer    131,072 rows from at least 8 row groups, packed once for all members, made by a thread ahead of training
stretch   16 buffers, then twice as many each time; rates fall along half a cosine from buffer to buffer, and the
          pull towards the additive start fades as rows grow; they begin at 0.3 of the rates of `fit`
judge     after each stretch the average of all members, on the rows held out; the best so far is kept, beginning
          with the fit of the sample: training on can lose nothing
stop      when two stretches in a row gained less than 0.1 %, or all rows have been visited as often as asked for
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import cos, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine.anchored import Anchored
from monolip.engine.judging import mean_loss, outputs_of
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.engine.training_options import TrainingOptions
from monolip.estimators._training import Job, run_jobs
from monolip.estimators.stages import AROUND, FROM_ZERO
from monolip.estimators.stream._sample_fit import SampleFit

__all__ = ["Refiner", "Standing", "stretches", "whole_network"]

FloatArray = NDArray[np.float64]
Networks = tuple[NetworkArrays | None, ...]

FIRST = 16  # buffers of the first stretch
WORTH, PATIENCE = 0.001, 2
PEAK = 0.3  # of the rates of `fit`, at the start of a stretch: what was learned is refined, not learned anew
USUAL = TrainingOptions()


def stretches(n_buffers: int) -> list[tuple[int, int]]:
    """(start, stop) of each: twice as long each time; what would be left over belongs to the last one."""
    found: list[tuple[int, int]] = []
    start, length = 0, FIRST
    while start < n_buffers:
        stop = start + length
        stop = n_buffers if n_buffers - stop < length else stop
        found.append((start, stop))
        start, length = stop, 2 * length
    return found


@dataclass
class Standing:
    """Where training stands, and all a checkpoint has to keep: buffers done, networks now and best, losses so far.

    rows: trained on at each loss. visited: trained on by now; rows held out, or without weight, are not.
    """

    networks: Networks
    best: Networks
    done: int = 0
    losses: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    finished: bool = False
    visited: int = 0


@dataclass
class Refiner:
    """problems: learning problems of buffers from a number on. held_out: the problem judged on, or None."""

    fit: SampleFit
    held_out: Problem | None
    n_buffers: int
    seed: int
    n_threads: int
    deadline: float | None = None
    interrupted: bool = False
    cut_short: bool = False  # by time or Ctrl-C: a checkpoint goes on from what it knew before

    def run(
        self, standing: Standing, problems: Callable[[int], Iterator[Problem | None]],
        keep: Callable[[Standing, bool], None],
    ) -> None:  # fmt: skip
        """keep: called after every buffer, and after every judgement (True), to write a checkpoint."""
        if self.held_out is not None and not standing.losses:
            standing.losses.append(self.judge(standing.networks))
            standing.rows.append(0)
        spans = stretches(self.n_buffers)
        made = problems(standing.done)
        try:
            for number, (start, stop) in enumerate(spans):
                if standing.done >= stop:
                    continue
                if standing.finished or not self._climb(standing, made, number, start, stop, keep):
                    break
                self._settle(standing)
                keep(standing, True)
                if stop < self.n_buffers and self.deadline is not None and time.perf_counter() >= self.deadline:
                    self.cut_short = True
                    return
        finally:
            getattr(made, "close", lambda: None)()
        if self.cut_short:
            self._settle(standing)  # kept only if it is better
        standing.finished = True

    def _climb(
        self, standing: Standing, made: Iterator[Problem | None], number: int, start: int, stop: int,
        keep: Callable[[Standing, bool], None],
    ) -> bool:  # fmt: skip
        """Buffers up to `stop`; False where time or Ctrl-C ended it before."""
        decay = self.fit.decay * min(1.0, 2.0 / (stop - start))
        while standing.done < stop:
            rate = PEAK * 0.5 * (1 + cos(pi * (standing.done - start + 0.5) / (stop - start)))
            try:
                problem = next(made)
                if problem is not None:
                    standing.networks = self._train(problem, standing, number, rate, decay)
            except KeyboardInterrupt:
                self.interrupted = True
            if self.interrupted:
                self.cut_short = True
                return False
            standing.done += 1
            standing.visited += 0 if problem is None else len(problem.data.y)
            if standing.done < stop and self.deadline is not None and time.perf_counter() >= self.deadline:
                self.cut_short = True
                return False
            if standing.done < stop:
                keep(standing, False)
        return True

    def _train(self, problem: Problem, standing: Standing, number: int, rate: float, decay: float) -> Networks:
        """Every member sees the rows of a buffer once, in an order of its own."""
        index = np.arange(len(problem.data.y), dtype=np.int32)
        batch = min(self.fit.batch_size, len(index))
        jobs, seen = [], {}
        for member, (start, network) in enumerate(zip(self.fit.starts, standing.networks, strict=True)):
            if id(start) not in seen:
                seen[id(start)] = Anchored(problem, start).problem
            options = TrainingOptions(
                n_steps=max(1, len(index) // batch),
                batch_size=batch,
                slope_rate=self.fit.slope_rate * rate,
                mixing_rate=USUAL.mixing_rate * rate,
                output_rate=USUAL.output_rate * rate,
                bias_rate=USUAL.bias_rate * rate,
                slope_decay=decay,
                cosine=False,
                initial_slope=FROM_ZERO if start is None else AROUND,
                n_snapshots=1,
                seed=(self.seed + 7919 * member + 15485863 * (standing.done + 1)) % 2**31,
            )
            jobs.append(Job(member, number, seen[id(start)], options, index, None, network))
        results = run_jobs(jobs, self.n_threads, None)
        if any(result.stopped == "interrupted" for result in results):
            self.interrupted = True
            return standing.networks
        return tuple(result.snapshots[-1].network for result in results)

    def _settle(self, standing: Standing) -> None:
        """Judge; keep the best; is it worth going on?"""
        if self.held_out is None:
            standing.best = standing.networks
            return
        loss, before = self.judge(standing.networks), min(standing.losses)
        if loss < before:
            standing.best = standing.networks
        standing.losses.append(loss)
        standing.rows.append(standing.visited)
        best = np.minimum.accumulate(standing.losses)
        if len(best) > PATIENCE:
            gained = best[-1 - PATIENCE] - best[-1]
            standing.finished = bool(gained < WORTH * abs(best[-1 - PATIENCE]))

    def whole(self, networks: Networks) -> list[NetworkArrays]:
        """f = start + g of each member."""
        return [whole_network(self.fit, member, g) for member, g in enumerate(networks)]

    def outputs(self, networks: Networks) -> NDArray[Any]:
        """Of the average of all members, for the rows held out, in order of memory."""
        assert self.held_out is not None
        rows = np.arange(len(self.held_out.data.y), dtype=np.int32)
        parts = [outputs_of(f, self.held_out, rows) for f in self.whole(networks)]
        return np.asarray(np.mean(parts, axis=0, dtype=np.float64))

    def judge(self, networks: Networks) -> float:
        assert self.held_out is not None
        rows = np.arange(len(self.held_out.data.y), dtype=np.int32)
        return mean_loss(self.held_out, rows, self.outputs(networks))


def whole_network(fit: SampleFit, member: int, g: NetworkArrays | None) -> NetworkArrays:
    """start + g with first-layer rows exactly inside the boxes, in units of the target."""
    if g is None:
        return fit.linear[member]
    start = fit.starts[member]
    if start is None:
        return g
    with np.errstate(over="ignore"):
        lower, upper = fit.boxes.lower[0] / fit.target.scale, fit.boxes.upper[0] / fit.target.scale
    first = np.clip(g.weights[0] + start.slopes, lower, upper)
    return g._replace(weights=(first, *g.weights[1:]), biases=(*g.biases[:-1], g.biases[-1] + start.constant))
