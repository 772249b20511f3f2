"""How the networks are trained: the published recipe, and ours."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["COIN", "OURS", "PUBLISHED", "Recipe"]


@dataclass(frozen=True)
class Recipe:
    """One way of training.

    Args:
        form: "paper" or "convex".
        batch: images a step; None for all of them.
        rate: Adam's step for the first layer and the biases; later weights get `hidden` times as much, since entries
            of a row of L1 norm 1 are small.
        strength: of the whitening (see `Whitening`); None trains on centred pixels.
        focus: share of each batch drawn in proportion to 1 - P(label), the rest evenly. Late in training nearly all
            images are right, and an even draw would hardly ever see the others.
        slowest: the rate falls with the square root of the error, from 2 % errors on, down to this share.
        seconds, steps: limits.
    """

    form: str = "convex"
    batch: int | None = 2000
    rate: float = 5e-3
    hidden: float = 1.0
    betas: tuple[float, float] = (0.9, 0.99)
    temperature: float = 256.0
    strength: float | None = 1e-4
    focus: float = 0.25
    slowest: float = 0.1
    warm_up: int = 200
    round_steps: int = 100
    seconds: float = 60.0
    steps: int = 10**9
    width: int = 1024

    def but(self, **changes: object) -> Recipe:
        return replace(self, **changes)  # type: ignore[arg-type]


OURS = Recipe()
# Pairs of identical images whose labels only the goodness tells apart come last, and need small steps.
COIN = OURS.but(slowest=0.02)
PUBLISHED = Recipe(  # the table of Appendix A: Adam with its defaults on all images at once, for 100,000 epochs
    form="paper", batch=None, rate=1e-5, betas=(0.9, 0.999), strength=None, focus=0.0, slowest=1.0, warm_up=0
)
