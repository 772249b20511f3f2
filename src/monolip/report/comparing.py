"""compare: monolip beside boosted trees under the same directions, on the same folds, judged on rows nobody saw."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError, MissingExtraError
from monolip.estimators._groups import read_groups
from monolip.frames import as_frame
from monolip.report.comparing_folds import Fold, folds_of
from monolip.report.comparing_models import PEERS, USUAL, Lesson, missing_package, read_matrix
from monolip.report.comparing_scores import scores_of
from monolip.rounding import score_text

__all__ = ["Comparison", "compare", "scores_of"]

OURS = "monolip"


@dataclass(frozen=True)
class Comparison:
    """scores: {model: {metric: (folds,)}}. seconds: {model: (folds,)}, of fits. missing: {model: how to install it}.

    constrained: whether trees had the same directions (with more than two classes they cannot name a class).
    """

    scores: dict[str, dict[str, NDArray[np.float64]]]
    seconds: dict[str, NDArray[np.float64]]
    missing: dict[str, str]
    constrained: bool
    n_rows: int

    def mean(self, model: str, metric: str) -> tuple[float, float]:
        """Mean over folds and its standard error."""
        return _mean(self.scores[model][metric])

    def against(self, model: str, metric: str) -> tuple[float, float]:
        """Of monolip minus a model, fold by fold: mean and standard error. Folds share rows: the error is a guide."""
        return _mean(self.scores[OURS][metric] - self.scores[model][metric])

    @property
    def cells(self) -> list[list[str]]:
        """The table as text, the head first."""
        metrics = list(next(iter(self.scores.values())))
        rows = [["model", *metrics, "fit s"]]
        for name, found in self.scores.items():
            shown = [f"{score_text(m)} ±{e:.2g}" for m, e in (_mean(found[metric]) for metric in metrics)]
            rows.append([name, *shown, f"{float(self.seconds[name].mean()):.2f}"])
        return rows


def compare(
    X: Any, y: Any, monotonic_cst: Mapping[str, Any] | None = None, *, classification: bool, n_folds: int = 5,
    seed: int = 0, models: Sequence[str] | None = None, categorical: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None, weight: Any = None, groups: Any = None, n_threads: int = 1,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> Comparison:  # fmt: skip
    """Cross-validation: every model fits the same part of the rows, stops on rows inside it, and is judged on the rest.

    Args:
        X: a data frame of features. y: (n,), numbers or labels.
        monotonic_cst: {feature: +1 or -1}, as MonotonicClassifier takes it; trees get the same directions.
        classification: whether y is classes.
        models: of LightGBM, XGBoost, HistGradientBoosting, CatBoost; None: the first three. Those not installed are
            named in `missing`; where nobody that was named is installed, that is an error.
        categorical: names of columns that are categories. parameters: further ones of our estimator.
        groups: (n,), names of groups of rows that are never torn apart, by folds or by what a model stops on (but
            for trees with one group to learn from, or one for each class: they stop on some of its rows).
        on_progress: called with (done, total, what) before every fit.
    """
    labels, target = _target(y, classification)
    groups = read_groups(groups, len(target))
    names, absent = _contestants(models, groups is not None)
    frame = as_frame(X)
    if not isinstance(frame, nw.DataFrame):
        raise InputError(f"a comparison is of a data frame; got {type(X).__name__}; name its columns.")
    matrix = read_matrix(frame, _second_class(monotonic_cst, labels), categorical)
    folds = folds_of(target, labels is not None, n_folds, seed, groups)
    weight = _weights(weight, target, folds)
    options = {**(parameters or {}), "monotonic_cst": monotonic_cst, "random_state": seed, "n_jobs": n_threads}
    scores: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for done, ((number, (train, test)), name) in enumerate(product(enumerate(folds), names)):
        if on_progress is not None:
            on_progress(done, len(folds) * len(names), f"fold {number + 1}, {name}")
        begun = time.perf_counter()
        if name == OURS:
            found = _ours(frame, y, train, test, weight, groups, classification, options)
        else:
            lesson = Lesson(matrix, train, target[train], weight, len(labels or ()), seed, n_threads, groups)
            found = _peer(name, lesson, test)
        seconds[name].append(time.perf_counter() - begun)
        own = None if weight is None else weight[test]
        for metric, value in scores_of(np.asarray(y)[test], found, labels, own).items():
            scores[name].setdefault(metric, []).append(value)
    arrays = {name: {metric: np.array(values) for metric, values in of.items()} for name, of in scores.items()}
    times = {name: np.array(values) for name, values in seconds.items()}
    return Comparison(arrays, times, absent, labels is None or len(labels) == 2, len(target))


def _contestants(models: Sequence[str] | None, groups: bool) -> tuple[list[str], dict[str, str]]:
    """Names of those that take part, ours first; and how to install the others."""
    asked = list(USUAL) if models is None else list(models)
    unknown = [name for name in asked if name not in PEERS]
    if unknown:
        raise InputError(f"monolip is compared with {', '.join(PEERS)}; got {unknown[0]!r}; choose among them.")
    absent = {name: line for name in asked if (line := missing_package(name, groups)) is not None}
    if models is not None and asked and len(absent) == len(asked):  # a comparison with nobody
        packages = [line.removeprefix("pip install ") for line in absent.values()]
        raise MissingExtraError(" and ".join(absent), "", f"pip install {' '.join(packages)}")
    return [OURS, *(name for name in asked if name not in absent)], absent


def _weights(weight: Any, target: NDArray[Any], folds: Sequence[Fold]) -> NDArray[np.float64] | None:
    if weight is None:
        return None
    found = np.asarray(weight, dtype=np.float64)
    if found.shape != target.shape:
        raise InputError(f"weights are one number for each row; got {found.shape} for {len(target)} rows; match them.")
    if not all(found[part].any() for fold in folds for part in fold):
        raise InputError("every fold has rows that count; got one whose weights are all 0; use fewer folds.")
    return found


def _mean(values: NDArray[np.float64]) -> tuple[float, float]:
    error = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")
    return float(values.mean()), error


def _target(y: Any, classification: bool) -> tuple[list[Any] | None, NDArray[Any]]:
    values = np.asarray(y)
    if not classification:
        return None, values.astype(np.float64)
    labels, codes = np.unique(values, return_inverse=True)
    if len(labels) < 2:
        raise InputError(f"a classification has at least two classes; got {len(labels)}; check the target.")
    return labels.tolist(), codes


def _second_class(monotonic_cst: Mapping[str, Any] | None, labels: list[Any] | None) -> dict[str, int] | None:
    """Directions of the second class's score, which is what trees of two classes constrain; None with more classes."""
    if monotonic_cst is None or (labels is not None and len(labels) > 2):
        return None
    found = {}
    for name, sign in monotonic_cst.items():
        if isinstance(sign, Mapping):
            assert labels is not None
            sign = sum(value * (1 if label == labels[1] else -1) for label, value in sign.items())
        found[name] = int(np.sign(sign))
    return found


def _ours(
    frame: Any, y: Any, train: Any, test: Any, weight: Any, groups: Any, classification: bool, options: dict[str, Any]
) -> NDArray[Any]:
    """What it predicts."""
    from monolip.estimators import MonotonicClassifier, MonotonicRegressor
    from monolip.estimators._targets import target_name, with_name, without_name

    own = {name: of[train] for name, of in (("sample_weight", weight), ("groups", groups)) if of is not None}
    kind = MonotonicClassifier if classification else MonotonicRegressor
    model: Any = kind(**options)
    name, labels = target_name(y) if classification else None, np.asarray(without_name(y))[train]
    labels = labels if name is None else with_name(labels, name)
    model.fit(frame[train.tolist()].to_native(), labels, **own)
    rows = frame[test.tolist()].to_native()
    return np.asarray(model.predict_proba(rows) if classification else model.predict(rows))


def _peer(name: str, lesson: Lesson, test: Any) -> NDArray[Any]:
    predict = PEERS[name](lesson)
    found = np.asarray(predict(lesson.matrix.x[test]), dtype=np.float64)
    return np.column_stack([1 - found, found]) if lesson.classes == 2 and found.ndim == 1 else found
