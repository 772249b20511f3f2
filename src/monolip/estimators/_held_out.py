"""What a classifier says about its validation rows: kept to measure calibration.

The refit uses all rows; what is kept here are the members' outputs of just before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._targets import Target
from monolip.estimators.calibration import Calibration, measure_calibration, of_named_class
from monolip.estimators.stages import Trained
from monolip.output_link import OutputLink

__all__ = ["HeldOut"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOut:
    """f: (rows, n_outputs), each member's own on its validation rows, offsets included; codes: their classes."""

    f: FloatArray
    codes: NDArray[np.int64]
    weight: FloatArray

    @classmethod
    def of(cls, trained: Trained, target: Target, validation: Target | None = None) -> HeldOut | None:
        """Return the outputs of all validated members; None for a regressor, or without validation rows.

        target: of the rows trained on. validation: of the user's own validation rows.
        """
        pairs = [(group, member) for group, member in trained.members if member.validation is not None]
        if target.classes is None or not pairs:
            return None
        outputs, codes, weights = [], [], []
        for group, member in pairs:
            assert member.validation is not None
            source = target if member.validation.problem is group.problem or validation is None else validation
            rows = member.validation.problem.rows_kept(member.validation.judged.places)
            assert source.classes is not None
            outputs.append(member.outputs(group.best).astype(np.float64))
            codes.append(source.classes[rows])
            weights.append(np.ones(len(rows)) if source.weight is None else source.weight[rows])
        return cls(np.concatenate(outputs), np.concatenate(codes), np.concatenate(weights))

    def calibration(self, link: OutputLink) -> Calibration:
        """Return the calibration of the members one by one; their average is, if anything, better."""
        return measure_calibration(*of_named_class(link, link.apply(self.f), self.codes), weight=self.weight)
