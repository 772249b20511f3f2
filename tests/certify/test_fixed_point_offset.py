"""Integers resolve the spread of outputs, not their mean; where they cannot, nothing is compiled."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

from monolip import ConvexForm, FrozenNetwork, MonotonicRegressor, SlopeBounds
from monolip.certify.certificate import certify
from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.fixed_point_vectors import half_to_even
from monolip.certify.robustness_fixed_point import fixed_point_radius
from monolip.errors import FreezeError, InputError, PrecisionError, StructureError
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_format import PRESETS, FixedPointFormat
from monolip.fixed_point_link import FixedLink
from monolip.frozen import Trunk
from monolip.output_link import OutputLink
from tests.certify.fixed_point_networks import random_network

X = np.random.default_rng(0).normal(size=(300, 1))


def line(weight=1.0, bias=0.0, link=None):
    form = ConvexForm(([[weight]],), ([bias],), ())
    return FrozenNetwork(SlopeBounds([0.0], [abs(weight)]), ((Trunk(form, (0,)),),), link=link)


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9, 1e12])
def test_a_large_constant_takes_no_bits_from_the_integers(offset, tmp_path):
    model = MonotonicRegressor(monotonic_cst=[1], random_state=0, max_iter=3).fit(X, X[:, 0] + offset)
    plain, exact = model.predict(X), model.predict(X, exact=True)
    assert np.abs(plain - exact).max() <= 1e-6 + 4 * np.spacing(abs(offset))
    assert len(set(exact)) > 250
    fixed = compile_fixed_point(model.frozen_)
    assert abs(fixed.link.offset - offset) <= 10
    fixed.save(tmp_path / "a")
    assert FixedPointNetwork.load(tmp_path / "a") == fixed
    assert "PROVED" in certify(fixed).check()
    rising = np.sort(X[:, 0])
    rising = np.sort(np.concatenate([rising, np.nextafter(rising, np.inf)]))
    assert (np.diff(fixed.predict([rising])) >= 0).all()


def test_the_offset_is_one_rounded_addition_and_belongs_to_identity():
    link = FixedLink(OutputLink("identity"), 10, 0, 0, 0.1)
    f = np.array([[3], [-(2**30) + 1]])
    exact = [float(Fraction(int(v), 2**10) + Fraction(0.1)) for v in f[:, 0]]
    assert link.apply(f).tolist() == exact
    assert link.threshold == -103
    with pytest.raises(StructureError, match="identity link"):
        FixedLink(OutputLink("log"), 10, 5, 0, 0.1)
    with pytest.raises(StructureError, match="finite"):
        FixedLink(OutputLink("identity"), 10, 0, 0, float("inf"))


def test_decisions_and_radii_count_the_offset():
    fixed = compile_fixed_point(line(bias=1000.0, link=OutputLink("identity")), input_ranges=[(-1e4, 1e4)])
    assert fixed.link.offset == 1000.0
    x = np.array([[-1001.0], [-999.0], [0.0]])
    radii = fixed_point_radius(fixed, x, scale=1.0)
    assert radii.decision.tolist() == [0, 1, 1]
    np.testing.assert_allclose(radii.radius, [1, 1, 1000], rtol=2e-2)


def test_integers_that_lost_the_model_are_refused():
    far = X.copy()
    far[0] = 1e7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MonotonicRegressor(slopes={"x0": (0, 5)}, random_state=0, max_iter=3).fit(far, np.clip(X[:, 0], -3, 3))
    with pytest.raises(FreezeError, match=r"of the spread of outputs.*input_ranges"):
        model.predict(X, exact=True)
    fixed = compile_fixed_point(model.frozen_, input_ranges={"x0": (-10.0, 10.0)})
    assert np.abs(fixed.predict(X) - model.predict(X)).max() < 1e-3
    custom = FixedPointFormat("own", 24, 26, 29, 54, 54)
    with pytest.warns(RuntimeWarning, match="of the spread of outputs"):
        compile_fixed_point(model.frozen_, FixedPointFormat("own", 20, 16, 26, 54, 54))
    assert custom.guard == 3


def test_a_range_can_be_declared_beyond_the_default():
    model = MonotonicRegressor(slopes={"x0": (0.5, 2)}, random_state=0, max_iter=3).fit(X, X[:, 0])
    far = np.array([[1000.0]])
    assert model.predict(far, exact=True)[0] < 100  # clamped four widths of the data beyond it
    wide = compile_fixed_point(model.frozen_, input_ranges={"x0": (-2000.0, 2000.0)})
    np.testing.assert_allclose(wide.predict(far), model.predict(far), rtol=1e-4)


def test_a_constant_column_needs_no_resolution():
    table = np.c_[X[:, 0], np.full(len(X), 3.0)]
    model = MonotonicRegressor(random_state=0, max_iter=3).fit(table, X[:, 0])
    fixed = compile_fixed_point(model.frozen_, "narrow")
    spread = np.ptp(model.predict(table))
    assert np.abs(fixed.predict(table) - model.predict(table)).max() < 0.02 * spread
    steep = ConvexForm(([[1.0, 1e6]],), ([0.0],), ())
    network = FrozenNetwork(SlopeBounds([0.0, 0.0], [1.0, 1e6]), ((Trunk(steep, (0,)),),))
    with pytest.raises(InputError, match="at least 2"):
        compile_fixed_point(network, input_ranges=[(-1.0, 1.0), (-1e-320, 1e-320)])


def test_numbers_beyond_the_formats_say_what_to_do():
    with pytest.raises(InputError, match=r"got 1e-320; declare a wider range"):
        compile_fixed_point(line(), input_ranges=[(-1e-320, 1e-320)])
    with pytest.raises(FreezeError, match="rescale the target"):
        compile_fixed_point(line(1e-300), input_ranges=[(-1.0, 1.0)])
    with pytest.raises(FreezeError, match="rescale the column"):
        compile_fixed_point(line(1e-100), input_ranges=[(-1e300, 1e300)])
    with pytest.raises(StructureError, match="input_bits 3 to 30"):
        FixedPointFormat("own", 24, 2, 29, 54, 54)
    for name in ("", "a" * 41, 'wide\n  "wealth": increasing', "\ud800", "é"):
        with pytest.raises(StructureError, match="name of a format"):
            FixedPointFormat(name, 24, 26, 29, 54, 54)
    assert PRESETS["wide"].name == "wide"


def test_rows_in_a_list_are_rows():
    network = compile_fixed_point(random_network(np.random.default_rng(0)), input_ranges=[(-4.0, 4.0)] * 3)
    rows = np.random.default_rng(1).uniform(-2, 2, (3, 3))
    by_list = fixed_point_radius(network, rows.tolist(), scale=1.0)
    np.testing.assert_array_equal(by_list.radius, fixed_point_radius(network, rows, scale=1.0).radius)


@pytest.mark.parametrize("preset", ["wide", "narrow"])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_backend_that_rounds_half_to_even_is_refused(preset, depth):
    network = compile_fixed_point(
        random_network(np.random.default_rng(depth), depth=depth), preset, input_ranges=[(-4.0, 4.0)] * 3
    )
    assert len(network.members) == 1
    network.self_test(network.evaluate)
    with pytest.raises(PrecisionError, match="rounds differently"):
        network.self_test(lambda x: half_to_even(network, x))
