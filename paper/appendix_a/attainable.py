"""How many images any function of the promised kind can get right: identical images need one answer.

CIFAR-100 holds pairs of bit-identical images with different labels, so that no function of the image reaches 100 %.
With a goodness feature x two images of such a pair may get different answers, but P(class 0) must not fall in x: once
class 0 is the answer it stays the answer for every larger x.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

__all__ = ["attainable", "identical"]

Labels = NDArray[np.int64]


def attainable(
    pixels: NDArray[np.uint8], labels: Labels, goodness: NDArray[np.float64] | None = None
) -> NDArray[np.bool_]:
    """A largest set of images that can all be right, as a mask; its sum is the attainable maximum.

    >>> pixels, labels = np.zeros((3, 2), np.uint8), np.array([7, 0, 7])
    >>> attainable(pixels, labels).tolist()
    [True, False, True]
    >>> attainable(pixels, labels, np.array([0.1, 0.2, 0.3])).tolist()  # class 0 at 0.2 forbids class 7 at 0.3
    [True, False, True]
    >>> attainable(pixels, labels, np.array([0.1, 0.9, 0.3])).tolist()
    [True, True, True]
    """
    keep = np.ones(len(labels), dtype=bool)
    for found in _groups(pixels):
        x = np.zeros(len(found)) if goodness is None else goodness[found]
        keep[found] = _best(labels[found], x) if goodness is not None else _one_answer(labels[found])
    return keep


def identical(pixels: NDArray[np.uint8], labels: Labels) -> dict[str, int]:
    """How many images appear more than once, and how many of those with more than one label.

    >>> identical(np.array([[1], [2], [1], [2], [3]], np.uint8), np.array([7, 0, 7, 1, 1]))
    {'repeated': 2, 'with_other_labels': 1, 'most_copies': 2}
    """
    found = _groups(pixels)
    return {
        "repeated": len(found),
        "with_other_labels": sum(len(np.unique(labels[group])) > 1 for group in found),
        "most_copies": max(map(len, found), default=1),
    }


def _groups(pixels: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
    """Row numbers of each image that appears more than once."""
    groups: dict[bytes, list[int]] = defaultdict(list)
    for i, image in enumerate(np.ascontiguousarray(pixels)):
        groups[image.tobytes()].append(i)
    return [np.array(group) for group in groups.values() if len(group) > 1]


def _one_answer(labels: Labels) -> NDArray[np.bool_]:
    """The most frequent label, the smallest of several."""
    return labels == np.bincount(labels).argmax()


def _best(labels: Labels, goodness: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Below a cut the most frequent label other than 0 at each value, from the cut on class 0; the best of all cuts."""
    values = np.unique(goodness)
    best = np.zeros(len(labels), dtype=bool)
    for cut in range(len(values) + 1):
        right = np.zeros(len(labels), dtype=bool)
        for k, value in enumerate(values):
            here = goodness == value
            if k >= cut:
                right |= here & (labels == 0)
            elif (others := here & (labels != 0)).any():
                right |= here & (labels == np.bincount(labels[others]).argmax())
        if right.sum() > best.sum():
            best = right
    return best
