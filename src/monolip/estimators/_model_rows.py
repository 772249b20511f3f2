"""Model columns of training rows, made when they are packed: a table of them all would be nine times the raw one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.engine.row_source import RowSource
from monolip.estimators._categories import first_mean, out_of_fold
from monolip.estimators._far_values import training_reach
from monolip.estimators._fast_inputs import FastInputs
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target
from monolip.input_columns import CategoryColumn
from monolip.input_transform import InputTransform

__all__ = ["ModelRows"]


class ModelRows(RowSource):
    """The input transform of a raw table, in single precision; far values of linear columns count as nearer ones.

    Target means of categories, which are out of fold in training rows, are the only model columns kept as such.
    """

    def __init__(self, inputs: InputTransform, table: RawTable, target: Target, seed: int) -> None:
        self.inputs, self.raw, self.fast = inputs, table, FastInputs(inputs)
        self.reach, self.codes = training_reach(inputs, table), self.fast.codes(table)
        self.honest: dict[int, NDArray[np.float32]] = {}
        for j, column in enumerate(inputs.columns):
            first = first_mean(column) if isinstance(column, CategoryColumn) else column.n_model
            if isinstance(column, CategoryColumn) and first < column.n_model:
                rng = np.random.default_rng([seed, j])  # a generator takes as long as a small category
                means = out_of_fold(column, table.columns[j], target.averaged, target.weight, rng)
                if means is not None:
                    self.honest[int(inputs.starts[j]) + first] = means

    @property
    def shape(self) -> tuple[int, ...]:
        return self.raw.n_rows, self.inputs.n_model

    def rows(self, which: NDArray[np.int32] | slice) -> NDArray[np.float32]:
        part = self.fast.evaluate_at(self.raw, self.codes, which)
        if self.reach is not None:
            np.clip(part, -self.reach, self.reach, out=part)
        found = part.astype(np.float32)
        for first, means in self.honest.items():
            found[:, first : first + means.shape[1]] = means[which]
        return found

    def ends(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        features = sorted(set((self.inputs.starts.searchsorted(columns, "right") - 1).tolist()))
        return self.fast.ends(self.raw, features).astype(np.float32)[:, columns]
