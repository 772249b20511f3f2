"""That the noise is Gaussian and heteroskedastic, tested on many draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from .data import noise_level, realisation, truth

__all__ = ["noise_report"]


def noise_report(n: int = 20_000, seed: int = 12345) -> dict[str, Any]:
    """Breusch-Pagan (Koenker's form) against constant noise, and Kolmogorov-Smirnov for noise / level being normal.

    LM = n R^2 of a regression of the squared residual on x^2, chi2 with one degree of freedom if the noise is constant.
    """
    x, y = realisation(seed, n)
    residual = y - truth(x)
    correlation = np.corrcoef(residual**2, x**2)[0, 1]
    lm = n * correlation**2
    normal = stats.kstest(residual / noise_level(x), "norm")
    middle, edge = np.abs(x) < 0.2, np.abs(x) > 0.8
    return {
        "draws": n,
        "breusch_pagan": float(lm),
        "p_constant": float(stats.chi2.sf(lm, 1)),
        "p_normal": float(normal.pvalue),
        "sd_middle": float(residual[middle].std()),
        "sd_edge": float(residual[edge].std()),
    }
