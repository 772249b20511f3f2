"""What the paper says about Figure 2, as statements that are true or raise."""

from __future__ import annotations

from statistics import fmean
from typing import Any

__all__ = ["check_claims", "mean_of"]

MONOTONE = ("lmn", "convex")


def mean_of(fits: list[dict[str, Any]], key: str) -> float:
    """Mean over seeds."""
    return fmean(float(one[key]) for one in fits)


def check_claims(numbers: dict[str, Any]) -> dict[str, Any]:
    """Raises AssertionError with the claim that does not hold; returns the numbers each claim was decided by."""
    noise = numbers["noise"]
    assert noise["p_constant"] < 1e-6, f"the noise must depend on x: {noise}"
    assert noise["p_normal"] > 1e-3, f"the noise divided by its level must be standard normal: {noise}"
    rising, falling = numbers["realisations"]
    assert rising["trend"] > 0.0 > falling["trend"], "one realisation must rise at the edge of the support, one fall"
    return {"monotone_fits": _never_falls(numbers), **_unconstrained(numbers), **_outlier(numbers)}


def _never_falls(numbers: dict[str, Any]) -> int:
    """Every seed of every monotone model is non-decreasing: certified for all x, and measured outside the support."""
    count = 0
    for data in (*numbers["realisations"], numbers["outlier"]):
        for model in MONOTONE:
            for one in data[model]:
                assert one["certified"][0] >= 0.0, f"{model}: certified slopes are {one['certified']}"
                assert not one["falls_outside"], f"{model}: the curve falls outside the support"
                assert not one["falls_inside"], f"{model}: the curve falls inside the support"
                assert one["falling_ulp_steps"] == 0, f"{model}: the curve falls between neighbouring numbers"
                count += 1
    return count


def _unconstrained(numbers: dict[str, Any]) -> dict[str, Any]:
    """The unconstrained network overfits, falls inside and outside the support, and is far less smooth."""
    found: dict[str, Any] = {"falls_outside": [], "falls_inside": [], "roughness_ratio": []}
    for data in numbers["realisations"]:
        free, ours = data["unconstrained"], data["lmn"]
        found["falls_outside"].append(sum(one["falls_outside"] for one in free))
        found["falls_inside"].append(sum(one["falls_inside"] for one in free))
        found["roughness_ratio"].append(mean_of(free, "roughness") / mean_of(ours, "roughness"))
        assert found["falls_inside"][-1] > len(free) / 2, f"most unconstrained fits are monotone: {found}"
        assert mean_of(free, "error_on_data") < mean_of(ours, "error_on_data"), "the data are not overfitted"
        assert mean_of(free, "error_to_truth") > mean_of(ours, "error_to_truth"), "overfitting does not cost accuracy"
        assert found["roughness_ratio"][-1] > 3.0, f"the Lipschitz fits are not much smoother: {found}"
    assert found["falls_outside"][1] > 0, "no unconstrained fit falls outside the support"
    return found


def _outlier(numbers: dict[str, Any]) -> dict[str, Any]:
    """One outlier bends an unconstrained fit to itself; a curve with slopes in [0, 2 lambda] hardly moves there."""
    outlier, clean = numbers["outlier"], numbers["realisations"][0]
    where = min(range(len(numbers["shown"])), key=lambda k: abs(numbers["shown"][k] - outlier["at"][0]))
    found: dict[str, Any] = {}
    for model in ("unconstrained", *MONOTONE):
        pairs = zip(clean[model], outlier[model], strict=True)
        found[model] = fmean(abs(after["curve"][where] - before["curve"][where]) for before, after in pairs)
    for model in MONOTONE:
        assert found["unconstrained"] > 3.0 * found[model], f"moves at the outlier: {found}"
    return {"move_at_outlier": found}
