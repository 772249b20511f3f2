"""Four classifiers of candidates, each behind one face: log-odds of signal, and a frozen network where there is one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from monolip import FrozenNetwork, MonotonicClassifier, SlopeBounds
from paper.networks import lmn, train, unconstrained

from .sample import DIRECTIONS, FEATURES

__all__ = ["LAMBDA", "MODELS", "Model", "fit"]

FloatArray = NDArray[np.float64]

LAMBDA = 2.0  # as deployed: log-odds per unit of a logarithm, per GeV and per unit of vertex chi2
HIDDEN = (20, 20)
BATCH = 1024
MODELS = ("unconstrained", "trees", "lmn", "convex")


@dataclass(frozen=True)
class Model:
    """score: rows (n, d) -> log-odds (n,). frozen: what is certified, of monotone networks."""

    name: str
    score: Callable[[FloatArray], FloatArray]
    seconds: float
    n_parameters: int
    frozen: FrozenNetwork | None = None


def fit(name: str, rows: FloatArray, label: FloatArray, seed: int, steps: int) -> Model:
    """One of MODELS, fitted on balanced classes; `steps`, of 1024 rows each, are those of the two torch networks."""
    directions = [DIRECTIONS[feature] for feature in FEATURES[rows.shape[1]]]
    slopes = SlopeBounds.from_paper(LAMBDA, directions, feature_names=FEATURES[rows.shape[1]])
    begun = time.perf_counter()
    if name == "trees":
        score, n, frozen = _trees(rows, label, directions, seed)
    elif name == "convex":
        score, n, frozen = _convex(rows, label, slopes, seed)
    else:
        score, n, frozen = _network(name, rows, label, slopes, seed, steps)
    return Model(name, score, time.perf_counter() - begun, n, frozen)


Fitted = tuple[Callable[[FloatArray], FloatArray], int, FrozenNetwork | None]


def _network(name: str, rows: FloatArray, label: FloatArray, slopes: SlopeBounds, seed: int, steps: int) -> Fitted:
    if name == "lmn":
        f: nn.Module = lmn(slopes, rows, HIDDEN, seed)
        rates = (3e-2, 1e-3)
    else:
        f = unconstrained(rows, HIDDEN, seed)
        rates = (1e-2, 1e-3)
    entropy = nn.functional.binary_cross_entropy_with_logits
    epochs = -(-steps * BATCH // len(rows))
    train(f, rows, label, entropy, epochs=epochs, batch_size=BATCH, rates=rates, seed=seed)
    count = sum(p.numel() for p in f.parameters())
    if name == "lmn":
        frozen: FrozenNetwork = f.freeze()  # what is certified is what is scored
        return (lambda x: frozen.evaluate(x)[:, 0]), count, frozen

    def score(x: FloatArray) -> FloatArray:
        with torch.no_grad():
            return np.asarray(f(torch.tensor(x, dtype=torch.float32))[:, 0], dtype=np.float64)

    return score, count, None


def _trees(rows: FloatArray, label: FloatArray, directions: list[int], seed: int) -> Fitted:
    """As the LHCb study ran it: at most 1000 trees, rate 0.05, 25 leaves, stopped after 15 without gain."""
    import lightgbm  # a peer, and the only thing here that needs it

    held = np.random.default_rng(seed).random(len(rows)) < 0.2
    model = lightgbm.LGBMClassifier(
        n_estimators=1000,
        learning_rate=0.05,
        num_leaves=25,
        monotone_constraints=directions,
        random_state=seed,
        n_jobs=1,
        verbose=-1,
    )
    stop = lightgbm.early_stopping(15, verbose=False)
    model.fit(rows[~held], label[~held], eval_X=rows[held], eval_y=label[held], callbacks=[stop])
    leaves = sum(tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"][: model.best_iteration_])
    return (lambda x: np.asarray(model.predict(x, raw_score=True))), 2 * leaves, None


def _convex(rows: FloatArray, label: FloatArray, slopes: SlopeBounds, seed: int) -> Fitted:
    """The default estimator under the very intervals of the LMN."""
    intervals = {k: (lower, upper) for k, (lower, upper) in enumerate(zip(slopes.lower, slopes.upper, strict=True))}
    model = MonotonicClassifier(slopes=intervals, random_state=seed).fit(rows, label)
    forms = [trunk.form for member in model.frozen_.members for trunk in member]
    count = sum(array.size for form in forms for array in (*form.weights, *form.biases))
    return model.decision_function, count, model.frozen_
