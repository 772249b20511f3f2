"""The table of the end-to-end networks, and our head minus the other one, from paper/results/end_to_end.json."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.end_to_end import OURS, THEIRS
from paper.markdown import spread, table
from paper.table1.published import printed
from paper.table1.scores import standard_error
from paper.table1.small_network import n_parameters

__all__ = ["tables"]

HEADS = {OURS: (2, 2), THEIRS: (32,)}


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    mark = " (substitute)" if numbers["substitute"] else ""
    printed_score = "other data" if numbers["substitute"] else printed("ChestXRay end-to-end")
    rows = []
    for kind in (OURS, THEIRS):
        both = [[row[key] for row in numbers[kind]] for key in ("honest", "paper")]
        proofs = sum(row.get("certificate", {}).get("answer", "").startswith("PROVED") for row in numbers[kind])
        promise = f"{proofs} of {len(both[0])} heads certified" if kind == OURS else "none"
        size = str(n_parameters(516, HEADS[kind]))
        scores = [spread(values, ".2f") for values in both]
        rows.append([f"ResNet18 and {kind}, end to end{mark}", size, *scores, printed_score, promise])
        printed_score = ""
    head = ["model", "parameters of the head", "`honest`, %", "`paper`, %", "paper's score, %", "promise"]
    gaps = [ours["honest"] - theirs["honest"] for ours, theirs in zip(numbers[OURS], numbers[THEIRS], strict=True)]
    gap = f"{np.mean(gaps):+.1f} ± {standard_error(gaps):.1f}"
    return {"table_end_to_end": table(head, rows), "gap": gap}
