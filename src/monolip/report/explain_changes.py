"""What would have to change: for each feature a proved "at least", and a change that was found to be enough."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.robustness import certified_radius
from monolip.certify.robustness_feature import feature_radii
from monolip.certify.robustness_inputs import movable_features
from monolip.input_columns import is_missing
from monolip.report.explain_score import Score
from monolip.report.explain_search import Goal, nearest_value, search_together, values_of

__all__ = ["Change", "Together", "changes_of", "together_of"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """One feature alone. at_least: it must move by more than this (proved; inf: no value of it is enough; None: a
    category, of which nothing is proved). to: a value that was found to be enough, None: none seen in training is.
    """

    feature: str
    value: Any
    side: str  # "up", "down" or "other"
    at_least: float | None
    to: Any | None

    @property
    def found(self) -> float | None:
        """How far `to` is; None for categories, and where nothing was found."""
        return None if self.to is None or self.side == "other" else abs(float(self.to) - float(self.value))


@dataclass(frozen=True)
class Together:
    """Several numeric features at once; sizes are sums of |change| / scale. at_least is proved, changes were found."""

    at_least: float
    changes: dict[str, tuple[float, float]] | None
    size: float | None
    scale: dict[str, float]


def changes_of(
    score: Score, row: dict[str, Any], goal: Goal, immutable: Collection[str], whole: Collection[str]
) -> tuple[Change, ...]:
    """Every feature that may change, each side; the nearest found first, then what cannot help."""
    found: list[Change] = []
    radii = _radii(score, row, goal)
    for name in score.names:
        if name in immutable or is_missing(row[name]):
            continue
        if score.is_category(name):
            labels = values_of(score, name, whole)
            enough = [label for label in labels if goal.reached(score.of_rows([{**row, name: label}]))[0]]
            found += [Change(name, row[name], "other", None, label) for label in enough if label != row[name]]
            continue
        for side, sign in (("up", 1), ("down", -1)):
            bound = radii.get((name, sign), 0.0)
            to = None if np.isinf(bound) else nearest_value(score, row, name, sign, goal, name in whole)
            found.append(Change(name, row[name], side, bound, to))
    return tuple(sorted(found, key=_order))


def together_of(
    score: Score, row: dict[str, Any], goal: Goal, immutable: Collection[str], whole: Collection[str],
    scale: Mapping[str, float],
) -> Together | None:  # fmt: skip
    """None where no numeric feature may change."""
    free = [f.name for f in movable_features(score.network)]
    sizes = {n: float(scale.get(n, 0.0)) if n not in immutable and not is_missing(row[n]) else 0.0 for n in free}
    moving = {name: size for name, size in sizes.items() if size > 0}
    if not moving:
        return None
    if score.network.n_outputs == 1:
        columns = {name: score.column(name, [row[name]]) for name in score.names}
        threshold = score.sign * goal.score
        bound = float(certified_radius(score.network, columns, norm=1, scale=sizes, threshold=threshold).radius[0])
    else:  # the steepest feature moves the score by at most its slope for each unit
        steep = [max(goal.sign * end for end in score.slopes(name)) * size for name, size in moving.items()]
        bound = goal.gap / max(steep) * (1 - 2**-40) if max(steep) > 0 else np.inf
    changes = None if np.isinf(bound) else search_together(score, row, goal, moving, whole)
    size = None if changes is None else sum(abs(to - x) / moving[name] for name, (x, to) in changes.items())
    return Together(bound, changes, size, moving)


def _radii(score: Score, row: dict[str, Any], goal: Goal) -> dict[tuple[str, int], float]:
    """(feature, side) -> how far it may move with the goal provably out of reach."""
    if not movable_features(score.network):
        return {}
    if score.network.n_outputs == 1:
        columns = {name: score.column(name, [row[name]]) for name in score.names}
        radii = feature_radii(score.network, columns, threshold=score.sign * goal.score)
        sides = ((1, radii.up), (-1, radii.down))
        return {(name, side): float(of[0, i]) for side, of in sides for i, name in enumerate(radii.features)}
    found = {}
    for name in score.network.raw_slopes.feature_names or ():
        low, high = score.slopes(name)
        for side, steep in (
            (1, max(goal.sign * low, goal.sign * high)),
            (-1, max(-goal.sign * low, -goal.sign * high)),
        ):
            found[name, side] = goal.gap / steep * (1 - 2**-40) if steep > 0 else float("inf")
    return found


def _order(change: Change) -> tuple[int, float, str]:
    """Found changes first, then open ones, then what provably cannot help."""
    if change.to is not None:
        return 0, 0.0 if change.found is None else change.found / max(abs(float(change.value)), 1e-300), change.feature
    return (2 if change.at_least == np.inf else 1), 0.0, change.feature
