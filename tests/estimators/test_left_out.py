"""What members say about rows they held out: fitted without them, by the numbers of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _forest_worth, _left_out, _sampling


@pytest.fixture
def shown(monkeypatch):
    """A fit, and the parts by which its forest was judged."""
    original = _forest_worth.left_out

    def fit(model, *data, **more):
        found = []

        def watched(*given):
            found.extend(original(*given))
            return iter(found)

        monkeypatch.setattr(_forest_worth, "left_out", watched)
        model.set_params(trees="free").fit(*data, **more)
        return found

    return fit


def table(rng, n):
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) + 0.05 * rng.normal(size=n)


@pytest.mark.parametrize(("n", "parts"), [(400, 4), (3000, 1)])
def test_parts_are_rows_of_the_table(n, parts, rng, shown):
    X, y = table(rng, n)
    y = (y - y.mean()) / y.std()  # as training sees it
    found = shown(MonotonicRegressor(monotonic_cst=[1, 0, 0], random_state=0), X, y)
    assert len(found) == parts
    for part in found:
        assert sorted([*part.kept, *part.held]) == list(range(n))
        for rows, f in ((part.kept, part.f_kept), (part.held, part.f_held)):
            assert np.mean((f - y[rows]) ** 2) < 0.3
    assert len({int(row) for part in found for row in part.held}) == sum(len(part.held) for part in found)


@pytest.mark.parametrize("n", [400, 3000])
def test_rows_held_out_were_not_learned(n, rng, shown):
    X, y = table(rng, n)
    held = shown(MonotonicRegressor(random_state=0), X, y)[0].held  # parts do not depend on the target
    mark = np.isin(np.arange(n), held)
    marked, told = np.column_stack([X, mark]), y + 20.0 * mark  # whoever learns from these rows knows the step
    parts = shown(MonotonicRegressor(random_state=0), marked, told)
    assert (parts[0].held == held).all()
    spread, centre = told.std(), told.mean()
    assert np.mean(parts[0].f_held * spread + centre - y[held]) < 5.0
    if n == 400:  # other members learned them
        kept = parts[1].kept
        assert np.mean(parts[1].f_kept[mark[kept]] * spread + centre - y[kept][mark[kept]]) > 15.0


def test_groups_are_held_out_whole(rng, shown):
    X, y = table(rng, 900)
    groups = rng.integers(0, 90, 900)
    parts = shown(MonotonicRegressor(random_state=0), X, y, groups=groups)
    assert len(parts) == 4
    for part in parts:
        assert not set(groups[part.kept]) & set(groups[part.held])
        assert len(part.held) == pytest.approx(900 / 8, abs=15)


def test_rows_without_weight_are_not_there(rng, shown):
    X, _ = table(rng, 600)
    weight, offset = rng.uniform(0.5, 2.0, 600), 3.0 * rng.normal(size=600)
    weight[::3] = 0.0
    y = rng.random(600) < 1 / (1 + np.exp(-offset))
    part = shown(MonotonicClassifier(random_state=0), X, y, sample_weight=weight, offset=offset)[0]
    assert sorted([*part.kept, *part.held]) == list(range(np.count_nonzero(weight)))
    counted = offset[weight > 0]
    assert np.corrcoef(part.f_held, counted[part.held])[0, 1] > 0.9  # what training knows of a row is in it


def test_of_very_many_rows_a_part_is_asked(rng, shown, monkeypatch):
    monkeypatch.setattr(_sampling, "MAX_ROWS", 500)
    monkeypatch.setattr(_left_out, "MOST_KEPT", 100)
    part = shown(MonotonicRegressor(random_state=0), *table(rng, 2000))[0]
    assert len(part.kept) == len(set(part.kept.tolist())) == 100
    assert max(part.kept.max(), part.held.max()) < 500
