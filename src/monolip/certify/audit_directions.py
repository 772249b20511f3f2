"""What a model is audited for: a direction for each (feature, output), from scikit-learn's grammar or per class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import SlopeError
from monolip.monotonic_cst import by_position, read_directions

__all__ = ["directions_of"]

IntArray = NDArray[np.int64]


def directions_of(
    monotonic_cst: Any,
    names: tuple[str, ...],
    n_outputs: int,
    classes: tuple[Any, ...] | None,
    labels: tuple[Hashable, ...] | None = None,
) -> IntArray:
    """Shape (n_features, n_outputs), at least one direction.

    A direction given once holds for every output of a regression; of several classes it must name the class,
    {feature: {class: direction}}, because probabilities add up to one.
    """
    if isinstance(monotonic_cst, Mapping) and any(isinstance(v, Mapping) for v in monotonic_cst.values()):
        signs = _per_class(by_position(monotonic_cst, names, len(names), labels), names, n_outputs, classes)
    else:
        signs = read_directions(monotonic_cst, names, len(names), labels)
        if signs.ndim == 1 and n_outputs > 1 and classes is not None:
            raise SlopeError(
                "of several classes not all probabilities can rise; got one direction for a feature of "
                f"{len(classes)} classes; write {{feature: {{class: direction}}}}, classes {list(classes)[:8]}."
            )
        signs = signs[:, None] if signs.ndim == 1 else signs
        if signs.shape[1] not in (1, n_outputs):
            raise SlopeError(
                f"there must be one direction per output; got {signs.shape[1]} columns for {n_outputs} outputs; "
                "pass one column, or one for each output."
            )
        signs = np.broadcast_to(signs, (len(names), n_outputs)).copy()
    if not signs.any():
        raise SlopeError("an audit needs a direction; got none; pass monotonic_cst with a +1 or -1.")
    return signs


def _per_class(
    given: Mapping[int, Any], names: tuple[str, ...], n_outputs: int, classes: tuple[Any, ...] | None
) -> IntArray:
    """given: by position."""
    labels = list(classes) if classes is not None else list(range(n_outputs))
    signs = np.zeros((len(names), n_outputs), np.int64)
    for j, by_class in given.items():
        if not isinstance(by_class, Mapping):
            raise SlopeError(
                f"directions are all per feature or all per class; got {by_class!r} for {names[j]!r} beside a dict; "
                "write {class: direction} for it."
            )
        for label, direction in by_class.items():
            if label not in labels:
                raise SlopeError(f"a direction must name a known class; got {label!r}; the classes are {labels[:8]}.")
            sign = int(read_directions([direction], None, 1)[0])
            if n_outputs == 1 and len(labels) == 2:  # the score is the last one's; the other's mirrors it
                signs[j, 0] = sign if label == labels[1] else -sign
            else:
                signs[j, labels.index(label)] = sign
    return signs
