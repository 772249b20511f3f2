"""The rows of a fit on Ray: read before the workers take their CPUs, looked at, and cut into one part a worker."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from monolip.errors import InputError

__all__ = ["column_of", "parts_by_lanes", "refuse_unusable"]

FAR = 100.0  # features beyond it were not scaled


def parts_by_lanes(dataset: Any, plan: Any, workers: int) -> list[Any]:
    """Worker k gets the rows its lanes cover, in the table's order: that makes the batches those of one process.

    Read and cut here, and kept in Ray's object store: once the workers hold every CPU of a cluster, no task that reads
    could run any more.
    """
    from monolip.nn.fit_lanes import Lanes

    whole = dataset.copy(dataset)
    whole.context.execution_options.preserve_order = True
    whole = whole.materialize()
    n_rows = int(whole.count())
    cuts = [Lanes(plan, n_rows, rank, workers).rows.start for rank in range(1, workers)]
    Lanes(plan, n_rows, 0, workers)
    return list(whole.split_at_indices(cuts)) if cuts else [whole]


def refuse_unusable(parts: Sequence[Any], names: Sequence[str], target: str, plan: Any, n_outputs: int) -> None:
    """Every column holds finite numbers, the target those of the loss; features that were not scaled are warned of."""
    columns, found = [*names, target], []
    for part in parts:
        looked = part.map_batches(_look, fn_kwargs={"names": columns}, batch_format="numpy", batch_size=None)
        found += looked.take_all()
    for row in found:
        if row["wrong"]:
            raise InputError(str(row["wrong"]))
    least = np.min([row["least"] for row in found], axis=0)
    largest = np.max([row["largest"] for row in found], axis=0)
    _refuse_target(target, plan.loss, n_outputs, least[-1], largest[-1], all(row["whole"] for row in found))
    far = [k for k in range(len(names)) if max(-least[k], largest[k]) > FAR]
    if far:
        shown = ", ".join(f"{names[k]!r} goes from {least[k]:.4g} to {largest[k]:.4g}" for k in far[:3])
        warnings.warn(
            f"features of a network are scaled to about 1; {shown}; divide them by their spread first, or the fit "
            "learns little (scales of slopes go with them).",
            stacklevel=4,
        )


def _refuse_target(name: str, loss: str, n_outputs: int, least: float, largest: float, whole: bool) -> None:
    if loss == "logistic" and not 0.0 <= least <= largest <= 1.0:
        raise InputError(
            f"logistic targets lie between 0 and 1; {name!r} goes from {least:g} to {largest:g}; encode the two "
            "classes as 0 and 1."
        )
    if loss == "cross-entropy" and not (whole and 0 <= least <= largest < n_outputs):
        raise InputError(
            f"cross-entropy takes whole numbers 0 to {n_outputs - 1} as the network has outputs; {name!r} holds "
            f"{'whole numbers' if whole else 'others'} from {least:g} to {largest:g}; number the classes from 0."
        )


def _look(batch: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """One row for a block: what is wrong with it, or the ends of its columns. In a task of Ray Data."""
    nothing = np.zeros((1, len(names)))
    try:
        values = [column_of(batch, name) for name in names]
    except InputError as error:
        return {"wrong": np.array([str(error)]), "least": nothing, "largest": nothing, "whole": np.array([False])}
    ends = [np.array([[end(v) if len(v) else 0.0 for v in values]], np.float64) for end in (np.min, np.max)]
    whole = np.array([values[-1].dtype.kind in "biu"])
    return {"wrong": np.array([""]), "least": ends[0], "largest": ends[1], "whole": whole}


def column_of(batch: dict[str, Any], name: str) -> Any:
    """A column of a block; one that is missing there (a partition with another schema) or holds no numbers is named."""
    if name not in batch:
        raise InputError(
            f"every part of the table has the same columns; Ray read a part without {name!r} (it has "
            f"{sorted(batch)[:20]}); repair that file, or leave it out."
        )
    values = np.asarray(batch[name])
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"columns of a fit hold numbers; Ray read {values.dtype} in {name!r}; convert it, or encode its categories "
            "first (the keys of folders are strings to Ray: map them to numbers)."
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError(
            f"columns of a fit hold finite numbers; Ray read {int((~np.isfinite(values)).sum())} missing or infinite "
            f"values in {name!r}, in one part of the table; replace them first."
        )
    return values
