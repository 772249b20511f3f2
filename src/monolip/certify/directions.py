"""The direction of a raw feature, from those of the model columns that move with it: of floats and of integers alike.

A forest that reads the feature counts as one more such column. It moves from below all thresholds to above them; what
it gives a missing value stands below, above or among what it gives numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monolip.free_forest import FreeForest

__all__ = ["forest_end", "forest_words", "joined"]

_TURNED = {(True, True): "flat", (True, False): "increasing", (False, True): "decreasing"}


def joined(words: Iterable[str]) -> str:
    """The direction of model columns that move up together."""
    moving = set(words) - {"flat"}
    return "flat" if not moving else moving.pop() if len(moving) == 1 else "none"


def forest_words(forest: FreeForest, i: int, words: Sequence[Sequence[str]]) -> list[str]:
    """Per output how a forest moves with raw column i that it reads. words: of every output, of every model column.

    The last is that of the forest's sum. Where its weights may be negative nothing is said: nobody makes such networks.
    """
    k = forest.reads.index(i)
    own = _TURNED.get((forest.rises[k], forest.falls[k]), "none")
    ways = {"increasing": own, "flat": "none" if own == "none" else "flat"}
    return [ways.get(word[-1], "none") for word in words]


def forest_end(forest: FreeForest, i: int) -> tuple[int, int, int]:
    """What a forest is at a missing value, the lowest and the highest of raw column i: only their order counts."""
    return {"lowest": 0, "highest": 2}.get(forest.missing_is(forest.reads.index(i)), 1), 0, 2
