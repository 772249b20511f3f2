"""COMPAS: selection on test, the fourth power of a constant, rows that are in both sets."""

from __future__ import annotations

import numpy as np

from monolip.engine import Architecture, Problem, TrainingOptions
from monolip.engine import train as train_network
from paper.datasets.compas import load_compas
from paper.datasets.data_set import DataSet
from paper.table1.scores import accuracy, best_accuracy
from paper.table1.small_network import Inputs, Small, epochs_of, outputs, train_small
from paper.table1.tasks import CALM, OPEN, ZERO_ONE
from paper.what_was_wrong.finding import Finding
from paper.what_was_wrong.runs import classify, mean_sd

__all__ = ["duplicates", "fourth_power", "seeds_are_not_splits", "selection_on_test"]

PER_LAYER = 1.3  # the constant of the published script


def _inputs(data: DataSet) -> np.ndarray:
    raw = data.X.to_numpy()
    return Inputs.of(raw[data.train], False)(raw)


def selection_on_test(fast: bool) -> Finding:
    """The running maximum of test accuracy over epochs and thresholds, against an epoch chosen on validation rows."""
    data = load_compas()
    Z, train, test = _inputs(data), data.train, data.test
    assert test is not None
    small = Small((2, 2), 2.0, 20 if fast else 300, options=OPEN)
    peeked, honest, curve = [], [], []
    for seed in range(3 if fast else 10):
        order = np.random.default_rng(seed).permutation(train)
        held, rest = order[: len(order) // 5], order[len(order) // 5 :]
        result = train_small(small, Z, data.y, data.signs, rest, True, seed)
        on_test = list(epochs_of(result, Z[test]))
        on_held = [accuracy(f, data.y[held]) for f in epochs_of(result, Z[held])]
        best = [best_accuracy(f, data.y[test], ZERO_ONE) for f in on_test]
        peeked.append(100 * max(best))
        honest.append(100 * accuracy(on_test[int(np.argmax(on_held))], data.y[test]))
        if seed == 0:
            plain = [accuracy(f, data.y[test]) for f in on_test]
            curve = [(100 * np.maximum.accumulate(best)).tolist(), (100 * np.array(plain)).tolist()]
    gain = float(np.mean(peeked) - np.mean(honest))
    assert gain > 0.3
    return Finding(
        "scripts, every entry of Table 1",
        "the printed score is the maximum over epochs and thresholds of the *test* score",
        f"COMPAS, 37 parameters, {len(peeked)} seeds: best epoch and threshold on test {mean_sd(peeked)} %",
        f"epoch chosen on validation rows, threshold 1/2, same runs: {mean_sd(honest)} %; looking was worth {gain:.2f} "
        "points; the paper's gain over the method it compares with is 0.5 (68.8 to 69.3)",
        {"peeked": peeked, "honest": honest, "running_maximum": curve[0], "plain": curve[1]},
    )


def fourth_power(fast: bool) -> Finding:
    """Residual 1.3^4 around a network with bound 1.3^3: slopes of monotone features are at least 0.66."""
    data = load_compas()
    low, high = PER_LAYER**4 - PER_LAYER**3, PER_LAYER**4 + PER_LAYER**3
    Z, test, losses = _inputs(data), data.test, {"forced": [], "fixed": []}
    assert test is not None
    for seed in range(2 if fast else 10):
        for name, lower, upper in (("forced", low, high), ("fixed", 0.0, 2 * PER_LAYER**3)):
            f = _paper_form(data, Z, lower, upper, seed, 20 if fast else 100)
            losses[name].append(float(np.mean(np.logaddexp(0, f) - data.y[test] * f)))
    assert np.mean(losses["forced"]) > np.mean(losses["fixed"])
    return Finding(
        "compas.py",
        "the residual is the *fourth* power of the per-layer constant of a network with three layers",
        f"residual {PER_LAYER**4:.2f}, bound {PER_LAYER**3:.2f}: every slope of a monotone feature is forced into "
        f"[{low:.2f}, {high:.2f}] per standard deviation; flat is not representable",
        f"test log-loss {mean_sd(losses['forced'], '.4f')} with it, {mean_sd(losses['fixed'], '.4f')} without "
        f"({len(losses['fixed'])} seeds, same recipe)",
        {"low": low, "high": high, **losses},
    )


def _paper_form(data: DataSet, Z: np.ndarray, lower: float, upper: float, seed: int, epochs: int) -> np.ndarray:
    """f of the test rows: paper form (residual and signed rows), slopes of monotone features in [lower, upper]."""
    bound = PER_LAYER**3
    low = np.where(data.signs > 0, lower, -bound)
    high = np.where(data.signs > 0, upper, bound)
    shape = Architecture(hidden=(2, 2), fan_in=None, paper_form=True)
    problem = Problem(Z, data.y, low, high, loss="logistic", architecture=shape)
    steps = epochs * -(-len(data.train) // 256)
    options = TrainingOptions(n_steps=steps, batch_size=256, n_snapshots=1, seed=seed)
    result = train_network(problem, options, index=data.train)
    return outputs(result.network, Z[data.test])


def duplicates(fast: bool) -> Finding:
    data = load_compas()
    raw, train, test = data.X.to_numpy(), data.train, data.test
    assert test is not None
    both = np.c_[raw, data.y]
    known = {row.tobytes() for row in both[train]}
    known_features = {row.tobytes() for row in np.ascontiguousarray(raw[train])}
    repeated = np.array([row.tobytes() in known for row in both[test]])
    seen = np.array([row.tobytes() in known_features for row in np.ascontiguousarray(raw[test])])
    assert (int(repeated.sum()), int(seen.sum())) == (789, 888)
    Z = _inputs(data)
    small = Small((2, 2), 2.0, 20 if fast else 100)
    on_seen, on_new = [], []
    for seed in range(2 if fast else 5):
        f = outputs(train_small(small, Z, data.y, data.signs, train, True, seed).network, Z[test])
        on_seen.append(100 * accuracy(f[seen], data.y[test][seen]))
        on_new.append(100 * accuracy(f[~seen], data.y[test][~seen]))
    error = 100 * float(np.sqrt(0.69 * 0.31 / len(test)))
    return Finding(
        "COMPAS data and split",
        "most test rows are in the training set",
        f"{repeated.sum()} of {len(test)} test rows repeat a training row with its label, {seen.sum()} its features",
        f"accuracy on rows with known features {mean_sd(on_seen)} %, on the {int((~seen).sum())} new ones "
        f"{mean_sd(on_new)} %: 37 parameters do not memorise, so nothing is inflated here; but the binomial standard "
        "error "
        f"of the test set is {error:.1f} points, and differences of 0.1 to 0.5 between published rows mean nothing",
        {
            "repeated": int(repeated.sum()),
            "seen": int(seen.sum()),
            "on_seen": on_seen,
            "on_new": on_new,
            "error": error,
        },
    )


def seeds_are_not_splits(fast: bool) -> Finding:
    """The printed ± is over seeds on one split."""
    data = load_compas()
    raw, n = data.X.to_numpy(), len(data.y)
    small = Small((2, 2), 2.0, 20 if fast else 60, options=CALM | {"slope_rate": 0.05, "bias_rate": 0.05})
    over_seeds = [_one(data, raw, data.train, data.test, small, seed) for seed in range(3 if fast else 8)]
    over_splits = []
    for seed in range(3 if fast else 8):
        order = np.random.default_rng(seed).permutation(n)
        over_splits.append(_one(data, raw, order[: int(0.8 * n)], order[int(0.8 * n) :], small, seed))
    seeds, splits = float(np.std(over_seeds, ddof=1)), float(np.std(over_splits, ddof=1))
    return Finding(
        "Table 1, COMPAS, BlogFeedback, LoanDefaulter, HeartDisease",
        "the printed ± is a standard deviation over three seeds on one split",
        f"COMPAS, 37 parameters: ± {seeds:.2f} over seeds on the published split",
        f"± {splits:.2f} over random splits: that is the uncertainty of the number",
        {"over_seeds": over_seeds, "over_splits": over_splits},
    )


def _one(data: DataSet, raw: np.ndarray, train: np.ndarray, test: np.ndarray | None, small: Small, seed: int) -> float:
    assert test is not None
    Z = Inputs.of(raw[train], False)(raw)
    return classify(small, Z, data.y, data.signs, train, test, seed, ZERO_ONE).last
