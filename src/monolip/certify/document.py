"""The document of a certificate: one JSON object with every number the checker needs, sealed by a sha256.

The network travels as its file has it, structure and named tensors, so that its digest can be recomputed from either.
checker/SPECIFICATION.md is the definition; the checker shares no code with this file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip._version import __version__
from monolip.certify.document_claims import claims_of
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import take_apart

__all__ = ["ARITHMETIC", "FORMAT", "VERSION", "assemble", "document_of", "encode", "seal"]

FORMAT, VERSION = "monolip.Certificate", 2
ARITHMETIC = (
    "float64, to nearest, no fast-math, NaN refused; u clamped outside +-limit; z = b, z = fl(z + fl(w[j] * u[j])) for "
    "j = 0, 1, ..; groups sorted; members: total = 0, total = fl(total + fl(weight * f)) in order"
)


def document_of(network: FrozenNetwork) -> dict[str, Any]:
    """The sealed document of kind real+ordered."""
    return assemble("real+ordered", network.digest, *take_apart(network), claims_of(network), ARITHMETIC)


def assemble(
    kind: str,
    digest: str,
    structure: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    claims: Mapping[str, Any],
    arithmetic: str,
) -> dict[str, Any]:
    """The sealed document of any kind: a network as its file has it, claims, and the arithmetic they hold in."""
    return seal(
        {
            "format": FORMAT,
            "version": VERSION,
            "kind": kind,
            "digest": digest,
            "structure": json.loads(json.dumps(structure)),  # tuples become lists, as in a file
            "tensors": {name: encode(array) for name, array in tensors.items()},
            "claims": claims,
            "arithmetic": arithmetic,
            "versions": {"monolip": __version__, "numpy": np.__version__, "python": platform.python_version()},
        }
    )


def encode(array: NDArray[Any]) -> dict[str, Any]:
    """Type ("f8" or "i8"), shape, and little-endian bytes in base64.

    >>> encode(np.array([1.0]))
    {'dtype': 'f8', 'shape': [1], 'data': 'AAAAAAAA8D8='}
    """
    dtype = "f8" if array.dtype.kind == "f" else "i8"
    plain = np.ascontiguousarray(array, dtype="<" + dtype)
    return {"dtype": dtype, "shape": list(array.shape), "data": base64.b64encode(plain.tobytes()).decode()}


def seal(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the sha256 of its canonical text: damage is noticed; it is not a signature."""
    body = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(body, sort_keys=True)
    return {**body, "sha256": hashlib.sha256(text.encode()).hexdigest()}
