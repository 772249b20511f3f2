r"""A file of LHCb's two JSON dialects becomes a FrozenNetwork with its promise proved, or an error that says why not.

    slopes of feature i:   sigma c_i -+ R_i,     R_i = max |W1[:, i]| * product of the largest row sums of later layers

(or another chain of norms where one is better: `paper_import`), in exact rational arithmetic of the file's numbers.
A constrained feature needs R_i <= sigma; files that were normalised in float32 can miss that by a millionth, and those
of the published topological-trigger recipe (a factor 2 in every layer) miss it by a factor of hundreds. Later rows >= 0
with sum 1 are convex form, whose slopes are sharper.
"""

from __future__ import annotations

import reprlib
from fractions import Fraction
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.convex import ConvexForm
from monolip.errors import CertificateError, FrozenFileError
from monolip.export.allen_response import allen_layers, numbers_of
from monolip.export.paper_import import best_chain, paper_form_of
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.paper_form import PaperForm, Sort
from monolip.piecewise_linear import PiecewiseLinear
from monolip.rounding import exact_sum_is, round_down, round_up
from monolip.sealed_file import named_path, strict_json
from monolip.slopes import SlopeBounds

__all__ = ["from_allen_json"]

FloatArray = NDArray[np.float64]
_DEPLOYED = (1, 1, 0, 1)  # what Allen's reader assumes of four features where the file says nothing


def from_allen_json(
    path: str | PathLike[str], *, constraints: ArrayLike | None = None, max_bytes: int = 2**26
) -> FrozenNetwork:
    """The network of a file in either dialect, with a logit link.

    Args:
        path: of the file.
        constraints: +1, -1 or 0 per feature; default: those in the file, or Allen's (1, 1, 0, 1) for four features.

    HLT2 files clamp the inputs of g but not those of the residual: the network then has two columns per feature. Raises
    CertificateError where a constrained feature is not guaranteed, with the numbers; FrozenFileError for what is no
    such file. In paper form weights are divided by their norms: outputs agree to about 1e-15.
    """
    document = _read(named_path(path), max_bytes)
    layers = [(w.astype(np.float64), b.astype(np.float64)) for w, b in allen_layers(document)]
    weights, biases = [w for w, _ in layers], [b for _, b in layers]
    one = numbers_of(document.get("sigmanet.sigma"), 1, "sigmanet.sigma")
    if one.shape != (1,):
        raise FrozenFileError(f"{path} must hold sigmanet.sigma, a list of one number; got {len(one)}; check it.")
    sigma = float(one[0])
    if document.keys() & {"rescale_min", "rescale_max"}:
        raise FrozenFileError(f"{path} rescales its inputs, which is not imported; apply that beforehand.")
    if len(biases[-1]) != 1 or any(len(b) % 2 for b in biases[:-1]):
        raise FrozenFileError(f"{path} must have one output and even widths; got others; check it.")
    count = document.get("n_features", weights[0].shape[1])
    if type(count) is not int or count != weights[0].shape[1]:
        raise FrozenFileError(
            f"{path} must say how many features it has, {weights[0].shape[1]}; got {count!r:.40}; check it."
        )
    wanted = _constraints(constraints, document, count)
    mixing = all((w >= 0).all() and all(exact_sum_is(row, 1.0) for row in w.tolist()) for w in weights[1:])
    make = _convex if mixing else _paper
    form, bounds = make(weights, biases, sigma, wanted)
    link = OutputLink("logit", (0, 1))
    if "variables_constraints" not in document:
        return FrozenNetwork(bounds, ((Trunk(form, (0,)),),), link=link)
    inputs = _clamps(document["variables_constraints"], len(wanted), path)
    form, bounds = _apart(form, weights[0], sigma * np.array(wanted, dtype=np.float64))
    return FrozenNetwork(bounds, ((Trunk(form, (0,)),),), inputs=inputs, link=link)


def _clamps(given: Any, count: int, path: str | PathLike[str]) -> InputTransform:
    """Two columns per feature: clamped for g, and as it is for the residual, which the reader does not clamp."""
    table = numbers_of(given, 2, "variables_constraints").astype(np.float64)
    if table.shape != (count, 2) or not (table[:, 0] < table[:, 1]).all():
        raise FrozenFileError(f"{path} must clamp {count} features, low < high each; got others; check it.")
    line = PiecewiseLinear(np.zeros(1), np.zeros(1), 1.0, 1.0)
    return InputTransform(
        tuple(NumericColumn(str(i), (PiecewiseLinear(ends, ends), line)) for i, ends in enumerate(table))
    )


def _apart(
    form: ConvexForm | PaperForm, first: FloatArray, residual: FloatArray
) -> tuple[ConvexForm | PaperForm, SlopeBounds]:
    """The form over pairs of columns: g reads the first of a pair, the residual the second."""
    none = np.zeros_like(residual)
    if isinstance(form, ConvexForm):
        rows = np.stack([first, np.broadcast_to(residual, first.shape)], axis=2).reshape(len(first), -1)
        return ConvexForm((rows, *form.weights[1:]), form.biases, form.group_sizes), SlopeBounds(
            rows.min(0), rows.max(0)
        )
    radius = np.stack([form.radius, none], axis=1).ravel()
    center = np.stack([none, residual], axis=1).ravel()
    weight = np.stack([form.weights[0], np.zeros_like(form.weights[0])], axis=2).reshape(len(form.weights[0]), -1)
    parts = (form.norms, center[None], radius, form.scale)
    wide = PaperForm((weight, *form.weights[1:]), form.biases, form.activations, *parts)
    reach = np.array([round_up(Fraction(float(form.scale[0])) * Fraction(float(r))) for r in radius])
    return wide, SlopeBounds(center - reach, center + reach)  # one of the two is zero: the sums are exact


def _read(path: Path, max_bytes: int) -> dict[str, Any]:
    if path.stat().st_size > max_bytes:
        raise FrozenFileError(f"{path} has more than max_bytes={max_bytes}; raise it if you trust the file.")
    try:
        document = strict_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FrozenFileError(f"{path} is no JSON document; {type(error).__name__}; check it.") from None
    if not isinstance(document, dict):
        raise FrozenFileError(f"{path} must hold a JSON object; got a {type(document).__name__}; check it.")
    return document


def _constraints(given: ArrayLike | None, document: dict[str, Any], count: int) -> list[int]:
    value: Any = given if given is not None else document.get("constraints", _DEPLOYED if count == 4 else None)
    found: Any = np.asarray(value).ravel().tolist() if given is not None else value
    good = isinstance(found, list | tuple) and len(found) == count
    if not good or any(type(c) not in (int, float) or c not in (-1, 0, 1) for c in found):
        raise FrozenFileError(
            f"constraints are {count} numbers -1, 0 or 1; got {reprlib.repr(value)}; pass constraints=."
        )
    return [int(c) for c in found]


def _refuse_unless_kept(low: list[Fraction], high: list[Fraction], wanted: list[int], why: str) -> None:
    for i, c in enumerate(wanted):
        if (c > 0 and low[i] < 0) or (c < 0 and high[i] > 0):
            raise CertificateError(
                f"feature {i} is constrained to {'rise' if c > 0 else 'fall'}, but the file allows slopes from "
                f"{float(low[i]):.9g} to {float(high[i]):.9g} ({why}); there is no guarantee; train it again."
            )


def _convex(weights: Any, biases: Any, sigma: float, wanted: list[int]) -> tuple[ConvexForm, SlopeBounds]:
    """Averages of first-layer rows, to which the residual is added."""
    residual = [Fraction(sigma) * c for c in wanted]
    rows = [[Fraction(w) + c for w, c in zip(row, residual, strict=True)] for row in weights[0].tolist()]
    columns = list(zip(*rows, strict=True))
    low, high = [min(column) for column in columns], [max(column) for column in columns]
    _refuse_unless_kept(low, high, wanted, "the smallest and largest first-layer weight and residual")
    first = np.array([[float(v) for v in row] for row in rows])
    bounds = SlopeBounds(first.min(axis=0), first.max(axis=0))  # rounding to nearest keeps signs
    return ConvexForm((first, *weights[1:]), tuple(biases), (2,) * (len(weights) - 1)), bounds


def _paper(weights: Any, biases: Any, sigma: float, wanted: list[int]) -> tuple[PaperForm, SlopeBounds]:
    """Layers divided by their norms, by the chain of norms that keeps the promise best."""
    center = [Fraction(sigma) * c for c in wanted]
    room = [[c * sign if sign else None for c, sign in zip(center, wanted, strict=True)]]
    chain = best_chain(weights, room)
    reach = chain.reach[0]
    low = [c - r for c, r in zip(center, reach, strict=True)]
    high = [c + r for c, r in zip(center, reach, strict=True)]
    product = prod([*chain.between, *chain.last], start=Fraction(1))
    why = f"sigma {sigma:.9g}; norms of later layers multiply to {float(product):.9g}"
    _refuse_unless_kept(low, high, wanted, why)
    residual = np.array([[float(c) for c in center]])
    form = paper_form_of(weights, biases, [Sort(2) for _ in weights[1:]], residual, chain, keep=room)
    grown = [Fraction(float(form.scale[0])) * Fraction(r) for r in form.radius.tolist()]
    low = [c - r for c, r in zip(center, grown, strict=True)]
    high = [c + r for c, r in zip(center, grown, strict=True)]
    return form, SlopeBounds(np.array([round_down(v) for v in low]), np.array([round_up(v) for v in high]))
