"""Raw columns to model columns, slopes in raw units, links, and their place in a frozen network and its file."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

from monolip.convex import ConvexForm
from monolip.errors import FreezeError, FrozenFileError, InputError, StructureError
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink, ordered_exp, ordered_sigmoid
from monolip.piecewise_linear import PiecewiseLinear
from monolip.raw_slopes import extreme_slopes, surrounding_slopes
from monolip.slopes import SlopeBounds

from .make import convex, mixing

IDENTITY = PiecewiseLinear([0.0], [0.0], 1.0, 1.0)
CITY = CategoryColumn("city", ("A", 7, True), [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [-1.0, -1.0]])


def calibrated(rng, name="size"):
    """A clipped map and two bins of it, with a missing indicator: four model columns."""
    knots = np.sort(rng.normal(size=5)) * 100
    u = np.sort(rng.normal(size=5))
    bins = [PiecewiseLinear(knots[:3], u[:3] - u[1]), PiecewiseLinear(knots[2:], u[2:] - u[3])]
    return NumericColumn(name, (PiecewiseLinear(knots, u), *bins), (0.0, 0.0, 0.0, 1.0), 0.0)


def network(rng, n_outputs=1, **ends):
    inputs = InputTransform((calibrated(rng), CITY, NumericColumn("age", (IDENTITY,))))
    box = SlopeBounds([0.0, 0.0, 0.0, -1.0, -1.0, -1.0, -2.0], [2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.0])
    members = tuple((Trunk(convex(rng, [7, 6, 4, n_outputs], 2, box), tuple(range(n_outputs))),) for _ in range(2))
    return FrozenNetwork(box, members, inputs=inputs, **ends)


def raw_table(rng, n):
    size = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n) * 150)
    return {
        "size": size,
        "city": rng.choice(np.array(["A", 7, True, "new", None], object), n),
        "age": rng.normal(size=n),
    }


def test_columns_are_taken_by_name_or_in_order_and_know_where_they_came_from(rng):
    inputs = network(rng).inputs
    table = raw_table(rng, 50)
    model = inputs.evaluate(table)
    assert model.shape == (50, 7)
    assert np.array_equal(model, inputs.evaluate([table["size"], table["city"], table["age"]]))
    assert inputs.raw_of.tolist() == [0, 0, 0, 0, 1, 1, 2]
    assert np.array_equal(
        model[np.isnan(table["size"]), :4], np.tile([0.0, 0.0, 0.0, 1.0], (np.isnan(table["size"]).sum(), 1))
    )


def test_categories_unseen_and_missing_have_rows_of_their_own():
    assert CITY.codes(["A", 7, True, "B", None, float("nan")]).tolist() == [0, 1, 2, 3, 4, 4]
    assert CITY.codes(np.array([7.0, np.nan, 3.0])).tolist() == [1, 4, 3]


def test_raw_evaluation_never_falls_at_one_ulp_steps_across_knots(rng):
    f = network(rng)
    table = raw_table(rng, 4000)
    knots = np.concatenate([phi.knots for phi in f.inputs.maps_of(0)])
    table["size"] = rng.choice(knots, 4000) * (1 + rng.normal(size=4000) * 1e-15)
    up = {**table, "size": np.nextafter(table["size"], np.inf)}
    older = {**table, "age": np.nextafter(table["age"], np.inf)}
    assert (f.evaluate_raw(up) >= f.evaluate_raw(table)).all()
    assert (f.evaluate_raw(older) <= f.evaluate_raw(table)).all()


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_raw_slopes_are_the_exact_extremes_over_units_and_pieces_rounded_outwards(rng, n_outputs):
    f = network(rng, n_outputs)
    slopes = f.raw_slopes
    assert slopes.feature_names == ("size", "age")
    maps = f.inputs.maps_of(0)
    knots = np.unique(np.concatenate([phi.knots for phi in maps]))
    rows = np.vstack([trunk.form.weights[0] for member in f.members for trunk in member])
    sums = []
    for x in [knots[0] - 1, *(knots[:-1] + knots[1:]) / 2, knots[-1] + 1]:
        inner = [phi.slopes[int(np.searchsorted(phi.knots, x, "right"))] for phi in maps]
        sums += [sum((Fraction(w) * s for w, s in zip(row[:3], inner, strict=True)), Fraction(0)) for row in rows]
    for k in range(n_outputs):
        low, high = slopes.for_output(k).lower[0], slopes.for_output(k).upper[0]
        assert Fraction(low) <= min(sums) < Fraction(np.nextafter(low, np.inf))
        assert Fraction(np.nextafter(high, -np.inf)) < max(sums) <= Fraction(high)


@pytest.mark.parametrize("few", [0, 2**16])  # tables one by one, and all of them at once
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_surrounding_slopes_hold_the_exact_ones_and_keep_zeros(rng, scale, few, monkeypatch):
    monkeypatch.setattr("monolip.raw_slopes.FEW_PRODUCTS", few)
    inputs = network(rng).inputs
    for sign in (-1, 0, 1):
        rows = rng.normal(size=(6, inputs.n_model)) * scale * rng.choice([0.0, 1.0], (6, inputs.n_model))
        rows = rows if sign == 0 else sign * np.abs(rows)
        for i in inputs.numeric:
            low, high = extreme_slopes(inputs, i, rows)
            (around,) = surrounding_slopes(inputs, [i], rows)
            assert around[0] <= low <= high <= around[1]
            assert max(low - around[0], around[1] - high) <= 1e-10 * max(abs(low), abs(high)) + 1e-290
            assert sign != 1 or around[0] >= 0
            assert sign != -1 or around[1] <= 0
            assert surrounding_slopes(inputs, [i], 0 * rows) == [(0.0, 0.0)]
        alone = [surrounding_slopes(inputs, [i], rows)[0] for i in inputs.numeric]
        assert surrounding_slopes(inputs, inputs.numeric, rows) == alone


def test_secants_stay_inside_the_raw_slopes(rng):
    f = network(rng)
    table = raw_table(rng, 3000)
    table["size"] = rng.normal(size=3000) * 100
    step = rng.random(3000) * 10
    rise = f.evaluate_raw({**table, "size": table["size"] + step}) - f.evaluate_raw(table)
    low, high = f.raw_slopes.lower[0], f.raw_slopes.upper[0]
    assert (rise[:, 0] >= low * step - 1e-9).all()
    assert (rise[:, 0] <= high * step + 1e-9).all()


def test_a_promise_in_raw_units_that_does_not_hold_cannot_be_built(rng):
    real = network(np.random.default_rng(3)).raw_slopes
    kept = network(np.random.default_rng(3), raw_promise=real)
    assert kept.raw_promise == real
    tighter = SlopeBounds(real.lower, [np.nextafter(real.upper[0], -np.inf), real.upper[1]], real.feature_names)
    with pytest.raises(FreezeError, match="keep the promise in raw units"):
        network(np.random.default_rng(3), raw_promise=tighter)
    with pytest.raises(FreezeError, match="covers the raw numeric features"):
        network(np.random.default_rng(3), raw_promise=SlopeBounds([0.0], [1.0]))


def test_save_load_pickle_and_digest_cover_both_ends(rng, tmp_path):
    f = network(rng, link=OutputLink("logit", ("no", "yes")))
    plain = FrozenNetwork(f.promise, f.members)
    assert f.digest != plain.digest
    f.save(tmp_path / "f.safetensors")
    again = FrozenNetwork.load(tmp_path / "f.safetensors")
    table = raw_table(rng, 100)
    assert again.digest == f.digest == pickle.loads(pickle.dumps(f)).digest
    assert np.array_equal(again.evaluate_raw(table), f.evaluate_raw(table))
    assert again.inputs.columns[1].categories == ("A", 7, True)
    assert again.link == f.link


@pytest.mark.parametrize("old", [b"yes", b"size", b'"ordered\\": false'])
def test_an_edited_end_does_not_load(rng, tmp_path, old):
    path = tmp_path / "f.safetensors"
    network(rng, link=OutputLink("logit", ("no", "yes"))).save(path)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, {b"yes": b"YES", b"size": b"SIZE"}.get(old, b'"ordered\\": "abc"'), 1))
    with pytest.raises(FrozenFileError):
        FrozenNetwork.load(path)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: NumericColumn("a", ()), "at least one PiecewiseLinear"),
        (lambda: NumericColumn("a", (IDENTITY,), (1.0, 2.0)), "missing gives each"),
        (lambda: NumericColumn("a", (IDENTITY,), None, 1.0), "for present and for missing"),
        (lambda: NumericColumn("a", (IDENTITY,), seen=(2.0, 1.0)), "seen is one to three finite numbers in order"),
        (lambda: NumericColumn("a", (IDENTITY,), seen=()), "seen is one to three"),
        (lambda: CategoryColumn("c", ("x", "x"), np.zeros((4, 1))), "distinct labels"),
        (lambda: CategoryColumn("c", ("x",), np.zeros((2, 1))), "finite row for each"),
        (lambda: CategoryColumn("c", ((1, 2),), np.zeros((3, 1))), "a string, a number or a boolean"),
        (lambda: InputTransform(()), "made of NumericColumn"),
        (lambda: OutputLink("probit"), "a link is one of"),
        (lambda: OutputLink("logit", ("a", "b", "c")), "needs distinct labels"),
        (lambda: OutputLink("identity", ("a", "b")), "go with logit and softmax"),
    ],
)
def test_malformed_ends_are_refused_with_the_reason(build, words):
    with pytest.raises(StructureError, match=words):
        build()


def test_bad_raw_columns_are_refused_by_name(rng):
    f = network(rng)
    table = raw_table(rng, 5)
    with pytest.raises(InputError, match="'age' holds numbers; it holds strings"):
        f.evaluate_raw({**table, "age": np.array(["x"] * 5)})
    with pytest.raises(InputError, match="'age' was fitted without a rule for missing"):
        f.evaluate_raw({**table, "age": np.array([0, 1, np.nan, 0, 0])})
    with pytest.raises(InputError, match="'age'] missing"):
        f.evaluate_raw({"size": table["size"], "city": table["city"]})
    with pytest.raises(InputError, match="one length"):
        f.evaluate_raw({**table, "age": np.zeros(4)})
    with pytest.raises(InputError, match="3 raw columns"):
        f.evaluate_raw([table["size"]])
    with pytest.raises(InputError, match="raw columns need an input transform"):
        FrozenNetwork(f.promise, f.members).evaluate_raw(table)
    with pytest.raises(FreezeError, match="slopes in raw units need"):
        _ = FrozenNetwork(f.promise, f.members).raw_slopes
    with pytest.raises(FreezeError, match="model columns of its network"):
        FrozenNetwork(f.promise, f.members, inputs=InputTransform((CITY,)))
    with pytest.raises(FreezeError, match="softmax link takes 2 outputs"):
        FrozenNetwork(f.promise, f.members, link=OutputLink("softmax", ("a", "b")))


def test_exp_and_sigmoid_are_monotone_bit_for_bit_and_accurate(rng):
    x = np.concatenate([rng.normal(size=200_000) * s for s in (1e-8, 1.0, 30.0, 700.0)])
    x = np.concatenate([x, np.round(x * 64) / 64])  # the grid itself
    up = np.nextafter(x, np.inf)
    for function in (ordered_exp, ordered_sigmoid):
        assert (function(up) >= function(x)).all()
    inside = np.abs(x) < 700
    assert np.abs(ordered_exp(x[inside]) / np.exp(x[inside]) - 1).max() < 2e-15
    assert ordered_sigmoid([-np.inf, np.inf]).tolist() == [0.0, 1.0] or ordered_sigmoid(-np.inf) < 1e-300


def test_softmax_of_a_rising_and_falling_logits_rises_bit_for_bit(rng):
    link = OutputLink("softmax", ("a", "b", "c"))
    f = rng.normal(size=(100_000, 3)) * rng.choice([0.1, 1.0, 50.0, 400.0], (100_000, 1))
    moved = f.copy()
    moved[:, 0] = np.nextafter(f[:, 0], np.inf)
    moved[:, 2] = np.nextafter(f[:, 2], -np.inf)
    before, after = link.apply(f), link.apply(moved)
    assert (after[:, 0] >= before[:, 0]).all()
    assert np.abs(before.sum(1) - 1).max() < 1e-14


def test_a_steeper_map_makes_steeper_raw_slopes(rng):
    form = ConvexForm((np.array([[1.0, 0.5], [2.0, -0.5]]), mixing(rng, 1, 2)), (np.zeros(2), np.zeros(1)), (2,))
    double = PiecewiseLinear([0.0], [0.0], 2.0, 2.0)
    inputs = InputTransform((NumericColumn("x", (double,)), NumericColumn("y", (IDENTITY,))))
    f = FrozenNetwork(SlopeBounds([0.0, -1.0], [2.0, 1.0]), ((Trunk(form, (0,)),),), inputs=inputs)
    assert f.raw_slopes.lower.tolist() == [2.0, -0.5]
    assert f.raw_slopes.upper.tolist() == [4.0, 0.5]


def test_data_frames_of_any_kind_are_taken_by_name_and_matrices_refused(rng):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    inputs = InputTransform((calibrated(rng), CITY, NumericColumn("age", (IDENTITY,))))
    table = {"age": rng.normal(size=4), "city": ["A", "B", "C", "A"], inputs.names[0]: rng.normal(size=4)}
    expected = inputs.evaluate(table)
    for frame in (pandas.DataFrame(table), polars.DataFrame(table), pyarrow.table(table)):
        assert np.array_equal(inputs.evaluate(frame), expected)
    with pytest.raises(InputError, match=r"\['city'\] missing; add them"):
        inputs.evaluate(pandas.DataFrame(table).drop(columns="city"))
    with pytest.raises(InputError, match=r"a data frame, a dict by name or a sequence.*for a matrix pass list\(X.T\)"):
        inputs.evaluate(np.zeros((5, 3)))


def test_slopes_below_the_smallest_normal_float_are_not_lost():
    phi = PiecewiseLinear([0.0, 1.7e308], [0.0, 1e-15])
    inputs = InputTransform((NumericColumn("x", (phi,)),))
    rows = np.array([[1e200], [5e199]])
    exact = Fraction(1e200) * phi.slope(1)
    assert Fraction(extreme_slopes(inputs, 0, rows)[1]) >= exact
    assert Fraction(surrounding_slopes(inputs, [0], rows)[0][1]) >= exact
    form = ConvexForm((np.array([[1e200]]),), (np.zeros(1),), ())
    below = SlopeBounds([0.0], [float(exact) * 0.9], ("x",))
    with pytest.raises(FreezeError, match="keep the promise in raw units"):
        FrozenNetwork(SlopeBounds([0.0], [1e200]), ((Trunk(form, (0,)),),), inputs=inputs, raw_promise=below)
