"""The tables of docs/audit.md are those of the committed results, and the results say what the page claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def test_the_tables_are_generated_from_the_committed_results():
    names: dict[str, Any] = {"__name__": "make_violations", "__file__": str(ROOT / "docs/make_violations.py")}
    exec(compile((ROOT / "docs/make_violations.py").read_text(), "make_violations.py", "exec"), names)
    assert names["main"]() == (ROOT / "docs/audit.md").read_text(), "run: python docs/make_violations.py"


def test_the_committed_attack_is_complete_and_found_nothing_in_convex_form():
    results = json.loads((ROOT / "benchmarks/results/violations.json").read_text())["results"]
    for number_format in ("float32", "float64"):
        convex = [row for row in results[number_format] if row["model"].startswith("convex")]
        paper = [row for row in results[number_format] if row["model"].startswith("paper")]
        assert sum(row["pairs"] for row in convex) >= 10**9
        assert all(row["decreases"] == 0 for row in convex)
        assert all(row["decreases"] > 0 for row in paper)
    assert results["compas"]["complete"]
    assert results["compas"]["points"] == 39 * 21 * 14 * 10 * 79 * 6 * 2
    assert results["compas"]["decreases"] == 0
    broken = {(row["library"], row["what"]) for row in results["peers"] if row.get("beyond_rounding")}
    assert {(library, loss) for library, loss in broken if library == "monolip"} == set()
    assert ("XGBoost", "quantile 0.9") in broken
    assert ("HistGradientBoosting", "absolute error") in broken
    assert ("LightGBM", "linear_tree") in broken
