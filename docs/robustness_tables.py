"""Puts the committed results of benchmarks/robustness.py into docs/robustness.md, so that no number is typed by hand.

Run: python docs/robustness_tables.py     (tests/certify/test_robustness_docs.py fails when the page is out of date)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "robustness.md"
BEGIN, END = "<!-- tables: python docs/robustness_tables.py -->\n", "<!-- end of tables -->\n"
NAMES = {"promise": "slopes asked for", "slopes": "certificate slopes", "hull": "hull of rows", "local": "local slopes"}
SHOWN = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [list(head), *[[str(cell) for cell in row] for row in rows]]
    body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([body[0], "|" + "---|" * len(lines[0]), *body[1:]])


def accuracy_table(results: dict[str, Any]) -> str:
    rows = []
    for name, data in results.items():
        at = [data["radii"].index(r) for r in SHOWN]
        for norm, methods in data["table"].items():
            for method, row in methods.items():
                shares = [f"{row['certified_accuracy'][k]:.3f}" for k in at]
                rows.append((name, norm, NAMES[method], f"{row['median_radius']:.3g}", *shares))
    return table(["data set", "norm", "bound", "median radius", *[f"at {r:g}" for r in SHOWN]], rows)


def milp_table(results: dict[str, Any]) -> str:
    rows = []
    for name, data in results.items():
        for norm, row in data["milp"].items():
            ratios = [f"{row['median_ratio'][method]:.3f}" for method in NAMES]
            found = f"{row['witnesses']} of {row['rows']}"
            most = f"{1 - max(row['largest_ratio'].values()):.0e}"
            rows.append(
                (name, norm, found, f"{row['median_witness']:.3f}", *ratios, most, f"{row['median_seconds']:.2f}")
            )
    head = ["data set", "norm", "witnesses", "median flip", *NAMES.values(), "smallest gap", "solver, s"]
    return table(head, rows)


def feature_table(data: dict[str, Any]) -> str:
    rows = [
        (name, *(f"{row[f'{side}_{what}']:{form}}" for side in ("up", "down") for what, form in _CELLS))
        for name, row in data["features"].items()
    ]
    return table(["feature", "median up", "infinite up", "median down", "infinite down"], rows)


_CELLS = (("median", ".3g"), ("infinite", ".0%"))


def section() -> str:
    content = json.loads((ROOT / "benchmarks" / "results" / "robustness.json").read_text())
    results, settings = content["results"], content["settings"]
    sets = "; ".join(
        f"{name}, {data['rows']} test rows, accuracy {data['accuracy']:.3f}:\n{data['ms_per_row']['hull']:.1f} ms "
        f"a row for the hull and {data['ms_per_row']['local']:.1f} ms for local slopes"
        for name, data in results.items()
    )
    return f"""
{settings["splits"]} splits. CPU time for {sets}.

{accuracy_table(results)}

Where a default fit keeps its additive models (heart disease), hull and local slopes coincide.

A small network of 8 units against MILP, {settings["milp_rows"]} rows of each split: median ratios of the proved radius
to the flip that was found and re-checked exactly. The smallest gap, 1 - ratio over all rows and bounds, stays positive:

{milp_table(results)}

COMPAS, one feature at a time, in its own unit; the four counts are promised to be increasing:

{feature_table(results["compas"])}

"""


def main() -> str:
    """The page as it should be."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    return before + BEGIN + section() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(main())
