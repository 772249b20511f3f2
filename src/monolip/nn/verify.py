"""verify: decide whether a ReLU network is monotone on a box, by mixed-integer programming."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from monolip.errors import InputError, SlopeError
from monolip.monotonic_cst import check_names, read_directions
from monolip.nn.verify_layers import Layer, layers_of
from monolip.nn.verify_milp import smallest_slope
from monolip.nn.verify_witness import Witness, sampled_witness, witness_of

__all__ = ["Verdict", "Verification", "verify"]

FloatArray = NDArray[np.float64]
MAX_CUTS = 20


@dataclass(frozen=True)
class Verdict:
    """One (feature, output). answer: "proved", "counterexample" or "undecided".

    slope_bound: no slope in the direction's sense is smaller, within the solver's tolerance. counterexample: exact.
    """

    feature: str
    output: int
    direction: int
    answer: str
    slope_bound: float
    counterexample: Witness | None
    seconds: float


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
        lines = [f"{self.answer} on the box, over the real numbers, within {self.tolerance:g} of the solver's bounds"]
        for v in self.verdicts:
            way = "increasing" if v.direction > 0 else "decreasing"
            text = f"{v.feature:{width}}  {way}  {v.answer:14}  slope in its sense >= {v.slope_bound:.3g}"
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

        min over x in the box of  direction * df/dx_i  >=  -tolerance

    One mixed-integer program for each (feature, output) finds the smallest slope over all activation patterns (Liu et
    al. 2020); HiGHS solves it in floating point, so "proved" means within its tolerance. A counterexample is a pair of
    points whose f was computed in rational arithmetic: it is certain. Patterns without an inside are skipped.

    Args:
        module: Sequential of Linear and ReLU (Identity, Flatten and Dropout are read as what they are in eval mode).
        monotonic_cst: -1, 0, +1 for each feature, an array or a dict by name; or shape (n_features, n_outputs).
        box: (low, high), each a number or one number per feature.
        tolerance: slopes down to -tolerance count as monotone.
        max_seconds: for all of it; what is not decided by then is "undecided".

    Nothing is said about points outside the box, nor about rounding when the network is evaluated.

    Example:
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
    signs = read_directions(monotonic_cst, names, d)
    signs = np.tile(signs[:, None], (1, n_outputs)) if signs.ndim == 1 else signs
    if signs.shape != (d, n_outputs) or not signs.any():
        raise SlopeError(
            f"verify needs directions of shape ({d},) or ({d}, {n_outputs}), at least one not 0; got {signs.shape}; "
            "pass +1 or -1 for a feature."
        )
    sides, deadline = _read_box(box, d), time.perf_counter() + max_seconds
    todo = np.argwhere(signs).tolist()
    verdicts = []
    for done, (j, k) in enumerate(todo):
        share = (deadline - time.perf_counter()) / (len(todo) - done)
        name = names[j] if names else f"x{j}"
        verdicts.append(_decide(layers, sides, name, j, k, int(signs[j, k]), tolerance, share))
    return Verification(tuple(verdicts), sides, tolerance)


def _decide(
    layers: Sequence[Layer], box: FloatArray, name: str, j: int, k: int, sign: int, tolerance: float, seconds: float
) -> Verdict:
    started, bound = time.perf_counter(), -np.inf
    excluded: list[tuple[NDArray[np.bool_], ...]] = []
    answer, witness = "undecided", None
    for _ in range(MAX_CUTS):
        left = seconds - (time.perf_counter() - started)
        if left <= 0:
            break
        found = smallest_slope(layers, box, j, k, sign, left, excluded)
        bound = found.bound
        if bound >= -tolerance:
            answer = "proved"
            break
        if found.pattern is None or found.slope is None or found.slope >= -tolerance:
            break
        witness = witness_of(layers, box, found.pattern, j, k, sign)
        if witness is not None:
            answer = "counterexample"
            break
        excluded.append(found.pattern)  # a region without an inside: f has no such slope anywhere
    if answer == "undecided":
        witness = sampled_witness(layers, box, j, k, sign)
        answer = "undecided" if witness is None else "counterexample"
    return Verdict(name, k, sign, answer, float(bound), witness, time.perf_counter() - started)


def _read_box(box: Any, d: int) -> FloatArray:
    try:
        low, high = box
        sides = np.stack([np.broadcast_to(np.asarray(side, np.float64), (d,)) for side in (low, high)])
    except (TypeError, ValueError):
        raise InputError(f"a box is (low, high), each a number or one per feature; got {box!r}; pass both.") from None
    if not np.isfinite(sides).all() or not (sides[0] < sides[1]).all():
        raise InputError("a box has finite sides, low below high for every feature; got others; correct the box.")
    return sides
