"""LeftOut: rows of a stream that a fit never sees; and how to fetch them, and some that it saw, to judge it by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.estimators.stream._bottom import keys_of

__all__ = ["JudgedRows", "LeftOut", "judged_rows"]

LEFT_SALT, SEEN_SALT = 2**40, 2**41  # no seed of a sample comes near: the three choices are independent
BATCH_ROWS = 2**16


@dataclass(frozen=True)
class LeftOut:
    """Rows whose position has a small hash: the same ones however, and however often, a stream is read.

        left out:  hash(position, seed) < share * 2^64

    Example:
        >>> import numpy as np
        >>> mask = LeftOut(0.25, seed=0).mask(np.arange(100_000, dtype=np.uint64))
        >>> bool(abs(mask.mean() - 0.25) < 0.01)
        True
    """

    share: float
    seed: int
    salt: int = LEFT_SALT

    def mask(self, positions: NDArray[np.uint64]) -> NDArray[np.bool_]:
        below = np.uint64(min(int(self.share * 2.0**64), 2**64 - 1))
        return np.asarray(keys_of(positions, self.salt + self.seed) < below)


class JudgedRows(NamedTuple):
    """X: an Arrow table of the features. y: (n,) targets. weight: (n,) or None. of: rows there are of this kind."""

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    of: int


def judged_rows(
    source: Any, layout: Any, most: int = 2**16, on_progress: Callable[[int, int], None] | None = None
) -> tuple[JudgedRows, JudgedRows]:
    """Rows the fit of `layout` left out, and about `most` of those it saw, in one pass that keeps no others.

    Args:
        source: Source. layout: Layout, with its left_out.
        on_progress: called as on_progress(groups done, groups).
    """
    from monolip.estimators.stream._batch import _naming, target_values

    left, some = layout.left_out, LeftOut(min(1.0, most / source.n_rows), layout.left_out.seed, SEEN_SALT)
    found: tuple[list[Any], list[Any]] = ([], [])
    n_left = 0
    for number, group in enumerate(source.groups, 1):
        first = group.first
        for rows in source.read(group, layout.names, BATCH_ROWS):
            positions = np.arange(first, first + rows.num_rows, dtype=np.uint64)
            first += rows.num_rows
            out = left.mask(positions)
            n_left += int(out.sum())
            for part, mask in zip(found, (out, some.mask(positions) & ~out), strict=True):
                kept = rows.filter(source.arrow.array(mask))
                with _naming(source.path(group)):
                    part.append((kept, target_values(kept.column(layout.target), layout)))
        if on_progress is not None:
            on_progress(number, len(source.groups))
    return _joined(source, layout, found[0], n_left), _joined(source, layout, found[1], source.n_rows - n_left)


def _joined(source: Any, layout: Any, parts: list[Any], n_rows: int) -> JudgedRows:
    from monolip.estimators.stream._one_type import alike

    table = source.arrow.Table.from_batches(alike([rows for rows, _ in parts], source))
    weight = None if layout.weight is None else np.asarray(table.column(layout.weight).to_numpy(), np.float64)
    y = np.array([value for _, values in parts for value in values.tolist()])
    return JudgedRows(table.select(list(layout.features)), y, weight, n_rows)
