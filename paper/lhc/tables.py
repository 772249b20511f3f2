"""Tables of the LHC example, from its results."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from paper.markdown import spread, table

__all__ = ["tables"]

NAMES = {
    "unconstrained": "unconstrained network",
    "trees": "monotone LightGBM",
    "lmn": "LMN (paper form)",
    "convex": "`MonotonicClassifier` (convex form)",
}


def _values(numbers: dict[str, Any], n: str, name: str, key: str) -> list[float]:
    return [one[n][name][key] for one in numbers["seeds"]]


def _efficiency(numbers: dict[str, Any], n: str) -> str:
    head = [
        "model",
        "AUC",
        "efficiency, natural lifetimes",
        "2-4 ps",
        "13-20 ps",
        "late / early",
        "rate without a coin [kHz]",
    ]
    keys = (("auc", ".4f"), ("efficiency", ".3f"), ("early", ".3f"), ("late", ".3f"), ("late_over_early", ".2f"))
    rows = [
        [
            NAMES[name],
            *[spread(_values(numbers, n, name, key), form) for key, form in keys],
            f"{min(_values(numbers, n, name, 'rate_khz')):.0f} to {max(_values(numbers, n, name, 'rate_khz')):.0f}",
        ]
        for name in NAMES
    ]
    return table(head, rows)


def _boundary(numbers: dict[str, Any]) -> str:
    rows = [
        [
            NAMES[name],
            spread(_values(numbers, "2", name, "turning"), ".2f"),
            f"{max(_values(numbers, '2', name, 'falls_in_displacement')):.1%}",
            f"{max(_values(numbers, '2', name, 'falls_in_momentum')):.1%}",
            f"{min(_values(numbers, '2', name, 'levels')):,}",
        ]
        for name in NAMES
    ]
    head = [
        "model",
        "right angles turned along the boundary",
        "grid steps that fall in displacement, worst seed",
        "in momentum, worst seed",
        "different scores, fewest",
    ]
    return table(head, rows)


def _smearing(numbers: dict[str, Any]) -> str:
    rows = []
    for n in numbers["features"]:
        for name in ("unconstrained", "lmn", "convex"):
            found = [one[n][name]["smeared"] for one in numbers["seeds"]]
            bounded = "outside" in found[0]
            rows.append(
                [
                    n,
                    NAMES[name],
                    f"{sum(one['candidates'] for one in found):,}",
                    f"{sum(one['outside'] for one in found)}" if bounded else "no bound",
                    f"{max(one['largest_share_of_allowed'] for one in found):.1%}" if bounded else "",
                    f"{max(one['largest_move'] for one in found):.1f}",
                    f"{max(one['steepest'] for one in found):.2f}",
                ]
            )
    head = [
        "features",
        "model",
        "smeared candidates",
        "moved further than certified",
        "largest move / certified",
        "largest move [log-odds]",
        "steepest move per unit",
    ]
    return table(head, rows)


def _smearing_words(numbers: dict[str, Any]) -> dict[str, str]:
    unstable = numbers["unstable"]
    rows = [one[n]["lmn"]["smeared"] for one in numbers["seeds"] for n in numbers["features"]]
    return {
        "noise_percent": f"{100 * (unstable['noise'] - 1):.0f}",
        "shift_um": f"{1000 * max(unstable['shift_mm']):.0f}",
        "scale_percent": f"{100 * (unstable['scale'] - 1):.1f}",
        "largest_rounding_error": f"{max(row['largest_rounding_error'] for row in rows):.0e}",
        "rationals": f"{sum(row['in_rationals'] for row in rows):,}",
    }


def _relative_cost(numbers: dict[str, Any], n: str) -> str:
    """What the promise costs the LMN, in percent of the unconstrained network's efficiency."""
    whole = fmean(_values(numbers, n, "unconstrained", "efficiency"))
    return f"{100 * numbers['claims'][n]['efficiency_cost']['lmn'] / whole:.0f}"


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    return {
        "table_two": _efficiency(numbers, "2"),
        "table_four": _efficiency(numbers, "4"),
        "table_boundary": _boundary(numbers),
        "table_smearing": _smearing(numbers),
        **_smearing_words(numbers),
        **{f"relative_cost_{n}": _relative_cost(numbers, n) for n in numbers["features"]},
    }
