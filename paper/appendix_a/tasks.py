"""The tasks of Appendix A: which images, which labels, and what the network has to promise.

mnist, cifar10, cifar100    true or random labels; every slope in [-1, 1]
cifar101                    CIFAR-100 with a goodness feature x in [0, 1] and a class 0 of its own (the others are 1
                            to 100): label 0 where x > 1/2 ("threshold"), or with probability x ("coin"), else the
                            original or a random label. Promise: P(class 0) does not fall in x. The original code
                            kept logit 0 from falling ("logit"), which does not keep P(class 0) from falling
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from monolip import SlopeBounds
from paper.appendix_a.attainable import attainable
from paper.appendix_a.images import Images

__all__ = ["TASKS", "Task", "make_task"]

TASKS = (
    "mnist true",
    "mnist random",
    "cifar10 true",
    "cifar10 random",
    "cifar100 true",
    "cifar100 random",
    "cifar101 threshold",
    "cifar101 coin, original",
    "cifar101 coin, random",
)
CRITICAL = 0.5


@dataclass(frozen=True)
class Task:
    """Images with labels, and for CIFAR-101 a goodness for each."""

    name: str
    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    n_classes: int
    goodness: NDArray[np.float64] | None = None
    guarantee: Literal["probability", "logit"] = "probability"

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """A largest set of images that can all be right."""
        return attainable(self.pixels, self.labels, self.goodness)

    @property
    def n_inputs(self) -> int:
        return self.pixels.shape[1] + (self.goodness is not None)

    def inputs(self, rows: NDArray[np.integer] | slice = slice(None)) -> NDArray[np.float64]:
        """(n, n_inputs): pixels from 0 to 1, then the goodness."""
        pixels = self.pixels[rows] / 255.0
        return pixels if self.goodness is None else np.column_stack([pixels, self.goodness[rows]])

    @property
    def center(self) -> NDArray[np.float64]:
        """The residual of the goodness in each output; its slopes are this plus or minus `radius`."""
        center = np.full(self.n_classes, -0.5 if self.guarantee == "probability" else 0.0)
        center[0] = self.radius
        return center

    @property
    def radius(self) -> float:
        return 0.5 if self.guarantee == "probability" else 1.0

    @property
    def slopes(self) -> SlopeBounds:
        """Lipschitz bound 1; for CIFAR-101 f_0 may only rise in the goodness, every other output only fall.

        Then f_0 - f_j rises for every j, and with it P(class 0) = 1 / sum_j exp(f_j - f_0), at any temperature. Under
        the guarantee of the original code f_0 rises with a slope in [0, 2], and the others go where they like.
        """
        if self.goodness is None:
            return SlopeBounds(np.full(self.n_inputs, -1.0), np.full(self.n_inputs, 1.0))
        upper = np.ones((self.n_inputs, self.n_classes))
        lower = -upper
        lower[-1], upper[-1] = self.center - self.radius, self.center + self.radius
        return SlopeBounds(lower, upper)


def make_task(
    name: str, images: Images, seed: int = 0, guarantee: Literal["probability", "logit"] = "probability"
) -> Task:
    """The task `name` on these images (all of a set, or fewer for a small version)."""
    kind, rule = name.split(" ", 1)
    rng = np.random.default_rng(seed)
    count, n_classes = len(images.labels), images.n_classes
    drawn, goodness, coin = rng.integers(n_classes, size=count), rng.random(count), rng.random(count)
    if kind != "cifar101":
        return Task(name, images.pixels, images.labels if rule == "true" else drawn, n_classes)
    goodness = goodness.astype(np.float32).astype(np.float64)  # the same number in either precision
    others = 1 + (drawn if rule == "coin, random" else images.labels)
    good = goodness > CRITICAL if rule == "threshold" else coin < goodness
    return Task(name, images.pixels, np.where(good, 0, others), n_classes + 1, goodness, guarantee)
