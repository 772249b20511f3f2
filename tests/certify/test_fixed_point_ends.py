"""From raw columns to the decision: ulp steps, categories, missing values, probabilities, self-test, flat arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.fixed_point_claims import fixed_point_claims, fixed_point_directions
from monolip.convex import ConvexForm
from monolip.errors import InputError, PrecisionError, StructureError
from monolip.fixed_point_columns import FixedCategory, FixedNumeric
from monolip.fixed_point_link import EXPONENTIALS, FixedLink
from monolip.fixed_point_map import FixedMap
from monolip.fixed_point_packing import pack_inputs
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds
from tests.certify.fixed_point_networks import table_network

LINKS = ["identity", "log", "logit", "softmax"]


def rows_of(rng, n):
    return {
        "amount": np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 40, n)),
        "level": rng.choice(np.array(["low", "mid", "high", "other", None], dtype=object), n),
        "kind": rng.choice(np.array(["a", "b", "c", None], dtype=object), n),
        "pace": rng.normal(0, 5, n),
    }


def predict(network, rows):
    """The prediction of which the first output's direction is a direction: a number, or P of the rising class."""
    p = network.predict(rows, "float64")
    return p if p.ndim == 1 else p[:, 0 if network.link.name == "softmax" else 1]


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(LINKS),
    st.sampled_from(["wide", "narrow"]),
    st.sampled_from(["lowest", "highest"]),
    st.integers(0, 10**6),
)
def test_raw_steps_never_go_the_wrong_way_from_input_to_prediction(link, preset, missing, seed):
    rng = np.random.default_rng(seed)
    network = compile_fixed_point(table_network(rng, link, missing=missing), preset)
    rows = rows_of(rng, 200)
    before = predict(network, rows)
    for name, sign in (("amount", 1), ("pace", -1)):
        x = rows[name]
        knots = np.concatenate([phi.knots for phi in network.inputs.columns[0].maps])
        x = np.where(rng.random(len(x)) < 0.5, rng.choice(knots, len(x)), x) if name == "amount" else x
        below = predict(network, {**rows, name: np.nextafter(x, -np.inf)})
        here = predict(network, {**rows, name: x})
        above = predict(network, {**rows, name: x + rng.choice([1e-12, 1e-6, 1.0, 1e300, np.inf], len(x))})
        known = ~np.isnan(x)
        assert ((here - below) * sign >= 0)[known].all()
        assert ((above - here) * sign >= 0)[known].all()
    gone = predict(network, {**rows, "amount": np.full(200, np.nan)})
    assert (gone <= before).all() if missing == "lowest" else (gone >= before).all()
    steps = [predict(network, {**rows, "level": np.full(200, word, dtype=object)}) for word in ("low", "mid", "high")]
    assert (np.diff(steps, axis=0) >= 0).all()


def test_claims_say_what_was_promised():
    network = compile_fixed_point(table_network(np.random.default_rng(0), "logit"))
    directions = fixed_point_directions(network)
    assert directions == [
        (["increasing"], "lowest"),
        (["increasing"], "lowest"),
        (["none"], None),
        (["decreasing"], "refused"),
    ]
    claims = fixed_point_claims(network)
    assert [entry["promise"] for entry in claims["raw"]] == [
        ["increasing"],
        ["increasing"],
        ["no promise"],
        ["decreasing"],
    ]
    assert claims["carriers"] == ["int64", "float64"]
    assert network.reach < 2**53
    several = fixed_point_claims(compile_fixed_point(table_network(np.random.default_rng(0), "softmax")))["raw"]
    assert several[0]["promise"] == ["increasing", "decreasing", "decreasing"]
    low, high = (float.fromhex(v) for v in several[0]["differences"][0])
    assert 0 <= low < high  # so P of the first class never falls


@pytest.mark.parametrize("link", LINKS)
def test_predictions_are_near_those_of_floats(link):
    rng = np.random.default_rng(2)
    frozen = table_network(rng, link)
    network, rows = compile_fixed_point(frozen), rows_of(rng, 300)
    rows["pace"] = np.clip(rows["pace"], -20, 20)
    expected = frozen.link.apply(frozen.evaluate_raw(rows))
    np.testing.assert_allclose(network.predict(rows), expected, rtol=2e-5, atol=2e-7)
    if link in ("logit", "softmax"):
        f = network.evaluate_raw(rows)
        decided = network.decide(f)
        assert np.array_equal(decided, (f[:, 0] > 0) if link == "logit" else f.argmax(axis=1))


def test_exponentials_never_fall_from_one_integer_to_the_next():
    link = FixedLink(OutputLink("logit", (0, 1)), 18, round(2**21 * np.log2(np.e)), 15)
    for start in (-(2**18) * 30, -3000, 2**18 * 11, 2**18 * 16):
        d = np.arange(start, start + 200_000)
        p = link.apply(d[:, None])
        assert (np.diff(p[:, 1]) >= 0).all()
        assert (np.diff(p[:, 0]) <= 0).all()
        assert (p >= 0).all()
        assert (p <= 1).all()
    far = np.array([[-(2**30)], [2**30]])
    assert (link.apply(far) > 0).all()
    assert np.isfinite(link.apply(far)).all()
    log = FixedLink(OutputLink("log"), 18, link.factor, 15)
    values = log.apply(np.sort(np.random.default_rng(0).integers(-(2**36), 2**36, 100_000))[:, None])
    assert (np.diff(values) >= 0).all()
    assert (values > 0).all()
    assert np.isfinite(values).all()
    for wrong in ((18, 0, 15), (18, 1.5, 15), (18, 5, -1), (5000, 5, 1)):
        with pytest.raises(StructureError, match="whole numbers"):
            FixedLink(OutputLink("log"), *wrong)


def test_the_table_of_exponentials_is_the_one_of_the_definition():
    """round(2^(26 + i / 128)) in whole numbers: n is it where (2n - 1)^128 <= 2^(128 * 27 + i) < (2n + 1)^128."""
    assert len(EXPONENTIALS) == 129
    assert (EXPONENTIALS[0], EXPONENTIALS[128]) == (2**26, 2**27)
    for i, n in enumerate(EXPONENTIALS.tolist()):
        assert (2 * n - 1) ** 128 <= 2 ** (128 * 27 + i) < (2 * n + 1) ** 128


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8, unique=True), st.data())
def test_maps_are_monotone_at_every_knot_and_ulp(knots, data):
    knots = np.sort(knots)
    knots = knots[np.insert(np.diff(knots) > 1e-9, 0, True)]
    nodes = np.sort(data.draw(st.lists(st.integers(-(2**25), 2**25), min_size=len(knots), max_size=len(knots))))
    column = FixedNumeric("x", (FixedMap(knots, nodes),))
    x = np.concatenate([knots, (knots[1:] + knots[:-1]) / 2, knots - 3.3, knots + 1e-8, [-np.inf, np.inf, 0.0, 1e300]])
    x = np.sort(np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)]))
    found = column.evaluate(x)[:, 0]
    assert (np.diff(found) >= 0).all()
    ((low, high),) = column.ranges
    assert low <= found.min()
    assert found.max() <= high
    np.testing.assert_array_equal(column.maps[0].evaluate(knots), nodes)


def test_maps_keep_within_one_unit_of_exact_arithmetic():
    from fractions import Fraction

    rng = np.random.default_rng(0)
    knots, nodes = np.sort(rng.normal(size=5)), np.sort(rng.integers(-(2**25), 2**25, 5))
    phi = FixedMap(knots, nodes)
    for x in rng.uniform(knots[0], knots[-1], 500).tolist():
        i = int(np.searchsorted(knots, x, "right")) - 1
        exact = int(nodes[i]) + (Fraction(x) - Fraction(float(knots[i]))) * phi.slopes[i + 1]
        assert abs(int(phi.evaluate(np.array([x]))[0]) - exact) <= Fraction(1, 2) + Fraction(1, 2**20)


def test_a_missing_value_below_a_line_without_end_is_its_end():
    line = NumericColumn("x", (PiecewiseLinear([0.0], [0.0], 1.0, 1.0),), (-1e300,), seen=(0.0, 1.0))
    form = ConvexForm(([[1.0]],), ([0.0],), ())
    frozen = FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(form, (0,)),),), inputs=InputTransform((line,)))
    network = compile_fixed_point(frozen)
    assert fixed_point_directions(network) == [(["increasing"], "lowest")]
    gone, least, less = network.predict([[np.nan, -4.0, -np.inf]])[:, 0].tolist()
    assert gone == less == least == -4.0


def test_a_backend_that_rounds_differently_is_refused():
    network = compile_fixed_point(table_network(np.random.default_rng(0), "logit"))
    network.self_test()
    network.self_test(lambda x: network.evaluate(x, "float64"))
    for wrong in (
        lambda x: network.evaluate(x) + (x[:, :1] % 64 == 0),
        lambda x: network.evaluate(x) if len(x) > 1 else network.evaluate(x) - 1,  # depends on the batch
        lambda x: network.evaluate(x).astype(np.float32),
    ):
        with pytest.raises(PrecisionError, match="rounds differently"):
            network.self_test(wrong)


def test_torch_gives_the_same_bits_in_float64_and_is_refused_in_float32():
    torch = pytest.importorskip("torch")
    network = compile_fixed_point(table_network(np.random.default_rng(0), "softmax"))

    def in_torch(dtype):
        def evaluate(x):
            total = torch.full((len(x), network.n_outputs), 2.0 ** (network.format.shift - 1), dtype=dtype)
            for share, member in zip(network.member_weights.tolist(), network.members, strict=True):
                for trunk in member:
                    z = torch.tensor(x).to(dtype)
                    for k, (weight, bias) in enumerate(zip(trunk.weights, trunk.biases, strict=True)):
                        a = z @ torch.tensor(weight).to(dtype).T + torch.tensor(bias).to(dtype)
                        z = torch.floor(a * 2.0**-network.format.shift)
                        if k < len(trunk.group_sizes):
                            size = trunk.group_sizes[k]
                            z = z.reshape(len(x), -1, size).sort(dim=2).values.reshape(len(x), -1)
                    total[:, list(trunk.outputs)] += share * z
            return torch.floor(total * 2.0**-network.format.shift).numpy()

        return evaluate

    network.self_test(in_torch(torch.float64))
    with pytest.raises(PrecisionError, match="rounds differently"):
        network.self_test(in_torch(torch.float32))


def test_flat_arrays_repeat_the_network():
    rng = np.random.default_rng(4)
    network = compile_fixed_point(table_network(rng, "softmax"), "narrow")
    rows = rows_of(rng, 50)
    x, packed = network.quantise(rows), network.packed()
    shift, limit, n_outputs = packed.numbers.tolist()
    total = np.full((50, n_outputs), 1 << (shift - 1))
    for (first, end, output, residual), share in zip(packed.spans.tolist(), packed.shares.tolist(), strict=True):
        z = x
        for k, (out, fan, at, bias, size) in enumerate(packed.plan[first:end].tolist()):
            z = (z @ packed.params[at : at + out * fan].reshape(out, fan).T + packed.params[bias : bias + out]) >> shift
            if k < end - first - 1:
                z = np.clip(z, -limit, limit) if limit else z
                z = np.sort(z.reshape(50, -1, size), axis=2).reshape(50, -1)
        assert residual == -1
        total[:, packed.outputs[output : output + z.shape[1]]] += share * z
    np.testing.assert_array_equal(total >> shift, network.evaluate(x))
    inputs = pack_inputs(network.inputs)
    assert len(inputs.columns) == 4
    assert len(inputs.maps) == 3
    assert inputs.pieces.shape[1] == 5


def test_columns_refuse_what_they_cannot_hold():
    phi = FixedMap([0.0, 1.0], [0, 5])
    for wrong in (
        lambda: FixedMap([0.0, 1.0], [5, 0]),
        lambda: FixedMap([1.0, 0.0], [0, 5]),
        lambda: FixedMap([0.0, np.inf], [0, 5]),
        lambda: FixedMap([0.0, 5e-324], [0, 2**29]),
        lambda: FixedMap([0.0], [2**40]),
        lambda: FixedMap([0.0], [0.5]),
        lambda: FixedNumeric("x", ()),
        lambda: FixedNumeric("x", (phi,), (1, 2)),
        lambda: FixedNumeric("x", (phi,), None, 1),
        lambda: FixedNumeric("x", (phi,), (1.5,)),
        lambda: FixedCategory("x", ("a",), np.array([[0.5], [0.0], [0.0]])),
        lambda: FixedCategory("x", ("a", "b"), np.array([[1], [0], [0], [0]]), ordered=True),
    ):
        with pytest.raises(StructureError):
            wrong()
    with pytest.raises(InputError, match="raw columns"):
        compile_fixed_point(table_network(np.random.default_rng(0))).predict([[1.0]])
