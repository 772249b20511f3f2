"""The three regressions of the toy example: unconstrained, the paper's LMN, and the default estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from monolip import FrozenNetwork, MonotonicRegressor, SlopeBounds
from monolip.certify import certify
from paper.networks import lmn, train, unconstrained

__all__ = ["LAMBDA", "MODELS", "Curve", "fit"]

FloatArray = NDArray[np.float64]

LAMBDA = 1.5  # slopes in [0, 3]; the steepest of the truth is 2.1
HIDDEN = (64, 64)
MODELS = ("unconstrained", "lmn", "convex")


@dataclass(frozen=True)
class Curve:
    """score: (n,) -> (n,); frozen: the certified network of a monotone model."""

    score: Callable[[FloatArray], FloatArray]
    frozen: FrozenNetwork | None = None

    def certified(self) -> tuple[float, float]:
        """The slope interval of the certificate, proved again by the independent checker."""
        assert self.frozen is not None
        certificate = certify(self.frozen)
        certificate.check()
        (claim,) = certificate
        assert claim.lower is not None
        assert claim.upper is not None
        return claim.lower, claim.upper

    def falling_ulp_steps(self, x: FloatArray) -> int:
        """How many steps from x to the next number above it make the evaluated curve fall."""
        return int(np.sum(self.score(np.nextafter(x, np.inf)) < self.score(x)))


def fit(name: str, x: FloatArray, y: FloatArray, seed: int, steps: int) -> Curve:
    """One of MODELS on n points; the two torch networks see all of them in each of `steps` steps."""
    rows = x[:, None]
    slopes = SlopeBounds.from_paper(LAMBDA, [1], feature_names=["x"])
    if name == "convex":
        interval = (float(slopes.lower[0]), float(slopes.upper[0]))
        model = MonotonicRegressor(slopes={0: interval}, random_state=seed).fit(rows, y)
        return Curve(lambda at: model.predict(at[:, None]), model.frozen_)
    f = lmn(slopes, rows, HIDDEN, seed) if name == "lmn" else unconstrained(rows, HIDDEN, seed)
    squared = nn.functional.mse_loss
    train(f, rows, y, squared, epochs=steps, batch_size=len(rows), rates=(1e-2, 1e-3), seed=seed)
    if name == "lmn":
        frozen: FrozenNetwork = f.freeze()
        return Curve(lambda at: frozen.evaluate(at[:, None])[:, 0], frozen)

    def score(at: FloatArray) -> FloatArray:
        with torch.no_grad():
            return np.asarray(f(torch.tensor(at[:, None], dtype=torch.float32))[:, 0], dtype=np.float64)

    return Curve(score)
