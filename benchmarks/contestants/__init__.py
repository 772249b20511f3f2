"""The contestants of benchmarks/accuracy.py as a table: each sees the training rows of a fold and gives a predictor."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from contestants import linear, networks, ours, trees
from contestants.task import Contestant, Predict, Task

__all__ = ["CONTESTANTS", "Contestant", "Predict", "Task", "add_variant", "fingerprint", "missing_packages"]

_SEARCH = {"most_trees": trees.MOST_TREES, "patience": trees.PACES}


def _trees(name: str, label: str, package: str, cost: float, fit: Any = None, monotone: bool = True) -> Contestant:
    grid = trees.GRIDS[name.removesuffix("_unconstrained")]
    return Contestant(
        name, label, fit or getattr(trees, name), monotone, "trees", (package,), cost, {**_SEARCH, "grid": grid}
    )


CONTESTANTS: dict[str, Contestant] = {
    c.name: c
    for c in (
        _trees("lightgbm", "LightGBM", "lightgbm", 1.0),
        _trees("xgboost", "XGBoost", "xgboost", 1.5),
        _trees("catboost", "CatBoost", "catboost", 8.0),
        _trees("hist", "HistGradientBoosting", "scikit-learn", 3.0),
        Contestant(
            "lightgbm_plain", "LightGBM, defaults", trees.lightgbm_plain, True, "trees", ("lightgbm",), 0.1,
            {"most_trees": trees.MOST_TREES, "patience": 50, "held_out": "an eighth", "refit": False},
        ),
        Contestant(
            "lmn", "reference LMN", networks.lmn, True, "network", ("torch", "monotonicnetworks"), 8.0,
            {"grid": networks.LMN_GRID, "steps": networks.LMN_STEPS, "rate": networks.LMN_RATE},
        ),
        Contestant("linear", "linear, signed", linear.linear, True, "linear", ("scipy",), 0.5, {"grid": linear.ALPHAS}),
        _trees(
            "lightgbm_unconstrained", "LightGBM, unconstrained", "lightgbm", 1.0, trees.lightgbm_unconstrained, False
        ),
        Contestant(
            "network_unconstrained", "network, unconstrained", networks.plain_network, False, "network",
            ("scikit-learn",), 3.0, {"grid": networks.PLAIN_GRID},
        ),
    )
}  # fmt: skip


def add_variant(name: str, label: str, options: dict[str, Any]) -> None:
    """One more monolip: the estimator with these arguments."""
    fit = functools.partial(ours.fit_ours, options=options)
    CONTESTANTS[name] = Contestant(name, label, fit, True, "ours", ("monolip",), 0.1, {"options": options})


for _name, (_label, _options) in ours.VARIANTS.items():
    add_variant(_name, _label, _options)


def missing_packages(contestant: Contestant) -> list[str]:
    """Packages it needs that are not installed here."""
    found = {"scikit-learn": "sklearn"}
    return [p for p in contestant.packages if importlib.util.find_spec(found.get(p, p)) is None]


@functools.cache
def fingerprint(name: str) -> str:
    """Changes when the contestant would: its settings, its code here, its package's version (for ours: its source)."""
    contestant = CONTESTANTS[name]
    here = Path(__file__).parent
    if contestant.family == "ours":
        files = [here / "ours.py", *sorted((here.parents[1] / "src" / "monolip").rglob("*.py"))]
    else:
        module = contestant.fit.__module__.split(".")[-1]
        files = [here / "task.py", here / "encoding.py", here / f"{module}.py"]
    digest = hashlib.sha256(json.dumps(contestant.search, sort_keys=True, default=str).encode())
    for path in files:
        digest.update(path.read_bytes())
    for package in contestant.packages:
        digest.update(_version(package).encode())
    return digest.hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
