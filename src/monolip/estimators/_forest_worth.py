"""Whether a forest over the free features is worth what it costs them: rows decide that nobody has learned from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays
from monolip.estimators._climber import Climber
from monolip.estimators._forest import FreeRows, Growth, halves
from monolip.estimators._left_out import Part, left_out, mean_outputs
from monolip.estimators._leftover import SHARES, Leftover, Worth, is_hopeless, worth_of
from monolip.estimators._targets import Target
from monolip.free_forest import FreeForest

__all__ = ["Grown", "grow_free_forest"]

FloatArray = NDArray[np.float64]
SCOUTS, SCOUT_KEPT, SCOUT_HELD = 4, 4096, 1024  # trees, and rows, that say whether it is worth judging
JUDGES = 10  # trees by which a forest is judged; what more of them would gain is known from its two halves
# what makes up for slope bounds that nobody asked for: a gain beyond its standard error as part of the loss, and a
# gain as part of a constant's loss (the last digit of a function without noise is worth no jumps)
MUCH, MUCH_OF_ALL = 0.02, 0.0002
MANY_COPIES = 0.1  # of the rows


@dataclass(frozen=True)
class Grown:
    """forest: in the user's units. worth: of it, on rows held out. added: (n,) what trees that had not learned from
    them added to rows held out, in the units of training, 0 for others. copies: part of the rows, 0 where they are
    few."""

    forest: FreeForest
    worth: Worth
    added: FloatArray | None
    copies: float


def grow_free_forest(
    problem: Problem, climbers: Sequence[Climber], rung: int, arrays: Sequence[NetworkArrays], target: Target,
    free: FreeRows, growth: Growth, eager: bool, known: Worth | None = None,
) -> Grown | None:  # fmt: skip
    """A forest that learned what f leaves over, where rows held out say that it is worth it; None elsewhere.

    arrays: the members of f. eager: any gain will do. known: what rows said of it before members joined, who hold out
    none.
    """
    left, worth, added = Leftover.of(target), known, None
    if worth is None:
        parts = left_out(problem, climbers, rung)
        if not eager:
            first = next(parts)
            if not is_promising(first, left, free, growth):
                return None
            parts = chain([first], parts)
        worth, added = judged(parts, left, free, growth)
        enough = eager or (worth.gain - worth.error >= MUCH and worth.of_constant >= MUCH_OF_ALL)
        if not worth.share or not enough:
            return None
    rows = problem.rows_kept(problem.places(None))
    f = mean_outputs(problem, arrays, rows)
    rest, weight = left.at(rows).after(f)
    trees = growth.trees(free, rows, rest, weight, growth.n_trees)
    copies = free.copies(*(_in_order(part, rows) for part in (np.round(f, 5), rest)))
    few = 0.0 if copies <= MANY_COPIES else copies
    forest = free.forest(trees, worth.share * target.scale)
    return Grown(forest, worth, None if added is None else worth.share * added, few)


def is_promising(part: Part, left: Leftover, free: FreeRows, growth: Growth) -> bool:
    """Whether a few trees that learned from some rows of a part gain anything on some of those held out: a tenth of the
    time, and most tables end here."""
    rng = np.random.default_rng(0)
    kept, held = (_some(len(rows), most, rng) for rows, most in ((part.kept, SCOUT_KEPT), (part.held, SCOUT_HELD)))
    rows, asked = part.kept[kept], left.at(part.held[held])
    trees = growth.trees(free, rows, *left.at(rows).after(part.f_kept[kept]), SCOUTS)
    one, two = halves(trees, free.ranks[part.held[held]])
    _, gains = asked.gains(part.f_held[held], one, two, 1.0 - SCOUTS / growth.n_trees, SHARES)
    return max(float(gain.sum()) for gain in gains) > 0.0


def _some(count: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(count) if count <= most else rng.choice(count, most, replace=False)


def judged(parts: Iterable[Part], left: Leftover, free: FreeRows, growth: Growth) -> tuple[Worth, FloatArray]:
    """A forest is grown without each part, whose rows then say what it is worth; and what it predicts for them."""
    asked: list[tuple[Leftover, FloatArray, FloatArray, FloatArray]] = []
    n_trees, predicted = min(JUDGES, growth.n_trees), np.zeros(len(left.y))
    more = 1.0 - n_trees / growth.n_trees
    for part in parts:
        trees = growth.trees(free, part.kept, *left.at(part.kept).after(part.f_kept), n_trees)
        first, second = halves(trees, free.ranks[part.held])
        predicted[part.held] = first / 2 + second / 2
        asked.append((left.at(part.held), part.f_held, first, second))
        if is_hopeless(*asked[-1], more):
            return Worth(0.0), predicted
    if not asked:
        return Worth(0.0), predicted
    helds, f, one, two = zip(*asked, strict=True)
    joined = Leftover.joined(helds), np.concatenate(f), np.concatenate(one), np.concatenate(two)
    return worth_of(*joined, more), predicted


def _in_order(values: FloatArray, rows: NDArray[np.int64]) -> FloatArray:
    """Of rows in any order, those of the table in its own."""
    found = np.empty_like(values)
    found[rows] = values
    return found
