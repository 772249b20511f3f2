r"""A trained model of the reference package (monotonicnetworks, MonotoneNorm) becomes a FrozenNetwork, with a verdict.

    f_k(x) = g_k(x) + lambda sum_i c_ik x_i          c = +1 rising, -1 falling, 0 free
    guaranteed:   |dg_k/dx_i| <= lambda |c_ik|       for the weights as the forward pass multiplies them, exactly

The package checks neither that the norms of its layers chain nor that their product is the wrapper's constant, and it
normalises in float32, where half of all rows end above their bound. The bound here is computed from the effective
weights by the best chain of norms (`paper_import`), whatever was asked of them. Nothing of the package is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.errors import CertificateError, InputError
from monolip.export.monotonicnetworks_genuine import require_same_outputs
from monolip.export.monotonicnetworks_layers import Layers, layers_of
from monolip.export.paper_import import Chain, Room, best_chain, paper_form_of
from monolip.frozen import FrozenNetwork, Trunk
from monolip.output_link import OutputLink
from monolip.rounding import interval_text, round_down, round_up
from monolip.slopes import SlopeBounds

__all__ = ["FeatureVerdict", "ImportVerdict", "from_monotonicnetworks", "monotonicnetworks_verdict"]

FloatArray = NDArray[np.float64]
_REPAIRABLE = Fraction(1, 10_000)  # of g: more than float32 rounding would be another model


class FeatureVerdict(NamedTuple):
    """One feature and output: what was wanted, the slopes that are proved, and by how much they miss it, exactly."""

    feature: str
    output: int
    wanted: str
    lower: float
    upper: float
    excess: Fraction


@dataclass(frozen=True)
class ImportVerdict:
    """What the weights of an imported model guarantee. `network` promises what is proved, directions or not.

    Args:
        network: in paper form; its slope intervals are those of `features`.
        features: one verdict per feature and output.
        chain: norms by which it is proved, layer by layer.
        trained: what the layers say they were normalised to; "?" where they do not say.
        shrink: g times this would keep every direction; 1 where none is missed.
    """

    network: FrozenNetwork
    features: tuple[FeatureVerdict, ...]
    chain: tuple[str, ...]
    trained: tuple[str, ...]
    shrink: Fraction

    @property
    def guaranteed(self) -> bool:
        return not any(feature.excess for feature in self.features)

    @property
    def repairable(self) -> bool:
        """Whether what is missing is rounding: shrinking g by less than 1e-4 makes it good."""
        return self.shrink >= 1 - _REPAIRABLE

    @property
    def reason(self) -> str:
        """Why there is no guarantee, and what to do; empty where there is one."""
        worst = max(self.features, key=lambda feature: feature.excess)
        if self.guaranteed:
            return ""
        said = (
            f"feature {worst.feature!r} was to be {worst.wanted}, but the weights allow slopes from {worst.lower:.9g} "
            f"to {worst.upper:.9g} in output {worst.output}: g exceeds the residual by {float(worst.excess):.6g} "
            f"(exactly {_short(worst.excess)}), bounded by {', '.join(self.chain)}; layers say "
            f"{', '.join(self.trained)}; "
        )
        if self.repairable:
            return said + f"float32 rounding: repair=True multiplies g by {float(self.shrink):.9g}."
        if not self.shrink:
            return (
                said + "the residual does not rise where the constraint says so; train again with a positive constant."
            )
        return said + (
            f"no rounding: g would have to shrink by {float(1 / self.shrink):.3g}; train again with one chain of norms "
            "(L1 to Linf, then Linf to Linf) whose product is the wrapper's constant."
        )

    def __str__(self) -> str:
        head = "guaranteed" if self.guaranteed else "NOT guaranteed"
        rows = [["feature", "output", "wanted", "slopes", "missed by"]]
        for f in self.features:
            missed = f"{float(f.excess):.6g}" if f.excess else "-"
            rows.append([f.feature, str(f.output), f.wanted, interval_text(f.lower, f.upper, 9), missed])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([f"{head}; by {', '.join(self.chain)}", *lines, *([self.reason] if self.reason else [])])

    __repr__ = __str__


def from_monotonicnetworks(
    model: Any, *, feature_names: Any = None, link: OutputLink | None = None, repair: bool = False
) -> FrozenNetwork:
    """The model as a FrozenNetwork whose directions are proved; CertificateError with the verdict where they are not.

    Args:
        model: a MonotonicWrapper (or SigmaNet) around Sequential layers of Linear, GroupSort and ReLU, or such a
            Sequential alone; a Sigmoid after it becomes a logit link.
        feature_names: one per feature.
        link: what the outputs mean; default: none, or logit after a Sigmoid.
        repair: shrink g by up to 1e-4 where float32 rounding alone broke the guarantee.

    Outputs agree with the model's to float32 rounding: the network computes in float64.
    """
    verdict = monotonicnetworks_verdict(model, feature_names=feature_names, link=link)
    if verdict.guaranteed:
        return verdict.network
    if repair and verdict.repairable:
        return _judged(layers_of(model), feature_names, link, repair=True).network
    raise CertificateError(f"a direction needs |slope of g| <= residual; {verdict.reason}")


def monotonicnetworks_verdict(
    model: Any, *, feature_names: Any = None, link: OutputLink | None = None
) -> ImportVerdict:
    """The exact verdict, without an error where there is no guarantee; arguments as in `from_monotonicnetworks`."""
    found = layers_of(model)
    verdict = _judged(found, feature_names, link)
    require_same_outputs(model, found, verdict.network)
    return verdict


def _judged(found: Layers, names: Any, link: OutputLink | None, *, repair: bool = False) -> ImportVerdict:
    signs = np.sign(found.constraints)
    center = [[Fraction(found.constant) * Fraction(c) for c in row] for row in found.constraints.tolist()]
    room = [
        [c * int(sign) if sign else None for c, sign in zip(row, own, strict=True)]
        for row, own in zip(center, signs.tolist(), strict=True)
    ]
    chain = best_chain(found.weights, room)
    residual, shrink = np.array([[float(c) for c in row] for row in center]), _shrink(chain, room)
    keep = room if repair or shrink == 1 else None
    form = paper_form_of(found.weights, found.biases, found.activations, residual, chain, keep=keep)
    n_outputs, n_features = residual.shape
    labels = [str(i) for i in range(n_features)] if names is None else [str(name) for name in names]
    if len(labels) != n_features:
        raise InputError(f"feature_names has a name per feature, {n_features}; got {len(labels)}; match them.")
    bounds = chain.reach
    features, lower, upper = [], np.zeros((n_features, n_outputs)), np.zeros((n_features, n_outputs))
    for k, i in np.ndindex(n_outputs, n_features):
        reach, c = Fraction(float(form.scale[k])) * Fraction(float(form.radius[i])), Fraction(float(residual[k, i]))
        lower[i, k], upper[i, k] = round_down(c - reach), round_up(c + reach)
        most = room[k][i]
        excess = Fraction(0) if most is None or repair else max(Fraction(0), bounds[k][i] - most)
        word = {1: "increasing", -1: "decreasing", 0: "free"}[int(signs[k, i])]
        features.append(FeatureVerdict(labels[i], k, word, float(lower[i, k]), float(upper[i, k]), excess))
    shape = (n_features,) if n_outputs == 1 else (n_features, n_outputs)
    given = None if names is None else tuple(labels)
    slopes = SlopeBounds(np.reshape(lower, shape), np.reshape(upper, shape), given)
    network = FrozenNetwork(slopes, ((Trunk(form, tuple(range(n_outputs))),),), link=link or found.link)
    proof = tuple(norm.name for norm in chain.norms)
    return ImportVerdict(network, tuple(features), proof, found.trained, shrink)


def _shrink(chain: Chain, room: Room) -> Fraction:
    """The largest factor <= 1 of g that keeps every direction; 0 where the residual itself points the wrong way."""
    pairs = zip((r for row in chain.reach for r in row), (most for row in room for most in row), strict=True)
    factors = [max(most, Fraction(0)) / r for r, most in pairs if most is not None and r > most and r > 0]
    return min(factors, default=Fraction(1))


def _short(value: Fraction) -> str:
    text = f"{value.numerator}/{value.denominator}"
    return text if len(text) <= 60 else f"a fraction of {value.denominator.bit_length()} bits"
