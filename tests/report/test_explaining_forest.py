"""Explanations of a model with a forest: nothing is proved of what jumps, and what is proved of the rest is true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monolip.free_forest import FreeForest
from monolip.input_transform import InputTransform
from monolip.report.explain_score import Score
from monolip.report.explain_search import Goal, nearest_value
from monolip.report.explaining import explain

from ..forests import directed_network, forest_network, plain_network, raw_rows, steps_across

SEEDS = range(6)


def one_row(table, k) -> dict:
    row = {name: values[k] for name, values in table.items()}
    return {name: None if v is None or v != v else v if name == "city" else float(v) for name, v in row.items()}


@pytest.mark.parametrize("label", ["no", "yes"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_direction_that_trees_keep_proves_one_side_useless(seed, label):
    rng = np.random.default_rng(seed)
    network, table = directed_network(rng, "logit"), raw_rows(rng, 2)
    score, row = Score.of(network, label), one_row(table, 0)
    why = explain(network, row, one_row(table, 1), label=label, goal=0.5)
    assert why.jumping == ("dose", "sugar", "city")
    word = {"yes": "increasing (trees)", "no": "decreasing (trees)"}[label]
    assert {reason.promise for reason in why.reasons if reason.feature == "dose"} <= {word}
    up = why.score <= why.goal
    useless = "down" if up == (label == "yes") else "up"
    sides = {change.side: change for change in why.changes if change.feature == "dose"}
    assert sides[useless].at_least == np.inf
    assert sides[useless].to is None
    assert sides["up" if useless == "down" else "down"].at_least is None
    far = steps_across(network.inputs.forest, 0)
    far = far[np.isfinite(far) & ((far > row["dose"]) == (useless == "up"))]
    found = score.of_rows([{**row, "dose": float(x)} for x in far])
    assert not (found > why.goal if up else found <= why.goal).any()
    assert {change.at_least for change in why.changes if change.feature == "sugar"} <= {None}


@pytest.mark.parametrize("link", ["identity", "logit"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_proved_withstands_a_scan_and_of_jumps_nothing_is(seed, link):
    rng = np.random.default_rng(seed)
    network, table = forest_network(rng, link), raw_rows(rng, 2)
    score = Score.of(network)
    row, reference = one_row(table, 0), one_row(table, 1)
    why = explain(network, row, reference, goal=0.5)
    assert abs(why.remainder) < 1e-12
    assert why.jumping == ("sugar", "city")
    promises = {reason.feature: reason.promise for reason in why.reasons}
    assert promises.get("sugar", "free (trees)") == "free (trees)"
    assert promises.get("city", "free (category, trees)") == "free (category, trees)"

    def reached(rows):
        found = score.of_rows(rows)
        return found <= why.goal if why.score > why.goal else found > why.goal

    for change in why.changes:
        assert (change.at_least is None) == (change.feature in ("sugar", "city"))
        if change.to is not None:
            assert reached([{**row, change.feature: change.to}]).all()
        if change.at_least is not None:
            sign, far = (1 if change.side == "up" else -1), min(change.at_least, 1e3)
            steps = np.concatenate([np.linspace(0, far, 100), far * 2.0 ** -np.arange(30)])
            assert not reached([{**row, change.feature: row[change.feature] + sign * s} for s in steps]).any()
    if why.together is not None:
        assert set(why.together.scale) <= {"dose", "acid"}
        moves = rng.dirichlet([1] * (len(why.together.scale) + 1), 100)[:, :-1] * min(why.together.at_least, 50)
        moves *= rng.choice([-1, 1], moves.shape)
        there = [
            {**row, **{n: row[n] + m * why.together.scale[n] for n, m in zip(why.together.scale, move, strict=True)}}
            for move in moves
        ]
        assert not reached(there).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_nearest_value_is_that_of_a_scan_through_every_leaf(seed):
    rng = np.random.default_rng(100 + seed)
    network, found = forest_network(rng, n_trees=8), 0
    score, table = Score.of(network), raw_rows(rng, 12)
    fine = np.linspace(-2, 2, 8001)
    for k in range(12):
        row = one_row(table, k)
        if row["sugar"] is None:
            continue
        own = {name: np.repeat(score.column(name, [row[name]]), len(fine)) for name in score.names}
        along = score.of_columns({**own, "sugar": fine})
        here = float(score.of_rows([row])[0])
        goal = Goal(float(np.quantile(along, 0.9)), 1, 0.0)
        if here > goal.score:
            continue
        for side in (1, -1):
            better = fine[(along > goal.score) & (side * (fine - row["sugar"]) > 0)]
            to = nearest_value(score, row, "sugar", side, goal, whole=False)
            assert (to is None) <= (len(better) == 0)
            if len(better):
                found += 1
                assert abs(to - row["sugar"]) <= 1.01 * np.abs(better - row["sugar"]).min() + 1e-12
    assert found > 0


def narrow_network():
    """One leaf between 0.7031 and 0.70311, which no grid meets, is worth 1000."""
    forest = FreeForest((1,), ((0.0, 0.0),), [0, -1, 0, -1, -1], [0.7031, 0, 0.70311, 0, 0], [1, 0, 3, 0, 0],
                        [0, 0.0, 0, 1e3, 0.0], [0])  # fmt: skip
    network = forest_network(np.random.default_rng(0))
    return replace(network, inputs=InputTransform(network.inputs.columns, forest))


def test_a_leaf_that_no_grid_meets_is_found_from_both_sides_and_not_by_whole_numbers():
    network = narrow_network()
    for sugar, side in ((0.0, "up"), (2.0, "down")):
        row = {"dose": 0.0, "sugar": sugar, "city": "A", "acid": 0.0}
        changes = {(c.feature, c.side): c for c in explain(network, row, row, goal=500.0).changes}
        found = changes["sugar", side]
        assert 0.7031 <= found.to < 0.70311
        assert found.at_least is None
        assert changes["dose", "up"].at_least > 0  # of a feature with a promise something is proved
        whole = explain(network, row, row, goal=500.0, whole=["sugar"]).changes
        assert {c.to for c in whole if c.feature == "sugar"} == {None}


def test_without_a_forest_everything_is_as_it_was():
    network = plain_network(np.random.default_rng(0))
    row = {"dose": 0.0, "sugar": 0.5, "city": "A", "acid": 0.0}
    why = explain(network, row, row, goal=1.0)
    assert why.jumping == ()
    assert all(change.at_least is not None for change in why.changes if change.feature != "city")
