"""From found pairs to what a report lists: the rows before and after, scored once more as they are handed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from monolip.certify.audit_model import Scorer
from monolip.certify.audit_report import Counterexample
from monolip.certify.audit_search import Found, Search
from monolip.certify.audit_shrink import replay

__all__ = ["counterexamples"]

_ATTEMPTS = 8


def counterexamples(
    search: Search, pairs: Sequence[Found], rounding: float, scorer: Scorer
) -> tuple[tuple[Counterexample, ...], Any, Any]:
    """The listed pairs and their rows (before, after): a direction's step runs from before to after.

    A pair that does not fall in these very batches is dropped and the rest scored again, since dropping it changes
    the batch; what is listed falls when the two tables are scored as they are.
    """
    pairs = list(pairs)
    for _ in range(_ATTEMPTS):
        if not pairs:
            break
        start, end = (search.build(replay(search, pairs, first)) for first in (True, False))
        rows, outputs = np.arange(len(pairs)), np.array([p.output for p in pairs])
        before, after = search.scores(start)[rows, outputs], search.scores(end)[rows, outputs]
        good = before - after > search.tolerance
        if good.all():
            scored = zip(pairs, before.tolist(), after.tolist(), strict=True)
            listed = tuple(_listed(search, *one, rounding, scorer) for one in scored)
            return listed, start.native, end.native
        pairs = [pair for pair, falls in zip(pairs, good, strict=True) if falls]
    nothing = search.table.mixed(np.zeros((0, search.table.n_columns), np.int64), {}).native
    return (), nothing, nothing


def _listed(
    search: Search, pair: Found, before: float, after: float, rounding: float, scorer: Scorer
) -> Counterexample:
    steps = search.features[pair.feature].steps
    ends: list[Any] = list(search.ends(pair))
    if steps.whole:
        ends = [int(v) if steps.labels is None else steps.labels[int(v)] for v in ends]
    row = pair.main_row
    other = (pair.parents != row) | ~np.isnan(pair.moved)
    changed = int(np.delete(other, pair.feature).sum())
    size = "beyond rounding" if before - after > rounding else "rounding"
    name, label = search.table.names[pair.feature], scorer.label(pair.output)
    return Counterexample(row, changed, name, label, ends[0], ends[1], before, after, before - after, size)
