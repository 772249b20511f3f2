r"""What the rows held out say about a path: its curve, when it ends, and which of its rungs is best.

loss of a row    the fit's own; of least squares |error|^1.5, whose mean is shaken less by a few large errors
of a rung        its mean over all rows held out, of as many members as there will be: where two members hold out
                 the same rows, with v the variance of members, L1 = b + v and L2 = b + v / 2 give b + v / n_members
end              a rung that gains little is the last; but of many rows those are climbed in any case that make four
                 passes over them, four at least, and where few rows have shown that there is little noise, one short
                 rung is forgiven
best             the rung of the lowest loss; of few rows only if it beats the additive start by more than a
                 standard error: what is not clearly better is noise, and the start is the safer function

"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from monolip.engine.judging import JudgedRows
from monolip.engine.problem import Problem
from monolip.estimators._climber import Climber

__all__ = ["POWER", "Jury", "judged_losses"]

FloatArray = NDArray[np.float64]

POWER = 0.75  # of a squared error
SHORT = 4  # rungs; of many rows these do not tell yet what there is to learn
WORTH, WORTH_NOISY = 0.003, 0.01  # part of the loss that a rung gains if it is not the last
MUCH, MOST = 0.12, 0.5  # part of the loss gained: what the start could not explain is then no noise, hardly any is left
WORSE = 0.03  # part of the loss by which a rung is too bad to be forgiven


def judged_losses(rows: JudgedRows, f: NDArray[np.floating]) -> FloatArray:
    """Of outputs, row by row, as a jury counts them."""
    losses = rows.losses(f)
    return losses**POWER if rows.problem.loss.name == "squared" else losses


@dataclass
class Jury:
    """paired: members hold out the same rows two by two. many_rows: that are judged reliably, and earn long paths.
    short: rungs that do not tell yet what many rows have to teach.

    curve: loss of every rung so far, 0 is the start. anchored: whether that is an additive function, not a constant.
    quiet: whether it needed hardly any penalty, so that there is hardly any noise.
    """

    problem: Problem
    n_members: int
    paired: bool
    many_rows: bool
    short: int = SHORT
    curve: list[float] = field(default_factory=list)
    anchored: bool = False
    quiet: bool = False
    _losses: list[FloatArray] = field(default_factory=list)  # of every row held out, a rung each
    _rows: dict[int, JudgedRows] = field(default_factory=dict)
    _said: dict[tuple[int, int], tuple[Climber, NDArray[np.floating]]] = field(default_factory=dict)
    _weight: FloatArray = field(default_factory=lambda: np.empty(0))

    def succeed(self, jury: Jury) -> None:
        """Know of the same problem what another one has found out."""
        self.quiet, self._rows = jury.quiet, jury._rows

    def hear(self, climbers: Sequence[Climber], rung: int = -1) -> None:
        """Members after one more rung: as they are now, or as they were."""
        if not self.curve:
            self._weight = np.concatenate([self._judged(climber).weight for climber in self._firsts(climbers)])
            self.anchored = climbers[0].anchored.start is not None
        if self.paired:
            parts = [self._of_two(*two, rung) for two in zip(climbers[::2], climbers[1::2], strict=True)]
        else:
            parts = [self._loss(climber, self.outputs(climber, rung)) for climber in climbers]
        losses = np.concatenate(parts)
        self._losses.append(losses)
        self.curve.append(float((losses * self._weight).sum() / self._weight.sum()))

    def best(self) -> int:
        """The rung to take; 0 is the start."""
        best = int(np.argmin(self.curve))
        if not self.anchored or self.many_rows or best == 0 or self.gained_much(best, MOST):
            return best
        return best if self._beats(best, 0) else 0

    def is_done(self) -> bool:
        """Whether the last rung says that the next, twice as long, is not worth climbing."""
        done, before = len(self.curve) - 1, min(self.curve[:-1], default=np.inf)
        if done < (self.short if self.many_rows else 2):
            return False
        gain, size, best = before - self.curve[-1], abs(before), int(np.argmin(self.curve))
        if not (self.many_rows or self.quiet or self.gained_much(best)):
            return gain < WORTH_NOISY * size
        if done > self.short:
            return gain < WORTH * size
        if self.many_rows:
            return gain < WORTH * size and not self._beats(done, int(np.argmin(self.curve[:-1])))
        return done - best >= 2 or (gain < -WORSE * size and not (self.quiet or self.gained_much(best, MOST)))

    def lost_at_once(self) -> bool:
        """Whether few rows, with a start that is not that of a quiet table, were worse off after their first rung."""
        short = len(self.curve) == 2 and self.anchored and not (self.many_rows or self.quiet)
        return short and self.curve[1] > self.curve[0]

    def loss_of(self, climber: Climber, rung: int) -> float:
        """Of one member on the rows it holds out, heard or not yet."""
        weight = self._judged(climber).weight
        return float(weight @ self._loss(climber, self.outputs(climber, rung)) / weight.sum())

    def explained(self, climber: Climber) -> float:
        """Part of the loss that a member's start saves over its own mean, on the rows the member holds out."""
        rows, f = self._judged(climber), self.outputs(climber, 0)
        both = [float(rows.weight @ self._loss(climber, outputs)) for outputs in (f, rows.flat(f))]
        return (both[1] - both[0]) / abs(both[1]) if both[1] else 0.0

    def gained_much(self, rung: int, much: float = MUCH) -> bool:
        """Whether the start is left far behind after a rung."""
        return self.curve[0] - self.curve[rung] > much * abs(self.curve[0])

    def gained_last(self, much: float) -> bool:
        """Whether the last rung is that much better than all before it."""
        before = min(self.curve[:-1], default=self.curve[-1])
        return before - self.curve[-1] > much * abs(before)

    def disagreement(self, climbers: Sequence[Climber], rung: int = -1) -> float:
        """Part of the loss that the average of the first two members saves, on rows that one of them held out."""
        two, single, both = climbers[:2], 0.0, 0.0
        for climber in two[:1] if self.paired else two:
            rows, weight = self._judged(climber), self._judged(climber).weight
            outputs = [rows.outputs(member.network(rung)) for member in two]
            single += sum(float(weight @ self._loss(climber, f)) for f in outputs) / 2
            both += float(weight @ self._loss(climber, (outputs[0] + outputs[1]) / 2))
        return (single - both) / abs(single) if single else 0.0

    def _beats(self, rung: int, other: int) -> bool:
        """Whether one rung is better than another by more than a standard error."""
        gain, share = self._losses[other] - self._losses[rung], self._weight / self._weight.sum()
        mean = float(share @ gain)
        return mean > float(np.linalg.norm(share * (gain - mean)))

    def _firsts(self, climbers: Sequence[Climber]) -> Sequence[Climber]:
        return climbers[::2] if self.paired else climbers

    def _of_two(self, one: Climber, two: Climber, rung: int) -> FloatArray:
        first, second = self.outputs(one, rung), self.outputs(two, rung)
        single = (self._loss(one, first) + self._loss(one, second)) / 2
        both = self._loss(one, (first + second) / 2)
        return 2 * both - single + 2 * (single - both) / self.n_members

    def outputs(self, climber: Climber, rung: int) -> NDArray[np.floating]:
        """Of a member after a rung, on the rows it holds out; kept, as scouts, curves and calibration ask again."""
        key = id(climber), rung if rung >= 0 else len(climber.networks) + rung
        if key not in self._said:  # the member is kept, too: another one would not have its number
            self._said[key] = climber, self._judged(climber).outputs(climber.network(rung))
        return self._said[key][1]

    def places(self, climber: Climber) -> NDArray[np.int32]:
        """Where the problem keeps the rows that a member holds out."""
        return self._judged(climber).places

    def _loss(self, climber: Climber, f: NDArray[np.floating]) -> FloatArray:
        return judged_losses(self._judged(climber), f)

    def _judged(self, climber: Climber) -> JudgedRows:
        """The rows a member holds out; shared by members that hold out the same."""
        rows = climber.judged_on
        if id(rows) not in self._rows:
            self._rows[id(rows)] = JudgedRows(self.problem, rows)
        return self._rows[id(rows)]
