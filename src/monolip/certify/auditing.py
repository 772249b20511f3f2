"""audit: search any model for pairs of rows that it scores the wrong way round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.certify.audit_categories import model_orders
from monolip.certify.audit_directions import directions_of
from monolip.certify.audit_grid import Feature, common_grid
from monolip.certify.audit_model import Scorer, scorer_of
from monolip.certify.audit_progress import Progress
from monolip.certify.audit_report import AuditedFeature, AuditReport
from monolip.certify.audit_search import Budget, Found, Rows, Search
from monolip.certify.audit_shrink import shrink
from monolip.certify.audit_summary import counterexamples
from monolip.certify.audit_table import Table, read_table
from monolip.certify.audit_thresholds import thresholds_of
from monolip.errors import InputError

__all__ = ["audit"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

N_ROUNDS = 6
_PER_ROW = 200  # evaluations of a row and feature, over all rounds; more rows would leave features without a turn
_LOOKED_AT = 8  # evaluations for each row that is scored before the search, four times: at most half of them
ROUNDING_ULPS = 64  # of the largest score: what sums of rounded terms explain


def audit(
    predict: Any,
    X: Any,
    monotonic_cst: Any,
    *,
    feature_names: Any = None,
    gradient: Callable[[Any], Any] | None = None,
    tolerance: float = 0.0,
    max_rows: int = 500,
    max_evaluations: int = 500_000,
    max_seconds: float | None = 60.0,
    max_counterexamples: int = 20,
    beyond_range: bool = True,
    seed: int = 0,
    verbose: int = 0,
) -> AuditReport:
    """Search for rows x, x' that differ in one feature and are scored against its direction; a find is a proof.

    Rows of X are swept along each feature: through observed values, between and up to one range beyond them, through
    the thresholds of trees, by single ulps; the worst rows are bred, with other columns exchanged and, where they are
    real numbers, moved likewise; gradients choose rows where there are any. Finds are shrunk.

    Args:
        predict: anything that scores rows: an estimator (where it classifies predict_proba, else decision_function), a
            function, a bound method, a Booster, a torch module, a FrozenNetwork, a FixedPointNetwork, an ONNX session
            or the path of an ONNX file.
        X: rows to start from, array or data frame; the model is fed the same type.
        monotonic_cst: -1, 0, +1 for each feature, as an array by position or a dict by name, position or column label;
            {feature: {class: +1}} for several classes; shape (n_features, n_outputs) for several outputs.
        feature_names: names of the columns of an array.
        gradient: rows -> slopes (n, d) or (n, outputs, d), for models other than torch modules, which have their own.
        tolerance: drops up to this do not count; 0.0 counts any.
        max_rows: rows of X that are swept; a random part of a larger X.
        max_evaluations, max_seconds: rows scored in the search, at most (from 10 on), and time. Making what was found
            small comes on top, and is counted apart. Time is the one limit that costs reproducibility.
        max_counterexamples: listed for each feature and output.
        beyond_range: whether features may leave the range they have in X.
        seed: all randomness comes from it. verbose: show progress.

    Examples:
        >>> rows = np.linspace(0, 1, 40).reshape(20, 2)
        >>> report = audit(lambda x: x[:, 0] - (x[:, 0] > 0.5) * 0.25, rows, [1, 0])
        >>> report.violated, report.worst_drop > 0.2, report.violations[0].value_from
        (True, True, 0.5)
    """
    scorer = scorer_of(predict, gradient).about(monotonic_cst)
    table = read_table(X, feature_names, scorer.dtype, model_orders(scorer.owner))
    tolerance, limit = _tolerance(tolerance), _positive(max_counterexamples, "max_counterexamples")
    budget, rng = Budget(_positive(max_evaluations, "max_evaluations", 10), max_seconds), np.random.default_rng(seed)
    rows = _some(np.arange(table.n_rows), min(_positive(max_rows, "max_rows"), max_evaluations // _LOOKED_AT), rng)
    start = _start(scorer, table.mixed(np.tile(rows[:, None], (1, table.n_columns)), {}), budget, tolerance)
    signs = directions_of(monotonic_cst, table.names, start.n_outputs, scorer.told_classes, table.labels)
    splits = thresholds_of(scorer.owner, table.names)
    features = [_feature(table, j, splits, beyond_range) for j in np.flatnonzero(signs.any(axis=1)).tolist()]
    rows = _some(rows, max(20, max_evaluations // len(features) // _PER_ROW), rng)
    with Progress(verbose) as tell:
        search = Search(scorer, table, features, signs, tolerance, budget, rng, tell)
        search.others = _others(table, signs, splits, beyond_range)
        search.run(rows, N_ROUNDS)
        return _report(search, start, len(rows), limit, seed, sum(map(len, splits.values())))


def _report(search: Search, start: _Start, n_rows: int, limit: int, seed: int, thresholds: int) -> AuditReport:
    """What was found, made small and scored once more."""
    rounding, frame, searched = start.rounding, search.table.frame, search.budget.evaluations
    with np.errstate(invalid="ignore"):  # scores may be infinite
        pairs = shrink(search, n_rows, limit)
    audited = tuple(_audited(search, pairs, j, k, rounding) for j, k in np.argwhere(search.signs).tolist())
    violations, before, after = counterexamples(search, pairs, rounding, search.scorer)
    budget = search.budget
    return AuditReport(
        search.scorer.name, audited, violations, before, after, n_rows, searched, search.pairs,
        budget.seconds, seed, search.tolerance, rounding, start.batch_dependent, len(pairs) - len(violations),
        budget.out_of_time, thresholds, frame.implementation if search.table.is_frame else None, search.nan_scores,
        budget.evaluations - searched,
    )  # fmt: skip


class _Start(NamedTuple):
    """What the first scores tell: outputs, what counts as rounding, the share of rows whose bits depend on batches."""

    n_outputs: int
    rounding: float
    batch_dependent: float


def _some(rows: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    return rows if len(rows) <= count else np.sort(rng.choice(rows, count, replace=False))


def _start(scorer: Scorer, table: Table, budget: Budget, tolerance: float) -> _Start:
    scores, dtype = scorer.scores(table.native)
    if len(scores) != table.n_rows or np.isnan(scores).any():
        got = "NaN" if len(scores) == table.n_rows else f"{len(scores)} scores for {table.n_rows} rows"
        raise InputError(f"a model gives each row a score; got {got} from {scorer.name}; check it on X.")
    if not np.array_equal(scores, scorer.scores(table.native)[0]):
        raise InputError(
            f"an audit compares scores, so the same rows must score the same twice; got other scores from {scorer.name}"
            " the second time; switch off its randomness."
        )
    changed = np.zeros(table.n_rows, np.bool_)
    checked = np.arange(min(table.n_rows, 64))
    for size in (1, 7):
        for first in range(0, len(checked), size):
            part = checked[first : first + size]
            found = scorer.scores(table.mixed(np.tile(part[:, None], (1, table.n_columns)), {}).native)[0]
            changed[part] |= (found != scores[part]).any(axis=1)
    budget.evaluations += 2 * table.n_rows + 2 * len(checked)
    eps = float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0
    largest = float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0))
    rounding = max(ROUNDING_ULPS * eps * largest, tolerance)
    return _Start(scores.shape[1], rounding, float(changed[checked].mean()))


def _feature(table: Table, j: int, splits: dict[int, FloatArray], beyond_range: bool) -> Feature:
    steps = table.steps(j)
    values = table.numbers(j, steps)
    observed = np.unique(steps.snap(values[np.isfinite(values)]))
    if not len(observed):
        raise InputError(f"an audited feature has values; got none in {table.names[j]!r}; pass rows that have some.")
    return Feature(j, steps, observed, splits.get(j, np.zeros(0)), beyond_range)


def _others(table: Table, signs: IntArray, splits: dict[int, FloatArray], beyond_range: bool) -> dict[int, Feature]:
    """Columns without a direction that hold real numbers: whole numbers may be codes, and keep the values of X."""
    found = {}
    for j in np.flatnonzero(~signs.any(axis=1)).tolist():
        try:
            feature = _feature(table, j, splits, beyond_range)
        except InputError:  # no numbers in it
            continue
        if not feature.steps.whole and (np.rint(feature.observed) != feature.observed).any():
            found[j] = feature
    return found


def _audited(search: Search, pairs: list[Found], j: int, k: int, rounding: float) -> AuditedFeature:
    mine = [pair for pair in pairs if (pair.feature, pair.output) == (j, k)]
    drops = search.drops.get((j, k), np.zeros(0))  # none where time ended before this feature's turn
    bred = (pair.drop for pair in search.found.get((j, k, False), []))
    worst = max([0.0, *drops, *bred])
    rows = Rows(mine[0].parents[None], mine[0].moved[None]) if mine else Rows.of(np.array([0]), search.table.n_columns)
    feature = search.features[j]
    grid = common_grid(feature, 200, np.random.default_rng(0))
    inside = grid[(grid >= feature.observed[0]) & (grid <= feature.observed[-1])]
    ends = [] if not mine else [mine[0].low, mine[0].high]
    values = np.unique(np.concatenate([inside, ends]))
    rows = Rows(np.repeat(rows.parents, len(values), axis=0), np.repeat(rows.moved, len(values), axis=0))
    curve = search.scores(search.build(rows).with_column(j, feature.steps, values))[:, k]
    name, label = search.table.names[j], search.scorer.label(k)
    worst = float(worst) if worst > search.tolerance else 0.0
    n = len(drops) or np.nan
    shares = float((drops > search.tolerance).sum() / n), float((drops > rounding).sum() / n)
    return AuditedFeature(name, label, int(search.signs[j, k]), *shares, worst, (values, curve))


def _tolerance(given: float) -> float:
    if not 0.0 <= given < np.inf:
        raise InputError(f"a tolerance is a number from 0 on; got {given!r}; pass 0.0 to count any drop.")
    return float(given)


def _positive(value: Any, what: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{what} is a whole number from {least} on; got {value!r}; pass one.")
    return int(value)
