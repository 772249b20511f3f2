"""The search for a change that is enough: over values seen in training, made small by bisection, scored at last."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.input_columns import CategoryColumn
from monolip.report.explain_score import Score

__all__ = ["Goal", "nearest_value", "search_together", "values_of"]

FloatArray = NDArray[np.float64]
N_VALUES = 65
BISECTIONS = 40
N_STEPS = 100


@dataclass(frozen=True)
class Goal:
    """score: to be exceeded (sign +1) or not exceeded (sign -1). gap: how far away it is, >= 0."""

    score: float
    sign: int
    gap: float

    def reached(self, scores: FloatArray) -> NDArray[np.bool_]:
        return scores > self.score if self.sign > 0 else scores <= self.score


def values_of(score: Score, name: str, whole: Collection[str]) -> list[Any]:
    """Values that were seen in training, about: categories; or knots and a grid between the lowest and the highest."""
    assert score.network.inputs is not None
    at = score.names.index(name)
    column = score.network.inputs.columns[at]
    if isinstance(column, CategoryColumn):
        return list(column.categories)
    knots = score.network.inputs.pieces_of(at)[0]
    low, high = (column.seen[0], column.seen[-1]) if column.seen else (knots[0], knots[-1])
    grid = np.linspace(low, high, N_VALUES)
    values = np.concatenate([grid, knots[(knots >= low) & (knots <= high)]])
    return list(np.unique(np.rint(values) if name in whole else values).tolist())


def nearest_value(score: Score, row: dict[str, Any], name: str, side: int, goal: Goal, whole: bool) -> float | None:
    """The first value to one side at which the goal is reached, made as near as bisection gets it."""
    x = float(row[name])
    values = [v for v in values_of(score, name, {name} if whole else ()) if side * v > side * x]
    values.sort(key=lambda v: side * v)
    if not values:
        return None
    enough = goal.reached(_along(score, row, name, np.array(values)))
    if not enough.any():
        return None
    first = int(enough.argmax())
    found = _closer(score, row, name, x if first == 0 else values[first - 1], values[first], goal, whole)
    return _readable(score, row, name, x, found, goal)


def search_together(
    score: Score, row: dict[str, Any], goal: Goal, scale: Mapping[str, float], whole: Collection[str]
) -> dict[str, tuple[float, float]] | None:
    """{feature: (from, to)} of small size, or None where the search does not reach the goal.

    Greedy: the step with the most gain for its size, until the goal is reached; then each feature is taken back as far
    as possible. Features that reach it alone are tried as well.
    """
    plans = []
    ranges = {name: (min(values), max(values)) for name in scale if (values := values_of(score, name, whole))}
    now = dict(row)
    for _ in range(N_STEPS):
        trials = [
            (name, to) for name, span in ranges.items() for to in _steps(now[name], scale[name], span, name in whole)
        ]
        if not trials:
            break
        found = score.of_rows([now, *({**now, name: to} for name, to in trials)])
        gain = np.minimum(goal.sign * (found[1:] - found[0]), goal.sign * (goal.score - found[0]) + 1e-9)
        cost = np.array([abs(to - float(now[name])) / scale[name] for name, to in trials])
        at = int((gain / cost).argmax())
        if gain[at] <= 0:
            break
        now[trials[at][0]] = trials[at][1]
        if goal.reached(score.of_rows([now]))[0]:
            plans.append(_taken_back(score, row, now, goal, scale, whole))
            break
    for name in ranges:
        for side in (1, -1):
            alone = nearest_value(score, row, name, side, goal, name in whole)
            plans += [] if alone is None else [{name: (float(row[name]), alone)}]
    return min(plans, key=lambda plan: sum(abs(to - x) / scale[n] for n, (x, to) in plan.items()), default=None)


def _steps(value: Any, unit: float, span: tuple[float, float], whole: bool) -> list[float]:
    """Values a tenth, a third and one unit away, inside what was seen in training."""
    x = float(value)
    values = [x + sign * size * unit for size in (0.1, 0.3, 1.0) for sign in (1, -1)]
    if whole:
        values = [float(np.rint(v)) for v in values] + [x + 1, x - 1]
    low, high = min(x, span[0]), max(x, span[1])
    return [v for v in dict.fromkeys(min(max(v, low), high) for v in values) if v != x]


def _taken_back(
    score: Score, row: dict[str, Any], now: dict[str, Any], goal: Goal, scale: Mapping[str, float],
    whole: Collection[str],
) -> dict[str, tuple[float, float]]:  # fmt: skip
    changed = [name for name in scale if now[name] != row[name]]
    for name in sorted(changed, key=lambda n: -abs(float(now[n]) - float(row[n])) / scale[n]):
        x, far = float(row[name]), float(now[name])
        if goal.reached(score.of_rows([{**now, name: row[name]}]))[0]:
            now[name] = row[name]
        else:
            now[name] = _readable(score, now, name, x, _closer(score, now, name, x, far, goal, name in whole), goal)
    return {name: (float(row[name]), float(now[name])) for name in changed if now[name] != row[name]}


def _closer(
    score: Score, row: dict[str, Any], name: str, short: float, enough: float, goal: Goal, whole: bool
) -> float:
    """Between a value that is not enough and one that is: one that is, next to one that is not."""
    for _ in range(BISECTIONS):
        middle = short + (enough - short) / 2
        if whole:
            middle = float(np.floor(middle) if short < enough else np.ceil(middle))
        if middle in (short, enough):
            break
        if goal.reached(_along(score, row, name, np.array([middle])))[0]:
            enough = middle
        else:
            short = middle
    return enough


def _readable(score: Score, row: dict[str, Any], name: str, x: float, enough: float, goal: Goal) -> float:
    """The value with the fewest digits that is enough too and not a hundredth further: what is printed was scored."""
    away = ROUND_CEILING if enough > x else ROUND_FLOOR
    exact = Decimal(enough)
    for digits in range(1, 9):
        value = float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=away))
        near = abs(value - x) <= 1.01 * abs(enough - x)
        if near and goal.reached(_along(score, row, name, np.array([value])))[0]:
            return value
    return enough


def _along(score: Score, row: dict[str, Any], name: str, values: FloatArray) -> FloatArray:
    n = len(values)
    columns = {other: np.repeat(score.column(other, [row[other]]), n) for other in score.names if other != name}
    return score.of_columns({**columns, name: values})
