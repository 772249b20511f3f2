"""What the page's scorer needs beside the certificate: clamps, the table behind e^x, and rows with Python's answers.

The network itself is read from the certificate that the page carries, so the page scores with the proved numbers.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.parity_inputs import columns_from_codes, parity_inputs
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.output_link import ordered_exp

__all__ = ["page_rows", "scorer_data"]

_GRID, _LIMIT = 64, 708
N_CHECKS = 24  # rows of each kind that the page scores when it opens, beside Python's answers


def scorer_data(network: FrozenNetwork) -> dict[str, Any]:
    """{"limits", "exp", "checks"}: of a network in convex form with an input transform and a link."""
    assert network.link is not None
    members = enumerate(network.members)
    limits = {
        f"member.{m}.trunk.{t}": trunk.form.clamp_limit for m, member in members for t, trunk in enumerate(member)
    }
    return {
        "limits": limits,
        "exp": None if network.link.name == "identity" else _packed_exp(),
        "checks": _checks(network),
    }


def page_rows(network: FrozenNetwork, rows: NDArray[np.float64]) -> list[list[float | int | None]]:
    """Rows with categories as codes, as the page takes them: None where missing."""
    assert network.inputs is not None
    kinds = [isinstance(column, CategoryColumn) for column in network.inputs.columns]
    return [[_plain(v, k) for v, k in zip(row, kinds, strict=True)] for row in rows.tolist()]


def _plain(value: float, is_category: bool) -> float | int | None:
    return int(value) if is_category else None if math.isnan(value) else value


def _checks(network: FrozenNetwork) -> dict[str, Any]:
    """Rows at random places, at knots and beside them, with f and the predictions as Python has them."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([parity_inputs(network, kind, N_CHECKS, rng) for kind in ("random", "boundary")])
    f = network.evaluate_raw(columns_from_codes(network, rows))
    assert network.link is not None
    predictions = np.asarray(network.link.apply(f)).reshape(len(f), -1)
    return {"rows": page_rows(network, rows), "f": f.tolist(), "predictions": predictions.tolist()}


@cache
def _packed_exp() -> dict[str, str]:
    """e^k, e^(i/64), and by how many ulps Python's entry of the table differs from their product: four bits each."""
    powers = np.array([math.exp(k) for k in range(-_LIMIT, _LIMIT + 1)])
    parts = np.array([math.exp(i / _GRID) for i in range(_GRID)])
    steps = np.arange(2 * _LIMIT * _GRID + 1)
    entries = ordered_exp(steps / _GRID - _LIMIT)  # on the grid the polynomial is 1: these are the entries
    last = math.exp((_LIMIT * _GRID + 1) / _GRID)  # only the upper clamp of the last cell reads it
    entries, steps = np.append(entries, max(last, entries[-1])), np.append(steps, steps[-1] + 1)
    ulps = entries.view(np.int64) - (powers[steps // _GRID] * parts[steps % _GRID]).view(np.int64) + 8
    assert 0 <= ulps.min() <= ulps.max() <= 15, "four bits hold the difference"
    nibbles = np.append(ulps, np.full(len(ulps) % 2, 8)).astype(np.uint8).reshape(-1, 2)
    return {
        "powers": _base64(powers.astype("<f8")),
        "parts": _base64(parts.astype("<f8")),
        "ulps": _base64(nibbles[:, 0] | (nibbles[:, 1] << 4)),
    }


def _base64(array: NDArray[Any] | Sequence[float]) -> str:
    return base64.b64encode(np.asarray(array).tobytes()).decode()
