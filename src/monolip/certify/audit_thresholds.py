"""Where tree models split: read from the model itself, because a violation of a tree sits exactly there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["thresholds_of"]

FloatArray = NDArray[np.float64]
Splits = Iterator[tuple[int, float]]


def thresholds_of(model: Any, names: tuple[str, ...]) -> dict[int, FloatArray]:
    """feature -> sorted thresholds, for LightGBM, XGBoost, CatBoost, scikit-learn's trees; else empty.

    A pipeline's last step splits columns the pipeline has changed, so its thresholds are not read.
    """
    found: dict[int, set[float]] = {}
    for j, threshold in _splits(model, names):
        if np.isfinite(threshold) and 0 <= j < len(names):
            found.setdefault(j, set()).add(float(threshold))
    return {j: np.array(sorted(values)) for j, values in sorted(found.items())}


def _splits(model: Any, names: tuple[str, ...]) -> Splits:
    if hasattr(model, "get_booster"):  # XGBoost's scikit-learn face
        model = model.get_booster()
    elif hasattr(model, "booster_"):  # LightGBM's
        model = model.booster_
    home = type(model).__module__.split(".")[0]
    if home == "lightgbm" and hasattr(model, "dump_model"):
        for tree in model.dump_model()["tree_info"]:
            yield from _lightgbm(tree["tree_structure"])
    elif home == "xgboost" and hasattr(model, "get_dump"):
        given = tuple(model.feature_names or ())
        for tree in model.get_dump(dump_format="json"):
            yield from _xgboost(json.loads(tree), given or names)
    elif hasattr(model, "get_borders"):
        for j, borders in model.get_borders().items():
            yield from ((int(j), float(border)) for border in borders)
    elif hasattr(model, "_predictors") and getattr(model, "_preprocessor", None) is None:
        yield from _histogram(model._predictors)
    else:
        yield from _trees(model)


def _lightgbm(node: Mapping[str, Any]) -> Splits:
    if "split_feature" not in node:
        return
    if node["decision_type"] == "<=":  # "==" compares categories, which have no order
        yield int(node["split_feature"]), float(node["threshold"])
    yield from _lightgbm(node["left_child"])
    yield from _lightgbm(node["right_child"])


def _xgboost(node: Mapping[str, Any], names: tuple[str, ...]) -> Splits:
    if "children" not in node:
        return
    name = str(node["split"])
    j = names.index(name) if name in names else int(name[1:]) if name[1:].isdigit() else -1
    if isinstance(node.get("split_condition"), int | float):
        yield j, float(np.float32(node["split_condition"]))  # the comparison is made in float32
    for child in node["children"]:
        yield from _xgboost(child, names)


def _histogram(predictors: Any) -> Splits:
    for iteration in predictors:
        for tree in iteration:
            nodes = tree.nodes
            inner = nodes[(nodes["is_leaf"] == 0) & (nodes["is_categorical"] == 0)]
            yield from zip(inner["feature_idx"].tolist(), inner["num_threshold"].tolist(), strict=True)


def _trees(model: Any) -> Splits:
    """DecisionTree*, RandomForest*, ExtraTrees*, GradientBoosting*."""
    members = np.ravel(np.asarray(getattr(model, "estimators_", [model]), dtype=object))
    for member in members:
        tree = getattr(member, "tree_", None)
        if tree is not None and hasattr(tree, "threshold"):
            yield from ((int(j), float(t)) for j, t in zip(tree.feature, tree.threshold, strict=True) if j >= 0)
