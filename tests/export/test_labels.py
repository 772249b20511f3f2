"""Labels nobody thought of: empty, with zero bytes, huge numbers, like the one that stands for unseen."""

from __future__ import annotations

import numpy as np
import pytest

from monolip import FrozenNetwork, SlopeBounds
from monolip.errors import FreezeError, MonolipError, StructureError
from monolip.export import to_allen_json, to_json, to_onnx, to_relu_mlp
from monolip.export.parity_inputs import columns_from_codes
from monolip.frozen import Trunk
from monolip.input_columns import CategoryColumn
from monolip.input_transform import InputTransform
from tests.make import convex


def labelled(*labels, name="kind"):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(len(labels) + 2, 2))
    bounds = SlopeBounds([-1.0, -1.0], [1.0, 1.0])
    form = convex(rng, [2, 4, 1], 2, bounds)
    return FrozenNetwork(bounds, ((Trunk(form, (0,)),),), inputs=InputTransform((CategoryColumn(name, labels, table),)))


@pytest.mark.parametrize("labels", [("a", ""), ("a", "b\x00c"), ("\x00",)], ids=repr)
def test_labels_that_onnx_cannot_tell_apart_are_refused(labels, tmp_path):
    with pytest.raises(StructureError, match="the empty string means missing"):
        to_onnx(labelled(*labels), tmp_path / "f.onnx", rows=20)
    assert not list(tmp_path.iterdir())
    assert to_json(labelled(*labels), tmp_path / "f.json", rows=20).passed


LABELS = [
    ("unseen", "unseen "),
    ("a", "\x00 unseen"),
    (1e17, 2e17),
    (0.5, 1.5),
    (1, 2),
    (True, False),
    (0, 1e38),
    ("1",),
]


@pytest.mark.parametrize("labels", LABELS, ids=repr)
def test_the_label_for_unseen_ones_is_none_of_them(labels, tmp_path):
    network = labelled(*labels)
    given = columns_from_codes(network, np.arange(len(labels) + 2.0)[:, None])[0]
    assert given[: len(labels)] == list(labels)
    assert given[-2] not in labels
    assert given[-1] is None
    assert isinstance(given[-2], str) == isinstance(labels[0], str)
    assert to_json(network, tmp_path / "f.json", rows=20).passed
    if not any("\x00" in str(label) for label in labels):
        pytest.importorskip("onnxruntime")
        assert to_onnx(network, tmp_path / "f.onnx", rows=20, arithmetic="float64", in_order=True).passed


@pytest.mark.parametrize("network", [labelled("a\ud800"), labelled("a", name="x\udfff")], ids=["label", "name"])
@pytest.mark.parametrize("exporter", [to_json, to_onnx])
def test_text_that_is_no_unicode_is_an_error_of_ours(network, exporter, tmp_path):
    with pytest.raises(MonolipError, match=r";.*;"):
        exporter(network, tmp_path / "f", rows=20, arithmetic="float64")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [1e38, 3e38, 1e100])
@pytest.mark.parametrize("exporter", [to_relu_mlp, to_allen_json, to_onnx])
def test_weights_beyond_float32_are_an_error_of_ours(size, exporter, tmp_path):
    bounds = SlopeBounds([0.0, -size], [size, size])
    network = FrozenNetwork(bounds, ((Trunk(convex(np.random.default_rng(1), [2, 4, 1], 2, bounds), (0,)),),))
    with pytest.raises(FreezeError, match=r"float32.*; export float64"):
        exporter(network, tmp_path / "f", arithmetic="float32", rows=20)
    assert not list(tmp_path.iterdir())
