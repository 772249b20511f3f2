"""to_c: one self-contained C99 header (also C++17 and CUDA) that computes what was certified, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.certificate import Certificate, certify
from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.fixed_point_claims import certify_fixed_point
from monolip.errors import FreezeError, InputError, PrecisionError
from monolip.export.c_build import FLAGS, CompiledHeader, compiled_header, find_compiler
from monolip.export.c_float32 import evaluate_float32, to_float32
from monolip.export.c_header import HeaderParts, header_text
from monolip.export.c_network import CNetwork, fixed_point_layers, float_layers
from monolip.export.c_self_test import SelfTestVectors, predictions_of
from monolip.export.c_text import check_name
from monolip.export.c_whole import WholeTable
from monolip.export.c_whole_rows import beside_tables, tables_of, whole_beside, whole_rows
from monolip.export.onnx_source import write_file
from monolip.export.parity import ParityReport, ParityRow, measure_parity
from monolip.export.parity_inputs import columns_from_codes, invalid_rows, parity_inputs, raw_columns_of
from monolip.export.parity_trained import difference_from_trained
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_format import FixedPointFormat
from monolip.frozen import FrozenNetwork

__all__ = ["c_reference", "to_c"]

Network = FrozenNetwork | FixedPointNetwork
_ARITHMETICS = ("float32", "float64", "fixed-point")
_VECTORS = 16  # of each kind, in the self-test
_ENTRIES = 256  # rows of whole numbers, before a header is written


def to_c(
    model: Any,
    path: str | PathLike[str],
    *,
    arithmetic: str = "float64",
    name: str | None = None,
    fused: bool = False,
    preset: str | FixedPointFormat = "wide",
    input_ranges: Any = None,
) -> ParityReport:
    """Write a C header, after compiling it here and comparing it with Python bit for bit.

    Args:
        model: a fitted estimator, a FrozenNetwork in convex form, or a FixedPointNetwork.
        path: of the header; nothing is written unless every direction can be certified and was found in the artefact.
        arithmetic: "float64" (the bits of FrozenNetwork.evaluate), "float32", or "fixed-point" (the bits of
            FixedPointNetwork.evaluate).
        name: prefix of every C name; default: the file's name.
        fused: float32 only: multiply and add with one rounding (fmaf). Monotone alike, twice as fast where the
            processor has the instruction (-march=native or -mfma), slow where it has not.
        preset, input_ranges: of `compile_fixed_point`, where model is not a FixedPointNetwork already.

    Examples:
        >>> from monolip import ConvexForm, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> form = ConvexForm(([[0.0], [1.0]], [[0.25, 0.75]]), ([0.0, 0.0], [0.0]), (2,))
        >>> dose = FrozenNetwork(SlopeBounds([0.0], [1.0], ("dose",)), ((Trunk(form, (0,)),),))
        >>> import tempfile
        >>> report = to_c(dose, tempfile.mkdtemp() + "/dose.h")
        >>> report.passed, report.max_difference
        (True, 0.0)
    """
    name = check_name(Path(path).stem if name is None else name)
    network, source = _network_of(model, arithmetic, preset, input_ranges)
    if fused and arithmetic != "float32":
        raise InputError(f"fused=True goes with arithmetic='float32'; got {arithmetic!r}; leave it out.")
    layers = _layers_of(network, arithmetic, fused)
    certificate = _certificate_of(network)
    parts = HeaderParts(name, network, layers, certificate, source, _vectors(network, layers))
    text = header_text(parts)
    rows, how, moved = _measured(parts, text, model)
    sha = str(certificate.document["sha256"])
    report = ParityReport("c", arithmetic, Path(path).name, network.digest, sha, True, rows, how, moved)
    if report.passed is False:
        raise PrecisionError(f"a header must give the bits that were proved; it was not written;\n{report}")
    write_file(text.encode("ascii"), path)
    return report


def c_reference(network: Network, layers: CNetwork, rows: NDArray[np.float64]) -> NDArray[Any]:
    """What the header must give, computed by numpy: raw rows (n, raw), categories as codes -> (n, n_outputs)."""
    invalid = invalid_rows(network, rows)
    known = np.where(invalid[:, None] & np.isnan(rows), 0.0, rows)
    if layers.number == "float":
        with np.errstate(over="ignore"):
            known = known.astype(np.float32).astype(np.float64)
    columns = columns_from_codes(network, known) if raw_columns_of(network) else None
    if isinstance(network, FixedPointNetwork):
        f = network.evaluate_raw(columns)
        lowest = np.iinfo(np.int32 if layers.number == "int32_t" else np.int64).min
        return np.where(invalid[:, None], lowest, f)
    model = known if columns is None or network.inputs is None else network.inputs.evaluate(columns)
    if layers.number == "float":
        return np.where(invalid[:, None], np.float32(np.nan), evaluate_float32(layers, model))
    return np.where(invalid[:, None], np.nan, network.evaluate(model))


def _network_of(model: Any, arithmetic: str, preset: Any, ranges: Any) -> tuple[Network, str]:
    """What is exported, and the digest of what it was made from."""
    if arithmetic not in _ARITHMETICS:
        raise InputError(f"arithmetic is one of {', '.join(_ARITHMETICS)}; got {arithmetic!r}; choose one.")
    if isinstance(model, FixedPointNetwork):
        if arithmetic != "fixed-point":
            raise InputError(f"a FixedPointNetwork is exported as 'fixed-point'; got {arithmetic!r}; say so.")
        _refuse_free(model.free is not None)
        return model, model.source
    network = model if isinstance(model, FrozenNetwork) else getattr(model, "frozen_", None)
    if not isinstance(network, FrozenNetwork):
        raise InputError(
            f"to_c takes a fitted estimator, a FrozenNetwork or a FixedPointNetwork; got {type(model).__name__}; fit "
            "or freeze it first."
        )
    _refuse_free(network.free_branch is not None)
    if arithmetic == "fixed-point":
        return compile_fixed_point(network, preset, input_ranges=ranges), network.digest
    if not network.is_convex:
        raise FreezeError(
            "float arithmetic keeps directions bit for bit in convex form only; got paper form; use to_convex(), or "
            "arithmetic='fixed-point'."
        )
    return (to_float32(network) if arithmetic == "float32" else network), network.digest


def _refuse_free(has_branch: bool) -> None:
    if has_branch:
        raise FreezeError(
            "a header repeats Python's bits, and a C library's tanh and exp need not; got a free branch; evaluate the "
            "branch in its own runtime and export the rest."
        )


def _layers_of(network: Network, arithmetic: str, fused: bool) -> CNetwork:
    if isinstance(network, FixedPointNetwork):
        return fixed_point_layers(network)
    try:
        return float_layers(network, "float" if arithmetic == "float32" else "double", fused)
    except ValueError as error:
        raise FreezeError(f"sums must fit float32; {error}; export float64.") from None


def _certificate_of(network: Network) -> Certificate:
    return certify_fixed_point(network) if isinstance(network, FixedPointNetwork) else certify(network)


def _measured(parts: HeaderParts, text: str, model: Any) -> tuple[tuple[ParityRow, ...], str, float | None]:
    compiler = find_compiler()
    if compiler is None:
        return (), "no C compiler here; compile with -DNAME_SELF_TEST and run it where you deploy", None
    layers = parts.layers
    built = compiled_header(text, parts.name, layers.number, layers.n_outputs, compiler)

    def reference(x: NDArray[np.float64]) -> NDArray[Any]:
        return c_reference(parts.network, layers, x)

    rows = measure_parity(built.batch, reference, parts.network, parts.certificate)
    tables = tables_of(raw_columns_of(parts.network), layers)
    every = _whole_numbers(parts.network, tables, _ENTRIES)
    beside = whole_beside(every, beside_tables(tables))
    vectors = [parts.vectors, *(_answered(parts.network, layers, x) for x in (every, beside) if len(x))]
    if not all(_gives_its_vectors(built, each) for each in vectors):
        raise PrecisionError(
            "a header must give its own test vectors; this one does not, and was not written; report this."
        )

    def scores(x: NDArray[np.float64]) -> NDArray[Any]:
        f = built.batch(x)
        return parts.network.link.scores(f) if isinstance(parts.network, FixedPointNetwork) else f

    moved = difference_from_trained(scores, model, parts.network)
    return rows, " ".join([Path(compiler).name, *FLAGS]), moved


def _vectors(network: Network, layers: CNetwork) -> SelfTestVectors:
    """Rows of every kind, and what each function of the header must give for them."""
    rng = np.random.default_rng(0)
    kinds = ["random", "boundary", "extreme"]
    x = np.vstack([parity_inputs(network, kind, _VECTORS, rng) for kind in kinds])
    tables = tables_of(raw_columns_of(network), layers)
    whole = _whole_numbers(network, tables, 2 * _VECTORS)  # whole blocks of what tables know
    gone = np.full((1, x.shape[1]), np.nan)  # missing, or invalid: a build without NaN is found
    answered = _answered(network, layers, np.vstack([x, whole, gone]))
    return replace(answered, whole=(len(x), len(whole)), beside=tuple(beside_tables(tables)))


def _whole_numbers(network: Network, tables: list[WholeTable], rows: int) -> NDArray[np.float64]:
    """At least so many rows that are looked up in the header's tables, every entry among them; none without tables."""
    return whole_rows(tables, parity_inputs(network, "random", rows, np.random.default_rng(1)))


def _answered(network: Network, layers: CNetwork, x: NDArray[np.float64]) -> SelfTestVectors:
    with np.errstate(over="ignore"):  # beyond float32: infinity, as a cast in C
        rounded = x.astype(np.float32).astype(np.float64)
    f = c_reference(network, layers, x)
    return SelfTestVectors(x, f, c_reference(network, layers, rounded), predictions_of(network, layers, f))


def _gives_its_vectors(built: CompiledHeader, vectors: SelfTestVectors) -> bool:
    """What the self-test asks, asked here: every function, bit for bit."""
    x, f, g = vectors.x, vectors.outputs, vectors.float_outputs
    pairs = [(built.score(x), f), (built.batch(x), f), (built.score_float(x), g), (built.batch_float(x), g)]
    pairs.append((built.predict(f), vectors.predictions))
    return all(np.array_equal(a, b, equal_nan=b.dtype.kind == "f") for a, b in pairs)
