r"""The constant of a regression, kept apart from its integers: bits then resolve the spread of outputs, not their mean.

    convex form   a constant taken from all biases of one layer is taken from f, since mixing rows average
    paper form    the last bias passes through scale alone

Only for the identity link, whose prediction is f 2^-unit + offset, rounded once (FixedLink).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from monolip.convex import ConvexForm
from monolip.frozen import FrozenNetwork, Trunk
from monolip.paper_form import PaperForm

__all__ = ["without_offset"]


def without_offset(frozen: FrozenNetwork) -> tuple[FrozenNetwork, float]:
    """A network whose biases are centred, and the constant that is missing from it.

    >>> from monolip import SlopeBounds
    >>> from monolip.output_link import OutputLink
    >>> form = ConvexForm(([[1.0], [0.0]], [[0.5, 0.5]]), ([1e9, 1e9 + 2.0], [5.0]), (2,))
    >>> network = FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(form, (0,)),),), link=OutputLink("identity"))
    >>> small, offset = without_offset(network)
    >>> small.members[0][0].form.biases, offset
    ((array([-1.,  1.]), array([0.])), 1000000006.0)
    """
    if frozen.link is None or frozen.link.name != "identity":
        return frozen, 0.0
    members, offset = [], Fraction(0)
    for weight, (trunk,) in zip(
        np.asarray(frozen.member_weights).tolist(), frozen.members, strict=True
    ):  # one output, one trunk
        form, constant = _centred(trunk.form)
        members.append((Trunk(form, trunk.outputs),))
        offset += Fraction(weight) * constant
    return replace(frozen, members=tuple(members)), float(offset)


def _centred(form: ConvexForm | PaperForm) -> tuple[ConvexForm | PaperForm, Fraction]:
    if isinstance(form, PaperForm):
        last = form.biases[-1]
        return replace(form, biases=(*form.biases[:-1], last - last)), Fraction(float(form.scale[0])) * Fraction(
            float(last[0])
        )
    middles = [float(b.min()) / 2 + float(b.max()) / 2 for b in form.biases]
    biases = tuple(b - middle for b, middle in zip(form.biases, middles, strict=True))
    return replace(form, biases=biases), sum(map(Fraction, middles), Fraction(0))
