"""Forests over features with a direction: what is proved of trees is true of them, and nothing less is accepted."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.certify import certify
from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.fixed_point_claims import fixed_point_directions
from monolip.certify.robustness import certified_radius
from monolip.convex import ConvexForm
from monolip.errors import FreezeError
from monolip.estimators._freezing import with_forest
from monolip.estimators._prediction import Predictor
from monolip.estimators._tables import read_table
from monolip.estimators.slope_table import SlopeTable
from monolip.free_forest import LEAF, FreeForest
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds

from .checker.documents import accepts
from .forests import FAR, broken, directed_forest, directed_network, plain_network, raw_rows, steps_across
from .make import mixing

SEEDS = st.integers(0, 2**32 - 1)
PLACES = {"lowest": -FAR, "highest": FAR, "state": 0.3}
LINE = PiecewiseLinear([-2.0, 0.0, 2.0], [-1.0, 0.1, 1.0])
GRADES = ("a", "b", "c")


def below(forest: FreeForest, node: int) -> list:
    """Leaves, as a person would collect them."""
    if forest.features[node] == LEAF:
        return [forest.values[node].item()]
    child = int(forest.children[node])
    return below(forest, child) + below(forest, child + 1)


def by_hand(forest: FreeForest, k: int) -> tuple[bool, bool]:
    """Whether trees rise and fall along the k-th column: the definition, node by node."""
    pairs = [(below(forest, c), below(forest, c + 1)) for c in forest.children[forest.features == k].tolist()]
    return all(max(a) <= min(b) for a, b in pairs), all(min(a) >= max(b) for a, b in pairs)


def cells(forest: FreeForest) -> list[np.ndarray]:
    """Along every column one number from each cell between its thresholds."""
    found = []
    for k in range(len(forest.reads)):
        cuts = forest.jumps(k)
        found.append(np.concatenate([[-np.inf], cuts]))
    return found


def is_monotone(forest: FreeForest, k: int, sign: int) -> bool:
    """Every tree on all cells, by brute force."""
    along = cells(forest)
    rows = np.array(list(product(*along)))
    shape = [len(values) for values in along]
    ends = np.append(forest.roots[1:], len(forest.features))
    for first, end in zip(forest.roots, ends, strict=True):
        own = slice(first, end)
        children = np.where(forest.features[own] == LEAF, 0, forest.children[own] - first)
        tree = replace(
            forest, features=forest.features[own], thresholds=forest.thresholds[own], children=children,
            values=forest.values[own], roots=[0],
        )  # fmt: skip
        found = tree.evaluate(rows).reshape(shape)
        if not (sign * np.diff(found, axis=k) >= 0).all():
            return False
    return True


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from([{}, {0: 1}, {0: -1}, {0: 1, 1: -1}, {0: 1, 1: 1, 2: -1}]), st.booleans())
def test_directions_are_those_of_the_definition_and_hold_in_every_cell(seed, ways, integers):
    rng = np.random.default_rng(seed)
    forest = directed_forest(rng, (0, 1, 2), ways, n_trees=3, depth=3)
    forest = forest.in_units(float(rng.choice([3.0, 2.0**20]))) if integers else forest
    for k in range(3):
        rises, falls = forest.rises[k], forest.falls[k]
        assert (rises, falls) == by_hand(forest, k)
        assert not rises or is_monotone(forest, k, 1)
        assert not falls or is_monotone(forest, k, -1)
        assert {1: rises, -1: falls}.get(ways.get(k), True)
        if ways.get(k) == 1 and (forest.features == k).any():
            for ulp in (False, True):
                worse = broken(forest, k, rng, ulp)
                assert (worse.rises[k], worse.falls[k]) == by_hand(worse, k)
                assert not worse.rises[k]


def test_a_column_that_nobody_asks_about_rises_and_falls():
    forest = FreeForest((0, 1), ((0, 0),) * 2, [1, LEAF, LEAF], [0.5, 0, 0], [1, 0, 0], [0, -1.0, 3.0], [0])
    assert (forest.rises, forest.falls) == ((True, True), (True, False))
    equal = replace(forest, values=[0, 2.0, 2.0])
    assert (equal.rises, equal.falls) == ((True, True), (True, True))


@pytest.mark.parametrize("way", [1, -1])
def test_trees_that_break_a_direction_are_refused(way):
    rng = np.random.default_rng(1)
    plain = plain_network(rng)
    if way < 0:
        plain = replace(plain, members=((falling(plain),),), promise=turned(plain.bounds, 3))
    forest = directed_forest(rng, (0, 1), {0: way})
    assert "dose" in str(with_forest(plain, forest))
    word = "increasing" if way > 0 else "decreasing"
    for ulp in (False, True):
        for seed in range(10):
            worse = broken(forest, 0, np.random.default_rng(seed), ulp)
            with pytest.raises(FreezeError, match=f"'dose' has a direction, {word}, .* leave the feature out"):
                with_forest(plain, worse)
    whole = with_forest(plain, forest)
    lower = np.append(whole.bounds.lower[:-1], -1.0)
    with pytest.raises(FreezeError, match=r"'dose'.* enters with weights >= 0"):
        replace(whole, promise=SlopeBounds(lower, whole.bounds.upper))


def falling(network: FrozenNetwork) -> Trunk:
    form = network.members[0][0].form
    first = np.hstack([-form.weights[0][:, :3], form.weights[0][:, 3:]])
    return Trunk(ConvexForm((first, *form.weights[1:]), form.biases, form.group_sizes), (0,))


def turned(box: SlopeBounds, n: int) -> SlopeBounds:
    return SlopeBounds(np.append(-box.upper[:n], box.lower[n:]), np.append(-box.lower[:n], box.upper[n:]))


def told(certificate) -> dict:
    return {claim.feature: claim for claim in certificate}


def test_the_direction_is_certified_and_told_and_slopes_are_not():
    network = directed_network(np.random.default_rng(2), "logit")
    fixed = compile_fixed_point(network)
    for certificate in (certify(network), certify(fixed)):
        dose, sugar = told(certificate)["dose"], told(certificate)["sugar"]
        assert (dose.promise, dose.lower, dose.upper, dose.missing) == ("increasing", None, None, "refused")
        assert (sugar.promise, sugar.lower, sugar.missing) == ("free", None, None)
        assert certificate.check().startswith("PROVED")
        assert certificate.forest_features == ("dose", "sugar", "city")
        assert "dose     increasing (trees)  -" in str(certificate)
    assert fixed_point_directions(fixed)[0] == (["increasing"], "refused")
    assert "a forest over dose (increasing), sugar, city: no slope bounds" in str(network)
    promises = {row.feature: (row.promise, row.lower) for row in SlopeTable.of(network)}
    assert promises["dose"] == ("increasing (trees)", None)
    assert promises["sugar"] == ("free (trees)", None)
    with pytest.raises(KeyError, match="trees read it, and it jumps; fit with trees=False"):
        SlopeTable.of(network)["dose"]


def test_files_and_pickles_hold_it_and_radii_hold_it_fixed(tmp_path):
    network = directed_network(np.random.default_rng(3), "logit")
    network.save(tmp_path / "f.safetensors")
    fixed = compile_fixed_point(network)
    fixed.save(tmp_path / "i.safetensors")
    for one, two in (
        (network, FrozenNetwork.load(tmp_path / "f.safetensors")),
        (network, pickle.loads(pickle.dumps(network))),
        (fixed, type(fixed).load(tmp_path / "i.safetensors")),
    ):
        assert one.digest == two.digest
        assert certify(two) == certify(one)
    found = certified_radius(network, raw_rows(np.random.default_rng(4), 5), scale=1.0)
    assert (found.moved, found.held) == (("acid",), ("dose", "sugar", "city"))


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_no_step_across_a_threshold_falls(seed):
    """One ulp at a time and far away: the network, the fast paths of predict in floats and in integers."""
    rng = np.random.default_rng(seed)
    network = directed_network(rng, n_trees=20, stands=(-FAR, 0.3, 0.3))
    steps, table = steps_across(network.inputs.forest, 0), raw_rows(rng, 12)
    rows = {name: np.repeat(values, len(steps)) for name, values in table.items()} | {"dose": np.tile(steps, 12)}
    shape = (12, len(steps))
    assert (np.diff(network.evaluate_raw(rows).reshape(shape), axis=1) >= 0).all()
    fixed = compile_fixed_point(network)
    integers = fixed.evaluate_raw(rows)
    assert (np.diff(integers.reshape(shape), axis=1) >= 0).all()
    assert (np.diff(np.asarray(fixed.link.scores(integers)).reshape(shape), axis=1) >= 0).all()
    finite = np.isfinite(rows["dose"])
    read = read_table(pd.DataFrame({name: rows[name][finite] for name in network.inputs.names}))
    fast, shape = Predictor(network), (12, len(steps) - 2)
    for found in (fast.evaluate(read), fast.evaluate_exact(read)):
        assert (np.diff(found.reshape(shape), axis=1) >= 0).all()


def any_network(rng: np.random.Generator, signs: np.ndarray, places: list[str], thresholds: list[float]):
    """A number, an ordered category and a plain one, held to no direction: whatever weights and trees do is claimed.

    signs: of the weights of each model column, the forest's last, 0 for both. places: of missing values, to maps and
    tables, then to trees. thresholds: put into some nodes that ask about the number.
    """
    at = {"lowest": [-1.0, 0.0], "highest": [1.0, 1.0], "state": [0.25, 0.0]}[places[0]]
    rows = {"lowest": [0.0, 0.0], "highest": [1.0, 1.0], "state": [0.5, 0.5]}[places[1]]
    table = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5], rows]
    columns = (
        NumericColumn("age", (LINE,), (at[0],)),
        CategoryColumn("grade", GRADES, table, ordered=True),
        CategoryColumn("city", ("x", "y"), [[1.0], [0.0], [0.5], [0.5]]),
    )
    ways = {j: int(rng.choice([1, 1, -1, 0])) for j in range(3)}
    stands = tuple(PLACES[place] for place in (places[2], places[3], "state"))
    forest = directed_forest(rng, (0, 1, 2), ways, 3, 3, stands, codes=(1, 2))
    cuts = forest.thresholds.copy()
    asks = np.flatnonzero(forest.features == 0)
    for node, cut in zip(rng.permutation(asks), thresholds, strict=False):
        cuts[node] = cut
    forest = replace(forest, thresholds=cuts)
    first = rng.uniform(-1, 1, (4, 5))
    first = np.where(signs == 0, first, np.abs(first) * signs)
    first = np.where(rng.random(5) < 0.1, 0.0, first)
    form = ConvexForm((first, mixing(rng, 1, 4)), (rng.normal(size=4), rng.normal(size=1)), (2,))
    box = SlopeBounds(np.full(5, -2.0), np.full(5, 2.0))
    return FrozenNetwork(
        box, ((Trunk(form, (0,)),),), inputs=InputTransform(columns, forest), link=OutputLink("identity")
    )


SIGN = st.sampled_from([1, 1, 1, -1, 0])
WHERE = st.sampled_from(["lowest", "lowest", "highest", "state"])
CUTS = st.lists(st.sampled_from([-FAR, FAR, np.nextafter(-FAR, 0), 0.0]), max_size=2)


def claims_hold(network, certificate) -> int:
    """Whether what is claimed of age and grade is seen in every row; how many directions there were."""
    steps = steps_across(network.inputs.forest, 0)
    ages, grades, cities = np.meshgrid(np.append(steps, np.nan), np.arange(4), np.arange(4), indexing="ij")
    labels, kinds = np.array([*GRADES, None], object), np.array(["x", "y", "?", None], object)
    f = network.evaluate_raw([ages.ravel(), labels[grades.ravel()], kinds[cities.ravel()]]).reshape(ages.shape)
    directed = 0
    for axis, name in enumerate(("age", "grade")):
        claim, known = told(certificate)[name], np.moveaxis(f, axis, 0)
        assert claim.lower is None
        if claim.promise == "free":
            assert claim.missing is None
            continue
        sign = {"increasing": 1, "decreasing": -1, "flat": 0}[claim.promise]
        numbers, missing = known[:-1], known[-1]
        steps_up = np.diff(numbers, axis=0)
        assert (sign * steps_up >= 0).all() if sign else not steps_up.any()
        if claim.missing == "lowest":
            assert (sign * (numbers - missing) >= 0).all()
        if claim.missing == "highest":
            assert (sign * (missing - numbers) >= 0).all()
        directed += 1
    return directed


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.lists(SIGN, min_size=5, max_size=5), st.lists(WHERE, min_size=4, max_size=4), CUTS)
def test_library_and_checker_derive_the_same_and_it_is_true(tmp_path_factory, seed, signs, places, thresholds):
    network = any_network(np.random.default_rng(seed), np.array(signs), places, thresholds)
    path = tmp_path_factory.getbasetemp()
    for own in (network, compile_fixed_point(network)):
        certificate = certify(own)
        assert accepts(path, certificate.to_json())
        claims_hold(own, certificate)


def test_such_networks_have_many_directions_and_places():
    """What the test above relies on."""
    found, seen = 0, set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        ups = np.array([1, 1, 1, 0, 1])
        network = any_network(rng, ups, list(rng.choice(list(PLACES), 4)), [])
        certificate = certify(network)
        found += claims_hold(network, certificate)
        seen |= {(claim.promise, claim.missing) for claim in certificate}
    assert found > 30
    assert {("increasing", place) for place in PLACES} <= seen


def one_step(threshold: float, missing: float, weight: float = 1.0) -> FrozenNetwork:
    """age + the step from 0 to 1 at a threshold, where a missing age counts as lowest to the network."""
    inputs = InputTransform(
        (NumericColumn("age", (LINE,), (-1.0,)),),
        FreeForest((0,), ((missing, 0.0),), [0, LEAF, LEAF], [threshold, 0, 0], [1, 0, 0], [0, 0.0, 1.0], [0]),
    )
    form = ConvexForm(([[1.0, weight]],), ([0.0],), ())
    box = SlopeBounds([0.0, 0.0], [2.0, 2.0])
    return FrozenNetwork(box, ((Trunk(form, (0,)),),), inputs=inputs, link=OutputLink("identity"))


@pytest.mark.parametrize(
    ("threshold", "missing", "place"),
    [
        (0.5, -FAR, "lowest"),
        (np.nextafter(-FAR, 0), -FAR, "lowest"),
        (-FAR, -FAR, "state"),  # -inf goes to 0, a missing value to 1
        (0.5, np.nextafter(-FAR, 0), "state"),
        (0.5, -1e300, "state"),
        (0.5, FAR, "state"),
        (0.5, 0.0, "state"),
    ],
)
def test_missing_is_lowest_only_where_trees_think_so_too(threshold, missing, place, tmp_path):
    network = one_step(threshold, missing)
    for own in (network, compile_fixed_point(network)):
        certificate = certify(own)
        claim = told(certificate)["age"]
        assert (claim.promise, claim.missing) == ("increasing", place)
        assert accepts(tmp_path, certificate.to_json())
        gone, least = own.evaluate_raw([np.array([np.nan, -np.inf])])[:, 0]
        assert place == "state" or gone <= least
    document = json.loads(certify(network).to_json())
    assert document["claims"]["raw"][0]["missing"] == place


def test_trees_may_be_all_that_moves():
    """A network that leaves the feature alone: its direction, and the place of missing values, are those of trees."""
    network = one_step(0.5, -FAR)
    form = ConvexForm(([[0.0, 1.0]],), ([0.0],), ())
    certificate = certify(replace(network, members=((Trunk(form, (0,)),),)))
    assert told(certificate)["age"][2:] == ("increasing", None, None, "lowest")
    assert certificate.check().startswith("PROVED")
    certificate = certify(one_step(0.5, 0.0, weight=0.0))
    assert told(certificate)["age"].promise == "increasing"
    assert certificate.check().startswith("PROVED")
