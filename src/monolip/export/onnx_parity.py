"""The parity report of an artefact that takes raw columns, measured against the library's own evaluation.

Where the same bits are not promised, differences are relative to max(1, |score|): extreme rows have extreme scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.certify.certificate import certify
from monolip.errors import InputError, PrecisionError
from monolip.export.c_float32 import evaluate_float32
from monolip.export.c_network import float_layers
from monolip.export.onnx_source import Network, features_of, is_ordered
from monolip.export.parity import ParityReport, measure_parity
from monolip.export.parity_inputs import columns_from_codes, raw_columns_of
from monolip.export.parity_room import rounding_room
from monolip.export.parity_trained import difference_from_trained
from monolip.fixed_point import FixedPointNetwork

__all__ = ["Artefact", "Columns", "Run", "measured", "reference_scores", "require_rows"]

FloatArray = NDArray[np.float64]
Columns = list[Any]
Run = Callable[[Columns], NDArray[Any]]

_FAR = 1e3  # features of a free branch stay within: beyond, it may overflow, which Python refuses


class Artefact(NamedTuple):
    """What is measured: who wrote it, in which arithmetic, where it goes, and how it is run.

    exact: whether it promises the library's bits, and so every direction.
    """

    exporter: str
    arithmetic: str
    path: str | PathLike[str]
    exact: bool
    how: str


def measured(
    network: Network,
    run: Run,
    artefact: Artefact,
    *,
    rows: int = 2000,
    inside: FloatArray | None = None,
    model: Any = None,
    extra: Callable[[Columns], FloatArray] | None = None,
) -> ParityReport:
    """Run the artefact on random, boundary and extreme rows; raise PrecisionError if it is not what it promises to be.

    That is the library's bits (exact=True), or its numbers and directions up to rounding (see `parity_room`).

    Args:
        network: what was exported.
        run: scores (n, n_outputs) of raw columns, by the artefact itself.
        inside: (low, high) per feature that inputs are clamped to first, where a format says nothing beyond; missing
            values count as the middle.
        model: what the network was made from, for the difference from it.
        extra: sums of absolute terms of raw columns, (n, 1), that the artefact has and the network has not.
    """
    require_rows(rows)
    certificate = certify(network)
    last: list[NDArray[Any]] = []
    relative: list[float] = []

    def columns(x: FloatArray) -> Columns:
        return _columns(network, x, inside, artefact.arithmetic)

    def scores(x: FloatArray) -> NDArray[Any]:
        last[:] = [np.asarray(run(columns(x)))]
        return last[0]

    def reference(x: FloatArray) -> NDArray[Any]:
        expected = reference_scores(network, columns(x), artefact.arithmetic)
        gap = np.abs(last[0].astype(np.float64) - expected) / np.maximum(1.0, np.abs(expected))
        relative.append(float(np.where(np.isnan(gap), np.inf, gap).max()))
        return expected

    def room(x: FloatArray) -> FloatArray:
        given = columns(x)
        return rounding_room(network, given, artefact.arithmetic, 0.0 if extra is None else extra(given))

    table = measure_parity(scores, reference, network, certificate, rows=rows, room=None if artefact.exact else room)
    how = artefact.how
    if not artefact.exact:
        table = tuple(replace(row, max_difference=gap) for row, gap in zip(table, relative, strict=True))
        how += "; differences relative to max(1, |score|)"
    moved = difference_from_trained(scores, model, network, min(rows, 500))
    sha = str(certificate.document["sha256"])
    exporter, arithmetic, path, exact, _ = artefact
    report = ParityReport(exporter, arithmetic, Path(path).name, network.digest, sha, exact, table, how, moved)
    if not report.passed:
        promise = "the library's bits" if exact else "the library's numbers up to rounding"
        raise PrecisionError(
            f"this form promises {promise}; it does not give them here, and was not written;\n{report}"
        )
    return report


def _columns(network: Network, x: FloatArray, inside: FloatArray | None, arithmetic: str) -> Columns:
    """Raw columns of rows with codes, as the artefact takes them."""
    x, free = x.copy(), _free_features(network)
    x[:, free] = np.clip(x[:, free], -_FAR, _FAR)
    x = x if inside is None else np.clip(np.where(np.isnan(x), inside.mean(axis=1), x), *inside.T)
    if arithmetic == "float32":
        with np.errstate(over="ignore"):
            x = x.astype(np.float32).astype(np.float64)
    return list(columns_from_codes(network, x)) if raw_columns_of(network) else list(x.T)


def require_rows(rows: Any, least: int = 1) -> None:
    """Refuse what is no count of rows."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < least:
        raise InputError(f"rows is an integer >= {least}; got {rows!r}; leave it out.")


def reference_scores(network: Network, columns: Columns, arithmetic: str) -> NDArray[Any]:
    """Scores of the library itself; float32 in the order and with the rounding of the C header."""
    if isinstance(network, FixedPointNetwork):
        return network.link.scores(network.evaluate_raw(columns))
    model = np.stack(columns, axis=1) if network.inputs is None else network.inputs.evaluate(columns)
    if arithmetic != "float32" or not is_ordered(network):
        return network.evaluate(model)
    return evaluate_float32(float_layers(network, "float", False), model)


def _free_features(network: Network) -> list[int]:
    """Positions of features that enter a free branch."""
    count = len(features_of(network))
    if isinstance(network, FixedPointNetwork):
        return list(range(len(network.inputs.columns), count))
    if network.inputs is None:
        return list(range(network.n_features, count))
    return [i for i in range(count) if network.inputs.starts[i] >= network.n_features]
