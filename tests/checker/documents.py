"""Certificates of many kinds of networks, and ways to run the checker on them and to seal what was changed."""

from __future__ import annotations

import base64
import contextlib
import copy
import hashlib
import importlib.util
import json
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from monolip.certify import certify
from monolip.free_branch import FreeBranch
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds

from ..make import convex, frozen_networks, paper

__all__ = ["CHECKER", "accepts", "checker", "documents", "edited", "networks", "resealed", "set_tensor", "tensor"]

CHECKER = Path(__file__).resolve().parents[2] / "checker" / "monolip_check.py"


def _load():
    spec = importlib.util.spec_from_file_location("monolip_check", CHECKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


checker = _load()


def inputs():
    """A number with two maps and an indicator, one counted lowest where missing, ordered and plain categories."""
    ramp = PiecewiseLinear([0.0, 1.0, 3.0], [-1.0, 0.5, 1.0])
    step = PiecewiseLinear([1.0, 3.0], [0.0, 0.25])
    line = PiecewiseLinear([0.5], [0.0], 0.5, 0.5)
    grade = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.0, 0.0]]
    return InputTransform(
        (
            NumericColumn("age", (ramp, step), (0.5, 0.0, 1.0), 0.0, (0.0, 1.0, 3.0)),
            NumericColumn("debt", (ramp,), (-1.0, 0.0), 1.0),
            NumericColumn("dose", (line,)),
            CategoryColumn("grade", ("a", "b", "c"), grade, ordered=True),
            CategoryColumn("city", ("x", "y"), [[1.0], [0.0], [0.5], [0.5]]),
        )
    )


LOW = np.array([0.0, 0.0, -1.0, -2.0, -2.0, -1.0, 0.0, 0.0, -1.0])
HIGH = np.array([2.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])


def raw_network(rng, *, outputs=1, free=False):
    """Two members on raw columns; with `free`, the city enters through a free branch; outputs: classes of a softmax."""
    branch = FreeBranch(([[1.0], [-0.5]],), ([0.0, 0.1],), ("tanh",)) if free else None
    low, high = (np.append(LOW, -1.0), np.append(HIGH, 1.0)) if free else (LOW, HIGH)
    if outputs > 1:  # P(class 0) rises with age: its own logit rises, the others fall
        low, high = (np.stack([low] + [-high] * (outputs - 1), 1), np.stack([high] + [-low] * (outputs - 1), 1))
    box = SlopeBounds(low, high)
    sizes = [len(low), 6, 4, 1]
    members = [
        tuple(Trunk(convex(rng, sizes, 2, box.for_output(k)), (k,)) for k in reversed(range(outputs))) for _ in range(2)
    ]
    link = OutputLink("softmax", tuple("abc"[:outputs])) if outputs > 1 else OutputLink("logit", (False, True))
    return FrozenNetwork(
        box, tuple(members), [0.25, 0.75], branch, ("city code",) if free else None, inputs=inputs(), link=link
    )


@cache
def networks() -> dict[str, FrozenNetwork]:
    rng = np.random.default_rng(5)
    found = {name: f for name, f in frozen_networks(rng).items() if name != "householder"}
    found["raw"] = raw_network(rng)
    found["raw, free branch"] = raw_network(rng, free=True)
    found["raw, classes"] = raw_network(rng, outputs=3)
    box = SlopeBounds(LOW, HIGH)
    signed, averaged = paper(rng, [9, 4, 1], 2, box), convex(rng, [9, 6, 1], 3, box)
    found["raw, both forms"] = FrozenNetwork(
        box, ((Trunk(signed, (0,)),), (Trunk(averaged, (0,)),)), [0.5, 0.5], inputs=inputs()
    )
    promise = SlopeBounds([-4.0] * 3, [4.0] * 3, ("age", "debt", "dose"))
    found["raw, promised"] = replace(found["raw"], raw_promise=promise)
    return found


@cache
def _texts() -> dict[str, str]:
    return {name: certify(network).to_json() for name, network in networks().items()}


def documents(name: str) -> dict:
    """A fresh copy of the certificate of one of `networks()`."""
    return json.loads(_texts()[name])


def resealed(document: dict) -> dict:
    """What somebody who edits a document would do: digest and sha256 fit again, and only the proof can fail."""
    document = copy.deepcopy(document)
    with contextlib.suppress(KeyError, TypeError, AttributeError, ValueError):  # of such a document there is no digest
        structure = {k: v for k, v in document["structure"].items() if k not in checker.RESERVED or v != []}
        sha = hashlib.sha256(json.dumps(["monolip.FrozenNetwork", 2, structure], sort_keys=True).encode())
        for name, entry in sorted(document["tensors"].items()):
            sha.update(f"|{name}|{tuple(entry['shape'])}|".encode() + base64.b64decode(entry["data"]))
        document["digest"] = sha.hexdigest()
    body = {key: value for key, value in document.items() if key != "sha256"}
    document["sha256"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return document


def accepts(tmp_path: Path, document: dict | str | bytes) -> bool:
    """Whether the checker accepts; anything but its two ways to end is an error."""
    path = tmp_path / "certificate.json"
    data = json.dumps(document) if isinstance(document, dict) else document
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    status = checker.main([str(path)])
    assert status in (0, 1)
    return status == 0


def tensor(document: dict, name: str) -> list[float]:
    raw = base64.b64decode(document["tensors"][name]["data"])
    return list(struct.unpack(f"<{len(raw) // 8}d", raw))


def set_tensor(document: dict, name: str, values, shape=None) -> None:
    entry = document["tensors"][name]
    entry["data"] = base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode()
    entry["shape"] = entry["shape"] if shape is None else list(shape)


def edited(document: dict, name: str, at: int, value) -> None:
    """One number of a tensor replaced: by a value, or by a function of it."""
    values = tensor(document, name)
    values[at] = value(values[at]) if callable(value) else value
    set_tensor(document, name, values)
