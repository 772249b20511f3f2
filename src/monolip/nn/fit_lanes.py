"""The order of rows: the same batches for any number of processes.

The table is cut into contiguous lanes. In every epoch each lane is shuffled by a generator of its own, seeded with
(seed, epoch, lane); batch t takes the t-th piece of every lane. A process that owns some of the lanes can work out its
part of every batch without knowing the other rows, and all parts together are one batch whoever owns them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .fit_plan import FitPlan

__all__ = ["Lanes"]


@dataclass(frozen=True)
class Lanes:
    """Where the lanes of a table of n_rows lie, and which of them process `rank` of `world` owns.

    Example:
        >>> whole, half = Lanes(FitPlan(batch=4, lanes=4), 40), Lanes(FitPlan(batch=4, lanes=4), 40, rank=1, world=2)
        >>> half.rows
        slice(20, 40, None)
        >>> bool((whole.order(epoch=0)[:, 2:] == half.order(epoch=0) + 20).all())
        True
    """

    plan: FitPlan
    n_rows: int
    rank: int = 0
    world: int = 1

    def __post_init__(self) -> None:
        lanes = self.plan.lanes
        if lanes % self.world:
            raise InputError(
                f"the number of processes divides the number of lanes, so that each gets equally many; got "
                f"{self.world} processes, lanes={lanes}; use {self._fitting()}."
            )
        if self.n_rows < lanes:
            raise InputError(
                f"every lane needs a row; got {self.n_rows} rows for {lanes} lanes; give more rows, or fewer lanes."
            )

    def _fitting(self) -> str:
        """Lanes the processes divide, and the batch that goes with them."""
        lanes, batch = self.world * max(1, round(self.plan.lanes / self.world)), self.plan.batch
        if batch % lanes == 0:
            return f"lanes={lanes}"
        return f"lanes={lanes} and batch={lanes * max(1, round(batch / lanes))}"

    def _start(self, lane: int) -> int:
        return self.n_rows * lane // self.plan.lanes

    @property
    def _own(self) -> range:
        count = self.plan.lanes // self.world
        return range(self.rank * count, (self.rank + 1) * count)

    @property
    def rows(self) -> slice:
        """The rows of the table this process owns."""
        return slice(self._start(self._own.start), self._start(self._own.stop))

    @property
    def piece(self) -> int:
        """Rows each lane gives to a batch."""
        return min(self.plan.batch // self.plan.lanes, self.n_rows // self.plan.lanes)

    @property
    def steps(self) -> int:
        """Batches of an epoch; the few rows that fill no batch are others in each epoch."""
        return self.n_rows // self.plan.lanes // self.piece

    @property
    def takes_all(self) -> bool:
        """Whether a batch is the whole table, so that no order matters."""
        return self.steps == 1 and self.piece * self.plan.lanes == self.n_rows

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Row numbers within this process's rows. Shape: (steps, piece * own lanes)."""
        first, wanted = self.rows.start, self.steps * self.piece
        parts = []
        for lane in self._own:
            begin, end = self._start(lane), self._start(lane + 1)
            shuffled = np.random.default_rng([self.plan.seed, epoch, lane]).permutation(end - begin)
            parts.append((shuffled[:wanted] + begin - first).reshape(self.steps, self.piece))
        return np.concatenate(parts, axis=1)
