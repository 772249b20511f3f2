"""A trunk: one network in convex or paper form, the outputs it gives, and the proof that it keeps a promise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .convex import ConvexForm
from .errors import FreezeError
from .paper_form import PaperForm
from .rounding import round_down, round_up
from .slope_set import SlopeSet
from .slopes import SlopeBounds

__all__ = ["Member", "Trunk"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Trunk:
    """One network and the outputs of f that its rows are."""

    form: ConvexForm | PaperForm
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        whole = all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in np.ravel(self.outputs))
        if not isinstance(self.form, ConvexForm | PaperForm) or np.ndim(self.outputs) != 1 or not whole:
            raise FreezeError(
                "a trunk is a ConvexForm or PaperForm and the positions of its outputs; got "
                f"{type(self.form).__name__} and {self.outputs!r}; pass for example Trunk(form, (0,))."
            )
        object.__setattr__(self, "outputs", tuple(int(k) for k in self.outputs))

    @property
    def slope_range(self) -> tuple[FloatArray, FloatArray]:
        """Slopes the form can have over all its outputs, read off its weights; shape (n_features,) each."""
        if isinstance(self.form, ConvexForm):
            return self.form.slope_range
        outputs = [_paper_slopes(self.form, row) for row in range(self.form.n_outputs)]
        low = [[round_down(a) for a, _ in slopes] for slopes in outputs]  # outwards, and still inside float bounds
        high = [[round_up(b) for _, b in slopes] for slopes in outputs]
        return np.min(low, axis=0), np.max(high, axis=0)

    def keeps(self, promise: SlopeBounds | SlopeSet) -> bool:
        """Whether every gradient lies in what is promised, decided in exact arithmetic on the stored numbers."""
        bounds = promise.bounds if isinstance(promise, SlopeSet) else promise
        kept = all(self._output_keeps(row, bounds.for_output(k)) for row, k in enumerate(self.outputs))
        if isinstance(promise, SlopeSet) and not promise.is_box:  # slopes of paper form fill a box: it cannot be proved
            kept = kept and isinstance(self.form, ConvexForm) and promise.contains_exactly(self.form.weights[0])
        return kept

    def _output_keeps(self, row: int, bounds: SlopeBounds) -> bool:
        if isinstance(self.form, ConvexForm):
            return bounds.contains(self.form.weights[0])
        promised = zip(bounds.lower.tolist(), bounds.upper.tolist(), strict=True)
        slopes = zip(_paper_slopes(self.form, row), promised, strict=True)
        return all(a <= low and high <= b for (low, high), (a, b) in slopes)


Member = tuple[Trunk, ...]


def _paper_slopes(form: PaperForm, row: int) -> list[tuple[Fraction, Fraction]]:
    """center -+ scale radius of every feature for one output, as rational numbers."""
    scale = Fraction(float(form.scale[row]))
    pairs = zip(form.center[row].tolist(), form.radius.tolist(), strict=True)
    return [(Fraction(c) - scale * Fraction(r), Fraction(c) + scale * Fraction(r)) for c, r in pairs]
