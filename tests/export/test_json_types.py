"""A document says one thing to every reader: numbers of another type, other encodings and marks are errors."""

from __future__ import annotations

import json
from copy import deepcopy

import numpy as np
import pytest

from monolip.errors import FrozenFileError
from monolip.export import from_json, to_json
from tests.certify.fixed_point_networks import table_network

KINDS = ("float64", "float32", "fixed-point")


def places(value, at=()):
    """Where a number or a truth value stands."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            yield from places(item, (*at, key))
    elif isinstance(value, int | float):
        yield at, value


def twins(value):
    """Equal in Python, another type in JSON."""
    others = [int(value), float(value), *([bool(value)] if value in (0, 1) else [])] if value == int(value) else []
    return [other for other in others if type(other) is not type(value)]


@pytest.mark.parametrize("arithmetic", KINDS)
def test_numbers_of_another_type_are_errors(arithmetic, tmp_path):
    path = tmp_path / "f.json"
    to_json(table_network(np.random.default_rng(0), "logit"), path, arithmetic=arithmetic, rows=2)
    document = json.loads(path.read_text())
    del document["tensors"]
    tensors = json.loads(path.read_text())["tensors"]
    tried = 0
    for at, value in places(document):
        for other in twins(value):
            edited = deepcopy(document) | {"tensors": tensors}
            inner = edited
            for key in at[:-1]:
                inner = inner[key]
            inner[at[-1]] = other
            path.write_text(json.dumps(edited))
            with pytest.raises(FrozenFileError, match=";"):
                from_json(path)
            tried += 1
    assert tried > 10


def test_a_document_is_utf8_without_a_mark(tmp_path):
    path = tmp_path / "f.json"
    to_json(table_network(np.random.default_rng(0), "logit"), path, rows=2)
    text = path.read_text(encoding="utf-8")
    for encoding in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig"):
        path.write_text(text, encoding=encoding)
        with pytest.raises(FrozenFileError, match="no JSON document"):
            from_json(path)
    path.write_text(text.replace('"amount"', '"\\ud800"'), encoding="utf-8")
    with pytest.raises(FrozenFileError):
        from_json(path)
