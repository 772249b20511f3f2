"""How long a step of each variant takes, in steps of the base: both in turns, so that a busy machine slows both alike.

Times of whole runs, one after the other, depend on who else uses the machine; a turn here takes tenths of a second.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import median

import torch

from paper.section_3_2.stacks import Rows, Stack, new_stack
from paper.section_3_2.suite import Splits
from paper.section_3_2.variants import Variant

__all__ = ["measure_pace"]


def measure_pace(
    variants: Mapping[str, Variant],
    base: str,
    tables: Sequence[Splits],
    *,
    rates: Sequence[float],
    hidden: Sequence[int],
    batch: int,
    turns: int,
    steps: int,
) -> dict[str, list[float]]:
    """Lowest, median and highest ratio of processor times of a turn, the variant's to that of the base beside it.

    That of the base to itself says how much is chance.
    """
    train = Rows.of([table.train for table in tables], len(rates))
    generator = torch.Generator().manual_seed(0)

    def seconds(stack: Stack) -> float:
        begun = time.process_time()
        for _ in range(steps):
            stack.step(*train.draw(batch, generator), 0.5)
        return time.process_time() - begun

    beside, found = new_stack(variants[base], tables, rates=rates, hidden=hidden), {}
    for name, variant in variants.items():
        stack = new_stack(variant, tables, rates=rates, hidden=hidden)
        for first in (beside, stack):  # allocations
            seconds(first)
        ratios = []
        for turn in range(turns):
            if turn % 2:
                own, theirs = seconds(stack), seconds(beside)
            else:
                theirs, own = seconds(beside), seconds(stack)
            ratios.append(own / theirs)
        found[name] = [round(ratio, 3) for ratio in (min(ratios), median(ratios), max(ratios))]
    return found
