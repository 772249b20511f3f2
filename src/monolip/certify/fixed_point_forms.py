"""Which forms become integers: convex form always; paper form where the floor lemma holds and its residual is whole.

    lemma   a, b, K whole numbers:  |a - b| <= K m   implies   |floor(a / m) - floor(b / m)| <= K

It bounds one coordinate, so it serves Linf; in L1 every coordinate may round by a unit of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from monolip.conversion import can_be_convex, paper_to_convex
from monolip.errors import FreezeError
from monolip.fixed_point_format import FixedPointFormat
from monolip.frozen import FrozenNetwork, Trunk
from monolip.paper_form import PaperForm, Sort

__all__ = ["fit_for_integers", "paper_forms", "residual_units", "steepest_slope"]

_FINEST = 12  # bits of a residual
_EXACT = 2.0**-40  # relative error of a slope that counts as none
_LARGEST_ERROR = 2.0**-12


def paper_forms(frozen: FrozenNetwork) -> list[PaperForm]:
    return [trunk.form for member in frozen.members for trunk in member if isinstance(trunk.form, PaperForm)]


def fit_for_integers(frozen: FrozenNetwork, chosen: FixedPointFormat) -> FrozenNetwork:
    """The network itself; where whole residuals would change slopes, its paper form rewritten as convex form."""
    forms = paper_forms(frozen)
    for form in forms:
        _refuse_form(form)
    features = range(frozen.bounds.n_features)
    errors = [residual_units(form, j, chosen)[1] for form in forms for j in features if steepest_slope(form, j) > 0]
    same = all(np.array_equal(form.radius * form.scale.max(), forms[0].radius * forms[0].scale.max()) for form in forms)
    if same and max(errors, default=0.0) <= _LARGEST_ERROR:
        return frozen
    if not all(can_be_convex(form) for form in forms):
        raise FreezeError(
            "paper form needs residual slopes that are whole multiples of one unit for all outputs; got others, in "
            f"format {chosen.name!r}; use a wider format, or train in convex form."
        )
    members = tuple(tuple(_to_convex(trunk, frozen) for trunk in member) for member in frozen.members)
    return replace(frozen, members=members)


def _to_convex(trunk: Trunk, frozen: FrozenNetwork) -> Trunk:
    if not isinstance(trunk.form, PaperForm):
        return trunk
    return Trunk(paper_to_convex(trunk.form, frozen.bounds.for_output(trunk.outputs[0])), trunk.outputs)


def steepest_slope(form: PaperForm, j: int) -> float:
    """The larger of bound and residual of feature j: the slope whose unit decides."""
    return max(float(form.radius[j] * form.scale.max()), float(np.abs(form.center[:, j]).max()))


def residual_units(form: PaperForm, j: int, chosen: FixedPointFormat) -> tuple[int, float]:
    """A whole number n for which all slopes of feature j are whole where the steepest is n, and the relative error."""
    slopes = np.array([form.radius[j] * form.scale.max(), *np.abs(form.center[:, j])]) / steepest_slope(form, j)
    most = (2 ** (chosen.weight_bits - 1) - 1) >> chosen.shift  # first-layer weights go up to n 2^shift
    tried = np.arange(min(2**chosen.guard, most), min(2 ** max(chosen.guard, _FINEST), most) + 1)
    whole = np.outer(tried, slopes)
    errors = np.abs(whole - np.rint(whole)).max(axis=1) / tried
    best = int(np.flatnonzero(errors <= max(float(errors.min()), _EXACT))[0])
    return int(tried[best]), float(errors[best])


def _refuse_form(form: PaperForm) -> None:
    alien = [type(a).__name__ for a in form.activations if not isinstance(a, Sort)]
    chain = [norm.name for norm in form.norms]
    if alien or form.norms[0].codomain != np.inf or set(chain[1:]) - {"LINF_TO_LINF"}:
        raise FreezeError(
            "fixed point needs convex form, or paper form with GroupSort and a first layer into Linf followed by "
            "LINF_TO_LINF layers (in L1 every coordinate may round by a unit of its own, so the bound is lost); got "
            f"{chain} with {alien or 'Sort'}; train in convex form, or with the (1,inf)-then-inf scheme."
        )
