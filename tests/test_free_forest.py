"""FreeForest: leaves as a person would find them, nodes that lead nowhere refused, promises of the others untouched."""

from __future__ import annotations

import base64
import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.certify import Certificate, certify
from monolip.certify.document import seal
from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import CertificateError, FreezeError, FrozenFileError, StructureError
from monolip.estimators._freezing import with_forest
from monolip.fixed_point_file import digest_from
from monolip.free_forest import LEAF, FreeForest
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import _SEALED, take_apart
from monolip.input_transform import InputTransform

from .checker.documents import checker
from .forests import COLUMNS, forest_network, plain_network, random_forest, raw_columns, raw_rows

SEEDS = st.integers(0, 2**32 - 1)


def by_hand(forest: FreeForest, row: list) -> float:
    """A row's sum, node by node, in plain Python."""
    total = 0.0
    for root in forest.roots.tolist():
        node = root
        while forest.features[node] != LEAF:
            k = int(forest.features[node])
            missing, unseen = forest.stands[k]
            value, column = row[forest.reads[k]], COLUMNS[forest.reads[k]]
            if value is None or value != value:
                value = missing
            elif hasattr(column, "categories"):
                value = column.categories.index(value) if value in column.categories else unseen
            node = int(forest.children[node]) + (not value < forest.thresholds[node])
        total += float(forest.values[node])
    return total


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_sums_are_those_of_a_walk_through_every_tree(seed):
    rng = np.random.default_rng(seed)
    forest, columns = random_forest(rng), raw_columns(raw_rows(rng, 40))
    found = forest.evaluate(forest.numbers(COLUMNS, columns))
    assert found.tolist() == [by_hand(forest, list(row)) for row in zip(*columns, strict=True)]
    assert np.abs(found).max() <= forest.largest
    inputs = InputTransform(COLUMNS, forest).evaluate(columns)
    assert (inputs[:, -1] == found).all()
    assert (inputs[:, :-1] == InputTransform(COLUMNS).evaluate(columns)).all()


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_a_promise_holds_bit_for_bit_beside_any_forest(seed):
    rng = np.random.default_rng(seed)
    network, table = forest_network(rng), raw_rows(rng, 200)
    before = network.evaluate_raw(table)
    for more in (np.nextafter(table["dose"], np.inf), table["dose"] + rng.exponential(size=200)):
        assert (network.evaluate_raw({**table, "dose": more}) >= before).all()
    fixed = compile_fixed_point(network)
    integers = fixed.evaluate_raw(table)
    assert (fixed.evaluate_raw({**table, "dose": np.nextafter(table["dose"], np.inf)}) >= integers).all()
    assert np.abs(fixed.link.scores(integers) - before).max() < 1e-4


def test_many_trees_leave_room_for_the_rounding_of_each():
    leaves = np.full(3000, 10.6 / 2**14)
    forest = FreeForest((1,), ((0, 0),), np.full(3000, LEAF), 0 * leaves, np.zeros(3000, int), leaves, np.arange(3000))
    fixed = compile_fixed_point(with_forest(plain_network(np.random.default_rng(0)), forest), "narrow", headroom=0)
    assert certify(fixed).check().startswith("PROVED")


def test_the_sum_is_the_network_plus_the_forest():
    rng = np.random.default_rng(0)
    plain, forest, table = plain_network(rng), random_forest(rng), raw_rows(rng, 300)
    whole = with_forest(plain, forest)
    apart = plain.evaluate_raw(table)[:, 0] + forest.evaluate(forest.numbers(COLUMNS, raw_columns(table)))
    assert np.abs(whole.evaluate_raw(table)[:, 0] - apart).max() < 1e-13
    assert whole.digest != plain.digest
    assert "a forest over sugar, city: no promise" in str(whole)


def test_claims_are_proved_and_leave_out_what_jumps():
    network = forest_network(np.random.default_rng(1))
    for certificate in (certify(network), certify(compile_fixed_point(network))):
        words = {claim.feature: (claim.promise, claim.lower is None) for claim in certificate}
        assert words["dose"] == ("increasing", False)
        assert words["sugar"] == words["city"] == ("free", True)
        assert words["acid"] == ("bounded", False)
        said = certificate.check()
        assert said.startswith("PROVED")
        assert all(('"sugar"' in line or '"city"' in line) == ("(trees)" in line) for line in said.splitlines())
        assert certificate.forest_features == ("sugar", "city")
        told = {line.split()[0]: " ".join(line.split()[1:]) for line in str(certificate).splitlines()}
        assert told["sugar"] == told["city"] == "free (trees) - -"
    assert certify(plain_network(np.random.default_rng(1))).forest_features == ()


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_a_sum_changes_at_its_jumps_and_nowhere_else(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, reads=(1, 2, 3))
    for row in forest.numbers(COLUMNS, raw_columns(raw_rows(rng, 5))):
        for k in range(3):
            cuts = forest.jumps(k, row)
            assert set(cuts) <= set(forest.jumps(k))
            points = np.sort(np.concatenate([rng.normal(size=300), forest.jumps(k), np.nextafter(cuts, -np.inf)]))
            rows = np.repeat(row[None], len(points), axis=0)
            rows[:, k] = points
            changes = points[1:][np.diff(forest.evaluate(rows)) != 0]
            assert set(changes) <= set(cuts)


def test_files_and_pickles_hold_the_same_forest(tmp_path):
    network = forest_network(np.random.default_rng(2))
    network.save(tmp_path / "f.safetensors")
    fixed = compile_fixed_point(network)
    fixed.save(tmp_path / "i.safetensors")
    table = raw_rows(np.random.default_rng(3), 100)
    for one, two in (
        (network, FrozenNetwork.load(tmp_path / "f.safetensors")),
        (network, pickle.loads(pickle.dumps(network))),
        (fixed, type(fixed).load(tmp_path / "i.safetensors")),
        (fixed, pickle.loads(pickle.dumps(fixed))),
    ):
        assert one.digest == two.digest
        assert (one.evaluate_raw(table) == two.evaluate_raw(table)).all()


@pytest.mark.parametrize("reads", [[99], ["sugar"], None, 3])
def test_a_document_whose_forest_reads_nothing_that_is_there_is_no_certificate(reads):
    document = certify(forest_network(np.random.default_rng(1))).document
    ends = {**document["structure"]["ends"], "forest": {"reads": reads, "stands": []}}
    forged = seal({**document, "structure": {**document["structure"], "ends": ends}})
    with pytest.raises(CertificateError, match="written by to_json"):
        Certificate.from_json(json.dumps(forged))


STEP = {"reads": (1,), "stands": ((0.0, 0.0),), "features": [0, -1, -1], "thresholds": [0.5, 0, 0]} | {
    "children": [1, 0, 0], "values": [0, 1.0, 2.0], "roots": [0]
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"reads": ()},
        {"reads": (1, 0)},
        {"reads": (-1,)},
        {"reads": (1.0,)},
        {"stands": ()},
        {"stands": ((np.nan, 0.0),)},
        {"stands": ((np.inf, 0.0),)},
        {"features": [1, -1, -1]},
        {"features": [-2, -1, -1]},
        {"features": [0.5, -1, -1]},
        {"features": [0, -1]},
        {"children": [0, 0, 0]},
        {"children": [2, 0, 0]},
        {"children": [-1, 0, 0]},
        {"children": [1, 1, 0]},
        {"thresholds": [np.nan, 0, 0]},
        {"thresholds": [np.inf, 0, 0]},
        {"thresholds": [0.5, 1, 0]},
        {"values": [0, np.nan, 0]},
        {"values": [0, np.inf, 0]},
        {"features": [-1, -1], "thresholds": [0, 0], "children": [0, 0], "values": [1e308, 1e308], "roots": [0, 1]},
        {"values": [1.0, 1.0, 2.0]},
        {"values": ["a", 1, 2]},
        {"roots": []},
        {"roots": [1]},
        {"roots": [0, 0]},
        {"roots": [0, 2]},
        {"roots": [0, 3]},
        {"roots": [[0]]},
        {"features": [0, 0, -1, -1, -1], "thresholds": [0.5, 0.5, 0, 0, 0], "children": [1, 2, 0, 0, 0]}
        | {"values": [0, 0, 1.0, 2.0, 3.0]},  # a node with two parents, and one with none
        {"features": [-1, -1, -1], "thresholds": [0, 0, 0], "children": [0, 0, 0], "values": [1.0, 1.0, 2.0]},
    ],
    ids=str,
)
def test_what_is_no_forest_is_refused(change):
    FreeForest(**STEP)
    with pytest.raises(StructureError):
        FreeForest(**(STEP | change))


def test_a_forest_may_not_read_what_is_promised():
    rng = np.random.default_rng(4)
    plain = plain_network(rng)
    with pytest.raises(FreezeError, match="'dose' has a direction"):
        with_forest(plain, random_forest(rng, reads=(0, 1)))
    with pytest.raises(StructureError, match="a forest reads some of the 4 raw columns"):
        InputTransform(COLUMNS, random_forest(rng, reads=(1, 9)))
    whole = forest_network(rng)
    jumping = replace(whole.raw_slopes, lower=np.array([0.0, -9.0]), upper=np.array([9.0, 9.0]))
    assert replace(whole, raw_promise=jumping).raw_promise is not None
    with pytest.raises(FreezeError, match="raw numeric features"):
        replace(whole, raw_promise=plain.raw_slopes)  # it covers sugar, which jumps


@pytest.mark.parametrize("damage", ["feature", "child", "root", "fraction", "reads", "stands"])
def test_a_file_that_was_edited_is_refused(damage, tmp_path):
    structure, tensors = take_apart(forest_network(np.random.default_rng(5)))
    nodes, inner = tensors["forest.nodes"].copy(), int(np.argmax(tensors["forest.nodes"][:, 0] >= 0))
    if damage == "feature":
        nodes[inner, 0] = 7
    elif damage == "child":
        nodes[inner, 2] = 0
    elif damage == "fraction":
        nodes[inner, 2] += 0.5
    elif damage == "root":
        tensors["forest.roots"] = tensors["forest.roots"] + 1
    elif damage == "reads":
        structure["ends"]["forest"]["reads"] = [0, 2]
    else:
        structure["ends"]["forest"]["stands"] = [[0.0, 0.0]]
    tensors["forest.nodes"] = nodes
    path = tmp_path / "m.safetensors"
    path.write_bytes(_SEALED.pack(structure, tensors, _SEALED.digest(structure, tensors)))
    with pytest.raises(FrozenFileError):
        FrozenNetwork.load(path)


def test_forged_certificates_of_integers_are_rejected(tmp_path, capsys):
    """Sealed again as a forger would: only the proof can fail."""
    honest = json.loads(certify(compile_fixed_point(forest_network(np.random.default_rng(6)))).to_json())

    def verdict(document):
        arrays = {}
        for name, entry in document["tensors"].items():
            kind = "<" + entry["dtype"]
            arrays[name] = np.frombuffer(base64.b64decode(entry["data"]), kind).reshape(entry["shape"])
        document["digest"] = digest_from(document["structure"], arrays)
        (tmp_path / "c.json").write_text(json.dumps(seal(document)))
        return checker.main([str(tmp_path / "c.json")])

    def nodes(document, change):
        entry = document["tensors"]["forest.nodes"]
        values = np.frombuffer(base64.b64decode(entry["data"]), "<i8").reshape(entry["shape"]).copy()
        change(values)
        entry["data"] = base64.b64encode(values.tobytes()).decode()

    assert verdict(copy.deepcopy(honest)) == 0
    leaf = lambda values: int(np.argmax(values[:, 0] < 0))  # noqa: E731
    first = lambda values: int(np.argmax(values[:, 0] >= 0))  # noqa: E731
    for change in (
        lambda d: d["structure"]["forest"].update(reads=[0, 2]),
        lambda d: d["structure"].pop("forest"),
        lambda d: nodes(d, lambda v: v.__setitem__((leaf(v), 1), 2**31)),
        lambda d: nodes(d, lambda v: v.__setitem__((first(v), 2), 0)),
        lambda d: nodes(d, lambda v: v.__setitem__((first(v), 0), 5)),
        lambda d: d["claims"]["raw"][1].update(promise=["increasing"]),
    ):
        forged = copy.deepcopy(honest)
        change(forged)
        assert verdict(forged) == 1
        assert "REJECTED" in capsys.readouterr().out


def test_a_tree_as_deep_as_a_chain_is_refused():
    """Runtimes that go down by recursion would crash: 20,000 steps are too many for one of them."""

    def chain(depth: int) -> FreeForest:
        at = np.arange(2 * depth + 1)
        inner = (at % 2 == 0) & (at < 2 * depth)
        features, children = np.where(inner, 0, LEAF), np.where(inner, at + 1, 0)
        return FreeForest(
            (0,), ((0.0, 0.0),), features, np.where(inner, at, 0.0), children, np.where(inner, 0.0, 1.0), [0]
        )

    assert chain(4096).evaluate(np.array([[1e9]])) == 1.0
    with pytest.raises(StructureError, match="at most 4096 steps"):
        chain(4097)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_joined_forests_are_what_their_nodes_side_by_side_are(seed):
    rng = np.random.default_rng(seed)
    one, other = random_forest(rng, reads=(1, 2, 3)), random_forest(rng, reads=(1, 3))
    share, rest = rng.uniform(0, 0.8, 2)
    both, table = one.joined(share, other, rest), raw_columns(raw_rows(rng, 30))
    again = pickle.loads(pickle.dumps(both))  # which checks every node
    assert all(getattr(both, name).tobytes() == getattr(again, name).tobytes() for name in ("features", "values"))
    numbers, n = both.numbers(COLUMNS, table), len(one.roots)
    assert (both.reads, both.stands, len(both.roots)) == (one.reads, one.stands, n + len(other.roots))
    apart = share * one.evaluate(numbers) + rest * other.evaluate(numbers[:, [0, 2]])
    np.testing.assert_allclose(both.evaluate(numbers), apart, rtol=0, atol=1e-12 * (1 + both.largest))
    assert not any(getattr(both, name).flags.writeable for name in ("features", "thresholds", "children", "values"))


def test_joined_forests_keep_to_finite_sums():
    huge = FreeForest((0,), ((0.0, 0.0),), [LEAF], [0], [0], [1e308], [0])
    assert huge.joined(0.5, huge, 0.5).largest == 1e308
    for share in (1.0, np.nan, np.inf):
        with pytest.raises(StructureError, match="is finite"):
            huge.joined(share, huge, 1.0)


def test_deep_trees_may_stand_beside_flat_ones():
    """Levels are looked at tree by tree: as many steps as are allowed, and one more, after trees of single leaves."""

    def grown(depth: int) -> FreeForest:
        at = np.arange(2 * depth + 1)
        inner = (at % 2 == 0) & (at < 2 * depth)
        bushy = 2 * 4096 + 1  # nodes of a tree that is as large, and twelve steps deep
        order = np.arange(bushy)
        asks = order < 4096
        features = np.concatenate([[LEAF], np.where(inner, 0, LEAF), np.where(asks, 0, LEAF)])
        children = np.concatenate([[0], np.where(inner, at + 2, 0), np.where(asks, 2 * order + 2 + len(at), 0)])
        values = np.where(features == LEAF, 1.0, 0.0)
        return FreeForest((0,), ((0.0, 0.0),), features, 0 * values, children, values, [0, 1, 1 + len(at)])

    assert grown(4096).evaluate(np.array([[1.0]])) == 3.0
    with pytest.raises(StructureError, match="at most 4096 steps"):
        grown(4097)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_directions_of_some_columns_are_those_of_all(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, reads=(1, 2, 3))
    for k in range(3):
        rises, falls = forest.directions_in([k])
        assert (rises[k], falls[k]) == (forest.rises[k], forest.falls[k])


def test_numbers_that_no_float_holds_are_told():
    for stands, threshold, roots in (((10**400, 0.0), 1.0, [0]), ((0.0, 0.0), 10**400, [0]), ((0.0, 0.0), 1.0, 0)):
        with pytest.raises(StructureError):
            FreeForest((0,), (stands,), [0, LEAF, LEAF], [threshold, 0, 0], [1, 0, 0], [0, 1.0, 2.0], roots)
