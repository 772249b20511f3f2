"""Numbers other people printed, with where they stand and how they were selected. Facts, never compared by code alone.

paper: Nolte, Kitouni, Williams, ICLR 2023, Table 1. liu: Liu et al. 2020 as quoted there. comet: Sivaraman et al. 2020
as quoted there. shaping: "Shaping Monotonic NNs with Constrained Learning", Tables 1-2, which re-tabulate the others.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BESIDE", "COLUMNS", "OTHERS", "PAPER", "Entry", "Other", "printed"]


class Entry(NamedTuple):
    """value ± error as printed; parameters where the paper states them; metric: accuracy (%), rmse or mse."""

    value: float
    error: float
    parameters: int | None
    metric: str


PAPER = {
    "COMPAS": Entry(69.3, 0.1, 37, "accuracy"),
    "BlogFeedback": Entry(0.160, 0.001, 2225, "rmse"),
    "BlogFeedback mini": Entry(0.155, 0.001, 177, "rmse"),
    "LoanDefaulter": Entry(65.44, 0.03, 753, "accuracy"),
    "LoanDefaulter mini": Entry(65.28, 0.01, 69, "accuracy"),
    "ChestXRay": Entry(67.6, 0.6, 1043, "accuracy"),
    "ChestXRay end-to-end": Entry(70.0, 1.4, 1043, "accuracy"),
    "HeartDisease": Entry(89.6, 1.9, None, "accuracy"),
    "AutoMPG": Entry(7.58, 1.2, None, "mse"),
}


# The best other model of the paper's Table 1: Certified (Liu et al. 2020), COMET (Sivaraman et al. 2020).
BESIDE = {
    "COMPAS": "68.8 ± 0.2, 23112",
    "BlogFeedback": "0.158 ± 0.001, 8492",
    "LoanDefaulter": "65.2 ± 0.1, 8502",
    "ChestXRay": "62.3 ± 0.2, 12792",
    "ChestXRay end-to-end": "66.3 ± 1.0, 12792",
    "HeartDisease": "86 ± 3, not stated",
    "AutoMPG": "8.81 ± 1.81, not stated",
}


def printed(entry: str) -> str:
    """A score of the paper's Table 1 with as many digits as it has there.

    >>> printed("BlogFeedback"), printed("LoanDefaulter")
    ('0.160 ± 0.001', '65.44 ± 0.03')
    """
    found = PAPER[entry]
    digits = {"accuracy": 1 if found.error >= 0.1 else 2, "rmse": 3, "mse": 2}[found.metric]
    return f"{found.value:.{digits}f} ± {found.error:.{digits}f}"


class Other(NamedTuple):
    """One published row. scores and parameters are as printed, in the order of COLUMNS; empty: not given there.

    counted: where the parameters stand. selection: what the test set was used for.
    """

    method: str
    scores: tuple[str, ...]
    parameters: tuple[str, ...]
    source: str
    counted: str
    selection: str

    def cells(self) -> list[str]:
        """score / parameters for each column; "?" where a score is printed without its parameters."""
        return [
            "; ".join(f"{score} / {count or '?'}" for score, count in _pairs(scores, counts)) if scores else ""
            for scores, counts in zip(self.scores, self.parameters, strict=True)
        ]


def _pairs(scores: str, counts: str) -> list[tuple[str, str]]:
    parts = scores.split("; ")
    given = counts.split("; ") if counts else [""] * len(parts)
    return list(zip(parts, given, strict=True))


COLUMNS = ("COMPAS, %", "BlogFeedback, RMSE", "LoanDefaulter, %", "ChestXRay, %", "HeartDisease, %", "AutoMPG, MSE")
NONE = ("", "", "", "", "", "")
OTHERS = (
    Other("Isotonic", ("67.6", ".203", "62.1", "", "", ""), NONE, "shaping (quoted)", "", "unknown"),
    Other(
        "XGBoost, monotone", ("68.5 ± .1", ".176 ± .005", "63.7 ± .1", "", "", ""), NONE, "shaping (from Liu)", "",
        "unknown",
    ),
    Other(
        "Crystal lattice", ("66.3 ± .1", ".164 ± .002", "65.0 ± .1", "", "", ""),
        ("25840", "15840", "16940", "", "", ""), "shaping (quoted)", "shaping", "unknown",
    ),
    Other(
        "DLN", ("67.9 ± .3", ".161 ± .001", "65.1 ± .2", "", "86 ± 2", "13.34 ± 2.42"),
        ("31403", "27903", "29949", "", "", ""), "shaping, comet", "shaping", "grid search per fold",
    ),
    Other(
        "Min-Max", ("67.8 ± .1", ".163 ± .001", "64.9 ± .1", "", "75 ± 4", "10.14 ± 1.54"),
        ("42000", "27700", "29000", "", "", ""), "shaping, comet", "shaping", "grid search per fold",
    ),
    Other(
        "Non-Neg-DNN", ("67.3 ± .9", ".168 ± .001", "65.1 ± .1", "", "", ""), ("23112", "8492", "8502", "", "", ""),
        "shaping (quoted)", "shaping", "unknown",
    ),
    Other(
        "Certified", ("68.8 ± .2", ".158 ± .001", "65.2 ± .1", "62.3 ± .2; E-E 66.3 ± 1.0", "", ""),
        ("23112", "8492", "8502", "12792; 12792", "", ""), "paper (liu)", "paper", "validation, ties on test",
    ),
    Other(
        "COMET", ("", "", "", "", "86 ± 3", "8.81 ± 1.81"), NONE, "paper (comet)", "", "training error, 3 folds"
    ),
    Other(
        "CMNN", ("69.2 ± .2", ".156 ± .001", "65.3 ± .1", "", "89 ± 0", "8.37 ± .08"),
        ("2317", "1101", "177", "", "", ""), "shaping (quoted)", "shaping", "on test; best 5 of 10 runs",
    ),
    Other(
        "SMNN", ("69.3 ± .9", "about .150", "65.0 ± .1", "", "88 ± 4", "7.44 ± 1.20"),
        ("2657", "1421", "501", "", "", ""), "shaping (quoted)", "shaping", "on test",
    ),
    Other(
        "MonoKAN", ("69.6 ± .2", ".153 ± .0003", "65.4 ± .02", "", "91 ± 1", "5.82 ± .03"),
        ("2671", "5891", "5756", "", "", ""), "its notebook", "its notebook", "on test; one split",
    ),
    Other(
        "Primal-dual (no guarantee)", ("69.4 ± .1", ".151 ± .001", "65.4 ± .0", "", "92 ± 14 (sic)", "5.82 ± .26"),
        ("2069", "847", "", "", "", ""), "shaping", "shaping", "best 5 of 10; up to 10 % may violate",
    ),
    Other(
        "Activation switch", ("69.5", "", "65.4", "", "94 ± 1", "7.34 ± .46"), NONE, "its digest", "", "unknown"
    ),
    Other(
        "LMN (the paper)", ("69.3 ± .1", ".160 ± .001; mini .155 ± .001", "65.44 ± .03; mini 65.28 ± .01",
        "67.6 ± .6; E-E 70.0 ± 1.4", "89.6 ± 1.9", "7.58 ± 1.2"), ("37", "2225; 177", "753; 69", "1043; 1043", "", ""),
        "paper", "paper", "best epoch and threshold on test",
    ),
)  # fmt: skip
