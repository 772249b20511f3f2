"""verify: decide whether a ReLU network is monotone on a box, by mixed-integer programming."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from monolip.errors import InputError, SlopeError
from monolip.monotonic_cst import check_names, read_directions
from monolip.nn.verify_exact import exact_minimum, on_unit_box, region_of
from monolip.nn.verify_layers import Layer, layers_of
from monolip.nn.verify_milp import smallest_slope
from monolip.nn.verify_scaling import ScaledNetwork, Scaling
from monolip.nn.verify_simplex import OutOfTimeError
from monolip.nn.verify_witness import Witness, region_witness, sampled_witness, witness_of
from monolip.rounding import digits_down

__all__ = ["Verdict", "Verification", "verify"]

FloatArray = NDArray[np.float64]
MAX_CUTS = 20
EXACT_SECONDS = 5.0  # at most, and half of the time given; many inputs have too many patterns to visit


@dataclass(frozen=True)
class Verdict:
    """One (feature, output). answer: "proved", "counterexample" or "undecided".

    slope_bound: no slope in the direction's sense is smaller. exact: whether that and "proved" come from rational
    arithmetic; else within the solver's tolerance. slope_unit: at least the largest slope by interval bounds, at most
    twice; the tolerances are relative to it. counterexample: always exact.
    """

    feature: str
    output: int
    direction: int
    answer: str
    slope_bound: float
    counterexample: Witness | None
    seconds: float
    exact: bool
    slope_unit: float


@dataclass(frozen=True)
class Verification:
    """What `verify` decided, for the function over the real numbers, on the box, with the tolerance stated."""

    verdicts: tuple[Verdict, ...]
    box: FloatArray
    tolerance: float

    @property
    def answer(self) -> str:
        """ "counterexample" if there is any, "proved" if everything is, else "undecided"."""
        found = {verdict.answer for verdict in self.verdicts}
        return "counterexample" if "counterexample" in found else "proved" if found == {"proved"} else "undecided"

    def __str__(self) -> str:
        width = max(7, *(len(verdict.feature) for verdict in self.verdicts))
        lines = [f"{self.answer} on the box, over the real numbers, slopes down to -{self.tolerance:g} allowed"]
        for v in self.verdicts:
            way = "increasing" if v.direction > 0 else "decreasing"
            how, least = "exactly" if v.exact else "by the solver", digits_down(v.slope_bound, 3)
            text = f"{v.feature:{width}}  {way}  {v.answer:14}  slope in its sense >= {least:.3g}, {how}"
            if v.counterexample is not None:
                j = int(np.flatnonzero(v.counterexample.low != v.counterexample.high)[0])
                ends = f"{v.counterexample.low[j]:.6g} -> {v.counterexample.high[j]:.6g}"
                text += f"; {ends} moves f the wrong way by {float(v.counterexample.drop):.3g}, exactly"
            lines.append(text)
        return "\n".join(lines)

    __repr__ = __str__


def verify(
    module: nn.Module,
    monotonic_cst: Any,
    box: Any,
    *,
    feature_names: Sequence[str] | None = None,
    tolerance: float = 1e-6,
    max_seconds: float = 60.0,
) -> Verification:
    """Decide whether a Sequential of Linear and ReLU is monotone on a box: proved, counterexample or undecided.

        min over x in the box of  direction * df/dx_i  >=  -tolerance * min(1, slope_unit)

    1. Up to 12 ReLU units: every reachable activation pattern, in rational arithmetic. Such a "proved" is exact.
    2. Larger, or more patterns than 5 seconds allow: one mixed-integer program for each (feature, output) over all
       patterns (Liu et al. 2020), with box, units and slopes scaled to size 1 by powers of two. HiGHS works in floating
       point: "proved" then holds up to pre-activations within 1e-6 of 0 and slopes within 1e-6, in those units. A
       pattern is skipped only where its region has no inside, in rational arithmetic.
    3. What neither decides, or ends in no pair of float64 points, is "undecided".

    A counterexample is a pair of points whose f was computed in rational arithmetic: it is certain.

    Args:
        module: Sequential of Linear and ReLU (Identity, Flatten and Dropout are read as what they are in eval mode);
            subclasses, hooks and parametrizations are refused.
        monotonic_cst: -1, 0, +1 for each feature, an array or a dict by name; or shape (n_features, n_outputs).
        box: (low, high), each a number or one number per feature.
        tolerance: slopes down to -tolerance count as monotone; where interval bounds allow no slope beyond
            slope_unit < 1, down to -tolerance * slope_unit. With few units 0.0 is decided exactly.
        max_seconds: for all of it; what is not decided by then is "undecided".

    Nothing is said about points outside the box, nor about rounding when the network is evaluated.

    Examples:
        >>> import torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
        >>> with torch.no_grad():
        ...     for p in net.parameters():
        ...         _ = p.abs_()
        >>> verify(net, [1, 1], (-1.0, 1.0)).answer, verify(net, [-1, 0], (-1.0, 1.0)).answer
        ('proved', 'counterexample')
    """
    layers = layers_of(module)
    d, n_outputs = layers[0].weight.shape[1], len(layers[-1].weight)
    names = check_names(feature_names, d)
    signs = _read_signs(monotonic_cst, names, d, n_outputs)
    if not 0.0 <= tolerance < np.inf:
        raise InputError(f"a tolerance is a number from 0 on; got {tolerance!r}; pass 0.0 to allow no slope below 0.")
    sides, deadline = _read_box(box, d), time.perf_counter() + max_seconds
    todo = np.argwhere(signs).tolist()
    network = _Network(layers, sides)
    verdicts = []
    for done, (j, k) in enumerate(todo):
        share = (deadline - time.perf_counter()) / (len(todo) - done)
        name = names[j] if names else f"x{j}"
        verdicts.append(_decide(network, name, j, k, int(signs[j, k]), tolerance, share))
    return Verification(tuple(verdicts), sides, tolerance)


class _Network:
    """The network as given and, exactly the same function, on the unit box."""

    def __init__(self, layers: Sequence[Layer], box: FloatArray) -> None:
        self.layers, self.box, self.unit = layers, box, on_unit_box(layers, box)
        self.scaling = Scaling(self.unit)

    def half(self, j: int) -> Fraction:
        return (Fraction(self.box[1, j].item()) - Fraction(self.box[0, j].item())) / 2


def _decide(network: _Network, name: str, j: int, k: int, sign: int, tolerance: float, seconds: float) -> Verdict:
    started = time.perf_counter()
    scaled, half = network.scaling.of(j, float(network.half(j))), network.half(j)
    unit = float(scaled.slope_units[k])
    allowed = tolerance * min(1.0, unit)
    answer, bound, witness, exact = "undecided", -np.inf, None, False
    if seconds > 0:
        until = started + min(seconds / 2, EXACT_SECONDS)
        found = exact_minimum(network.unit, half, j, k, sign, -Fraction(allowed), until)
        if found is not None:
            bound, exact = _downwards(found[0]), True
            answer = "proved" if found[1] is None else "undecided"
            if found[1] is not None:
                witness = region_witness(network.layers, network.box, found[1], j, k, sign)
        elif scaled.finite:
            answer, bound, witness = _solved(network, scaled, k, sign, allowed, started + seconds)
    if answer == "undecided" and witness is None:
        witness = sampled_witness(network.layers, network.box, j, k, sign)
    answer = answer if witness is None else "counterexample"
    return Verdict(name, k, sign, answer, bound, witness, time.perf_counter() - started, exact, unit)


def _solved(
    network: _Network, scaled: ScaledNetwork, k: int, sign: int, allowed: float, until: float
) -> tuple[str, float, Witness | None]:
    """By the mixed-integer program: answer, bound and counterexample."""
    excluded: list[tuple[NDArray[np.bool_], ...]] = []
    unit, bound, j = float(scaled.slope_units[k]), -np.inf, scaled.feature
    for _ in range(MAX_CUTS):
        left = until - time.perf_counter()
        if left <= 0:
            break
        found = smallest_slope(scaled, k, sign, left, excluded)
        bound = found.bound * unit if np.isfinite(found.bound) else -np.inf  # the solver's infinity proves nothing
        if bound >= -allowed:
            return "proved", bound, None
        if found.pattern is None or found.slope is None or found.slope * unit >= -allowed:
            break
        witness = witness_of(network.layers, network.box, found.pattern, j, k, sign)
        if witness is not None:
            return "counterexample", bound, witness
        try:
            region = region_of(network.unit, found.pattern, until)
        except OutOfTimeError:
            break
        if region is not None:  # an inside that the float search missed: thin, but not empty
            return "undecided", bound, region_witness(network.layers, network.box, region, j, k, sign)
        excluded.append(found.pattern)  # f has no such slope anywhere: the region has no inside, exactly
    return "undecided", bound, None


def _downwards(value: Fraction) -> float:
    """The largest float at most value."""
    try:
        near = float(value)
    except OverflowError:
        return -np.inf if value < 0 else float(np.finfo(np.float64).max)
    return float(np.nextafter(near, -np.inf)) if near > value else near


def _read_signs(given: Any, names: tuple[str, ...] | None, d: int, n_outputs: int) -> NDArray[np.int64]:
    signs = read_directions(given, names, d)
    signs = np.tile(signs[:, None], (1, n_outputs)) if signs.ndim == 1 else signs
    if signs.shape != (d, n_outputs) or not signs.any():
        raise SlopeError(
            f"verify needs directions of shape ({d},) or ({d}, {n_outputs}), at least one not 0; got {signs.shape}; "
            "pass +1 or -1 for a feature."
        )
    return signs


def _read_box(box: Any, d: int) -> FloatArray:
    try:
        low, high = box
        sides = np.stack([np.broadcast_to(np.asarray(side, np.float64), (d,)) for side in (low, high)])
    except (TypeError, ValueError):
        raise InputError(f"a box is (low, high), each a number or one per feature; got {box!r}; pass both.") from None
    if not np.isfinite(sides).all() or not (sides[0] < sides[1]).all():
        raise InputError("a box has finite sides, low below high for every feature; got others; correct the box.")
    return sides
