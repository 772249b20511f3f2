r"""Reason codes: what each feature contributed to the difference between a row and a reference row.

    effect_i = mean over orders of  score(features up to i from the row) - score(features before i from the row)

the rest being the reference's (Shapley values of the swap). Effects add up to score(row) - score(reference). Every term
is a step in one feature, so where a direction is promised the sign of an effect is certain: a higher value of an
increasing feature can only have raised the score, bit for bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.report.explain_score import Score, same_value

__all__ = ["EXACT_UP_TO", "reasons_of"]

FloatArray = NDArray[np.float64]
EXACT_UP_TO = 12  # features that differ: all 2^k mixed rows are scored; beyond, orders are sampled
N_ORDERS = 256  # each with its reverse


def reasons_of(
    score: Score, row: dict[str, Any], reference: dict[str, Any], seed: int = 0
) -> tuple[dict[str, float], dict[str, float]]:
    """Effects by feature, and their standard errors: 0 where all orders were averaged."""
    names = [name for name in score.names if not same_value(row[name], reference[name])]
    if not names:
        return {}, {}
    if len(names) <= EXACT_UP_TO:
        effects, errors = _exact(score, row, reference, names), np.zeros(len(names))
    else:
        effects, errors = _sampled(score, row, reference, names, seed)
    return (
        {name: float(effect) for name, effect in zip(names, effects, strict=True)},
        {name: float(error) for name, error in zip(names, errors, strict=True)},
    )


def _mixed(score: Score, row: Any, reference: Any, names: list[str], mask: NDArray[np.bool_]) -> FloatArray:
    """Scores of rows that take the features where mask is set from row, the others from reference; mask: (m, k)."""
    columns = {}
    for name in score.names:
        own, other = score.column(name, [row[name]]), score.column(name, [reference[name]])
        if name in names:
            columns[name] = np.where(mask[:, names.index(name)], own, other)
        else:
            columns[name] = np.repeat(own, len(mask))
    return score.of_columns(columns)


def _exact(score: Score, row: Any, reference: Any, names: list[str]) -> FloatArray:
    """Bit i of a subset's number says that feature i is taken from the row."""
    k = len(names)
    numbers = np.arange(2**k)
    mask = (numbers[:, None] >> np.arange(k)) & 1 == 1
    value, size = _mixed(score, row, reference, names, mask), mask.sum(axis=1)
    share = np.array([1 / (k * math.comb(k - 1, s)) for s in range(k)])
    effects = []
    for i in range(k):
        without = numbers[~mask[:, i]]
        effects.append(math.fsum(share[size[without]] * (value[without | (1 << i)] - value[without])))
    return np.array(effects)


def _sampled(score: Score, row: Any, reference: Any, names: list[str], seed: int) -> tuple[FloatArray, FloatArray]:
    """Random orders, each with its reverse. The effects of one order add up, so those of their mean do."""
    k, rng = len(names), np.random.default_rng(seed)
    totals = np.empty((N_ORDERS, k))
    for n in range(N_ORDERS):
        order = rng.permutation(k)
        pair = np.zeros(k)
        for path in (order, order[::-1]):
            mask = np.zeros((k + 1, k), dtype=bool)
            for step, i in enumerate(path, start=1):
                mask[step:, i] = True
            pair[path] += np.diff(_mixed(score, row, reference, names, mask)) / 2
        totals[n] = pair
    return totals.mean(axis=0), totals.std(axis=0, ddof=1) / N_ORDERS**0.5
