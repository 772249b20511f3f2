"""The logarithm of probabilities: accurate, and monotone from one float to the next, across powers of two as well."""

from __future__ import annotations

import math

import numpy as np

from monolip.output_link import ordered_log


def neighbours(x: np.ndarray, steps: int = 40) -> np.ndarray:
    """Floats one ulp apart, from below x to above it."""
    bits = np.asarray(x, np.float64).view(np.int64)[:, None] + np.arange(-steps, steps + 1)
    return np.sort(np.clip(bits, 0, np.float64(1.0).view(np.int64)).ravel()).view(np.float64)


def test_it_never_falls_by_one_ulp(rng: np.random.Generator) -> None:
    powers = np.ldexp(1.0, -np.arange(1074))
    anywhere = rng.uniform(size=3000)
    tiny = 10.0 ** -rng.uniform(0, 323, 3000)
    near_one = 1.0 - 10.0 ** -rng.uniform(0, 17, 3000)
    x = neighbours(np.concatenate([powers, anywhere, tiny, near_one]))
    found = ordered_log(x)
    assert (found[1:] >= found[:-1]).all()
    assert (found <= 0).all()
    assert np.isfinite(found[x > 0]).all()
    order = rng.permutation(len(x))
    assert np.array_equal(ordered_log(x[order]), found[order])  # whatever stands beside it


def test_it_is_the_logarithm(rng: np.random.Generator) -> None:
    x = np.concatenate(
        [rng.uniform(size=2000), 10.0 ** -rng.uniform(0, 323, 2000), 1 - 10.0 ** -rng.uniform(0, 16, 2000)]
    )
    assert np.allclose(ordered_log(x), [math.log(v) for v in x], rtol=2e-15, atol=0)
    assert ordered_log([0.0, 1.0, 0.5]).tolist() == [-math.inf, 0.0, math.log(0.5)]
    assert ordered_log(0.25).shape == ()
