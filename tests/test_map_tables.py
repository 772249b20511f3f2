"""Tables of all maps at once: the same numbers as of every map by itself."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.map_tables import MapTables

from .test_piecewise_linear import random_map


@pytest.mark.parametrize("scale", [1e-290, 1.0, 1e300])
def test_every_stretch_has_the_piece_and_slope_of_each_map(rng, scale):
    for _ in range(20):
        features = [[random_map(rng, rng.integers(1, 7), scale) for _ in range(rng.integers(1, 5))] for _ in range(4)]
        wholes = [random_map(rng, 9, scale) for _ in range(2)]
        features += [[whole, *whole.cut(range(0, whole.knots.size, 2))] for whole in wholes]  # maps that share knots
        for maps, tables in zip(features, MapTables.of(features), strict=True):
            assert tables.knots.tolist() == sorted({k for phi in maps for k in phi.knots.tolist()})
            for stretch, left in enumerate([-np.inf, *tables.knots.tolist()]):
                for m, phi in enumerate(maps):
                    piece = int(phi.knots.searchsorted(left, "right"))
                    exact = phi.slope(piece)
                    assert tables.at[stretch, m] == piece
                    assert tables.pieces[stretch, m].tobytes() == phi.pieces[piece].tobytes()
                    assert tables.moving[stretch, m] == (exact != 0)
                    assert abs(float(tables.slopes[stretch, m]) - exact) <= abs(exact) / 2**50 + 2.0**-1074


def test_features_near_the_smallest_floats_do_not_change_the_others(rng):
    plain, rough = [random_map(rng, 6)], [random_map(rng, 6, 1e-290)]
    alone, together = MapTables.of([plain])[0], MapTables.of([plain, rough])[0]
    assert alone.slopes.tobytes() == together.slopes.tobytes()
    assert not together.slopes.flags.writeable
