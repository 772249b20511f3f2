r"""The fit recipe: an additive start, then one path of ever longer and ever less regularised training.

    start     every member: the additive function that fits its rows best inside the slope intervals (milliseconds)
    rungs     50 steps, then twice as many each time, each going on from the last with less slope decay; decay pulls
              towards the start, so the path leads from an additive function to a free network
    decay     also stronger where the start needed a strong ridge penalty: both say how much noise there is
    stop      when a rung gains too little on the rows held out (see _jury), or after as many as rows earn; a path of
              few rows that still gains much at its end earns more, one whose first rung loses and whose start leaves
              nothing over that features explain (see _misfit) ends there (two members find that out for all); so does
              one of many rows that gains little after three rungs
    members   of few rows each holds out another part, and up to eight judge; of many rows two by two hold out the same
              part, so that their average is judged. All take the network of the rung that was best for all together.
              Two that disagree much after some rungs are joined by two more, and two that disagree in the end are
              followed by two more, where their number is left to the fit
    features  what a network gains nothing by, or what nothing shows to matter where it only loses, is left to the start
              (see _narrowing)
    finish    rows held out have done their work: every member trains once more with all rows, further where the path
              was still gaining, else along the best rung again, not where many rows gained little; followers see all

Everything is decided on rows held out inside the fit; nothing depends on anything a fit cannot see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from monolip.engine.additive import Additive
from monolip.engine.problem import Problem
from monolip.estimators._climber import Chosen, Climber, Hands, Rung, Used
from monolip.estimators._coach import Coach
from monolip.estimators._jury import SHORT, WORTH_NOISY, Jury
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
PASSES = 4  # over many rows, before a path that gains little may end
LITTLE, FEW_PARTS = 0.05, 8  # a path over many rows that gains less leaves one of so many parts of them out
RESERVED = 3  # a path of so many rungs keeps its last one for the finish
EARNS = 0.05  # part of the loss: a last rung that gains this much earns another one
DISAGREE = 3  # rungs after which two members are compared
APART, DIVIDED = 0.015, 0.03  # part of the loss that their average saves, if two more join them; follow in the end
PATIENT = 4.0  # times as long as so far: less time left, and nobody joins
STILL = 0.01  # and one that gains this much is followed by a longer one in the finish
FEW_RUNGS = 3  # after which many rows end in noise
SCOUTS = 2  # members of few rows that climb the first rung before the others
UNJUDGED = 0.1  # least slope decay where no rows are held out to stop in time


@dataclass
class Recipe:
    """rungs: the path; the last `unearned` of them only where it still gains much. penalty: (d,) relative ridge
    penalties of the start. folds: (n,) fold of each row, or None. most_members: as many may become of n_members.
    look: finds what an additive start leaves over; None: nobody does. used: by networks,
    beside their start; None: everything.
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

    @property
    def paired(self) -> bool:
        """Whether members hold out the same rows two by two."""
        return self.has_many_rows and (self.n_members == 2 or self.n_members >= PROBES)

    @cached_property
    def jury(self) -> Jury:
        seen = np.cumsum([rung.steps for rung in self.rungs]) * self.coach.batch_size
        short = max(SHORT, 1 + int(np.searchsorted(seen, PASSES * len(self.problem.data.y))))
        return Jury(self.problem, self.n_members, self.paired, self.has_many_rows, short)

    @property
    def has_many_rows(self) -> bool:
        """Many rows are judged reliably, and earn more than a start: short rungs do not tell yet what they have."""
        return len(self.problem.data.y) >= MANY_ROWS

    def run(self) -> tuple[Chosen, list[Climber]]:
        """What was chosen, and the members, each with a network for that rung. Goes on from where `climb` ended."""
        self.climb(len(self.rungs))
        climbed = self.climbed
        chosen = self._chosen(climbed if self.folds is None else self.jury.best(), climbed)
        if climbed < self._length and self._is_finished(chosen.rung):  # else nothing is left of the passes asked for
            self._finish(self.probes, chosen)
        if self._is_divided(chosen):
            self.n_members = self.most_members
        follow = len(self.probes) < self.n_members and not self.coach.is_out_of_time(wanted=True)
        return chosen, self.probes + (self.more(chosen, len(self.probes)) if follow else [])

    def climb(self, until: int) -> bool:
        """Start, and train from rung to rung until the hold-out loss falls no more, `until` of them at most.

        Returns whether the path goes on from there.
        """
        if not self.probes:
            probes = min(self.n_members, PROBES if self.has_many_rows else PROBES_FEW)
            self.probes, self.strength = self._start(range(probes), self.folds is not None)
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
        if number == DISAGREE and number < self._judged:
            self._join()
        if number < self._judged and not self.coach.is_out_of_time(wanted=True):
            with self.coach.interruptible():
                if number == 0 and self._ends_with_scouts():
                    self.ended = True
                    return
                others = [climber for climber in self.probes if len(climber.networks) <= number + 1]
                self._train(others, number, self.probes)
                if self.folds is not None:
                    self.jury.hear(self.probes)
        done = self.folds is not None and self.climbed > 0 and (self.jury.is_done() or self._ends_in_noise())
        left = not done and self.climbed < self._judged
        self.ended = done or self.coach.is_out_of_time(wanted=left) or self.climbed <= number
        if not self.ended and self.climbed == self._judged:
            self.ended = not self._earns_more()

    def _ends_with_scouts(self) -> bool:
        """Whether two members of few rows lose by the first rung, and all there is over is noise: nobody else tries."""
        if self.folds is None or self.has_many_rows or len(self.probes) < 2 * SCOUTS:
            return False
        scouts = self.probes[:SCOUTS]
        self._train(scouts, 0, self.probes)
        return self.coach.is_out_of_time(wanted=True) or (self.jury.lost_at_once(scouts) and self._is_noise)

    def _ends_in_noise(self) -> bool:
        """Whether the start leaves nothing over to be learned, and few rows have lost by their first rung, or many, but
        not very many, gain little any more after three."""
        if self.has_many_rows:
            short = self.jury.short == SHORT and self.climbed == FEW_RUNGS
            return short and not self.jury.gained_last(WORTH_NOISY) and self._is_noise
        return self.climbed == 1 and self.jury.lost_at_once(self.probes) and self._is_noise

    @cached_property
    def _is_noise(self) -> bool:
        """Whether the start leaves nothing over to be learned."""
        return self.misfit is not None and self.misfit.is_noise()

    @cached_property
    def misfit(self) -> Misfit | None:
        """What the first member's start leaves over; None where there is no start, or nobody looks."""
        start = self.probes[0].anchored.start
        return None if start is None or self.look is None else self.look(start)

    def _join(self) -> None:
        """Members that disagree much are joined by others, who climb as far as they did; then all of them judge."""
        if self.folds is None or self.most_members <= self.n_members or self.jury.disagreement(self.probes) < APART:
            return
        if self.coach.is_out_of_time(PATIENT * self.coach.spent, wanted=True):
            return
        climbed, before, self.n_members = self.climbed, self.n_members, self.most_members
        with self.coach.interruptible():
            joining = self._start(range(before, self.n_members), judged=True)[0]
            for number in range(climbed):
                self._train(joining, number)
        if self.coach.is_out_of_time(wanted=True):
            self.n_members = before  # who came only part of the way would spoil the others
            return
        self.probes, jury = self.probes + joining, self.jury
        del self.jury
        self.jury.succeed(jury)
        for rung in range(climbed + 1):
            self.jury.hear(self.probes, rung)

    def _is_divided(self, chosen: Chosen) -> bool:
        """Whether members disagree so much in the end that others are to follow them."""
        if self.folds is None or self.most_members <= self.n_members or chosen.rung == 0:
            return False
        divided = self.jury.disagreement(self.probes, chosen.rung) > DIVIDED
        return divided and not self.coach.is_out_of_time(PATIENT * self.coach.spent, wanted=True)

    def _earns_more(self) -> bool:
        """Whether the last rung of a path gained so much that there is one more."""
        earned = self.unearned > 0 and self.folds is not None and self.jury.gained_last(EARNS)
        self.unearned -= earned
        return earned

    @property
    def climbed(self) -> int:
        """Rungs that all members have climbed."""
        return min(len(climber.networks) for climber in self.probes) - 1

    @property
    def _length(self) -> int:
        return len(self.rungs) - self.unearned

    def _chosen(self, best: int, climbed: int) -> Chosen:
        steps, learned = sum(rung.steps for rung in self.rungs[:best]), self._has_learned()
        if best == 0 or best < climbed or climbed == self._length or not self._is_finished(best):
            return Chosen(best, self.strength, steps, None, learned, self.used)
        further = best if best == self._judged and self.jury.gained_last(STILL) else best - 1
        return Chosen(best, self.strength, steps + self.rungs[further].steps, further, learned, self.used)

    def _is_finished(self, best: int) -> bool:
        """Whether all rows are trained on in the end: of many, what gained little gains nothing by some more."""
        parts = 0 if self.folds is None or not self.has_many_rows else int(self.folds.max()) + 1
        return self.folds is not None and (parts < FEW_PARTS or self.jury.gained_much(best, LITTLE))

    @property
    def _judged(self) -> int:
        """Rungs that are climbed under judgement; the last one of a whole path is left for the finish."""
        return self._length - (self.folds is not None and self._length >= RESERVED)

    def _finish(self, climbers: Sequence[Climber], chosen: Chosen) -> None:
        """Once more with all rows. What was cut short is thrown away: the best rung was judged, it was not."""
        if chosen.rung == 0 or self.coach.is_out_of_time(wanted=True):
            return
        last, start = (chosen.rung - 1,) * 2 if chosen.further is None else (chosen.further, chosen.rung)
        with self.coach.interruptible():
            self.coach.finish(climbers, last, self._rung(last), start, self._hands.every_row)

    def more(self, chosen: Chosen, start: int) -> list[Climber]:
        """Members number `start` and up, as far as was chosen. They judge nothing, and learn from all rows."""
        self.strength, self.learned, self.used = chosen.strength, chosen.learned, chosen.used
        found: list[Climber] = []
        with self.coach.interruptible():
            found = self._followers(chosen, start)
        return found

    def _followers(self, chosen: Chosen, start: int) -> list[Climber]:
        climbers, _ = self._start(range(start, self.n_members), judged=False)
        for number in range(chosen.rung):
            self._train(climbers, number)
            if number + 1 < chosen.rung and self.coach.is_out_of_time(wanted=True):
                return []  # members that came only part of the way would spoil the others
        if chosen.further is not None and climbers:
            self._finish(climbers, chosen)
        return climbers

    def _start(self, members: Sequence[int], judged: bool) -> Started:
        """Members at their starts, of the strength found if one was; who is not judged learns from all rows."""
        tried = STRENGTHS if self.strength is None else (self.strength,)
        dealt = [(member // 2 if self.paired else member) if judged else None for member in members]
        rows = [self._hands.of(fold) for fold in dealt]
        return start_members(self.problem, members, rows, self.penalty, tried, judged, self.used)

    def _train(self, climbers: Sequence[Climber], number: int, together: Sequence[Climber] = ()) -> None:
        self.coach.train(climbers, number, self._rung(number), together)

    def _rung(self, number: int) -> Rung:
        return Rung(self.rungs[number].steps, self._decay(number))

    def _decay(self, number: int) -> float:
        decay = self.rungs[number].decay
        if self.folds is None:
            return max(decay, UNJUDGED)
        if self.strength is None or number < NOISY:
            return decay
        return decay * float(np.clip(self.strength / USUAL, LEAST, 1.0 if self._has_learned() else MOST))

    def _has_learned(self) -> bool:
        """Whether the first rungs gained so much that what the start could not explain is no noise."""
        return self.learned or (len(self.jury.curve) > NOISY and self.jury.gained_much(NOISY))

    @cached_property
    def _hands(self) -> Hands:
        return Hands(self.folds, len(self.problem.data.y))
