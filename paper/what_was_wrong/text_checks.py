"""Errors of the text: orientation, Householder, the recursion, domains, units."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from monolip import Norm, audit
from monolip.nn import LipschitzMLP
from paper.what_was_wrong.finding import Finding

__all__ = ["domain_of_definition", "householder_gain", "recursion_sorts_the_input", "row_vectors_with_column_sums"]

FloatArray = NDArray[np.float64]


def _fit(norms: Norm | list[Norm], x: torch.Tensor, y: torch.Tensor, steps: int) -> float:
    """Mean squared error of g with bound 1 under a chain of norms."""
    torch.manual_seed(0)
    net = LipschitzMLP(x.shape[1], hidden=(16, 16), norms=norms)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def row_vectors_with_column_sums(fast: bool) -> Finding:
    """Eq. 7 multiplies row vectors, Eq. 8-10 bound column sums: that is the Linf norm of the map, not the L1 norm."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(8, 8))
    W /= np.abs(W).sum(axis=0)  # Eq. 10 as printed: absolute sums over each column
    l1_gain = max(np.abs(row @ W).sum() for row in np.eye(8))  # x W for unit vectors x: the L1 -> L1 norm
    linf_gain = max(np.abs(np.sign(W[:, k]) @ W).max() for k in range(8))
    assert l1_gain > 1.2
    assert linf_gain <= 1 + 1e-12
    torch.manual_seed(1)
    x = torch.randn(512, 4)
    y = x.abs().sum(1, keepdim=True)  # every slope is +-1: allowed by Lip^1 with lambda = 1
    steps = 100 if fast else 1500
    literal = _fit(Norm.LINF_TO_LINF, x, y, steps)
    columns = _fit(Norm.L1_TO_L1, x, y, steps)
    eq_11 = _fit([Norm.L1_TO_LINF, Norm.LINF_TO_LINF, Norm.LINF_TO_LINF], x, y, steps)
    return Finding(
        "text, Eq. 7-10",
        "row vectors z W with *column* sums bounded: that bounds the Linf norm of the map, not the stated 1-norm",
        f"a matrix with column sums 1 stretches row vectors by {l1_gain:.2f} in L1 (and by {linf_gain:.2f} in Linf)",
        "read literally the sum of all slopes is bounded, not each slope: |x1| + ... + |x4| is fitted with mean "
        f"squared error {literal:.2f}; read for column vectors (as the authors' code does) Eq. 10 is right, and gives "
        f"{columns:.1e} (Eq. 11, at the same rate and as many steps, {eq_11:.3f})",
        {
            "l1_gain": float(l1_gain),
            "linf_gain": float(linf_gain),
            "literal_mse": literal,
            "columns_mse": columns,
            "eq_11_mse": eq_11,
        },
    )


def reflection(n: int) -> FloatArray:
    """A Householder reflection over n coordinates with a large Linf gain: v leans on the first coordinate."""
    best, found = 0.0, np.eye(n)
    for first in np.linspace(0.01, 0.99, 99):
        v = np.full(n, np.sqrt((1 - first**2) / max(n - 1, 1)))
        v[0] = first
        R = np.eye(n) - 2 * np.outer(v, v)
        if np.abs(R).sum(axis=1).max() > best:
            best, found = float(np.abs(R).sum(axis=1).max()), R
    return found


def householder_gain(fast: bool) -> Finding:
    """Eq. 13 keeps the L2 norm; the scheme needs 1-Lipschitz in L1 or Linf."""
    gains = {n: float(np.abs(reflection(n)).sum(axis=1).max()) for n in (2, 4, 16)}
    assert all(abs(gain - np.sqrt(n)) < 0.02 * np.sqrt(n) for n, gain in gains.items()), gains
    R = reflection(2)
    signs = np.sign(R[0])

    def f(x: FloatArray) -> FloatArray:
        """Eq. 4 with lambda = 1 around a network that Eq. 11 allows: weights of at most 1, rows of absolute sum 1."""
        z = -x[:, :1] * signs  # first layer: entries +-1
        v = np.linalg.eigh(R)[1][:, 0]  # the direction that is reflected
        passed = (z @ v)[:, None] > 0
        g = np.where(passed, z, z @ R)[:, 0]
        return np.asarray(g + x[:, 0])

    report = audit(f, np.linspace(-3, 3, 50)[:, None], [1], seed=0, max_evaluations=20_000)
    slopes = np.diff(f(np.linspace(-3, 3, 601)[:, None])) / 0.01
    assert report.violated
    assert slopes.min() < -0.4
    return Finding(
        "text, Eq. 13",
        "Householder activations are offered for a scheme that needs Lipschitz constant 1 in L1 or Linf; they have it "
        "in "
        "L2 only",
        f"Linf gain {gains[2]:.3f} over 2, {gains[4]:.2f} over 4, {gains[16]:.2f} over 16 coordinates (sqrt n); a "
        "network "
        f"that Eq. 4, 11 and 13 allow has slope {slopes.min():.3f} in an increasing feature; audit finds it",
        "monolip counts the gain in the next layer's norm (|w|1 and |wR|1 at most 1 per group): the slope stays in its "
        "interval, and slope +-1 stays reachable",
        {"gains": {str(n): gain for n, gain in gains.items()}, "worst_slope": float(slopes.min())},
    )


def recursion_sorts_the_input(fast: bool) -> Finding:
    """Eq. 7 applies the activation to z^0 = x as well."""
    rng = np.random.default_rng(0)
    W, b = rng.normal(size=(4, 6)), rng.normal(size=6)

    def first_layer(x: FloatArray) -> FloatArray:
        return np.sort(x.reshape(-1, 2, 2), axis=2).reshape(-1, 4) @ W + b

    x = rng.normal(size=(100, 4))
    swapped = x[:, [1, 0, 2, 3]]
    assert np.array_equal(first_layer(x), first_layer(swapped))
    return Finding(
        "text, Eq. 7",
        "z^l = sigma(z^(l-1)) W^l + b^l with z^0 = x applies the activation to the raw input; and the output is called "
        "f, "
        "though it is g",
        "read literally, GroupSort-2 sorts features 1 and 2: exchanging them changes no output, on 100 of 100 rows",
        "no activation before the first layer (as in the authors' code): features can be told apart",
    )


def domain_of_definition(fast: bool) -> Finding:
    """Definition 3.2 and the lines after Eq. 4 quantify over the output space."""
    net = LipschitzMLP(3, 1, hidden=(4, 4))
    refused = False
    try:
        net(torch.zeros(1, 1))
    except (ValueError, RuntimeError):
        refused = True
    assert refused
    return Finding(
        "text, Definition 3.2 and below Eq. 4",
        "g maps R^d to R^n, but the inequality is stated for all x, y in R^n, and slopes for i in 1..n",
        "for d = 3, n = 1 the definition asks for g at points of R^1, where g is not defined (monolip refuses them)",
        "x, y in R^d and i in 1..d: nothing else changes",
    )
