"""Formats that hold weights alone refuse a network with a forest, by name and before anything is written."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import FreezeError
from monolip.estimators._freezing import with_forest
from monolip.export import fold_inputs, relu_mlp, to_allen_json, to_relu_mlp
from monolip.export.hls4ml import hls4ml_module, to_hls4ml_module
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds
from tests.forests import random_forest
from tests.make import convex

REFUSED = "trees are none; got a forest over 'b', 'c'; fit with trees=False"


@pytest.fixture(scope="module")
def network() -> FrozenNetwork:
    """Lines alone: without the forest every one of these formats would hold it."""
    rng, box = np.random.default_rng(0), SlopeBounds([0.0, -1.0, -1.0], [1.0, 1.0, 1.0])
    columns = tuple(
        NumericColumn(name, (PiecewiseLinear([0.0], [0.0], 1.0, 1.0),), seen=(-2.0, 0.0, 2.0)) for name in "abc"
    )
    trunk = Trunk(convex(rng, [3, 4, 1], 2, box), (0,))
    plain = FrozenNetwork(box, ((trunk,),), inputs=InputTransform(columns))
    return with_forest(plain, random_forest(rng))


@pytest.mark.parametrize("exporter", [to_relu_mlp, to_allen_json, to_hls4ml_module], ids=lambda f: f.__name__)
def test_nothing_is_written(network, exporter, tmp_path):
    class Fitted:
        frozen_ = network

    for model in (network, Fitted()):
        with pytest.raises(FreezeError, match=REFUSED):
            exporter(model, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_nor_is_anything_made(network):
    integers = compile_fixed_point(network)
    for make in (
        lambda: fold_inputs(network),
        lambda: relu_mlp(network),
        lambda: hls4ml_module(network),
        lambda: hls4ml_module(network, precision=None),
        lambda: hls4ml_module(integers, precision=None),
    ):
        with pytest.raises(FreezeError, match=REFUSED):
            make()


def test_without_the_forest_they_hold_it(network, tmp_path):
    """The refusals above are about the forest and nothing else."""
    plain = FrozenNetwork(
        SlopeBounds(network.bounds.lower[:3], network.bounds.upper[:3]),
        ((Trunk(convex(np.random.default_rng(0), [3, 4, 1], 2, SlopeBounds([0.0] * 3, [1.0] * 3)), (0,)),),),
        inputs=InputTransform(network.inputs.columns),
    )
    assert to_relu_mlp(plain, tmp_path / "f", rows=40).passed
    assert to_allen_json(plain, tmp_path / "g", rows=40).passed
    assert to_hls4ml_module(plain, tmp_path / "h.py", precision="ap_fixed<24,10>", rows=0).passed is None
