r"""Whitened coordinates for the first layer: the same networks, better conditioned.

    u = M (x - mean)        M = c (C + strength)^(-1/2), C the covariance of the pixels,
                            c such that the columns of |M| sum to at most 1

Images vary a thousand times more along their first principal directions than along the last, and random labels can
only be learned from all of them. A network V u + b with |V| <= 1 is the network (V M) x + (b - V M mean), and each
entry of V M is at most max|V| times a column sum of |M|, hence at most 1: a trunk of bound 1 on u is, folded, one of
bound 1 on x, of the same width and depth, at every moment of the training.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Whitening"]


@dataclass(frozen=True)
class Whitening:
    """mean (d,) and matrix M (d, d), symmetric, with column sums of |M| at most 1; float64."""

    mean: Tensor
    matrix: Tensor

    @classmethod
    def of(cls, pixels: Tensor, strength: float) -> Whitening:
        """From (n, d) pixels between 0 and 1; `strength` is the variance below which directions are left small."""
        x = pixels.double()
        mean = x.mean(0)
        x = x - mean
        values, vectors = torch.linalg.eigh(x.T @ x / len(x))
        matrix = (vectors * (values.clamp(min=0.0) + strength).rsqrt()) @ vectors.T
        matrix = (matrix + matrix.T) / 2
        return cls(mean, matrix / (matrix.abs().sum(0).max() * (1 + 1e-12)))

    @classmethod
    def none(cls, pixels: Tensor) -> Whitening:
        """Centred pixels: M is the identity."""
        x = pixels.double()
        return cls(x.mean(0), torch.eye(x.shape[1], dtype=torch.float64, device=x.device))

    def apply(self, pixels: Tensor) -> Tensor:
        """u of pixels between 0 and 1, in float32; in slices, since float64 copies of all of them are large."""
        parts = [((part.double() - self.mean) @ self.matrix).float() for part in pixels.split(10_000)]
        return torch.cat(parts)
