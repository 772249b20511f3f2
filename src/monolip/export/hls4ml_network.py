r"""A network in the integers of one chosen ap_fixed type: real units in and out, certified as FixedPointNetwork.

    inputs, activations, outputs    words of 2^-F, F = W - I of the chosen type
    weights                         words of 2^-shift: as many bits as `weight_bits`, so that the largest fits
    layers                          z = floor((W z + b) / 2^shift) in words: exact sums, then one rounding

That is the arithmetic that `hls4ml_layers` configures hls4ml to do, so the certificate of these integers is the one of
the converted network. A type in which it cannot be proved is refused with the type that would do.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from monolip.certify.fixed_point import _checked, _link
from monolip.certify.fixed_point_columns import declared_ranges, float_columns, integer_column, largest_values
from monolip.certify.fixed_point_nearness import require_nearness
from monolip.certify.fixed_point_rounding import apportion
from monolip.certify.fixed_point_trunks import Units, integer_trunk
from monolip.certify.fixed_point_vectors import with_vectors
from monolip.errors import FreezeError, InputError, StructureError
from monolip.export.hls4ml_types import ApFixed
from monolip.export.onnx_source import network_for
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_format import FixedPointFormat
from monolip.fixed_point_inputs import FixedInputs
from monolip.fixed_point_trunk import FixedTrunk
from monolip.frozen import FrozenNetwork

__all__ = ["words_network"]

_ACCUMULATOR = 63  # bits that a proof is made in; hls4ml gets what each layer needs


def words_network(
    model: Any, precision: str | None, weight_bits: int | None, preset: Any, input_ranges: Any
) -> tuple[FixedPointNetwork, ApFixed]:
    """The certified integers, and the type of activations. precision None: the units `compile_fixed_point` chooses."""
    if precision is None or isinstance(getattr(model, "frozen_", model), FixedPointNetwork):
        if precision is not None:
            raise InputError(
                "a FixedPointNetwork has its units already; got precision as well; pass precision=None, or the float "
                "network."
            )
        made = network_for(model, "fixed-point", preset, input_ranges)
        assert isinstance(made, FixedPointNetwork), "what fixed-point means"
        network, overflow = made, "AP_SAT_SYM" if made.format.saturate else "AP_WRAP"
        chosen = ApFixed(network.format.activation_bits, network.format.activation_bits, "AP_TRN", overflow)
    else:
        chosen = ApFixed.parse(precision)
        frozen = network_for(model, "float64")
        assert isinstance(frozen, FrozenNetwork), "what float64 means"
        network = _compiled(frozen, chosen, weight_bits or chosen.width, input_ranges)
    _refuse(network)
    return network, chosen


def _refuse(network: FixedPointNetwork) -> None:
    if network.free is not None:
        raise FreezeError("hls4ml gets layers with a promise; got a free branch; convert the branch on its own.")
    if any(trunk.residual is not None for member in network.members for trunk in member):
        raise FreezeError("hls4ml gets convex form; got paper form; use to_convex() first.")


def _compiled(frozen: FrozenNetwork, chosen: ApFixed, weight_bits: int, input_ranges: Any) -> FixedPointNetwork:
    if frozen.free_branch is not None or not frozen.is_convex:
        got = "a free branch" if frozen.free_branch is not None else "paper form"
        raise FreezeError(f"hls4ml gets convex form without a branch; got {got}; use to_convex(), or split the model.")
    columns, _ = float_columns(frozen)
    spans = declared_ranges(columns, input_ranges)
    largest = [v for column, span in zip(columns, spans, strict=True) for v in largest_values(column, span)]
    word = max(1, math.ceil(math.ldexp(max(largest), chosen.fraction)))
    if frozen.inputs is None and word.bit_count() == 1 and word > 1:  # +-4 ends at the word before 4: a bit is saved
        end = math.ldexp(word - 1, -chosen.fraction)
        spans = [span and (max(span[0], -end), min(span[1], end)) for span in spans]
        word -= 1
    word = (1 << word.bit_length()) - 1  # every word of the input type is covered, so that nothing need be clamped
    if word.bit_length() + 1 > chosen.width:
        need = word.bit_length() + 1 - chosen.fraction
        raise FreezeError(
            f"inputs must fit the chosen type; they reach {max(largest):.4g}, beyond {chosen}; declare shorter "
            f"input_ranges, or use {need} bits before the point."
        )
    form = FixedPointFormat(
        f"ap_fixed {chosen.width} {chosen.integer}",
        _shift(frozen, weight_bits),
        max(3, word.bit_length() + 1),
        chosen.width,
        _ACCUMULATOR,
        weight_bits,
        saturate=chosen.overflow == "AP_SAT_SYM",
    )
    try:
        network = with_vectors(_checked(frozen, _built(frozen, form, (chosen, word), spans)))
    except StructureError as error:
        raise FreezeError(f"the network must fit {chosen} with weights of {weight_bits} bits; {error}") from error
    require_nearness(frozen, network, input_ranges, 0)
    return network


def _shift(frozen: FrozenNetwork, weight_bits: int) -> int:
    """Fraction bits of weights: what is left beside the largest weight of any layer (mixing rows go up to 1)."""
    weights = [w for member in frozen.members for trunk in member for w in trunk.form.weights]
    largest = max(1.0, *(float(np.abs(w).max()) for w in weights))
    shift = weight_bits - 1 - math.floor(math.log2(largest)) - 1
    if not 2 <= shift <= 40:
        raise FreezeError(
            f"weights have 2 to 40 bits after the point; {weight_bits} bits leave {shift} beside the largest, "
            f"{largest:.4g}; pass another weight_bits."
        )
    return shift


def _built(frozen: FrozenNetwork, form: FixedPointFormat, chosen: tuple[ApFixed, int], spans: Any) -> FixedPointNetwork:
    """As `compile_fixed_point` builds, with one unit for inputs and outputs. chosen: their type, and largest word."""
    fraction = chosen[0].fraction
    rates = np.full(frozen.n_features, 2.0**fraction)
    units = Units(fraction, form.shift, rates)
    made, at = [], 0
    for column, span in zip(float_columns(frozen)[0], spans, strict=True):
        made.append(integer_column(column, span, rates[at : at + column.n_model]))
        at += column.n_model
    members = tuple(
        tuple(integer_trunk(trunk, frozen.bounds, units, form.weight_bits) for trunk in member)
        for member in frozen.members
    )
    _require_room([trunk for member in members for trunk in member], form, *chosen)
    shares = apportion(np.ldexp(np.asarray(frozen.member_weights), form.shift)[None], [1 << form.shift], exact=True)[0]
    link = _link(frozen.link, form, fraction, 0.0)
    return FixedPointNetwork(form, FixedInputs(tuple(made)), members, shares, link, None, frozen.digest)


def _require_room(trunks: list[FixedTrunk], form: FixedPointFormat, chosen: ApFixed, word: int) -> None:
    """Activations and outputs fit the type for every input word, unless they are clamped."""
    reach = [trunk.reach([word] * trunk.n_features, form.shift, form.limit) for trunk in trunks]
    inner = [0 if form.saturate else hidden for _, _, hidden in reach]
    largest = max(*inner, *(v for _, outputs, _ in reach for v in outputs))
    if largest < 1 << (chosen.width - 1):
        return
    need = largest.bit_length() + 1 - chosen.fraction
    raise FreezeError(
        "values beyond an ap_fixed type wrap around or clamp, and that is not what was proved; they reach "
        f"{math.ldexp(largest, -chosen.fraction):.4g} for inputs inside the declared ranges, and {chosen} ends at "
        f"{2.0 ** (chosen.integer - 1):g}; use ap_fixed<{need + chosen.fraction},{need}>, shorter input_ranges, or "
        "AP_SAT_SYM where only hidden layers exceed it."
    )
