"""HeartDisease and AutoMPG: a row number as a feature, scaling by test rows, splits, a percent sign."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from paper.datasets.auto_mpg import load_auto_mpg, published_splits
from paper.datasets.compas import load_compas
from paper.datasets.files import find
from paper.datasets.heart_disease import COLUMNS, load_heart_disease, read_heart_disease
from paper.table1.small_network import Small
from paper.table1.tasks import OPEN
from paper.what_was_wrong.finding import Finding
from paper.what_was_wrong.runs import classify, mean_sd, regress

__all__ = [
    "auto_splits",
    "cumulative_permutations",
    "percent_sign",
    "row_number",
    "scaled_by_all_rows",
    "scaled_by_test_rows",
]

SIGNS = {"trestbps": 1, "chol": 1}
COMET = (
    "https://raw.githubusercontent.com/AishwaryaSivaraman/COMET/a747565f275fa01d2117f449ef7ccb1ff7e3d61c/"
    "examples/Auto-MPG/test_data.csv"
)


def _heart(names: list[str], own_scale: bool, fast: bool) -> tuple[list[float], list[float]]:
    """(best on test, last epoch) of ten seeds of the script's network; scaled by training rows, or each set alone."""
    parts = [read_heart_disease(find(f"heart_disease/heart_{p}.csv", "see Table 1."), with_row_number=True)
             for p in ("train", "test")]  # fmt: skip
    train = parts[0][names].to_numpy()
    scales = [part[names].to_numpy() if own_scale else train for part in parts]
    Z = np.vstack([(part[names].to_numpy() - s.mean(0)) / s.std(0) for part, s in zip(parts, scales, strict=True)])
    y = np.concatenate([part["target"].to_numpy() for part in parts])
    signs = np.array([SIGNS.get(name, 0) for name in names])
    rows, test = np.arange(len(train)), np.arange(len(train), len(y))
    small = Small((4, 4), 1.0, 20 if fast else 300, 242, options=OPEN)
    thresholds = np.linspace(-1, 1, 100)
    found = [classify(small, Z, y, signs, rows, test, seed, thresholds) for seed in range(2 if fast else 10)]
    return [fit.best for fit in found], [fit.last for fit in found]


def row_number(fast: bool) -> Finding:
    data = load_heart_disease()
    assert "row number" not in data.X
    assert data.X.shape[1] == 13
    with_best, with_last = _heart(["row number", *COLUMNS], True, fast)
    without_best, without_last = _heart(COLUMNS, True, fast)
    return Finding(
        "heart_disease.py",
        'the CSV file\'s index ("Unnamed: 0") is read as a 14th feature',
        f"14 columns reach the network; peeked {mean_sd(with_best, '.1f')} %, last epoch {mean_sd(with_last, '.1f')} %",
        f"without it: peeked {mean_sd(without_best, '.1f')} %, last epoch {mean_sd(without_last, '.1f')} % (one test "
        "row is "
        "1.64 points)",
        {"with": {"best": with_best, "last": with_last}, "without": {"best": without_best, "last": without_last}},
    )


def scaled_by_test_rows(fast: bool) -> Finding:
    leaky_best, leaky_last = _heart(COLUMNS, True, fast)
    clean_best, clean_last = _heart(COLUMNS, False, fast)
    return Finding(
        "heart_disease.py",
        "the test set is standardised with its own mean and deviation",
        f"13 columns, test scaled by itself: peeked {mean_sd(leaky_best, '.1f')} %, last {mean_sd(leaky_last, '.1f')} "
        "%",
        f"scaled by training rows: peeked {mean_sd(clean_best, '.1f')} %, last {mean_sd(clean_last, '.1f')} %",
        {"leaky": {"best": leaky_best, "last": leaky_last}, "clean": {"best": clean_best, "last": clean_last}},
    )


def scaled_by_all_rows(fast: bool) -> Finding:
    """auto_mpg.py standardises X and y by all rows; the loaders scale to 0 .. 1 by training and test rows together."""
    data = load_auto_mpg()
    raw, n = data.X.to_numpy(), len(data.y)
    small = Small((8, 8), 2.0, 20 if fast else 300, 64)
    errors: dict[str, list[float]] = {"all": [], "training": []}
    for seed, test in enumerate(published_splits(n)):
        train = np.setdiff1d(np.arange(n), test)
        for name, rows in (("all", np.arange(n)), ("training", train)):
            Z = (raw - raw[rows].mean(axis=0)) / raw[rows].std(axis=0)
            y = (data.y - data.y[rows].mean()) / data.y[rows].std()
            fit = regress(small, Z, y, data.signs, train, test, seed)
            errors[name].append((fit.last * float(data.y[rows].std())) ** 2)
    compas = load_compas()
    X = compas.X.to_numpy()
    scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    both = [(v - v[compas.train].mean(axis=0)) / v[compas.train].std(axis=0) for v in (X, scaled)]
    difference = float(np.abs(both[0] - both[1]).max())
    assert difference < 1e-9
    return Finding(
        "auto_mpg.py, loaders of COMPAS, BlogFeedback and LoanDefaulter",
        "inputs (and AutoMPG's target) are scaled with statistics of all rows, test rows included",
        f"AutoMPG, scaled by all rows: mean squared error {mean_sd(errors['all'])} (last epoch, the script's splits)",
        f"by training rows: {mean_sd(errors['training'])}; the loaders' 0 .. 1 scaling has no effect: the scripts "
        f"standardise by training rows afterwards (largest difference on COMPAS {difference:.0e})",
        {**errors, "difference": difference},
    )


def auto_splits(fast: bool) -> Finding:
    """Boosted trees, untuned, on random splits and on the fixed one that other papers use."""
    data = load_auto_mpg()
    X, y = data.X.to_numpy(), data.y

    def error(train: np.ndarray, test: np.ndarray) -> float:
        model = HistGradientBoostingRegressor(monotonic_cst=data.signs, max_leaf_nodes=7, random_state=0)
        return float(np.mean((model.fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2))

    random = []
    for seed in range(3 if fast else 20):
        order = np.random.default_rng(seed).permutation(len(y))
        random.append(error(order[:313], order[313:]))
    theirs = [error(np.setdiff1d(np.arange(len(y)), test), test) for test in published_splits(len(y))]
    fixed = error(*_comet_split(data.X["weight"].to_numpy(), y))
    return Finding(
        "AutoMPG, across papers",
        "papers use different splits of 392 cars and print ± over seeds or over three splits",
        f"one untuned monotone model (HistGradientBoosting): mean squared error {mean_sd(theirs)} on the script's "
        f"three splits, {fixed:.2f} on the fixed split of Sivaraman et al. that others use",
        f"{mean_sd(random)} on {len(random)} random splits, from {min(random):.1f} to {max(random):.1f}: a difference "
        "of 1 "
        "between papers is a difference of splits",
        {"random": random, "theirs": theirs, "fixed": fixed},
    )


def _comet_split(weight: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the fixed split: cars are recognised by weight and mpg, the first of several that are alike."""
    path = find("auto_mpg/comet_test_data.csv", f"download {COMET} to that name.", COMET)
    cars = pd.read_csv(path, index_col=0)
    left, test = list(range(len(y))), []
    for car_weight, mpg in zip(cars["Weight"], cars["MPG"], strict=True):
        row = next(k for k in left if weight[k] == car_weight and y[k] == mpg)
        left.remove(row)
        test.append(row)
    return np.array(left), np.array(test)


def cumulative_permutations(fast: bool) -> Finding:
    """Seed 2 permutes what seeds 0 and 1 have permuted already."""
    import torch

    n = 392
    torch.manual_seed(2)
    alone = torch.randperm(n).numpy()[int(0.8 * n) :]
    chained = published_splits(n, 3)[2]
    common = len(set(alone.tolist()) & set(chained.tolist()))
    assert common < len(alone)
    return Finding(
        "auto_mpg.py",
        "the data are permuted in place, so that a seed's split depends on the seeds run before it",
        f"seed 2 after seeds 0 and 1 shares {common} of {len(alone)} test rows with seed 2 alone",
        "splits are functions of their seed; X and y are standardised by training rows, not by all",
        {"common": common, "rows": len(alone)},
    )


def percent_sign(fast: bool) -> Finding:
    y = load_auto_mpg().y
    variance = float(y.var())
    assert 60 < variance < 62
    return Finding(
        "Table 1, AutoMPG",
        "a mean squared error is printed with a percent sign (and the script's variable rmse holds it)",
        f"the unit is (miles per gallon)^2: predicting the mean gives {variance:.1f}",
        "7.58 (mpg)^2 is a root mean squared error of 2.75 mpg",
        {"variance": variance},
    )
