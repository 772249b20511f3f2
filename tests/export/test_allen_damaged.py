"""Files of LHCb's dialects that say something else than they seem to: an error, at once, and never another network."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest

from monolip.errors import FrozenFileError, InputError, MonolipError
from monolip.export import from_allen_json, to_allen_json
from tests.export.models import two_track


def good():
    layers = {"sigmanet.nn.0.weight": [[0.5, 0.0], [0.0, 0.5]], "sigmanet.nn.0.bias": [0.0, 0.0]}
    layers |= {"sigmanet.nn.2.weight": [[0.5, 0.5]], "sigmanet.nn.2.bias": [0.0]}
    return layers | {"sigmanet.sigma": [1.0], "n_features": 2, "constraints": [1, 0]}


def read(tmp_path, document, **options):
    text = document if isinstance(document, str) else json.dumps(document)
    (tmp_path / "f.json").write_text(text, encoding="utf-8")
    return from_allen_json(tmp_path / "f.json", **options)


def test_the_file_itself_is_read(tmp_path):
    assert read(tmp_path, good()).slopes.lower[0] >= 0
    assert read(tmp_path, {**good(), "constraints": [1.0, 0.0], "comment": "x"}).slopes.lower[0] >= 0


@pytest.mark.parametrize(
    "more",
    [
        *({"constraints": c} for c in ([-0.9, 0], [1.9, -0.9], [math.inf, 0], [math.nan, 0], [10**400, 0], ["1", 0])),
        *({"constraints": c} for c in ([True, 0], [1], [1, 0, 0], [[1, 0]], "10", None, 1, {"0": 1})),
        *({"sigmanet.sigma": s} for s in ("5.0", ["5.0"], [1, 99], [], 5.0, [True], [None], [math.inf], [1e39])),
        *({"n_features": n} for n in (3, 2.0, "2", True, None)),
        {"sigmanet.nn.0.zzz": [[9.0, 9.0], [9.0, 9.0]]},
        {"sigmanet.nn.00.weight": [[9.0, 9.0], [9.0, 9.0]]},
        {"sigmanet.nn.0.parametrizations.weight.original": [[9.0, 9.0], [9.0, 9.0]]},
        {"sigmanet.nn.-2.weight": [[1.0, 1.0]], "sigmanet.nn.-2.bias": [0.0]},
        {"sigmanet.nn.\u0660.weight": [[1.0, 1.0], [1.0, 1.0]]},
        {"sigmanet.other": 1},
        {"sigmanet.nn.0.weight": [["0.5", "0"], ["0", "0.5"]]},
        {"sigmanet.nn.0.weight": [[True, False], [False, True]]},
        {"sigmanet.nn.0.weight": [[0.5, 0.0], [0.0]]},
        {"sigmanet.nn.0.weight": [[0.5, 0.0], [0.0, 10**400]]},
        {"sigmanet.nn.0.weight": [[0.5, 0.0], [0.0, 1e39]]},
        {"sigmanet.nn.0.bias": [None, 0.0]},
        {"variables_constraints": [[0, 1], ["0", "1"]]},
        {"variables_constraints": [[0, 1], [10**400, 1]]},
    ],
    ids=repr,
)
def test_values_that_are_something_else_are_errors(tmp_path, more):
    with pytest.raises(FrozenFileError, match=r";.*;"):
        read(tmp_path, {**good(), **more})


def test_keys_that_stand_twice_and_other_encodings_are_errors(tmp_path):
    text = json.dumps(good())
    with pytest.raises(FrozenFileError):
        read(tmp_path, text.replace('"constraints": [1, 0]', '"constraints": [1, 0], "constraints": [0, 0]'))
    for encoding in ("utf-16", "utf-8-sig"):
        (tmp_path / "f.json").write_text(text, encoding=encoding)
        with pytest.raises(FrozenFileError):
            from_allen_json(tmp_path / "f.json")


@pytest.mark.parametrize(
    "given", [[-0.9, 0.0], [math.inf, 0], [math.nan, 0], ["1", "0"], [1], [10**400, 0], [True, 0.5]]
)
def test_constraints_that_are_passed_are_not_truncated_either(tmp_path, given):
    with pytest.raises(FrozenFileError, match="-1, 0 or 1"):
        read(tmp_path, good(), constraints=given)
    assert read(tmp_path, good(), constraints=np.array([1.0, 0.0])) == read(tmp_path, good())


def test_many_layers_are_refused_at_once(tmp_path):
    document = {"sigmanet.sigma": [1.0], "constraints": [1]}
    for k in range(2000):
        document |= {f"sigmanet.nn.{k}.weight": [[0.1, 0.1]] * 2 if k else [[0.1]] * 2, f"sigmanet.nn.{k}.bias": [0, 0]}
    start = time.perf_counter()
    with pytest.raises(FrozenFileError, match="1 to 64"):
        read(tmp_path, document)
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("cut", [math.nan, math.inf, -5, 1.5, "0.5", None])
def test_a_cut_is_a_probability(tmp_path, cut):
    with pytest.raises(InputError, match="nominal_cut"):
        to_allen_json(two_track(), tmp_path / "f.json", nominal_cut=cut, rows=5)
    assert not list(tmp_path.iterdir())


def test_what_is_written_is_read_again(tmp_path):
    to_allen_json(two_track(), tmp_path / "f.json", rows=5)
    assert isinstance(from_allen_json(tmp_path / "f.json").digest, str)
    document = json.loads((tmp_path / "f.json").read_text())
    for key in document:
        for value in (None, True, "1", [], {}, [[]], [[[1]]], -1, 1e300):
            try:
                read(tmp_path, {**document, key: value})
            except MonolipError:
                continue
            assert key == "nominal_cut"  # of no concern to the network
