"""Turns benchmarks/results/violations.json into the tables of docs/audit.md, so that no number is typed by hand.

Run: python docs/make_violations.py       (rewrites the part between the marks; a test fails when it is out of date)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "audit.md"
START, END = "<!-- made by docs/make_violations.py -->\n", "<!-- end -->\n"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [list(head), *[[str(cell) for cell in row] for row in rows]]
    body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([body[0], "|" + "---|" * len(lines[0]), *body[1:]])


def peers(rows: list[dict[str, Any]]) -> str:
    cells = []
    for r in rows:
        if "refused" in r:
            cells.append((r["library"], r["what"], "refuses", "", ""))
            continue
        found = "broken" if r["beyond_rounding"] else "broken by rounding" if r["violated"] else "nothing found"
        share = f"{r['rows_affected']:.0%}" if r["violated"] else ""
        drop = f"{r['worst_drop']:.3g}" if r["violated"] else ""
        cells.append((r["library"], r["what"], found, share, drop))
    return table(["library", "loss", "promise", "rows affected", "worst drop"], cells)


def attacks(results: dict[str, Any]) -> str:
    rows = [row for name in ("float32", "float64", "fixed") for row in results.get(name, ())]
    cells = [
        (r["model"], f"{r['pairs']:,}", f"{r['decreases']:,}", f"{r['worst_drop']:.2g}", f"{r['seconds']:.0f}")
        for r in rows
    ]
    return table(["model", "pairs", "fall", "worst drop", "CPU seconds"], cells)


def part() -> str:
    content = json.loads((ROOT / "benchmarks" / "results" / "violations.json").read_text())
    results = content["results"]
    points = results["compas"]["points"]
    return f"""
`MONOLIP_DATA=FOLDER python benchmarks/violations.py` makes everything below, in about {minutes(results):.0f} minutes
of one core beside the fits. `--only peers` makes one section anew, so the command in
`benchmarks/results/violations.json` is that of the section that was run last.

Default settings of each library, the concrete data set (strength rises with cement and age, falls with water; a third
of the strengths each for three classes, audited for the highest), half a million evaluations each:

{peers(results["peers"])}

The compiled attack, steps in the direction of a monotone feature; the last row of each format is the same random
functions in the published form, with signed weights and a residual:

{attacks(results)}

Every one of the {points:,} points of the COMPAS domain of raw integers (priors 0 to 38, juvenile counts to 20, 13 and
9, age 18 to 96, race, sex) and every pair of neighbours, for a classifier with default settings:

{domains(results)}

Nothing is left out there, so that is a proof for that model.

"""


def minutes(results: dict[str, Any]) -> float:
    """Of all searches together, as they were measured."""
    rows = [row for section in results.values() for row in (section if isinstance(section, list) else [section])]
    return sum(float(row.get("seconds", 0.0)) for row in rows) / 60


def domains(results: dict[str, Any]) -> str:
    rows = [results[name] for name in ("compas", "compas_fixed") if name in results]
    cells = [
        (r["model"], f"{r['pairs']:,}", f"{r['decreases']:,}", f"{r['equal']:,}", f"{r['seconds']:.0f}") for r in rows
    ]
    return table(["model", "pairs", "fall", "equal", "CPU seconds"], cells)


def main() -> str:
    before, rest = PAGE.read_text().split(START)
    return before + START + part() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(main())
    print(f"wrote {PAGE.relative_to(ROOT)}")
