r"""The fixed-point compiler: a FrozenNetwork becomes integers that give the same bits everywhere, and keep every order.

    unit of f     2^-unit, the finest for which no sum can leave its type (proved from the declared ranges)
    inputs        one step per model column, as fine as input_bits allow
    rows          rounded to nearest, then repaired so that mixing rows add up to exactly 2^shift

The theorem and its proof: docs/fixed_point.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.certify.fixed_point_claims import fixed_point_directions, rows_of_output
from monolip.certify.fixed_point_columns import declared_ranges, float_columns, integer_column, largest_values
from monolip.certify.fixed_point_forms import fit_for_integers, paper_forms, residual_units, steepest_slope
from monolip.certify.fixed_point_nearness import require_nearness
from monolip.certify.fixed_point_offset import without_offset
from monolip.certify.fixed_point_rounding import apportion
from monolip.certify.fixed_point_trunks import Units, bound_of, integer_trunk
from monolip.certify.fixed_point_vectors import with_vectors
from monolip.errors import FreezeError, InputError, StructureError
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_format import PRESETS, FixedPointFormat
from monolip.fixed_point_inputs import FixedFree, FixedInputs
from monolip.fixed_point_link import FRACTION, FixedLink
from monolip.frozen import FrozenNetwork, Trunk
from monolip.output_link import OutputLink

__all__ = ["compile_fixed_point"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_TRIES = 6  # how often the unit is doubled before the format is called too narrow
_SMALLEST = 2.0**-900  # of magnitudes: rates stay finite


def compile_fixed_point(
    frozen: FrozenNetwork,
    preset: str | FixedPointFormat = "wide",
    *,
    input_ranges: Any = None,
    free_ranges: ArrayLike | None = None,
    headroom: int = 0,
) -> FixedPointNetwork:
    """Integers that keep every direction of `frozen` bit for bit, from raw input to prediction.

    Args:
        preset: "wide" (sums below 2^53, exact in float64 and int64), "narrow" (int16 weights, int32 sums), or a format.
        input_ranges: {column: (low, high)} in raw units, or a pair per numeric column; inputs beyond are clamped.
            Default: where a column's maps move; for a linear column, four widths of its training data on either side.
            Integers too coarse for the model (1e-3 of the spread of outputs) are refused.
        free_ranges: largest magnitude of each output of a free branch; not needed where it ends in tanh.
        headroom: bits by which the output unit is finer than the proof needs; activations that grow beyond their bits
            are then clamped, which keeps every direction and every cap. Only for formats that saturate.

    Examples:
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> f = ConvexForm(([[0.0], [1.0]], [[0.25, 0.75]]), ([0.0, 0.0], [0.0]), (2,))
        >>> frozen = FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(f, (0,)),),))
        >>> fixed = compile_fixed_point(frozen, input_ranges=[(-4.0, 4.0)])
        >>> fixed.predict([[-1.0, 1.0, 2.0]]).ravel(), fixed.carriers
        (array([-0.25,  0.75,  1.5 ]), ('int64', 'float64'))
    """
    if not isinstance(frozen, FrozenNetwork):
        raise FreezeError(
            f"fixed point is compiled from a FrozenNetwork; got {type(frozen).__name__}; freeze it first."
        )
    chosen = PRESETS.get(preset) if isinstance(preset, str) else preset
    if not isinstance(chosen, FixedPointFormat):
        raise InputError(f"a preset is one of {', '.join(PRESETS)} or a FixedPointFormat; got {preset!r}; pass one.")
    if type(headroom) is not int or headroom < 0 or (headroom and not chosen.saturate):
        raise InputError(f"headroom is a number of bits, 0 in a format that does not saturate; got {headroom!r}.")
    given, (small, offset) = frozen, without_offset(frozen)
    frozen = fit_for_integers(small, chosen)
    trunks = [trunk for member in frozen.members for trunk in member]
    columns, _ = float_columns(frozen)
    spans = declared_ranges(columns, input_ranges)
    inside = [v for column, span in zip(columns, spans, strict=True) for v in largest_values(column, span)]
    largest = np.array([*inside, *_free_limits(frozen, free_ranges)])
    size = _size(trunks, largest)
    unit = chosen.activation_bits - 1 - math.ceil(math.log2(size)) + headroom
    problem: StructureError | None = None
    for _ in range(_TRIES):  # rounding may need a little more room than the real bound
        try:
            network = _checked(frozen, _build(frozen, chosen, (unit, offset), largest, spans, given.digest))
            require_nearness(given, network, input_ranges, headroom)
            return network
        except StructureError as error:
            problem, unit = problem or error, unit - 1
    raise FreezeError(f"{problem} The network does not fit format {chosen.name!r}.")


def _free_limits(frozen: FrozenNetwork, given: ArrayLike | None) -> FloatArray:
    if frozen.free_branch is None:
        return np.zeros(0)
    count = frozen.free_branch.n_outputs
    if given is None and frozen.free_branch.activations[-1] == "tanh":
        return np.ones(count)
    limits = np.zeros(0) if given is None else np.asarray(given, dtype=np.float64)
    if limits.shape != (count,) or not (np.isfinite(limits) & (limits > 0)).all():
        raise InputError(
            f"free_ranges gives each of the {count} outputs of the free branch its largest magnitude; got {given!r}; "
            "take it from data (larger outputs are clamped), or end the branch in tanh."
        )
    return limits


def _size(trunks: list[Trunk], largest: FloatArray) -> float:
    """A bound of every activation, inside what powers of two of a unit serve."""
    tiny = largest[(largest > 0) & (largest < _SMALLEST)]
    if tiny.size:
        raise InputError(
            f"magnitudes of model columns are 0 or at least 2^-900; got {tiny[0]:.3g}; declare a wider range by "
            "input_ranges, or rescale the column."
        )
    size = max(bound_of(trunk.form, largest) for trunk in trunks)
    if size and not _SMALLEST * 2**64 <= size <= 1 / _SMALLEST:
        raise FreezeError(
            f"outputs of a fixed-point network have magnitudes of 2^-836 to 2^900; got up to {size:.3g}; rescale the "
            "target, or declare shorter ranges by input_ranges."
        )
    return size or 1.0


def _build(
    frozen: FrozenNetwork,
    chosen: FixedPointFormat,
    scale: tuple[int, float],
    largest: FloatArray,
    spans: Any,
    source: str,
) -> FixedPointNetwork:
    """scale: of the output, its unit and its offset."""
    unit, offset = scale
    rates = _rates(frozen, chosen, unit, largest)
    units = Units(unit, chosen.shift, rates)
    columns, free_inputs = float_columns(frozen)
    made, at = [], 0
    for column, span in zip(columns, spans, strict=True):
        made.append(integer_column(column, span, rates[at : at + column.n_model]))
        at += column.n_model
    free = None
    if free_inputs is not None and frozen.free_branch is not None:
        limits = tuple(int(v) for v in np.ceil(largest[at:] * rates[at:]))
        free = FixedFree(free_inputs, frozen.free_branch, rates[at:], limits)
    members = tuple(
        tuple(integer_trunk(trunk, frozen.bounds, units, chosen.weight_bits) for trunk in member)
        for member in frozen.members
    )
    shares = np.ldexp(np.asarray(frozen.member_weights), chosen.shift)[None]
    weights = apportion(shares, [1 << chosen.shift], exact=True)[0]
    link = _link(frozen.link, chosen, unit, offset)
    network = FixedPointNetwork(chosen, FixedInputs(tuple(made)), members, weights, link, free, source)
    return with_vectors(network)


def _rates(frozen: FrozenNetwork, chosen: FixedPointFormat, unit: int, largest: FloatArray) -> FloatArray:
    """Units per unit of every model column: powers of two; in paper form what makes the residual an integer."""
    room = np.full(len(largest), 2.0 ** (chosen.input_bits - 1) - 2)  # the ends of a line move outwards, to whole units
    pairs = zip(room.tolist(), largest.tolist(), strict=True)
    rates = np.array([2.0 ** math.floor(math.log2(most / v)) if v > 0 else 1.0 for most, v in pairs])
    for j in range(len(rates)):
        if largest[j] == 0:  # a constant column needs no resolution, and its weights no more than those of mixing rows
            rates[j] = _rate_of_constant(frozen, unit, j)
        for form in paper_forms(frozen):
            steepest = steepest_slope(form, j)
            if steepest > 0:
                rates[j] = math.ldexp(steepest, unit) / residual_units(form, j, chosen)[0]
                break
    return rates


def _rate_of_constant(frozen: FrozenNetwork, unit: int, j: int) -> float:
    steepest = max(float(np.abs(t.form.weights[0][:, j]).max()) for member in frozen.members for t in member)
    return math.ldexp(1.0, min(max(unit + math.ceil(math.log2(steepest)), -900), 900)) if steepest > 0 else 1.0


def _link(link: OutputLink | None, chosen: FixedPointFormat, unit: int, offset: float) -> FixedLink:
    if link is None or link.name == "identity":
        return FixedLink(link, unit, 0, 0, offset)
    bits = min(30, 50 - chosen.activation_bits)  # differences of outputs times log2(e) stay below 2^53
    shift = unit + bits - FRACTION
    if shift < 0:
        raise StructureError(
            f"log-odds need a unit of 2^{bits - FRACTION} or finer; got 2^{-unit}; use a wider format."
        )
    return FixedLink(link, unit, round(math.log2(math.e) * 2**bits), shift)


def _checked(frozen: FrozenNetwork, network: FixedPointNetwork) -> FixedPointNetwork:
    """Every direction that was promised is one of the integers, of model columns and in raw units, or nothing is."""
    for k in range(network.n_outputs):
        rows, box, d = rows_of_output(network, k), frozen.bounds.for_output(k), frozen.n_features
        wrong = ((box.lower >= 0) & (rows < 0).any(axis=0)) | ((box.upper <= 0) & (rows > 0).any(axis=0))
        if wrong[:d].any():
            raise FreezeError(f"model column {int(np.argmax(wrong))} lost its direction in integers; report this.")
    words = dict(zip(network.inputs.names, fixed_point_directions(network), strict=True))
    raw = frozen.raw_promise
    for i, name in enumerate(() if raw is None else raw.feature_names or ()):
        for k, word in enumerate(words[name][0]):
            assert raw is not None
            box = raw.for_output(k)
            rising, falling = box.lower[i] >= 0, box.upper[i] <= 0
            if (rising and word not in ("increasing", "flat")) or (falling and word not in ("decreasing", "flat")):
                raise FreezeError(
                    f"fixed point keeps a direction by the signs of integer rows; those of {name!r} have both, though "
                    "their sum has one; give each model column of it its own direction."
                )
    return network
