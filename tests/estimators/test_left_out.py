"""What members say about rows they held out: fitted without them, in the user's rows and units."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _left_out, _sampling


def shown(model, *data):
    found = []
    model._on_left_out = found.append
    model.fit(*data)
    assert len(found) == 1
    return found[0]


def table(rng, n):
    X = rng.normal(size=(n, 3))
    return X, 100.0 + 20.0 * X[:, 0] + 10.0 * np.sin(3 * X[:, 1]) + rng.normal(size=n)


@pytest.mark.parametrize(("n", "parts"), [(400, 4), (3000, 1)])
def test_parts_are_rows_of_the_table_in_its_units(n, parts, rng):
    X, y = table(rng, n)
    left_out = shown(MonotonicRegressor(monotonic_cst=[1, 0, 0], random_state=0), X, y)
    found = list(left_out)
    assert len(found) == len(left_out) == parts
    for part in found:
        assert sorted([*part.kept, *part.held]) == list(range(n))
        assert part.weight_held is None
        for rows, f in ((part.kept, part.f_kept), (part.held, part.f_held)):
            assert np.mean((f - y[rows]) ** 2) < 0.3 * np.var(y)
    assert len({int(row) for part in found for row in part.held}) == sum(len(part.held) for part in found)


@pytest.mark.parametrize("n", [400, 3000])
def test_rows_held_out_were_not_learned(n, rng):
    X, y = table(rng, n)
    held = next(iter(shown(MonotonicRegressor(random_state=0), X, y))).held  # parts do not depend on the target
    mark = np.isin(np.arange(n), held)
    marked, told = np.column_stack([X, mark]), y + 500.0 * mark  # whoever learns from these rows knows the step
    model = MonotonicRegressor(random_state=0)
    parts = list(shown(model, marked, told))
    assert (parts[0].held == held).all()
    assert np.mean(parts[0].f_held - y[held]) < 100.0
    if n == 400:  # other members learned them
        assert np.mean(parts[1].f_kept[mark[parts[1].kept]] - y[parts[1].kept][mark[parts[1].kept]]) > 400.0


def test_rows_without_weight_are_not_there_and_offsets_are_taken_off(rng):
    X, y = table(rng, 600)
    codes, weight, offset = y > 100, rng.uniform(0.5, 2.0, 600), rng.normal(size=600)
    weight[::3] = 0.0
    part = next(iter(shown(MonotonicClassifier(random_state=0), X, codes, weight, offset)))
    every = np.concatenate([part.kept, part.held])
    assert sorted(every) == np.flatnonzero(weight).tolist()
    np.testing.assert_array_equal(part.weight_held, weight[part.held])
    assert abs(np.corrcoef(part.f_kept, offset[part.kept])[0, 1]) < 0.3


def test_of_very_many_rows_a_part_is_asked(rng, monkeypatch):
    monkeypatch.setattr(_sampling, "MAX_ROWS", 500)
    monkeypatch.setattr(_left_out, "MOST_KEPT", 100)
    X, y = table(rng, 2000)
    part = next(iter(shown(MonotonicRegressor(random_state=0), X, y)))
    assert len(part.kept) == len(set(part.kept.tolist())) == 100
    assert max(part.kept.max(), part.held.max()) > 1000
    assert np.mean((part.f_held - y[part.held]) ** 2) < 0.3 * np.var(y)


def test_nobody_who_holds_nothing_out_is_asked(rng):
    X, y = table(rng, 300)
    assert len(shown(MonotonicRegressor(early_stopping=False, max_iter=3), X, y)) == 0
