"""The paper's own model beside convex form, of the same size and training, under the published protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.markdown import spread, table
from paper.table1.published import printed

__all__ = ["forms_tables"]

FORMS = {"accuracy": ".2f", "rmse": ".4f", "mse": ".2f"}
HEAD = ["entry", "paper's score", "LMN", "LMN, logarithms", "convex form", "convex form, logarithms"]


def forms_tables(entries: dict[str, Any]) -> dict[str, str]:
    """table_forms; what BlogFeedback's logarithms are worth; how many test rows of COMPAS every seed got right."""
    rows, words = [], {}
    for entry, found in entries.items():
        if found is None:
            rows.append([entry, printed(entry), "missing", "", "", ""])
        elif "forms" in found:
            scores = {name: run["values"] for name, run in found["forms"].items()}
            logs = "LMN, logarithms" in scores
            scores["convex form, logarithms" if logs else "convex form"] = found["paper"]["monolip"]["values"]
            if logs:
                scores["convex form"] = scores.pop("convex form, no logarithms")
                words[f"logs_{'mini' if 'mini' in entry else 'all'}"] = _share_of_logarithms(scores)
            form = FORMS[found["metric"]]
            cells = [spread(scores[name], form) if name in scores else "" for name in HEAD[2:]]
            rows.append([entry, printed(entry), *cells])
    compas = entries.get("COMPAS")
    return {"table_forms": table(HEAD, rows), **words, **({"compas_hits": _hits(compas)} if compas else {})}


def _share_of_logarithms(scores: dict[str, list[float]]) -> str:
    """Percent of the way from LMN to convex form with logarithms; mean of taking them first and taking them last."""
    start, log, convex, both = (float(np.mean(scores[name])) for name in HEAD[2:])
    return f"{100 * ((start - log) + (convex - both)) / (2 * (start - both)):.0f}"


def _hits(found: dict[str, Any]) -> str:
    """Test rows right, by seed: accuracy is a whole number of rows."""
    rows = found["data"]["rows"]
    test = rows - int(0.8 * rows)
    hits = [round(value * test / 100) for value in found["paper"]["monolip"]["values"]]
    return f"{', '.join(map(str, hits))} of {test:,}"
