"""Constraints that the data contradict: the usual reason is a wrong sign, or the wrong class.

Only the rows are read, not the fitted model, so that one wrong sign hides no other one. For each constrained feature x,
two regressions say which way y goes with x; a is the rank of x, which makes the answer independent of its scale:

    alone   y ~ 1 + a
    given   y ~ 1 + a + the other features
    z       the coefficient of a, divided by its standard error (which allows for unequal variances, and for groups)

A z-score is clear if so large a one is improbable among all of a fit (FALSE) where no feature says anything of y. The
data contradict a constraint where one of the two z-scores is clear on the forbidden side, and the other one is not
clear on the side that was asked for. Both are needed. Alone, a feature may go with y only because another one does:
then the other z-score is clear on the side that was asked for, and nothing is reported. Given the others, a feature of
which the table holds near copies goes no way at all. `benchmarks/wrong_signs.py` counts finds and false alarms.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._one_blas_thread import one_blas_thread
from monolip.estimators._promises import Promises
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawColumn, RawTable
from monolip.estimators._targets import Target
from monolip.input_columns import codes_of, plain_value

__all__ = ["Contradiction", "contradicted", "contradictions"]

FloatArray = NDArray[np.float64]
FALSE = 0.01  # chance of a report in a fit where no constrained feature says anything of y
FEWEST, MOST = 20, 4096  # rows: with fewer nothing is said; of more a random part is read
LEVELS = 8  # of an unordered category: the most frequent ones
WIDEST = 128  # columns of the other features, the ones that say most alone; at most one for every 4 rows


class Contradiction(NamedTuple):
    """Feature j; output k (of two classes 0, about the class that constraints name); sign: what was asked for; alone,
    given: z-scores."""

    j: int
    k: int
    sign: int
    alone: float
    given: float


def contradictions(table: RawTable, schema: Schema, promises: Promises, target: Target) -> list[Contradiction]:
    """Return every constraint of a direction that the rows contradict, in the order of the columns."""
    asked = list(asked_signs(promises))
    rows = _rows(table.n_rows, target.weight) if asked else None
    if rows is None or len(rows) < FEWEST:
        return []
    if len(rows) < table.n_rows:
        table, target = table.take(rows), target.take(rows)
    with np.errstate(all="ignore"), one_blas_thread():
        found, clear = _z_scores(table, schema, asked, target), _clear(len(asked))
    both = [sorted((one.sign * one.alone, one.sign * one.given)) for one in found]
    return [one for one, (low, high) in zip(found, both, strict=True) if low < -clear and high <= clear]


def _clear(n_asked: int) -> float:
    """Return the z-score that, of two tests for each constraint, any one exceeds with a chance of FALSE at most."""
    return NormalDist().inv_cdf(1.0 - FALSE / (2.0 * n_asked))


def _z_scores(
    table: RawTable, schema: Schema, asked: list[tuple[int, int, int]], target: Target
) -> list[Contradiction]:
    """Return both z-scores of every constraint whose feature does not agree with it clearly when it is taken alone."""
    (response, weight), clear = _response(target), _clear(len(asked))
    weight = weight / weight.mean()
    groups = None if target.groups is None else np.unique(target.groups, return_inverse=True)[1]
    columns = {j: _columns(table.columns[j], schema, j, weight) for j in dict.fromkeys(j for j, _, _ in asked)}
    ranked = {j: x[:, :1] for j, x in columns.items() if x.size}
    first = np.hstack([np.zeros((len(weight), 0)), *ranked.values()])
    alone = dict(zip(ranked, _scores(first, response, response, weight, groups), strict=True))
    asked = [(j, k, sign) for j, k, sign in asked if j in alone and not sign * alone[j][k] > clear]
    if not asked:
        return []
    for j, column in enumerate(table.columns):
        if j not in columns:
            columns[j] = _columns(column, schema, j, weight)
    wanted, size = sorted({j for j, _, _ in asked}), max(_room(len(weight)) // 2, 1)
    parts = [wanted[start : start + size] for start in range(0, len(wanted), size)]
    given = dict(zip(wanted, np.vstack([_given(columns, p, response, weight, groups) for p in parts]), strict=True))
    return [Contradiction(j, k, sign, float(alone[j][k]), float(given[j][k])) for j, k, sign in asked]


def asked_signs(promises: Promises) -> Iterator[tuple[int, int, int]]:
    """Yield (feature, output, sign) of every constraint of a direction, intervals on one side of 0 among them."""
    for j, signs in enumerate(promises.directions.tolist()):
        low, high = promises.intervals.get(j, (0.0, 0.0))
        if len(signs) == 1:
            sign = signs[0] if abs(signs[0]) == 1 else int(low >= 0.0 < high) - int(low < 0.0 >= high)
            yield from [(j, 0, sign)] if sign else []
        else:  # of several classes, those that rise or fall by themselves: the others only give way
            yield from ((j, k, s) for k, s in enumerate(signs) if abs(s) == 1 and signs.count(s) == 1)


def contradicted(table: RawTable, schema: Schema, promises: Promises, target: Target) -> str:
    """Return the text of a warning, what to do first; "" where nothing is contradicted."""
    found, n_asked = contradictions(table, schema, promises, target), sum(1 for _ in asked_signs(promises))
    if not found:
        return ""
    names, link = schema.names, target.link
    several = link.labels is not None and link.positive is None
    listed = ", ".join(f"{names[one.j]!r} ({_way(one, link.probability(one.k) if several else None)})" for one in found)
    which = "the constraint" if n_asked == 1 else f"{len(found)} of the {n_asked} constraints"
    text = f"Check the sign of {which}"
    if link.labels is not None:
        it = "it is" if n_asked == 1 else "they are"
        text += f", or the class {it} about" + ("" if several else f", {link.probability()}")
    text += f": the data contradict {listed}. The constraints are kept all the same."
    first = next((one for one in found if abs(promises.directions[one.j, 0]) == 1), None)
    if link.labels is not None and link.positive is not None and first and 2 * len(found) > n_asked:
        at = 1 - link.positive
        other = plain_value(link.labels[at])
        example = {names[first.j]: {other: first.sign}}
        text += f" For {link.probability(at)} write for example monotonic_cst={example!r} (command line: "
        text += f"--positive {other})."
    return text


def _way(one: Contradiction, probability: str | None) -> str:
    """probability: that the constraint is about, of several classes."""
    asked = "increasing asked" if one.sign > 0 else "decreasing asked"
    asked += "" if probability is None else f" of {probability}"
    data = "data decrease" if one.sign > 0 else "data increase"
    if one.sign * one.given > 0:
        data += " if it is taken alone"
    elif one.sign * one.alone > 0:
        data += " with the other features held fixed"
    return f"{asked}, {data}"


def _rows(n_rows: int, weight: FloatArray | None) -> NDArray[np.int64]:
    """Return the rows that count; of many a random part, the same every time."""
    rows = np.arange(n_rows) if weight is None else np.flatnonzero(weight > 0)
    if len(rows) <= MOST:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MOST, replace=False, shuffle=False))


def _response(target: Target) -> tuple[FloatArray, FloatArray]:
    """Return what is regressed, (n, outputs), and the weights of the rows, so that a constant model leaves it centred.

    It is minus the gradient of the loss at the best constant, offset included, divided by the curvature, which goes
    into the weights: one Newton step from a constant leads to the coefficients.
    """
    y, kind = target.y, target.loss.name
    weight = np.ones(len(y)) if target.weight is None else target.weight
    response = target.averaged
    if kind in ("absolute", "pinball", "huber"):
        level = 0.5 if kind != "pinball" else target.loss.resolved()
        order = np.argsort(y, kind="stable")
        place = np.searchsorted(np.cumsum(weight[order]), level * weight.sum())
        middle = y[order[min(int(place), len(y) - 1)]]
        response = np.sign(y - middle)
        if kind == "huber":
            response = np.clip(y - middle, -target.loss.resolved(), target.loss.resolved())
    elif target.link.name == "log":
        power = {"poisson": 1.0, "gamma": 2.0}.get(kind) or target.loss.resolved()
        offset = np.zeros(len(y)) if target.offset is None else target.offset - target.offset.max()
        exposure = np.exp(np.maximum(offset, -300.0))
        mean = exposure * (np.sum(weight * y) / np.sum(weight * exposure))
        response, weight = y / mean, weight * mean ** (2.0 - power)
    elif target.link.name == "logit" and target.offset is not None:
        low, high = -target.offset.max() - 40.0, -target.offset.min() + 40.0
        for _ in range(60):  # bisection: the mean probability increases with the constant
            middle = (low + high) / 2.0
            p = 1.0 / (1.0 + np.exp(-(target.offset + middle)))
            low, high = (middle, high) if np.sum(weight * (y - p)) > 0.0 else (low, middle)
        curvature = np.maximum(p * (1.0 - p), 1e-9)
        response, weight = (y - p) / curvature, weight * curvature
    response = response if response.ndim == 2 else response[:, None]
    return response - np.average(response, axis=0, weights=weight), weight


def _columns(column: RawColumn, schema: Schema, j: int, weight: FloatArray) -> FloatArray:
    """Return a feature as columns of mean 0 and variance 1, (n, columns): its rank where it has an order, indicators.

    A feature with an order that says nothing, for example with one value only, has no columns.
    """
    categories = schema.categories[j]
    if categories is None:
        return _standardised(_rank(column.values, weight), weight)
    distinct, number = column.factors
    codes = codes_of(distinct, {label: code for code, label in enumerate(categories)})[number]
    if schema.ordered[j]:
        return _standardised(_rank(np.where(codes < len(categories), codes, np.nan), weight), weight)
    levels, counts = np.unique(codes, return_counts=True)
    frequent = levels[np.argsort(-counts, kind="stable")[1 : LEVELS + 1]]  # without the first: they would sum to 1
    return _standardised([(codes == level).astype(np.float64) for level in frequent], weight)


def _rank(values: FloatArray, weight: FloatArray) -> list[FloatArray]:
    """Return the ranks of a column, 0 where it is missing, and whether it is known where some are missing."""
    known = ~np.isnan(values)
    gaps = not known.all()
    order = np.argsort(values, kind="stable")[: known.sum()]  # what is missing comes last
    ordered = values[order]
    ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, len(ordered))  # of each distinct value
    if len(ordered) < FEWEST or len(ends) < 2:
        return []
    starts = np.append(0, ends[:-1])
    ranks = np.zeros(len(values))
    ranks[order] = np.repeat((starts + ends) / 2.0, ends - starts)
    heaviness = weight * known
    ranks -= heaviness @ ranks / heaviness.sum()
    return [ranks * known, known.astype(np.float64)] if gaps else [ranks]


def _standardised(columns: list[FloatArray], weight: FloatArray) -> FloatArray:
    """weight: 1 on average."""
    table = np.array(columns).T if columns else np.zeros((len(weight), 0))
    table = table - weight @ table / len(weight)
    size = np.sqrt(weight @ table**2 / len(weight))
    some = size > 0.0
    return np.asarray(table / size if some.all() else table[:, some] / size[some])


def _given(
    columns: dict[int, FloatArray], wanted: list[int],
    response: FloatArray, weight: FloatArray, groups: NDArray[np.int64] | None,
) -> FloatArray:  # fmt: skip
    """Return z-scores (wanted, outputs) of the first columns of some features, given the other columns.

    Of very many other columns it reads the ones that go with y most, each alone.
    """
    n, own = len(weight), len(wanted)
    others = np.hstack([x[:, 1:] if j in wanted else x for j, x in columns.items()])
    if others.shape[1] > (room := max(_room(n) - own, 0)):
        strength = np.abs(others.T @ (weight[:, None] * response)).max(axis=1)
        others = others[:, np.sort(np.argsort(-strength, kind="stable")[:room])]
    every = np.hstack([*(columns[j][:, :1] for j in wanted), others])
    width = every.shape[1]
    weighted = (weight[:, None] * every).T
    # A ridge of one row's weight keeps copies of a feature apart.
    inverse = np.linalg.inv(weighted @ every + np.eye(width))
    moved = every @ inverse
    left = response - moved @ (weighted @ response)
    # A row that pulls the regression towards itself leaves too little of itself unexplained (HC3 standard errors).
    pull = np.minimum(weight * np.einsum("ij,ij->i", moved, every), 0.99)
    return _scores(moved[:, :own], response, left / (1.0 - pull)[:, None], weight, groups)


def _room(n: int) -> int:
    """Return how many columns a regression of n rows has at most."""
    return min(WIDEST, n // 4)


def _scores(
    a: FloatArray, response: FloatArray, left: FloatArray, weight: FloatArray, groups: NDArray[np.int64] | None
) -> FloatArray:
    """Return z, (columns of a, outputs): sum(w a response) over its standard error, from what is left unexplained."""
    weighted = weight[:, None] * a
    z = np.zeros((a.shape[1], response.shape[1]))
    for k in range(response.shape[1]):
        parts = weighted * left[:, [k]]
        if groups is not None:
            parts = np.array([np.bincount(groups, part) for part in parts.T]).T
        z[:, k] = weighted.T @ response[:, k] / np.sqrt(np.sum(parts**2, axis=0))
    return np.where(np.isfinite(z), z, 0.0)
