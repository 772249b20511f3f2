"""A small learning problem with features in bins, for tests of steps."""

from __future__ import annotations

import itertools

import numpy as np

from monolip.engine.architecture import Architecture
from monolip.engine.problem import Problem

MANY = (3, 1, 8, 40)  # bins of each feature


def problem(counts=MANY, outputs=1, n=130, double=False, hidden=(32, 32), paper_form=False, low=-1.0, fan_in=16):
    rng = np.random.default_rng(5)
    columns, bins = [rng.normal(size=n)], []
    for count in counts:
        u = rng.normal(size=n)
        edges = np.quantile(u, np.linspace(0.05, 0.95, count + 1))
        bins.append((len(columns), len(columns) + count))
        columns += [np.clip(u, a, b) - (a + b) / 2 for a, b in itertools.pairwise(edges)]
    x = np.stack(columns, 1)
    y = np.stack([np.sin(2 * x.sum(1) + k) for k in range(outputs)], 1)
    lower, upper = np.full((outputs, x.shape[1]), low), np.full((outputs, x.shape[1]), 2.0)
    upper[0, :3] = 1.5  # the first output has a trunk of its own
    architecture = Architecture(hidden=hidden, fan_in=fan_in, paper_form=paper_form)
    return Problem(x, y, lower, upper, architecture=architecture, bins=bins, double=double)
