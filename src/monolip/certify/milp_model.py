"""A mixed-integer linear program, written row by row and solved by HiGHS through scipy."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Expression", "MilpModel"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Expression:
    """sum_v terms[v] * variable_v + constant, and an interval it lies in."""

    terms: dict[int, float]
    constant: float
    low: float
    high: float


@dataclass
class MilpModel:
    """Variables with bounds, rows low <= row . variables <= high, and one objective to be made small."""

    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)

    def variable(self, low: float, high: float, whole: bool = False) -> Expression:
        self.low.append(low)
        self.high.append(high)
        self.whole.append(int(whole))
        return Expression({len(self.low) - 1: 1.0}, 0.0, low, high)

    def sum_of(self, parts: list[tuple[float, Expression]], constant: float = 0.0) -> Expression:
        """sum of factor * expression + constant."""
        terms: dict[int, float] = {}
        low = high = constant
        for factor, part in parts:
            if not factor:
                continue
            constant += factor * part.constant
            ends = sorted((factor * part.low, factor * part.high))
            low, high = low + ends[0], high + ends[1]
            for v, coefficient in part.terms.items():
                terms[v] = terms.get(v, 0.0) + factor * coefficient
        return self.tightened(Expression(terms, constant, low, high))

    def tightened(self, e: Expression) -> Expression:
        """The interval also follows from the variables themselves."""
        low = e.constant + sum(min(c * self.low[v], c * self.high[v]) for v, c in e.terms.items())
        high = e.constant + sum(max(c * self.low[v], c * self.high[v]) for v, c in e.terms.items())
        return Expression(e.terms, e.constant, max(low, e.low), min(high, e.high))

    def named(self, e: Expression) -> Expression:
        """A variable of its own for an expression, so that later rows stay short."""
        if len(e.terms) <= 1:
            return e
        variable = self.variable(e.low, e.high)
        self.at_least(self.sum_of([(1.0, e), (-1.0, variable)]), 0.0, 0.0)
        return variable

    def at_least(self, e: Expression, low: float, high: float = np.inf) -> None:
        """low <= e <= high."""
        self.rows.append((e.terms, low - e.constant, high - e.constant))

    def sorted_group(self, group: list[Expression]) -> list[Expression]:
        """The expressions in ascending order; binaries only where their order is open."""
        if len(group) == 1:
            return group
        if len(group) == 2:
            return self._sorted_pair(*group)
        low, high = sorted(e.low for e in group), sorted(e.high for e in group)
        places = [self.variable(a, b) for a, b in zip(low, high, strict=True)]
        choice = [[self.variable(0, 1, whole=True) for _ in group] for _ in places]
        for line in (*choice, *map(list, zip(*choice, strict=True))):
            self.at_least(self.sum_of([(1.0, q) for q in line]), 1.0, 1.0)
        for place, line in zip(places, choice, strict=True):
            for e, q in zip(group, line, strict=True):
                gap = self.sum_of([(1.0, place), (-1.0, e)])
                if gap.high > 0:
                    self.at_least(self.sum_of([(-1.0, gap), (-gap.high, q)], gap.high), 0.0)
                if gap.low < 0:
                    self.at_least(self.sum_of([(1.0, gap), (gap.low, q)], -gap.low), 0.0)
        for below, above in pairwise(places):
            self.at_least(self.sum_of([(1.0, above), (-1.0, below)]), 0.0)
        return places

    def _sorted_pair(self, a: Expression, b: Expression) -> list[Expression]:
        gap = self.sum_of([(1.0, b), (-1.0, a)])
        if gap.low >= 0:
            return [a, b]
        if gap.high <= 0:
            return [b, a]
        most, q = self.variable(max(a.low, b.low), max(a.high, b.high)), self.variable(0, 1, whole=True)
        self.at_least(self.sum_of([(1.0, most), (-1.0, a)]), 0.0)
        self.at_least(self.sum_of([(1.0, most), (-1.0, b)]), 0.0)
        self.at_least(self.sum_of([(-1.0, most), (1.0, a), (gap.high, q)]), 0.0)  # q = 0: the larger is a
        self.at_least(self.sum_of([(-1.0, most), (1.0, b), (gap.low, q)], -gap.low), 0.0)  # q = 1: it is b
        return [self.sum_of([(1.0, a), (1.0, b), (-1.0, most)]), most]

    def minimise(self, objective: Expression, time_limit: float) -> tuple[FloatArray | None, float, str]:
        """Values of the variables (None: no solution), the objective (inf: infeasible; NaN: unknown), and a message."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
        from scipy.sparse import lil_matrix  # type: ignore[import-untyped]

        cost = np.zeros(len(self.low))
        for v, c in objective.terms.items():
            cost[v] = c
        matrix = lil_matrix((len(self.rows), len(self.low)))
        for k, (terms, _, _) in enumerate(self.rows):
            for v, c in terms.items():
                matrix[k, v] = c
        rows = LinearConstraint(matrix.tocsr(), [r[1] for r in self.rows], [r[2] for r in self.rows])
        for presolve in (True, False):  # HiGHS now and then gives up after its own presolve
            result = milp(
                cost, integrality=np.array(self.whole), bounds=Bounds(self.low, self.high), constraints=[rows],
                options={"time_limit": time_limit, "mip_rel_gap": 1e-9, "presolve": presolve},
            )  # fmt: skip
            if result.status != 4:
                break
        values = None if result.x is None else np.asarray(result.x)
        best = np.inf if result.status == 2 else np.nan  # infeasible; otherwise nothing is known
        if values is not None:
            best = objective.constant + float(cost @ values)
        return values, best, str(result.message)
