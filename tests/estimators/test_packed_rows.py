"""A fit packs model columns as it makes them: the same bits as from the table of them all, in a fraction of it."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest

from monolip.engine import problem as engine_problem
from monolip.engine.problem import Problem
from monolip.engine.row_source import RowSource
from monolip.errors import InputError
from monolip.estimators import FitOptions, MonotonicClassifier, MonotonicRegressor, _sampling
from monolip.estimators import fit as procedure
from monolip.estimators import inputs as preparing
from monolip.estimators._categories import out_of_fold
from monolip.estimators._far_values import training_reach
from monolip.estimators._model_rows import ModelRows
from monolip.estimators._picked_rows import pick_rows
from monolip.estimators._tables import read_table
from monolip.input_columns import CategoryColumn

QUICK = {"random_state": 3, "max_iter": 4, "n_estimators": 2}


def mixed(n=1500, seed=0):
    """Numbers with ties, gaps and a code; categories of few and of many labels, in order and not, missing or not."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "ties": np.round(rng.exponential(size=n), 1),
            "group": [f"g{i}" for i in rng.integers(0, 50, n)],
            "few": rng.choice(["x", "y", "z"], n),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
            "linear": np.where(rng.random(n) < 0.003, 999999.0, rng.normal(size=n)),
            "constant": 7.0,
        }
    )
    X.loc[rng.random(n) < 0.1, ["a", "few"]] = None
    X.loc[rng.random(n) < 0.02, "group"] = None
    y = X["a"].fillna(2.0) + X["ties"] * (X["few"] == "x") + X["group"].str.len().fillna(0) + 0.2 * rng.normal(size=n)
    return X, y.to_numpy(), rng.random(n) * (rng.random(n) > 0.1)


class Held(RowSource):
    """The table of all model columns, its ends looked up in it: how problems were made before."""

    def __init__(self, inputs, table, target, seed):
        x = inputs.evaluate([column.values if column.is_numeric else column.labels for column in table.columns])
        reach = training_reach(inputs, table)
        x = (x if reach is None else np.clip(x, -reach, reach)).astype(np.float32)
        for j, column in enumerate(inputs.columns):
            if isinstance(column, CategoryColumn):
                rng, first = np.random.default_rng([seed, j]), inputs.starts[j] + FitOptions().one_hot_levels
                means = out_of_fold(column, table.columns[j], target.averaged, target.weight, rng)
                if means is not None:
                    x[:, first : first + means.shape[1]] = means
        super().__init__(x)


def fits():
    X, y, weight = mixed()
    classes = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    settings = {**QUICK, "slopes": {"linear": (0.0, 2.0)}, "monotonic_cst": {"a": 1, "grade": 1}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the code 999999
        return [
            MonotonicRegressor(**settings).fit(X, y),
            MonotonicRegressor(**settings, missing={"a": "lowest"}).fit(X, y, sample_weight=weight),
            MonotonicClassifier(**settings).fit(X, classes > 0, sample_weight=weight + 0.1),
            MonotonicClassifier(**QUICK, n_bins=12).fit(X, classes),
            MonotonicRegressor(**QUICK, loss="poisson", n_bins=0).fit(X, np.round(y - y.min()), offset=weight),
        ]


@pytest.mark.parametrize("cache", [10**9, 0])
def test_the_same_bits_as_from_the_whole_table(monkeypatch, cache):
    monkeypatch.setattr(engine_problem, "CACHE_BYTES", cache)  # 0: rows are kept in random order
    ours = [model.frozen_.digest for model in fits()]
    monkeypatch.setattr(preparing, "ModelRows", Held)
    assert ours == [model.frozen_.digest for model in fits()]


@pytest.mark.parametrize("cache", [10**9, 0])
@pytest.mark.parametrize("cells", [2**18, 1])
def test_packed_values_are_those_of_the_input_transform(monkeypatch, cache, cells):
    monkeypatch.setattr(engine_problem, "CACHE_BYTES", cache)
    monkeypatch.setattr("monolip.engine._packing.PIECE_CELLS", cells)
    made = []

    def watched(*parts):
        made.append((parts, preparing.make_problem(*parts)))
        return made[-1][1]

    monkeypatch.setattr(procedure, "make_problem", watched)
    X, y, _ = mixed()
    model = MonotonicRegressor(**QUICK).fit(X, y)
    (merged, _, table, *_), problem = made[0]
    inputs = merged.inputs
    whole = inputs.evaluate([c.values if c.is_numeric else c.labels for c in table.columns]).astype(np.float32)
    group = int(inputs.starts[2]) + FitOptions().one_hot_levels  # the target mean, out of fold in training
    places = problem.places(np.arange(len(X)))
    rows = problem.rows_at(places)
    kept = np.delete(np.arange(whole.shape[1]), group)
    assert np.array_equal(rows[:, kept], whole[problem.rows_kept(places)][:, kept])
    assert not np.array_equal(rows[:, group], whole[problem.rows_kept(places), group])
    expected = np.zeros(whole.shape[1])
    for start in range(0, len(rows), 4096):
        expected += rows[start : start + 4096].sum(0, dtype=np.float64)
    assert np.array_equal(problem.means, expected / len(rows))
    assert model.model_columns(X).shape == whole.shape


def test_ends_are_those_of_all_rows(monkeypatch):
    X, y, _ = mixed(400)
    seen = []
    monkeypatch.setattr(preparing, "ModelRows", lambda *parts: seen.append(ModelRows(*parts)) or seen[-1])
    MonotonicRegressor(**QUICK).fit(X[["a", "ties", "constant"]].assign(none=np.nan), y)
    rows = seen[-1].rows(slice(0, 400))
    ends = seen[-1].ends(np.arange(rows.shape[1]))
    assert np.array_equal(ends, np.stack([rows.min(axis=0), rows.max(axis=0)]))


def test_a_row_that_is_not_finite_is_named_in_the_callers_order(monkeypatch):
    monkeypatch.setattr(engine_problem, "CACHE_BYTES", 0)
    monkeypatch.setattr("monolip.engine._packing.PIECE_CELLS", 1)
    x = np.zeros((300, 2))
    x[[70, 200], 1] = np.inf
    with pytest.raises(InputError, match="got inf in row 70, column 1"):
        Problem(RowSource(x), np.zeros(300), [-1, -1], [1, 1])


def test_picked_rows_are_those_taken():
    X, _, _ = mixed(200)
    table = read_table(X.assign(big=2**60 + np.arange(200)))
    rows = np.flatnonzero(np.arange(200) % 3)
    for _ in range(2):  # before and after the labels of the whole columns were looked at
        for ours, theirs in zip(pick_rows(table, rows).columns, table.take(rows).columns, strict=True):
            assert (ours.name, ours.ordered, ours.categories) == (theirs.name, theirs.ordered, theirs.categories)
            assert ours.is_numeric == theirs.is_numeric
            assert list(map(str, ours.labels)) == list(map(str, theirs.labels))
            assert list(map(str, ours.at(slice(3, 9)))) == list(map(str, theirs.values[3:9]))
            labels = [column.factors[0][column.factors[1]] for column in (ours, theirs)]
            assert list(map(str, labels[0])) == list(map(str, labels[1]))
        assert all(len(column.factors[1]) == 200 for column in table.columns)


def test_a_random_part_of_many_rows_is_the_same_without_a_copy(monkeypatch):
    monkeypatch.setattr(_sampling, "MAX_ROWS", 700)
    X, y, weight = mixed()
    ours = MonotonicRegressor(**QUICK).fit(X.drop(columns="linear"), y, sample_weight=weight).frozen_.digest
    monkeypatch.setattr(_sampling, "pick_rows", lambda table, rows: table.take(rows))
    assert MonotonicRegressor(**QUICK).fit(X.drop(columns="linear"), y, sample_weight=weight).frozen_.digest == ours


@pytest.mark.parametrize(
    ("settings", "tables", "more"),
    [({**QUICK, "fit_options": FitOptions(bin_kinds=(None,), n_bins=8)}, 2, 0), ({"random_state": 0}, 3, 16)],
    ids=["one kind", "default"],
)
@pytest.mark.parametrize(("n", "d", "constant"), [(100_000, 10, 8), (8000, 120, 16), (3000, 400, 16)])
def test_a_fit_needs_no_more_than_a_few_tables(n, d, constant, settings, tables, more):
    """constant, more: MB that do not grow with the table: 2^21 cells that the additive model reads, Gram matrices."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.exp(X[:, 0] / 2) + X[:, 1] * X[:, 2]
    MonotonicRegressor(**settings).fit(X[:200], y[:200])  # what is loaded once is no memory of this fit
    tracemalloc.start()
    try:
        MonotonicRegressor(**{**settings, "max_iter": 1}).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < tables * X.nbytes + (constant + more) * 2**20
