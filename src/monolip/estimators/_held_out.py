"""What a classifier says about rows that its members had not learned from yet: kept to measure calibration.

The finish of a fit uses all rows; what is kept here are the members' answers of just before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._climber import Climber
from monolip.estimators._jury import Jury
from monolip.estimators._targets import Target
from monolip.estimators.calibration import Calibration, measure_calibration
from monolip.output_link import OutputLink

__all__ = ["HeldOut"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOut:
    """f: (rows, n_outputs), each member's own on the rows it held out, offsets included; codes: their classes."""

    f: FloatArray
    codes: NDArray[np.int64]
    weight: FloatArray

    @classmethod
    def of(cls, jury: Jury, climbers: Sequence[Climber], rung: int, target: Target) -> HeldOut | None:
        """Of the members that a recipe trained, after a rung; None for a regressor, or where nothing was held out."""
        climbers = [climber for climber in climbers if climber.holdout is not None]
        if target.classes is None or not climbers:
            return None
        f = np.concatenate([jury.outputs(climber, rung) for climber in climbers])
        every = np.concatenate([jury.problem.rows_kept(jury.places(climber)) for climber in climbers])
        weight = np.ones(len(every)) if target.weight is None else target.weight[every]
        return cls(f.astype(np.float64), target.classes[every], weight)

    def after(self, before: HeldOut | None) -> HeldOut:
        """With those of the members there were before a warm start."""
        if before is None:
            return self
        return HeldOut(
            np.concatenate([before.f, self.f]),
            np.concatenate([before.codes, self.codes]),
            np.concatenate([before.weight, self.weight]),
        )

    def calibration(self, link: OutputLink) -> Calibration:
        """Of the members one by one; their average is, if anything, better."""
        return measure_calibration(link.apply(self.f), self.codes, weight=self.weight)
