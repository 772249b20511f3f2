"""Tables of the toy example, from its results."""

from __future__ import annotations

from typing import Any

from paper.markdown import spread, table

__all__ = ["tables"]

NAMES = {
    "unconstrained": "unconstrained network",
    "lmn": "LMN (paper form)",
    "convex": "`MonotonicRegressor` (convex form)",
}


def _row(name: str, fits: list[dict[str, Any]]) -> list[str]:
    falls = sum(one["falls_inside"] for one in fits), sum(one["falls_outside"] for one in fits)
    slopes = [one["certified"] for one in fits if "certified" in one]
    certified = f"[{min(low for low, _ in slopes):.3f}, {max(high for _, high in slopes):.2f}]" if slopes else "none"
    return [
        NAMES[name],
        spread([one["error_on_data"] for one in fits]),
        spread([one["error_to_truth"] for one in fits]),
        spread([one["largest_slope"] for one in fits], ".1f"),
        f"{falls[0]} of {len(fits)}",
        f"{falls[1]} of {len(fits)}",
        certified,
    ]


HEAD = [
    "model",
    "RMSE on the data",
    "RMSE to the truth",
    "largest slope on the data",
    "seeds that fall inside",
    "seeds that fall outside",
    "certified slopes",
]


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    rising, falling = (table(HEAD, [_row(name, data[name]) for name in NAMES]) for data in numbers["realisations"])
    clean, outlier = numbers["realisations"][0], numbers["outlier"]
    moved = numbers["claims"]["move_at_outlier"]
    rows = [
        [
            NAMES[name],
            spread([one["error_to_truth"] for one in clean[name]]),
            spread([one["error_to_truth"] for one in outlier[name]]),
            f"{moved[name]:.2f}",
        ]
        for name in NAMES
    ]
    head = ["model", "RMSE to the truth", "with the outlier", "mean move of the curve at the outlier"]
    return {
        "table_rising": rising,
        "table_falling": falling,
        "table_outlier": table(head, rows),
        "lambda_twice": f"{2 * numbers['lambda']:g}",
    }
