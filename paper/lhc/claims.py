"""What the paper says about Figures 3 and 4, as statements that are true or raise."""

from __future__ import annotations

from statistics import fmean
from typing import Any

__all__ = ["check_claims", "mean_of"]

MONOTONE = ("trees", "lmn", "convex")
NETWORKS = ("lmn", "convex")


def mean_of(numbers: dict[str, Any], n_features: str, model: str, key: str) -> float:
    """Mean over seeds."""
    return fmean(one[n_features][model][key] for one in numbers["seeds"])


def check_claims(numbers: dict[str, Any]) -> dict[str, Any]:
    """Raises AssertionError with the claim that does not hold; returns the numbers each claim was decided by."""
    found: dict[str, Any] = {}
    for n in numbers["features"]:
        found[n] = {
            **_lifetimes(numbers, n),
            **_cost(numbers, n),
            **_smearing(numbers, n),
            **(_boundaries(numbers, n) if n == "2" else {}),
        }
    return found


def _lifetimes(numbers: dict[str, Any], n: str) -> dict[str, Any]:
    """The unconstrained network loses efficiency at large lifetimes; monotone models do not."""
    ratio = {model: mean_of(numbers, n, model, "late_over_early") for model in ("unconstrained", *MONOTONE)}
    assert ratio["unconstrained"] < 0.65, f"unconstrained: efficiency at 13-20 ps over 2-4 ps is {ratio}"
    for model in MONOTONE:
        assert ratio[model] > 0.95, f"{model}: efficiency at 13-20 ps over 2-4 ps is {ratio}"
    return {"late_over_early": ratio}


def _cost(numbers: dict[str, Any], n: str) -> dict[str, Any]:
    """Monotonicity costs less than 0.01 of AUC, in every seed; what it costs in efficiency is stated."""
    auc_cost, efficiency_cost = {}, {}
    for model in MONOTONE:
        costs = [one[n]["unconstrained"]["auc"] - one[n][model]["auc"] for one in numbers["seeds"]]
        assert max(costs) < 0.01, f"{model}: AUC is {max(costs)} below the unconstrained network's"
        auc_cost[model] = fmean(costs)
        free = mean_of(numbers, n, "unconstrained", "efficiency")
        efficiency_cost[model] = free - mean_of(numbers, n, model, "efficiency")
    return {"auc_cost": auc_cost, "efficiency_cost": efficiency_cost}


def _smearing(numbers: dict[str, Any], n: str) -> dict[str, Any]:
    """No smeared candidate moves a score further than the certified slopes allow."""
    count, exact = 0, 0
    for one in numbers["seeds"]:
        for model in NETWORKS:
            row = one[n][model]["smeared"]
            assert row["outside"] == 0, f"{model}: {row['outside']} scores moved further than certified"
            count += row["candidates"]
        exact += one[n]["lmn"]["smeared"]["in_rationals"]
        assert one[n]["lmn"]["smeared"]["outside_in_rationals"] == 0
        for lower, _ in (one[n]["lmn"]["smeared"]["slopes"][k] for k in _increasing(numbers, n)):
            assert lower >= 0.0, "the certificate of an LMN must say that no monotone slope is negative"
    return {"smeared_candidates": count, "smeared_in_rationals": exact}


def _increasing(numbers: dict[str, Any], n: str) -> list[int]:
    return [k for k, name in enumerate(numbers["features"][n]) if name != "vertex chi2"]


def _boundaries(numbers: dict[str, Any], n: str) -> dict[str, Any]:
    """The tree's boundary is jagged, ours smooth; only the unconstrained score falls with displacement."""
    turning = {model: mean_of(numbers, n, model, "turning") for model in ("unconstrained", *MONOTONE)}
    for model in NETWORKS:
        assert turning["trees"] > 3.0 * turning[model], f"right angles turned along the boundary: {turning}"
    falls = {model: mean_of(numbers, n, model, "falls_in_displacement") for model in ("unconstrained", *MONOTONE)}
    assert falls["unconstrained"] > 0.05, f"shares of falling steps: {falls}"
    for one in numbers["seeds"]:
        for model in MONOTONE:
            row = one[n][model]
            assert row["falls_in_displacement"] == row["falls_in_momentum"] == 0.0, f"{model}: a monotone score falls"
    return {"turning": turning, "falls_in_displacement": falls}
