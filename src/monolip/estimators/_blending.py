r"""How much of boosted trees: f becomes (1 - share) f + share g, and rows held out say what share they want.

    share* = sum k r d / sum k d^2,    r = y - f, d = g - f    (two classes: Newton steps of the log-loss)

with k the weights under which least squares follow |error|^1.5, as a jury counts, one step from f. Two models that err
differently are better together: before any row is asked a share of EXPECTED is likely, give or take SPREAD, and what
rows say is weighed against that by its own standard error. Few rows hardly move it, many decide alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._jury import POWER
from monolip.estimators._leftover import Leftover

__all__ = ["Share", "of_constant", "share_of"]

FloatArray = NDArray[np.float64]
EXPECTED, SPREAD, MOST = 0.3, 0.2, 0.8
STEPS, CLOSE = 8, 1e-9  # of Newton, at most, and the last one's length


class Share(NamedTuple):
    """share: of the trees. gain, error: part of the loss that rows held out gain by it, as a jury counts, and the
    standard error of that. of_loss: the gain as a part of the plain loss."""

    share: float = 0.0
    gain: float = 0.0
    error: float = 0.0
    of_loss: float = 0.0


def share_of(left: Leftover, f: FloatArray, g: FloatArray) -> Share:
    """left: the rows held out; f, g: what network and trees say there that had not learned from them."""
    wanted, error = _of_class(left, f, g - f) if left.is_class else _of_number(left, f, g - f)
    if not (np.isfinite(wanted) and np.isfinite(error)):
        return Share()
    known, expected = 1.0 / max(error, 1e-9) ** 2, 1.0 / SPREAD**2
    share = float(np.clip((wanted * known + EXPECTED * expected) / (known + expected), 0.0, MOST))
    before, after = left.losses(f), left.losses(f + share * (g - f))
    power = 1.0 if left.is_class else POWER
    gain, error = _gained(left, before**power, after**power)
    return Share(share, gain, error, _gained(left, before, after)[0])


def of_constant(share: Share, left: Leftover, f: FloatArray) -> float:
    """What the same rows gain by a share, as a part of a constant's loss."""
    return share.of_loss * float(left.losses(f).sum()) / (left.without_features() or np.inf)


def _gained(left: Leftover, before: FloatArray, after: FloatArray) -> tuple[float, float]:
    """Part of the losses that is gained, and its standard error."""
    total, gain = float(before.sum()), left.of_groups(before - after)
    if not total > 0.0 or len(gain) < 2:
        return 0.0, np.inf
    return float(gain.sum()) / total, float(np.std(gain, ddof=1) * np.sqrt(len(gain))) / total


def _of_number(left: Leftover, f: FloatArray, d: FloatArray) -> tuple[float, float]:
    """The share with the least loss, and its standard error."""
    rest = left.y - f
    size = np.abs(rest)
    k = left.weight / np.sqrt(np.maximum(size, np.median(size) + 1e-9))
    curve = float((k * d * d).sum())
    if not curve > 0.0:
        return 0.0, np.inf
    share = float((k * rest * d).sum()) / curve
    return share, float(np.linalg.norm(left.of_groups(k * d * (rest - share * d)))) / curve


def _of_class(left: Leftover, f: FloatArray, d: FloatArray) -> tuple[float, float]:
    share = 0.0
    for _ in range(STEPS):
        p = 0.5 + 0.5 * np.tanh(0.5 * (f + share * d))
        slope, curve = left.weight * (p - left.y) * d, float((left.weight * p * (1.0 - p) * d * d).sum())
        if not curve > 0.0:
            return 0.0, np.inf
        last, share = share, min(max(share - float(slope.sum()) / curve, -1.0), 2.0)
        if abs(share - last) <= CLOSE:
            break
    return share, float(np.linalg.norm(left.of_groups(slope))) / curve
