"""FrozenNetwork: one that breaks its promise cannot exist, cannot be changed, and says who it is by its digest."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest

from monolip.convex import ConvexForm, on_simplex
from monolip.errors import FreezeError, InputError, MonolipError, SlopeError
from monolip.free_branch import FreeBranch
from monolip.frozen import FrozenNetwork, Trunk
from monolip.norms import Norm
from monolip.paper_form import PaperForm, Rectify, Reflect
from monolip.slope_set import SlopeSet
from monolip.slopes import SlopeBounds

from .make import convex, frozen_networks, householder, paper

KINDS = list(frozen_networks(np.random.default_rng(0)))
BOX = SlopeBounds([0.0, -1.0], [2.0, 0.0], ("up", "down"))


@pytest.fixture(scope="module")
def networks():
    return frozen_networks(np.random.default_rng(7))


def width(network):
    return network.n_features + network.n_free_features


def trunk_of(first, outputs=(0,)):
    first = np.asarray(first, dtype=float)
    return Trunk(ConvexForm((first, on_simplex(np.ones((len(outputs), len(first))))), (np.zeros(len(first)), np.zeros(len(outputs))), (2,)), outputs)  # fmt: skip  # noqa: E501


GOOD = trunk_of([[0.0, -1.0], [2.0, 0.0]])


@pytest.mark.parametrize(
    "row",
    [[np.nextafter(2.0, 3.0), 0.0], [-5e-324, 0.0], [0.0, 5e-324], [0.0, np.nextafter(-1.0, -2.0)]],
)
def test_one_ulp_outside_the_promise_cannot_be_frozen(row):
    FrozenNetwork(BOX, ((GOOD,),))
    with pytest.raises(
        FreezeError, match=r"keep the promise in exact arithmetic; these do not.*freeze a monolip module"
    ):
        FrozenNetwork(BOX, ((trunk_of([[0.0, 0.0], row]),),))


def test_one_ulp_outside_a_slope_set_cannot_be_frozen():
    promise = SlopeSet(SlopeBounds([0.0, 0.0], [2.0, 2.0])).at_least(0, 1)
    FrozenNetwork(promise, ((trunk_of([[0.3, 0.3], [2.0, 0.0]]),),))
    with pytest.raises(FreezeError, match="keep the promise"):
        FrozenNetwork(promise, ((trunk_of([[0.3, np.nextafter(0.3, 1)], [2.0, 0.0]]),),))


def test_paper_form_is_proved_exactly_and_cannot_claim_more_than_a_box(rng):
    form = householder(rng, 2, 2, 2, BOX)
    FrozenNetwork(BOX, ((Trunk(form, (0,)),),))
    FrozenNetwork(SlopeSet(BOX), ((Trunk(form, (0,)),),))
    with pytest.raises(FreezeError, match="keep the promise"):
        FrozenNetwork(SlopeSet(BOX).in_l2_ball(9.0), ((Trunk(form, (0,)),),))
    wider = [
        {"radius": np.nextafter(form.radius, 9)},
        {"scale": [np.nextafter(1, 2)]},
        {"center": np.nextafter(form.center, 9)},
        {"center": np.nextafter(form.center, -9)},
    ]
    for change in wider:
        with pytest.raises(FreezeError, match="keep the promise"):
            FrozenNetwork(BOX, ((Trunk(replace(form, **change), (0,)),),))


def test_a_promise_per_output_is_checked_for_that_output(rng):
    slopes = SlopeBounds([[0.0, -1.0]], [[1.0, 0.0]])
    up, down = (Trunk(ConvexForm(([[s]],), ([0.0],), ()), (k,)) for k, s in enumerate((0.5, -0.5)))
    FrozenNetwork(slopes, ((up, down),))
    FrozenNetwork(slopes, ((down, up),))
    with pytest.raises(FreezeError, match="keep the promise"):
        FrozenNetwork(slopes, ((Trunk(up.form, (1,)), Trunk(down.form, (0,))),))


@pytest.mark.parametrize(
    "weights",
    [[0.5, 0.5 + 2**-52], [0.5, 0.4], [1.5, -0.5], [1.0], [0.5, np.nan], [1.0, np.inf], [[0.5, 0.5]], [1.0, 5e-324]],
)
def test_member_weights_must_add_up_to_exactly_one(weights):
    with pytest.raises(FreezeError, match=r"member weights must be >= 0 with sum exactly 1.*use on_simplex"):
        FrozenNetwork(BOX, ((GOOD,), (GOOD,)), weights)


def test_equal_member_weights_are_exact_for_any_number_of_members():
    for count in range(1, 12):
        weights = FrozenNetwork(BOX, ((GOOD,),) * count).member_weights
        assert sum(map(Fraction, weights.tolist())) == 1


TWO = trunk_of([[0.0, -1.0], [2.0, 0.0]], (0, 1))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ((), "members made of trunks"),
        (((),), "members made of trunks"),
        (((GOOD,), ()), "members made of trunks"),
        ((GOOD,), "members made of trunks"),
        (((GOOD.form,),), "members made of trunks"),
        (((GOOD, GOOD),), r"give each output once; got outputs \[0, 0\]"),
        (((Trunk(GOOD.form, (1,)),),), r"give each output once; got outputs \[1\]"),
        (((Trunk(GOOD.form, (-1,)),),), "give each output once"),
        (((GOOD,), (TWO,)), "give each output once"),
        (((Trunk(TWO.form, (0,)),),), "give 1 outputs; got 2 and 2"),
        (((Trunk(ConvexForm(([[1.0]],), ([0.0],), ()), (0,)),),), "a trunk must take 2 inputs"),
    ],
)
def test_members_must_give_every_output_once(members, message):
    with pytest.raises(FreezeError, match=message):
        FrozenNetwork(BOX, members)


def test_outputs_missing_from_a_promise_per_output_are_found():
    with pytest.raises(FreezeError, match="each output once"):
        FrozenNetwork(SlopeBounds(np.zeros((2, 2)), np.ones((2, 2))), ((GOOD,),))


@pytest.mark.parametrize(
    "arguments",
    [(None, (0,)), (GOOD.form, 0), (GOOD.form, (0.5,)), (GOOD.form, ("0",)), (GOOD.form, (True,)), (GOOD.form, None)],
)
def test_a_trunk_is_a_form_and_positions(arguments):
    with pytest.raises(FreezeError, match="a trunk is a ConvexForm or PaperForm and the positions"):
        Trunk(*arguments)


def test_the_promise_and_the_free_branch_must_be_what_they_claim():
    with pytest.raises(FreezeError, match="a promise is SlopeBounds or a SlopeSet; got list"):
        FrozenNetwork([0.0, 1.0], ((GOOD,),))
    with pytest.raises(FreezeError, match="a free branch is a FreeBranch"):
        FrozenNetwork(BOX, ((GOOD,),), free_branch=np.tanh)
    branch = FreeBranch((np.ones((2, 3)),), (np.zeros(2),), ("relu",))
    with pytest.raises(FreezeError, match=r"got 2 intervals; add those of the constrained features"):
        FrozenNetwork(BOX, ((GOOD,),), free_branch=branch)
    small = FreeBranch((np.ones((1, 3)),), (np.zeros(1),), ("relu",))
    with pytest.raises(SlopeError, match="got 2 names for 3 features"):
        FrozenNetwork(BOX, ((GOOD,),), free_branch=small, free_names=("a", "b"))
    with pytest.raises(SlopeError, match="got 1 names for 0 features"):
        FrozenNetwork(BOX, ((GOOD,),), free_names=("a",))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_evaluates_any_leading_shape_and_empty_batches(networks, kind, rng):
    network = networks[kind]
    d, k = width(network), network.n_outputs
    x = rng.normal(size=(4, 5, d))
    flat = network.evaluate(x.reshape(20, d))
    assert network.evaluate(x).shape == (4, 5, k)
    assert network(x).tobytes() == flat.tobytes()
    for i in (0, 7, 19):
        assert network.evaluate(x.reshape(20, d)[i]).tobytes() == flat[i].tobytes()
    assert network.evaluate(np.zeros((0, d))).shape == (0, k)
    assert network.evaluate(np.zeros((3, 0, d))).shape == (3, 0, k)
    assert network.evaluate(x.tolist()).tobytes() == network.evaluate(x).tobytes()
    for wrong in (np.full((1, d), np.nan), np.zeros((1, d + 1)), 1.0, [["a"] * d]):
        with pytest.raises(InputError):
            network.evaluate(wrong)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("householder", "L1 to L1")])
def test_every_convex_kind_keeps_its_directions_at_one_ulp_and_at_infinity(networks, kind, rng):
    network = networks[kind]
    assert network.is_convex
    d = width(network)
    directions = network.slopes.directions.reshape(3, -1)
    for feature in range(3):
        x = rng.normal(size=(4000, d))
        y = x.copy()
        y[:, feature] = np.nextafter(x[:, feature], np.inf)
        y[::10, feature] = np.inf
        change = network.evaluate(y) - network.evaluate(x)
        assert (change * directions[feature] >= 0).all()
        assert np.isfinite(change).all()


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_read_off_lie_inside_the_promise(networks, kind):
    network = networks[kind]
    low, high = network.slope_range
    assert low.shape == high.shape == (3,)
    lower, upper = (v.reshape(3, -1) for v in (network.slopes.lower, network.slopes.upper))
    assert (low >= lower.min(axis=1)).all()
    assert (high <= upper.max(axis=1)).all()


def test_an_ensemble_is_the_weighted_mean_of_its_members(rng):
    members = [(Trunk(convex(rng, [2, 4, 1], 2, BOX), (0,)),) for _ in range(3)]
    weights = on_simplex([[0.2, 0.5, 0.3]])[0]
    x = rng.normal(size=(20, 2))
    mean = sum(w * FrozenNetwork(BOX, (m,)).evaluate(x) for w, m in zip(weights, members, strict=True))
    np.testing.assert_allclose(FrozenNetwork(BOX, members, weights).evaluate(x), mean, rtol=1e-14)


def test_outputs_land_where_their_trunk_says(rng):
    first, second = convex(rng, [2, 4, 1], 2, BOX), convex(rng, [2, 4, 1], 2, BOX)
    x = rng.normal(size=(5, 2))
    swapped = FrozenNetwork(BOX, ((Trunk(first, (1,)), Trunk(second, (0,))),)).evaluate(x)
    assert swapped[:, 1:].tobytes() == first.evaluate(x).tobytes()
    assert swapped[:, :1].tobytes() == second.evaluate(x).tobytes()


def test_a_free_branch_feeds_the_last_inputs_and_promises_nothing_about_its_own(networks, rng):
    network = networks["free branch"]
    assert (network.n_features, network.n_free_features) == (3, 2)
    assert network.slopes.feature_names == ("x", "y", "z")
    x = rng.normal(size=(6, 5))
    hidden = network.free_branch.evaluate(x[:, 3:])
    form = network.members[0][0].form
    assert network.evaluate(x).tobytes() == form.evaluate(np.hstack([x[:, :3], hidden])).tobytes()
    assert "2 free features: no promise" in str(network)
    overflow = FreeBranch(([[1e308], [-1e308]], [[1e308, 1e308], [1.0, 0.0]]), ([0.0, 0.0],) * 2, ("identity",) * 2)
    wild = FrozenNetwork(network.promise, network.members, free_branch=overflow)
    with pytest.raises(InputError, match="the free branch overflowed to NaN"):
        wild.evaluate([[0.0, 0.0, 0.0, 1e308]])


def arrays_of(thing):
    """Every array reachable through dataclass fields, and every list or dict, which should not be there."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, list | dict | set | bytearray):
        raise AssertionError(f"mutable {type(thing).__name__} inside a frozen network")
    elif isinstance(thing, tuple):
        for item in thing:
            yield from arrays_of(item)
    elif is_dataclass(thing) and not isinstance(thing, Enum):
        for field in fields(thing):
            yield from arrays_of(getattr(thing, field.name))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_inside_can_be_changed_even_after_pickle_and_deepcopy(networks, kind, rng):
    original = networks[kind]
    x = rng.normal(size=(3, width(original)))
    for network in (original, pickle.loads(pickle.dumps(original)), copy.deepcopy(original)):
        assert network == original
        assert hash(network) == hash(original)
        assert network.evaluate(x).tobytes() == original.evaluate(x).tobytes()
        for array in arrays_of(network):
            assert not array.flags.writeable
        for name in ("members", "promise", "digest", "anything"):
            with pytest.raises(FrozenInstanceError):
                setattr(network, name, None)
        with pytest.raises(FrozenInstanceError):
            network.members[0][0].outputs = (5,)


def test_arguments_may_be_lists_and_are_copied_not_kept():
    outputs, weights, names = [0], np.array([1.0]), ["u"]
    branch = FreeBranch(([[1.0]],), ([0.0],), ["relu"])
    members = [[Trunk(GOOD.form, outputs)]]
    network = FrozenNetwork(BOX, members, weights, branch, names)
    digest = network.digest
    outputs[0], weights[0], names[0] = 9, 9.0, "changed"
    members.clear()
    assert list(arrays_of(network))
    assert replace(network).digest == digest


def variations():
    """Networks that differ from the first in one field each."""
    form = GOOD.form
    branch = FreeBranch(([[1.0]],), ([0.0],), ("relu",))
    wide = SlopeBounds([0.0, -1.0, -1.0], [2.0, 0.0, 1.0])
    three = trunk_of([[0.0, -1.0, 0.5], [2.0, 0.0, 0.5]])
    plain = PaperForm(
        (0.5 * np.eye(2), [[0.5, 0.5]]),
        ([0.0, 0.0], [0.0]),
        (Rectify(),),
        (Norm.L1_TO_L1,) * 2,
        [[1.0, -0.5]],
        [1.0, 0.5],
        [1.0],
    )
    paper_of = lambda **change: FrozenNetwork(BOX, ((Trunk(replace(plain, **change), (0,)),),))  # noqa: E731
    free = lambda **change: FrozenNetwork(wide, ((three,),), free_branch=replace(branch, **change), free_names=("u",))  # noqa: E731
    cut = SlopeSet(BOX).at_least(0, 1)
    four = ConvexForm((np.zeros((4, 2)), on_simplex(np.ones((1, 4)))), (np.zeros(4), [0.0]), (2,))
    return {
        "base": FrozenNetwork(BOX, ((GOOD,),)),
        "lower": FrozenNetwork(SlopeBounds([-5e-324, -1.0], BOX.upper, BOX.feature_names), ((GOOD,),)),
        "upper": FrozenNetwork(SlopeBounds(BOX.lower, [2.0, 5e-324], BOX.feature_names), ((GOOD,),)),
        "names": FrozenNetwork(SlopeBounds(BOX.lower, BOX.upper, ("up", "Down")), ((GOOD,),)),
        "no names": FrozenNetwork(SlopeBounds(BOX.lower, BOX.upper), ((GOOD,),)),
        "set": FrozenNetwork(SlopeSet(BOX), ((GOOD,),)),
        "inequality": FrozenNetwork(cut, ((GOOD,),)),
        "limit": FrozenNetwork(replace(cut, limits=[5e-324]), ((GOOD,),)),
        "ball": FrozenNetwork(SlopeSet(BOX, l2_radius=3.0), ((GOOD,),)),
        "larger ball": FrozenNetwork(SlopeSet(BOX, l2_radius=np.nextafter(3.0, 4.0)), ((GOOD,),)),
        "weight": FrozenNetwork(BOX, ((trunk_of([[0.0, -1.0], [np.nextafter(2.0, 0.0), 0.0]]),),)),
        "bias": FrozenNetwork(BOX, ((Trunk(replace(form, biases=([0.0, 5e-324], [0.0])), (0,)),),)),
        "mixing": FrozenNetwork(BOX, ((Trunk(replace(form, weights=(form.weights[0], [[0.25, 0.75]])), (0,)),),)),
        "group size": FrozenNetwork(BOX, ((Trunk(replace(form, group_sizes=(1,)), (0,)),),)),
        "four, 2": FrozenNetwork(BOX, ((Trunk(four, (0,)),),)),
        "four, 4": FrozenNetwork(BOX, ((Trunk(replace(four, group_sizes=(4,)), (0,)),),)),
        "two members": FrozenNetwork(BOX, ((GOOD,), (GOOD,))),
        "member weights": FrozenNetwork(BOX, ((GOOD,), (GOOD,)), [0.25, 0.75]),
        "outputs": FrozenNetwork(BOX, ((TWO,),)),
        "outputs swapped": FrozenNetwork(BOX, ((Trunk(TWO.form, (1, 0)),),)),
        "paper": paper_of(),
        "center": paper_of(center=[[1.0, np.nextafter(-0.5, 0)]], radius=[1.0, 0.25]),
        "radius": paper_of(radius=[0.5, 0.25]),
        "scale": paper_of(scale=[0.5]),
        "norms": paper_of(norms=(Norm.L1_TO_LINF, Norm.LINF_TO_LINF)),
        "reflect": paper_of(activations=(Reflect([[1.0, 0.0]]),)),
        "direction": paper_of(activations=(Reflect([[0.0, 1.0]]),)),
        "no free branch": FrozenNetwork(wide, ((three,),)),
        "free": free(),
        "free weight": free(weights=([[2.0]],)),
        "free bias": free(biases=([2.0],)),
        "free activation": free(activations=("tanh",)),
        "free names": FrozenNetwork(wide, ((three,),), free_branch=branch, free_names=("v",)),
        "no free names": FrozenNetwork(wide, ((three,),), free_branch=branch),
    }


def test_the_digest_is_sensitive_to_every_field():
    networks = variations()
    digests = {name: network.digest for name, network in networks.items()}
    assert len(set(digests.values())) == len(digests)
    assert digests == {name: network.digest for name, network in variations().items()}
    assert all(networks["base"] != other for name, other in networks.items() if name != "base")


def test_equal_content_has_an_equal_digest_however_it_was_written():
    base = variations()["base"].digest
    wordy = FrozenNetwork(
        SlopeBounds([-0.0, -1], np.array([2, 0], dtype=np.int32), np.array(["up", "down"])),
        [
            [
                Trunk(
                    ConvexForm(
                        [np.asfortranarray(w) for w in GOOD.form.weights], list(GOOD.form.biases), [np.int64(2)]
                    ),
                    np.arange(1),
                )
            ]
        ],
        (1,),
    )
    assert wordy.digest == base
    assert FrozenNetwork(SlopeSet(BOX, l2_radius=3), ((GOOD,),)) == variations()["ball"]


def test_the_digest_is_the_same_in_another_process_and_in_another_year():
    program = (
        "from monolip.frozen import *; from monolip.convex import *; from monolip.slopes import *;"
        "f = ConvexForm(([[1.0], [-1.0]], [[0.0, 1.0]]), ([0.0, 0.0], [0.0]), (2,));"
        "print(FrozenNetwork(SlopeBounds([-1.0], [1.0], ('x',)), ((Trunk(f, (0,)),),)).digest)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    digest = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert digest.stdout.strip() == GOLDEN, "files of the published version would no longer load: raise VERSION"


GOLDEN = "34c8136427176ed34b2ece15007ee306becbeb4557eaa6cf45339c7188045f89"


def test_errors_are_monolip_errors():
    assert issubclass(FreezeError, MonolipError)
    assert issubclass(FreezeError, ValueError)


def test_the_summary_names_form_members_and_intervals(networks, rng):
    assert "3 members in convex form" in str(networks["ensemble"])
    assert "1 member in paper form" in str(networks["householder"])
    assert "increasing" in str(networks["convex"])
    mixed = FrozenNetwork(BOX, ((GOOD,), (Trunk(paper(rng, [2, 4, 1], 2, BOX), (0,)),)))
    assert not mixed.is_convex


def test_equal_numbers_have_equal_digests_and_nobody_can_unlock_the_arrays():
    plain = FrozenNetwork(BOX, ((trunk_of([[0.0, -1.0], [2.0, 0.0]]),),))
    assert FrozenNetwork(BOX, ((trunk_of([[-0.0, -1.0], [2.0, -0.0]]),),)).digest == plain.digest
    assert FrozenNetwork(BOX, plain.members, free_names=()).digest == plain.digest
    arrays = [*plain.members[0][0].form.weights, plain.member_weights, plain.bounds.lower]
    for array in arrays:
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
