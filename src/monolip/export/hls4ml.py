r"""A plain torch module in split form that hls4ml converts as it is, with the certificate of the integers it becomes.

    sums       exact: accumulators hold every product and partial sum
    results    one rounding a layer, down (AP_TRN) or half up (AP_RND)
    types      ap_fixed<W,I> of one's choice for inputs, activations and outputs; no word can overflow, or it clamps

So the converted network computes FixedPointNetwork's integers, bit for bit, and its certificate is theirs. Types and
modes in which that cannot be proved are refused with the reason.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.certificate import certify
from monolip.errors import InputError, MissingExtraError, PrecisionError
from monolip.export.hls4ml_layers import Steps
from monolip.export.hls4ml_network import words_network
from monolip.export.hls4ml_simulation import missing_tool, simulated, version
from monolip.export.hls4ml_source import module_source
from monolip.export.onnx_parity import Artefact, Columns, measured, require_rows
from monolip.export.onnx_source import write_file
from monolip.export.parity import ParityReport
from monolip.fixed_point_format import FixedPointFormat

__all__ = ["hls4ml_module", "to_hls4ml_module"]


def to_hls4ml_module(
    model: Any,
    path: str | PathLike[str],
    *,
    arithmetic: str = "fixed-point",
    precision: str | None = "ap_fixed<16,6>",
    weight_bits: int | None = None,
    preset: str | FixedPointFormat = "narrow",
    input_ranges: Any = None,
    rows: int = 500,
) -> ParityReport:
    """Write a Python file with `Model` (torch), `CONFIG` (hls4ml) and `convert`; return the report of its C simulation.

    Args:
        model: a fitted estimator or a FrozenNetwork in convex form; a FixedPointNetwork with precision=None.
        path: of the file, which appears whole or not at all; it imports torch, and hls4ml where it converts.
        arithmetic: "fixed-point", the only one there is in hardware.
        precision: type of inputs, activations and outputs: ap_fixed<W,I>, with modes AP_TRN or AP_RND and AP_WRAP (no
            overflow is possible) or AP_SAT_SYM (hidden layers clamp). None: words in the units of `preset`.
        weight_bits: of weights; default: W.
        preset, input_ranges: of `compile_fixed_point`; the input type covers the largest declared range.
        rows: how many the C simulation is measured on; 0: no simulation. Without it (or hls4ml, or g++) the file is
            written, and the report says that nothing was measured.

    Examples:
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> form = ConvexForm(([[0.0], [1.0]], [[0.25, 0.75]]), ([0.0, 0.0], [0.0]), (2,))
        >>> dose = FrozenNetwork(SlopeBounds([0.0], [1.0], ("dose",)), ((Trunk(form, (0,)),),))
        >>> try:
        ...     to_hls4ml_module(dose, "dose_hls.py", input_ranges=[(0, 100)])
        ... except ValueError as error:
        ...     print(str(error)[:76])
        inputs must fit the chosen type; they reach 100, beyond ap_fixed<16,6,AP_TRN
    """
    require_rows(rows, least=0)
    steps, source, certificate = _made(model, arithmetic, precision, weight_bits, preset, input_ranges)
    lacking, network = missing_tool() if rows else "rows=0: not simulated", steps.network
    if lacking is None:
        report = _simulated_report(steps, source, path, rows, model)
    else:
        how = f"{lacking}; compare its C simulation with FixedPointNetwork.evaluate where you convert"
        digest = (network.digest, certificate)
        report = ParityReport("hls4ml", "fixed-point", Path(path).name, *digest, True, (), how)
    write_file(source.encode(), path)
    return report


def hls4ml_module(
    model: Any,
    *,
    arithmetic: str = "fixed-point",
    precision: str | None = "ap_fixed<16,6>",
    weight_bits: int | None = None,
    preset: str | FixedPointFormat = "narrow",
    input_ranges: Any = None,
) -> Any:
    """The torch module of that file (float64, not rounded).

    Its `hls_config` is what hls4ml needs to convert it, its `fixed_point` the FixedPointNetwork that is then computed:
    `certify(module.fixed_point)` is the certificate.
    """
    steps, source, _ = _made(model, arithmetic, precision, weight_bits, preset, input_ranges)
    names = _executed(source)
    module = names["Model"]().eval()
    module.hls_config, module.fixed_point = names["CONFIG"], steps.network
    return module


def _made(
    model: Any, arithmetic: str, precision: str | None, weight_bits: int | None, preset: Any, input_ranges: Any
) -> tuple[Steps, str, str]:
    if arithmetic != "fixed-point":
        raise InputError(f"hls4ml computes in fixed point; got arithmetic={arithmetic!r}; leave it out.")
    steps = Steps(*words_network(model, precision, weight_bits, preset, input_ranges))
    certificate = str(certify(steps.network).document["sha256"])
    transformed = getattr(getattr(model, "frozen_", model), "inputs", None) is not None
    return steps, module_source(steps, certificate, transformed), certificate


def _executed(source: str) -> dict[str, Any]:
    """What the file defines."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError("torch", "torch") from None
    names: dict[str, Any] = {"__name__": "monolip_hls4ml_module"}
    exec(compile(source, "hls4ml module", "exec"), names)
    return names


def _simulated_report(steps: Steps, source: str, path: str | PathLike[str], rows: int, model: Any) -> ParityReport:
    network, fraction = steps.network, steps.chosen.fraction

    with simulated(_executed(source)["convert"], steps) as simulation:

        def words(x: NDArray[np.int64]) -> NDArray[np.int64]:
            f = np.ldexp(simulation(np.ldexp(x.astype(np.float64), -fraction)), fraction)
            return np.asarray(f).astype(np.int64)

        def run(columns: Columns) -> NDArray[Any]:
            return network.link.scores(words(network.quantise(columns)))

        if network.vectors is not None and not np.array_equal(words(network.vectors[0]), network.vectors[1]):
            raise PrecisionError("the C simulation must give the known vectors; it rounds differently; report this.")
        artefact = Artefact("hls4ml", "fixed-point", path, True, version())
        return measured(network, run, artefact, rows=rows, model=model)
