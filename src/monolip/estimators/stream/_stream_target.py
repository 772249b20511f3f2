"""Targets of a sample, and of further rows in the same units, classes and class weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from monolip.errors import InputError
from monolip.estimators._named_class import named_class
from monolip.estimators._sampling import _shares
from monolip.estimators._targets import _FAR, _LOG_LINK, Target, class_target, number_target
from monolip.estimators.stream._batch import Layout
from monolip.estimators.stream.sample import Sample
from monolip.input_columns import plain_value
from monolip.output_link import LONGEST_NAME

__all__ = ["StreamTarget", "kinds_of", "require_rows", "sampled_cells"]

FloatArray = NDArray[np.float64]


def kinds_of(y: NDArray[Any], loss: str | None) -> NDArray[np.int64] | None:
    """Under a log link whether a target is above zero, which may be rare; loss: None for classes."""
    if loss not in _LOG_LINK:
        return None
    bad = y <= 0 if loss == "gamma" else y < 0
    if bad.any():
        need = "greater than 0" if loss == "gamma" else "at least 0"
        raise InputError(f"a target of the {loss} loss is {need}; got {y[bad][0]:g}; use another loss.")
    return (y > 0).astype(np.int64)


def require_rows(sample: Sample, loss: str | None) -> None:
    """Some rows count, and not all of those are held out; under a log link also of those with a target above zero."""
    if not sample.n_rows:
        raise InputError("some row must count; got sample weights that are all zero; give a positive one.")
    held = sample.held_out_rows()
    what = "" if not sample.strata else " and a target above 0" if loss in _LOG_LINK and 1 not in sample.there else None
    if what is not None and (not what or (held[:, -4] > 0).any()):
        n_rows = int((held[:, -4] > 0).sum()) if what else len(held)
        raise InputError(
            f"a fit learns from rows that are not held out; got {n_rows} with a positive weight{what}, all held out; "
            "name more such rows, or set early_stopping=False."
        )


def sampled_cells(sample: Sample) -> tuple[FloatArray, FloatArray | None]:
    """Cells of the sample in order of position, and the weights that make up for what is rare and was kept whole."""
    kinds = sorted(sample.strata)
    there = np.array([sample.there[kind] for kind in kinds])
    taken = there if there.sum() <= sample.capacity else _shares(there, sample.capacity)
    parts = [sample.strata[kind].taken(int(count))[1] for kind, count in zip(kinds, taken, strict=True)]
    cells = np.concatenate(parts)
    order = np.argsort(cells[:, -1], kind="stable")
    if len(kinds) == 1 or (there == taken).all():
        return cells[order], None
    weight = np.concatenate([np.full(len(p), n / len(p)) for p, n in zip(parts, there, strict=True)])
    return cells[order], weight[order]


@dataclass(frozen=True)
class StreamTarget:
    """sampled: the target of the sample. codes: of each class as first seen, its number in sorted order."""

    sampled: Target
    labels: NDArray[Any] | None
    codes: NDArray[np.int64]
    class_weight: FloatArray | None
    weighted: bool
    shifted: bool
    positive: int | None = None
    name: str | None = None

    @classmethod
    def of_numbers(
        cls,
        cells: FloatArray,
        extra: FloatArray | None,
        loss: str,
        parameter: float | None,
        weighted: bool,
        shifted: bool,
    ) -> StreamTarget:
        weight = cells[:, -3] if weighted else None
        weight = extra if weight is None else weight if extra is None else weight * extra
        offset = cells[:, -2] if shifted else None
        target = number_target(cells[:, -4], loss, parameter, weight, offset, len(cells))
        return cls(target, None, np.zeros(0, np.int64), None, weighted, shifted)

    @classmethod
    def of_classes(
        cls,
        cells: FloatArray,
        extra: FloatArray | None,
        sample: Sample,
        model: Any,
        layout: Layout,
    ) -> StreamTarget:
        """model: whose constraints name a class."""
        class_weight, weighted, shifted = model.class_weight, layout.weight is not None, layout.offset is not None
        seen = list(sample.classes)
        labels = np.array(seen, dtype=object if seen and isinstance(seen[0], str) else None)
        order = np.argsort(labels)
        codes = np.empty(len(seen), np.int64)
        codes[order] = np.arange(len(seen))
        labels, rows = labels[order], np.array(sample.class_rows)[order]
        by_class: FloatArray | None = None
        if class_weight is not None:
            balanced = isinstance(class_weight, str) and class_weight == "balanced"
            by_class = rows.sum() / (len(rows) * rows) if balanced else compute_sample_weight(class_weight, labels)
        _require_two(sample, labels, codes, by_class)
        positive = named_class(model.monotonic_cst, model.slopes, labels, layout.features) if len(labels) == 2 else None
        name = layout.target if 0 < len(layout.target) <= LONGEST_NAME else None
        made = cls(_nothing(labels), labels, codes, by_class, weighted, shifted, positive, name)
        target = made._classes(cells)
        if extra is not None:
            target = replace(target, weight=extra if target.weight is None else target.weight * extra)
        return replace(made, sampled=target)

    def of(self, cells: FloatArray) -> Target:
        """The target of further rows."""
        if self.labels is not None:
            return self._classes(cells)
        base, y, weight = self.sampled, cells[:, -4], cells[:, -3] if self.weighted else None
        offset = cells[:, -2] if self.shifted else None
        if base.link.name == "log":
            return replace(base, y=y * np.exp(-base.shift), weight=weight, offset=offset)
        y = ((y if offset is None else y - offset) - base.shift) / base.scale
        return replace(base, y=np.clip(y, -_FAR, _FAR), weight=weight, offset=None)  # one row must not be the fit's end

    def _classes(self, cells: FloatArray) -> Target:
        codes = self.codes[cells[:, -4].astype(np.int64)]
        weight = cells[:, -3] if self.weighted else None
        if self.class_weight is not None:
            weight = self.class_weight[codes] * (1.0 if weight is None else weight)
        offset = cells[:, -2] if self.shifted else None
        return class_target(codes, self.labels, weight, offset, self.positive, self.name)


def _require_two(sample: Sample, labels: NDArray[Any], codes: NDArray[np.int64], by_class: FloatArray | None) -> None:
    """As fit counts them: classes with a row of positive weight."""
    found = {*sample.there, *sample.held_out_rows()[:, -4].astype(np.int64).tolist()}
    numbers = sorted(codes[sorted(found)].tolist())
    seen = [k for k in numbers if by_class is None or by_class[k] > 0]
    if len(seen) < 2:
        got = f"only one class, {plain_value(labels[seen[0]])!r}" if seen else "none of positive weight"
        raise InputError(f"a classifier needs rows of at least two classes; got {got}; check the target.")


def _nothing(labels: NDArray[Any]) -> Target:
    return class_target(np.zeros(0, np.int64), labels, None, None)
