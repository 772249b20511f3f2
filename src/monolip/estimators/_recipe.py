r"""The fit recipe: an additive start, then one path of ever longer and ever less regularised training.

    start     every member: the additive function that fits its rows best inside the slope intervals (milliseconds)
    rungs     50 steps, then twice as many each time, each going on from the last with less slope decay; decay pulls
              towards the start, so the path leads from an additive function to a free network
    decay     also stronger where the start needed a strong ridge penalty: both say how much noise there is; slopes take
              smaller steps where it needed any to speak of, and where features are many
    stop      when a rung gains too little on the rows held out (see _jury), or after as many as rows earn; a path of
              few rows that still gains much at its end earns more, one whose first rung loses and whose start leaves
              nothing over that features explain (see _misfit) ends there; two members find that out for all (see
              _ending)
    members   of few rows each holds out another part, and up to eight judge; of many rows one explores, and a partner
              joins it where there is something to gain; two by two hold out the same part, so that their average is
              judged. All take the network of the rung that was best for all together.
              Two that disagree much after some rungs are joined by two more, and two that disagree in the end are
              followed by two more, where their number is left to the fit (see _joining)
    features  what a network gains nothing by, or what nothing shows to matter where it only loses, is left to the start
              (see _narrowing)
    finish    rows held out have done their work: every member trains once more with all rows, further where the path
              was still gaining, else along the best rung again, not where many rows gained little; followers see all

Everything is decided on rows held out inside the fit; nothing depends on anything a fit cannot see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.engine.additive import Additive
from monolip.engine.problem import Problem
from monolip.estimators._climber import RATE, Chosen, Climber, Hands, Rung, Used
from monolip.estimators._coach import Coach
from monolip.estimators._ending import earns_more, ends_in_noise, ends_with_scouts, is_finished
from monolip.estimators._joining import DISAGREE, followers, is_divided, join, join_partner
from monolip.estimators._jury import SHORT, Jury
from monolip.estimators._misfit import Misfit
from monolip.estimators._starts import Started, put_at_start, start_members

__all__ = ["Recipe"]

FloatArray = NDArray[np.float64]

STRENGTHS = (3000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
PROBES, PROBES_FEW = 4, 8  # members that decide, of many and of few rows; further ones follow
MANY_ROWS = 2500
NOISY = 3  # from this rung on decay is stronger where the start needed a strong penalty, and weaker where it did not
USUAL, LEAST, MOST = 3.0, 0.2, 10.0
QUIET = 1.0  # a start that needs less of a penalty than this says that there is hardly any noise
RATE_IN_NOISE = RATE / 2
WIDE = 32  # features: of more of them each takes smaller steps, as all of them move f at once
PASSES = 4  # over many rows, before a path that gains little may end
RESERVED = 3  # a path of so many rungs keeps its last one for the finish
STILL = 0.01  # part of the loss: a last rung that gains this much is followed by a longer one in the finish
UNJUDGED = 0.1  # least slope decay where no rows are held out to stop in time


@dataclass
class Recipe:
    """rungs: the path; the last `unearned` of them only where it still gains much. penalty: (d,) relative ridge
    penalties of the start. folds: (n,) fold of each row, or None. most_members: as many may become of n_members.
    look: finds what an additive start leaves over; None: nobody does. used: by networks, beside their start; None:
    everything. n_features: of the table.
    """

    problem: Problem
    folds: NDArray[np.int32] | None
    rungs: tuple[Rung, ...]
    penalty: FloatArray
    n_members: int
    coach: Coach
    unearned: int = 0
    most_members: int = 0
    look: Callable[[Additive], Misfit] | None = None
    strength: float | None = None
    learned: bool = False
    used: Used | None = None
    probes: list[Climber] = field(default_factory=list)
    ended: bool = False
    n_features: int = 1

    @property
    def paired(self) -> bool:
        """Whether members hold out the same rows two by two."""
        return self.has_many_rows and (self.n_members == 2 or self.n_members >= PROBES)

    @cached_property
    def jury(self) -> Jury:
        seen = np.cumsum([rung.steps for rung in self.rungs]) * self.coach.batch_size
        later = int(math.log2(max(1.0, self.n_features / WIDE)) / 2)  # whole halvings of their steps
        short = max(SHORT + later, 1 + int(np.searchsorted(seen, PASSES * len(self.problem.data.y))))
        return Jury(self.problem, self.n_members, self.paired, self.has_many_rows, short)

    @property
    def has_many_rows(self) -> bool:
        """Many rows are judged reliably, and earn more than a start: short rungs do not tell yet what they have."""
        return len(self.problem.data.y) >= MANY_ROWS

    def run(self) -> tuple[Chosen, list[Climber]]:
        """What was chosen, and the members, each with a network for that rung. Goes on from where `climb` ended."""
        self.climb(len(self.rungs))
        if self.judged <= self.climbed <= DISAGREE:  # too short a path for a partner to join on the way
            join_partner(self)
        climbed = self.climbed
        chosen = self._chosen(climbed if self.folds is None else self.jury.best(), climbed)
        if climbed < self._length and is_finished(self, chosen.rung):  # else nothing is left of the passes asked for
            self.finish(self.probes, chosen)
        if is_divided(self, chosen):
            self.n_members = self.most_members
        more = len(self.probes) < self.n_members and not self.coach.is_out_of_time(wanted=True)
        return chosen, self.probes + (followers(self, chosen, len(self.probes)) if more else [])

    def climb(self, until: int) -> bool:
        """Start, and train from rung to rung until the hold-out loss falls no more, `until` of them at most.

        Returns whether the path goes on from there.
        """
        if not self.probes:
            probes = min(self.n_members, PROBES if self.has_many_rows else PROBES_FEW)
            self.probes, self.strength = self.start(range(probes), self.folds is not None)
            self.jury.quiet = self.strength is not None and self.strength < QUIET
            if self.folds is not None:
                self.jury.hear(self.probes)
        while not self.ended and self.climbed < until:
            self._climb_one(self.climbed)
        return not self.ended

    def restarted(self, used: Used) -> Recipe:
        """The same path from its starts, with networks that use some features only."""
        found = replace(self, used=used, probes=[], ended=False)
        for climber in self.probes:
            found.probes.append(Climber(climber.member, climber.index, climber.holdout, climber.anchored))
            put_at_start(found.probes[-1], self.problem, climber.anchored.start, used)
        found.jury.succeed(self.jury)
        found.jury.hear(found.probes)
        return found

    def give_up(self) -> None:
        """Another path is taken; the history says so."""
        self.coach.give_up(self.probes)

    def _climb_one(self, number: int) -> None:
        if number < self.judged:
            join(self)
        if number < self.judged and not self.coach.is_out_of_time(wanted=True):
            with self.coach.interruptible():
                if number == 0 and ends_with_scouts(self):
                    self.ended = True
                    return
                others = [climber for climber in self.probes if len(climber.networks) <= number + 1]
                self.train(others, number, self.probes)
                if self.folds is not None:
                    self.jury.hear(self.probes)
        done = False
        with self.coach.interruptible():  # what is found out here is no reason to lose the rungs
            done = self.folds is not None and self.climbed > 0 and (self.jury.is_done() or ends_in_noise(self))
        left = not done and self.climbed < self.judged
        self.ended = done or self.coach.is_out_of_time(wanted=left) or self.climbed <= number
        if not self.ended and self.climbed == self.judged:
            earned = earns_more(self)
            self.unearned -= earned
            self.ended = not earned

    @cached_property
    def leaves_noise(self) -> bool:
        """Whether the first member's start leaves nothing over to be learned."""
        return self.misfit is not None and self.misfit.is_noise()

    @property
    def leaves_little(self) -> bool:
        """Whether nothing that it leaves over is beyond all doubt."""
        return self.misfit is not None and self.misfit.is_hardly_more()

    @cached_property
    def misfit(self) -> Misfit | None:
        """What the first member's start leaves over; None where there is no start, or nobody looks."""
        start = self.probes[0].anchored.start
        return None if start is None or self.look is None else self.look(start)

    @property
    def climbed(self) -> int:
        """Rungs that all members have climbed."""
        return min(len(climber.networks) for climber in self.probes) - 1

    @property
    def _length(self) -> int:
        return len(self.rungs) - self.unearned

    def _chosen(self, best: int, climbed: int) -> Chosen:
        steps, learned = sum(rung.steps for rung in self.rungs[:best]), self._has_learned()
        if best == 0 or best < climbed or climbed == self._length or not is_finished(self, best):
            return Chosen(best, self.strength, steps, None, learned, self.used)
        further = best if best == self.judged and self.jury.gained_last(STILL) else best - 1
        return Chosen(best, self.strength, steps + self.rungs[further].steps, further, learned, self.used)

    @property
    def judged(self) -> int:
        """Rungs that are climbed under judgement; the last one of a whole path is left for the finish."""
        return self._length - (self.folds is not None and self._length >= RESERVED)

    def finish(self, climbers: Sequence[Climber], chosen: Chosen) -> None:
        """Once more with all rows. What was cut short is thrown away: the best rung was judged, it was not."""
        if chosen.rung == 0 or self.coach.is_out_of_time(wanted=True):
            return
        last, start = (chosen.rung - 1,) * 2 if chosen.further is None else (chosen.further, chosen.rung)
        with self.coach.interruptible():
            self.coach.finish(climbers, last, self._rung(last), start, self._hands.every_row)

    def start(self, members: Sequence[int], judged: bool) -> Started:
        """Members at their starts, of the strength found if one was; who is not judged learns from all rows."""
        tried = STRENGTHS if self.strength is None else (self.strength,)
        dealt = [(member // 2 if self.paired else member) if judged else None for member in members]
        rows = [self._hands.of(fold) for fold in dealt]
        return start_members(self.problem, members, rows, self.penalty, tried, judged, self.used)

    def train(self, climbers: Sequence[Climber], number: int, together: Sequence[Climber] = ()) -> None:
        """All of them climb a rung. together: them and those that climb it before or after."""
        self.coach.train(climbers, number, self._rung(number), together)

    def _rung(self, number: int) -> Rung:
        return Rung(self.rungs[number].steps, self.decay(number), self._rate)

    def decay(self, number: int) -> float:
        """Slope decay of a rung, with what the start and the first rungs say of noise."""
        decay = self.rungs[number].decay
        if self.folds is None:
            return max(decay, UNJUDGED)
        if self.strength is None or number < NOISY:
            return decay
        return decay * float(np.clip(self.strength / USUAL, LEAST, 1.0 if self._has_learned() else MOST))

    @property
    def _rate(self) -> float:
        """Of slopes: with noise about, slower steps keep less of it; without, they only take longer. Of many features
        each moves less: steps have one size, whatever a slope is worth, and would undo the start together."""
        noisy = self.folds is not None and self.strength is not None and self.strength >= QUIET
        used = self.n_features if self.used is None else self.used.n_features
        return (RATE_IN_NOISE if noisy else RATE) * math.sqrt(WIDE / max(used, WIDE))

    def _has_learned(self) -> bool:
        """Whether the first rungs gained so much that what the start could not explain is no noise."""
        return self.learned or (len(self.jury.curve) > NOISY and self.jury.gained_much(NOISY))

    @cached_property
    def _hands(self) -> Hands:
        return Hands(self.folds, len(self.problem.data.y))
