"""Promises that the rows speak against: the usual reason is a sign, or a class, the wrong way round.

A feature whose true effect runs against its promise ends flat, because flat is the nearest a promise allows. Flat alone
says little: a column of noise ends flat too. What tells them apart is what the model leaves unexplained:

    r = y - E[y | x]      a = rank(x) - mean      z = sum(a r) / sqrt(sum(a^2 r^2))

z is about N(0, 1) where x says nothing, and far out on the side that was forbidden where the promise is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._freezing import without_forest
from monolip.estimators._prediction import Predictor
from monolip.estimators._schema import table_like
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target, class_target, number_target, read_weights
from monolip.estimators.slope_table import promises_of_numbers
from monolip.frozen import FrozenNetwork
from monolip.input_columns import plain_value
from monolip.output_link import OutputLink
from monolip.raw_slopes import features_with_slopes

__all__ = ["against_the_data", "contradicted"]

FEWEST, MOST = 20, 1024  # rows; of more, some are looked at: a fit must not wait for this
CLEAR = 4.0  # of z: a column of noise gets there once in thirty thousand
LITTLE = 0.01  # of the spread of scores: what a feature may move at most, over its own spread, to count as flat
WIDEST = {"identity": 4.0, "log": 10.0, "logit": 10.0, "softmax": 10.0}  # spread of scores, in units of the target
FloatArray = NDArray[np.float64]
_SIGNS = {"increasing": 1, "decreasing": -1}


class _Flat(NamedTuple):
    """A promise that may have ended flat: of feature j and output k; reach: the most it can move the score."""

    j: int
    k: int
    word: str
    reach: float


def against_the_data(model: Any, X: Any, y: Any, weight: Any = None) -> Iterator[str]:
    """`contradicted`, of a fitted estimator and rows of any table."""
    table = table_like(X, model._schema, type(model).__name__)
    if hasattr(model, "classes_"):
        codes = np.searchsorted(model.classes_, np.asarray(y))
        weights = read_weights(weight, table.n_rows)
        target = class_target(codes, model.classes_, weights, None, model.frozen_.link.positive)
    else:
        target = number_target(y, model.loss, model.loss_parameter, weight, None, table.n_rows)
    plain = without_forest(model.frozen_)
    return contradicted(model._predictor, plain, table, target)


def contradicted(
    predictor: Predictor, network: FrozenNetwork, table: RawTable, target: Target,
    outputs: Callable[[NDArray[np.int64]], FloatArray] | None = None,
) -> Iterator[str]:  # fmt: skip
    """A sentence for each promised numeric feature of a fitted network that ended flat although y moves the other way.

    predictor: of the whole model; network: without trees, which have no slopes, and leave over what goes against a
    promise as the network does. table, target: what it was fitted on. Nothing is predicted unless a feature may be
    flat: mostly this takes no time. outputs: of rows by their numbers, where somebody has a quicker way to them than
    the predictor.
    """
    rows = _rows(table.n_rows, target.weight)
    if len(rows) < FEWEST or not np.isfinite(target.scale):
        return
    widest = WIDEST[target.link.name] * target.scale
    flat = [one for one in _promised(network, table, rows) if one.reach <= LITTLE * widest]
    if not flat:
        return
    some, part = target.take(rows), table.take(rows)
    f = predictor.evaluate(part) if outputs is None else outputs(rows)
    spread, residuals = float(np.std(f, axis=0).max()), _residuals(f, some)
    weight = np.ones(len(rows)) if some.weight is None else some.weight
    for j, k, word, reach in flat:
        x = part.columns[j].values
        known = np.isfinite(x)
        if reach > LITTLE * spread or known.sum() < FEWEST:
            continue
        z = _score(x[known], residuals[known, k], weight[known])
        if z * _SIGNS[word] < -CLEAR:
            yield _sentence(table.names[j], _SIGNS[word], 1 if z > 0 else -1, target.link, k)


def _sentence(name: str, sign: int, rest: int, link: OutputLink, k: int) -> str:
    """sign, rest: where it was promised to go, and where the rest goes, of output k."""
    labels, two = link.labels, link.positive is not None
    told = "increasing" if sign > 0 else "decreasing"
    told += "" if labels is None else f" in {link.probability(link.positive if two else k)}"
    question = f"is the sign{'' if labels is None else ', or the class,'} the wrong way round?"
    if labels is not None and link.positive is not None:
        other = plain_value(labels[1 - link.positive])
        question += (
            f" Of {link.probability(1 - link.positive)} it is written {{{name!r}: {{{other!r}: {sign:+d}}}}} (command "
            f"line: --positive {other})."
        )
    way = "rises" if rest > 0 else "falls"
    return (
        f"{name!r} was promised to be {told} and ended flat, while what the other features leave unexplained {way} "
        f"with it; {question}"
    )


def _rows(n_rows: int, weight: FloatArray | None) -> NDArray[np.int64]:
    """Those that count; of many a random part, the same every time."""
    rows = np.arange(n_rows) if weight is None else np.flatnonzero(weight > 0)
    if len(rows) <= MOST:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MOST, replace=False, shuffle=False))


def _promised(network: FrozenNetwork, table: RawTable, rows: NDArray[np.int64]) -> Iterator[_Flat]:
    """Every promise of a direction that a column of more than one value has."""
    features = features_with_slopes(network)
    for at, (j, words) in enumerate(zip(features, promises_of_numbers(network, features), strict=True)):
        if not _SIGNS.keys() & set(words):
            continue
        x = np.sort(table.columns[j].at(rows))  # what is missing comes last
        x = x if math.isfinite(x[0]) and math.isfinite(x[-1]) else x[np.isfinite(x)]
        if len(x) < FEWEST or x[0] == x[-1]:
            continue
        low, high = x[round(0.1 * (len(x) - 1))], x[round(0.9 * (len(x) - 1))]
        for k, word in enumerate(words):
            if word in _SIGNS:
                steepest = max(map(abs, network.rough_raw_slopes[k][at]))
                yield _Flat(j, k, word, float(steepest * (high / 2 - low / 2)) if steepest else 0.0)  # no overflow


def _residuals(f: FloatArray, target: Target) -> FloatArray:
    """(n, outputs): y minus what the model expects, in the units of the target; of classes, minus probabilities."""
    with np.errstate(over="ignore"):
        if target.link.name == "softmax":
            share = np.exp(f - f.max(axis=1, keepdims=True))
            return np.asarray(target.averaged - share / share.sum(axis=1, keepdims=True))
        score = f[:, 0] if target.offset is None else f[:, 0] + target.offset
        if target.link.name == "logit":
            expected = 1.0 / (1.0 + np.exp(-score))
        elif target.link.name == "log":
            expected = np.exp(np.minimum(score - target.shift, 700.0))
        else:
            expected = (score - target.shift) / target.scale
        return np.asarray(target.y - expected)[:, None]


def _score(x: FloatArray, r: FloatArray, weight: FloatArray) -> float:
    """z: the weighted correlation of ranks with residuals, in its standard deviations."""
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[place]
    a, b = (values - np.average(values, weights=weight) for values in (ranks, r))
    with np.errstate(over="ignore"):
        noise = float(np.sqrt(np.sum((weight * a * b) ** 2)))
    return float(np.sum(weight * a * b)) / noise if 0 < noise < np.inf else 0.0
