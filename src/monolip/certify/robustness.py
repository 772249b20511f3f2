r"""Certified radii: how far an input may move before the decision can change, proved per sample.

    for every d with |d / scale|_p <= radius:   decision(x + d) = decision(x)          p = 1, 2 or infinity

The decision is about f in real arithmetic on the stored numbers: f > threshold (one output) or the largest output.
Categories, missing values and features without slope bounds are held fixed, by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.robustness_drop import Drops
from monolip.certify.robustness_enclosure import output_enclosure
from monolip.certify.robustness_inputs import Samples, held_names, movable_features, read_samples
from monolip.certify.robustness_results import CertifiedRadii, read_norm, read_scale
from monolip.certify.robustness_search import linear_radius, output_slopes, search_radius
from monolip.errors import InputError
from monolip.frozen import FrozenNetwork

__all__ = ["CertifiedRadii", "certified_radius"]

FloatArray = NDArray[np.float64]
METHODS = ("promise", "slopes", "hull", "local")


def certified_radius(
    model: Any, X: Any, *, norm: float | str = np.inf, scale: Any = None, method: str = "local", threshold: float = 0.0,
    margin: float = 0.0, steps: int = 14,
) -> CertifiedRadii:  # fmt: skip
    """Proved radii of decisions, |d / scale|_p <= radius, for every row of X.

    Args:
        model: a FrozenNetwork, or anything fitted that has one as `frozen_` (MonotonicClassifier).
        X: rows by columns as the model takes them (without an input transform: model columns).
        norm: 1, 2 or inf (or "l1", "l2", "linf"): how changes of several features are added up.
        scale: what one unit of change is in each feature that moves: a dict by name, one number per moved feature, or
            one for all; 0 holds a feature fixed; None: the standard deviation in X.
        method: "local" (the tightest: interval back-propagation around each sample), "hull" (of first-layer rows),
            "slopes" (one slope interval a feature) or "promise" (the slope intervals that were asked for).
        threshold: of f, where there is one output.
        margin: what the deployed arithmetic may differ from f by, in units of f; radii then hold for what is deployed.
        steps: of bisection; each halves what the search may leave unproved.

    Example: f = x on [0, 1]-slopes; at x = 0.75 any change below 0.75 leaves f positive.
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> line = FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(ConvexForm(([[1.0]],), ([0.0],), ()), (0,)),),))
        >>> certified_radius(line, [[0.75], [0.0]], scale=1.0).radius.round(6)
        array([0.75, 0.  ])
    """
    network = network_of(model)
    power, words = read_norm(norm)
    if method not in METHODS:
        raise InputError(f"method is one of {', '.join(METHODS)}; got {method!r}; choose one.")
    features, samples = movable_features(network), read_samples(network, X)
    sizes = read_scale(scale, [feature.name for feature in features], samples.values)
    decision, contests = decisions(network, samples, threshold, margin)
    radius = np.full(len(samples), np.inf)
    slopes = output_slopes(network, features, method == "promise")
    drops = Drops(network, features, method) if method in ("hull", "local") and features else None
    for signs, room in contests:
        linear = linear_radius(slopes, samples, signs, room, sizes, power)
        if drops is None:
            radius = np.minimum(radius, linear)
            continue
        begun = {"start": linear, "most": radius, "steps": steps}
        found = search_radius(drops, samples, signs, room, sizes, power, **begun)  # type: ignore[arg-type]
        radius = np.minimum(radius, np.maximum(found, linear))
    fixed = tuple(f.name for f, s in zip(features, sizes, strict=True) if s == 0)
    moved = tuple(f.name for f, s in zip(features, sizes, strict=True) if s > 0)
    return CertifiedRadii(radius, decision, moved, sizes[sizes > 0], held_names(network) + fixed, words, method)


def network_of(model: Any) -> FrozenNetwork:
    """The FrozenNetwork of what was given."""
    network = getattr(model, "frozen_", model)
    if not isinstance(network, FrozenNetwork):
        raise InputError(
            f"radii are proved for a FrozenNetwork or a fitted estimator; got {type(model).__name__}; "
            f"{'pass its estimator_, which is one.' if hasattr(model, 'estimator_') else 'fit it first.'}"
        )
    return network


def decided(network: FrozenNetwork, above: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Positions of the decided classes, of one output: of two classes f may be about the first."""
    first = network.link is not None and network.link.positive == 0
    return np.asarray(above != first).astype(np.int64)


def decisions(
    network: FrozenNetwork, samples: Samples, threshold: float, margin: float
) -> tuple[NDArray[np.int64], list[tuple[FloatArray, FloatArray]]]:
    """The class of each sample and its contests: multiples of the outputs, (n, n_outputs), and proved margins, (n,)."""
    if not (np.isfinite(threshold) and np.isfinite(margin) and margin >= 0):
        raise InputError(f"threshold and margin are finite, margin >= 0; got {threshold} and {margin}; correct them.")
    f, error = output_enclosure(network, samples)
    n, outputs = f.shape
    if outputs == 1:
        gap = f[:, 0] - threshold
        above = gap > 0
        room = np.abs(gap) - error[:, 0] - margin - 2.0**-50 * (np.abs(f[:, 0]) + abs(threshold) + margin)
        return decided(network, above), [(np.where(above, 1.0, -1.0)[:, None], np.where(np.isnan(room), 0.0, room))]
    if threshold:
        raise InputError(f"a threshold needs one output; got {outputs} classes; leave it at 0.")
    best = f.argmax(axis=1)
    rows, contests = np.arange(n), []
    for step in range(1, outputs):  # every other class once
        other = (best + step) % outputs
        signs = np.zeros((n, outputs))
        signs[rows, best], signs[rows, other] = 1.0, -1.0
        size = np.abs(f[rows, best]) + np.abs(f[rows, other]) + margin
        room = f[rows, best] - f[rows, other] - error[rows, best] - error[rows, other] - 2 * margin - 2.0**-50 * size
        contests.append((signs, np.where(np.isnan(room), 0.0, room)))
    return best.astype(np.int64), contests
