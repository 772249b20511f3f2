"""A small network with every number written down, so that its pictures are the same on every machine."""

from __future__ import annotations

import json
import os
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np

from monolip import ConvexForm, FrozenNetwork, SlopeBounds
from monolip.frozen import Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.piecewise_linear import PiecewiseLinear

__all__ = ["blocks_of", "matches_baseline", "network"]

BASELINES = Path(__file__).with_name("baselines.json")
GRID = (20, 32)


def network() -> FrozenNetwork:
    """Log-odds of "ill": rising in dose, falling in fitness, free in age, and by site."""
    columns = (
        NumericColumn("dose", (PiecewiseLinear([0.0, 4.0, 10.0], [0.0, 1.0, 1.5]),), seen=(0.0, 3.0, 10.0)),
        NumericColumn("fitness", (PiecewiseLinear([0.0, 1.0], [0.0, 1.0]),), seen=(0.0, 0.5, 1.0)),
        NumericColumn(
            "age",
            (PiecewiseLinear([20.0, 80.0], [-1.0, 1.0]),),
            missing=(0.0, 1.0),
            present=0.0,
            seen=(20.0, 45.0, 80.0),
        ),
        CategoryColumn("site", ("north", "south"), [[0.0], [1.0], [0.5], [0.5]]),
    )
    first = np.array(
        [
            [2.0, -3.0, 1.0, 0.2, 0.5],
            [1.0, -1.0, -1.0, 0.1, 0.0],
            [3.0, 0.0, 0.5, 0.0, -0.5],
            [0.0, -2.0, 2.0, 0.3, 1.0],
        ]
    )
    form = ConvexForm((first, [[0.125, 0.375, 0.125, 0.375]]), ([-1.0, 0.5, -1.5, 0.0], [0.0]), (2,))
    bounds = SlopeBounds([0.0, -3.0, -2.0, 0.0, -1.0], [3.0, 0.0, 2.0, 1.0, 1.0])
    link = OutputLink("logit", ("well", "ill"))
    return FrozenNetwork(bounds, ((Trunk(form, (0,)),),), inputs=InputTransform(columns), link=link)


def blocks_of(figure) -> np.ndarray:
    """The picture in 20 x 32 blocks of mean brightness: what an eye sees from afar, whatever the font."""
    import matplotlib.image

    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=80)
    buffer.seek(0)
    grey = matplotlib.image.imread(buffer, format="png")[:, :, :3].mean(axis=2)
    rows, columns = (np.linspace(0, n, k + 1).astype(int) for n, k in zip(grey.shape, GRID, strict=True))
    parts = [[grey[a:b, c:d].mean() for c, d in pairwise(columns)] for a, b in pairwise(rows)]
    return np.array(parts)


def matches_baseline(name: str, figure, tolerance: float = 0.03) -> bool:
    """Root-mean-square distance to the committed blocks; MONOLIP_WRITE_BASELINES=1 writes them."""
    found = blocks_of(figure)
    known = json.loads(BASELINES.read_text()) if BASELINES.exists() else {}
    if os.environ.get("MONOLIP_WRITE_BASELINES"):
        known[name] = [[round(float(v), 3) for v in row] for row in found]
        BASELINES.write_text(json.dumps(known, separators=(",", ":")) + "\n")
    return float(np.sqrt(((found - np.array(known[name])) ** 2).mean())) < tolerance
