r"""LHCb's two JSON dialects: Allen (HLT1, CUDA) and SigmaNet (HLT2, C++); written where they can hold the network.

    response = g(x) + sigma * dot(x, constraints)        then a sigmoid; float32; GroupSort in pairs

Readers take weights as they stand, so convex form needs no translation: sigma = 0 leaves g(x) = f(x), with every
direction bit for bit. With residual = lambda > 0 it is written in paper form, W1 - lambda * constraints, for people who
compare with models trained that way; slopes are then checked exactly, and directions hold up to rounding.
"""

from __future__ import annotations

import json
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.convex import ConvexForm
from monolip.errors import CertificateError, FreezeError, InputError
from monolip.export.allen_response import allen_response
from monolip.export.folding import fold_inputs
from monolip.export.onnx_parity import Artefact, Columns, measured
from monolip.export.onnx_source import network_for, write_file
from monolip.export.parity import ParityReport
from monolip.frozen import FrozenNetwork

__all__ = ["to_allen_json"]

FloatArray = NDArray[np.float64]
WIDEST = 32  # Allen's scratch buffers hold 32 floats
_REACH = 1e6  # the readers clamp nothing: the report is about inputs of this size


def to_allen_json(
    model: Any,
    path: str | PathLike[str],
    *,
    arithmetic: str = "float32",
    dialect: str = "allen",
    residual: float = 0.0,
    nominal_cut: float = 0.5,
    ranges: ArrayLike | None = None,
    rows: int = 2000,
) -> ParityReport:
    """Write a network for LHCb's readers, evaluate the file as they do in float32, and return the parity report.

    Args:
        model: one member and one output in convex form, GroupSort in pairs, columns as they are or linear: a
            MonotonicClassifier with n_estimators=1 and every feature in slopes=, or a FrozenNetwork. Linear maps are
            folded into the first layer (see `fold_inputs`).
        path: of the file, which appears whole or not at all.
        arithmetic: "float32", which is what the readers compute in.
        dialect: "allen" (HLT1; hidden widths even and at most 32) or "hlt2" (SigmaNet).
        residual: sigma; 0 keeps convex form. Otherwise constraints are +1, -1 and 0 for increasing, decreasing and
            other features, and sigma times them is taken out of the first layer.
        nominal_cut: written for "allen": the probability above which a candidate is kept.
        ranges: "hlt2" only: (low, high) per feature, (n_features, 2); the reader clamps g's inputs to them.
    """
    if arithmetic != "float32":
        raise InputError(f"LHCb's readers compute in float32; got arithmetic={arithmetic!r}; leave it out.")
    if not isinstance(nominal_cut, int | float | np.number) or not 0 <= nominal_cut <= 1:
        raise InputError(f"nominal_cut is a probability, 0 to 1; got {nominal_cut!r}; pass for example 0.5.")
    given = getattr(model, "frozen_", model)
    folded = fold_inputs(given) if isinstance(given, FrozenNetwork) else given
    network = network_for(folded, "float32")
    assert isinstance(network, FrozenNetwork), "float32 is never fixed point"
    form = _checked(network, dialect)
    box = network.bounds.for_output(0)
    constraints = np.where(box.lower >= 0, 1, np.where(box.upper <= 0, -1, 0)) * (box.lower < box.upper)
    first = _without_residual(network, form, residual, constraints)
    weights = [first, *form.weights[1:]]
    limits = _ranges(ranges, network.n_features) if dialect == "hlt2" else None
    document = _document(dialect, weights, form.biases, residual, constraints, nominal_cut, limits)
    text = json.dumps(document, indent=1)
    read = json.loads(text)

    def run(columns: Columns) -> NDArray[Any]:
        return allen_response(read, np.stack(columns, axis=1), constraints)

    def terms(columns: Columns) -> FloatArray:  # taken out of the first layer, and added again
        return np.asarray(2 * residual * np.abs(np.stack(columns, axis=1)).sum(axis=1, keepdims=True))

    inside = np.full((network.n_features, 2), (-_REACH, _REACH)) if limits is None else limits
    exact = residual == 0.0
    how = "the reader's float32 arithmetic, repeated in numpy, inputs inside " + (
        "+-1e6" if limits is None else "ranges"
    )
    artefact = Artefact(f"{dialect}_json", "float32", path, exact, how)
    report = measured(network, run, artefact, rows=rows, model=model, inside=inside, extra=terms)
    write_file(text.encode(), path)
    return report


def _checked(network: FrozenNetwork, dialect: str) -> ConvexForm:
    """The one convex form the dialect can hold; everything else is refused, with the reason."""
    if dialect not in ("allen", "hlt2"):
        raise InputError(f"a dialect is 'allen' or 'hlt2'; got {dialect!r}; choose one.")
    form = network.members[0][0].form
    widths = [len(b) for b in form.biases[:-1]]
    reasons = {
        "it has one network; got several members (estimators: n_estimators=1)": len(network.members) > 1
        or len(network.members[0]) > 1,
        "it has one output; got several": network.n_outputs != 1,
        "it has no free branch; got one": network.free_branch is not None,
        "its sigmoid means a logit link (a classifier of two classes); got another": network.link is not None
        and network.link.name != "logit",
        "its sorts are of pairs; got other groups": not isinstance(form, ConvexForm) or set(form.group_sizes) - {2},
        f"hidden widths are at most {WIDEST}; got {max(widths, default=0)}": dialect == "allen"
        and max(widths, default=0) > WIDEST,
    }
    broken = [reason for reason, holds in reasons.items() if holds]
    if broken:
        raise FreezeError(
            f"the {dialect} dialect cannot hold this network: {broken[0]}; export JSON, C or ONNX instead."
        )
    assert isinstance(form, ConvexForm)
    return form


def _without_residual(network: FrozenNetwork, form: ConvexForm, residual: float, constraints: Any) -> FloatArray:
    """W1 - residual * constraints in float32, such that the sum of both lies in the promise, exactly."""
    if not (np.isfinite(residual) and residual >= 0 and float(np.float32(residual)) == residual):
        raise InputError(f"residual is a float32 number >= 0; got {residual!r}; pass for example 2.0.")
    if residual == 0.0:
        return form.weights[0]
    bounds = network.bounds.for_output(0)
    out = np.asarray(form.weights[0] - residual * constraints, dtype=np.float32)
    for i, c in enumerate(constraints.tolist()):
        low, high = Fraction(float(bounds.lower[i])), Fraction(float(bounds.upper[i]))
        for k in range(len(out)):
            slope = Fraction(float(out[k, i])) + Fraction(residual) * c
            if not low <= slope <= high:
                out[k, i] = np.nextafter(out[k, i], np.float32(np.inf if slope < low else -np.inf))
                slope = Fraction(float(out[k, i])) + Fraction(residual) * c
            if not low <= slope <= high:
                raise CertificateError(
                    f"first-layer weight and residual must add up inside the promise; feature {i} cannot in float32; "
                    "export with residual=0."
                )
    return out.astype(np.float64)


def _ranges(ranges: ArrayLike | None, count: int) -> FloatArray:
    if ranges is None:
        raise InputError("the hlt2 dialect clamps its inputs; got no ranges; pass ranges=[(low, high), ...].")
    table = np.asarray(ranges, dtype=np.float32).astype(np.float64)
    if table.shape != (count, 2) or not np.isfinite(table).all() or not (table[:, 0] < table[:, 1]).all():
        raise InputError(f"ranges are {count} pairs low < high; got shape {table.shape}; pass one pair per feature.")
    return table


def _document(
    dialect: str, weights: Any, biases: Any, residual: float, constraints: Any, cut: float, limits: FloatArray | None
) -> dict[str, Any]:
    """Numbers are float32 values written exactly; hlt2 readers walk keys in order, so ranges come first."""
    out: dict[str, Any] = {} if limits is None else {"variables_constraints": limits.tolist()}
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        name = f"sigmanet.nn.{2 * k}" if dialect == "allen" else f"sigmanet.nn.{2 * k:02d}"
        kind = "weight" if dialect == "allen" else "parametrizations.weight.original"
        out[f"{name}.{kind}"], out[f"{name}.bias"] = weight.tolist(), bias.tolist()
    out["sigmanet.sigma"] = [float(residual)]
    if dialect == "allen":
        out |= {"nominal_cut": float(cut), "n_features": len(constraints), "constraints": constraints.tolist()}
    return out
