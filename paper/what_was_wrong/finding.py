"""One defect: where it is, what is wrong, what was measured, and what fixing it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Check", "Finding"]


@dataclass(frozen=True)
class Finding:
    """verified: what the code found, in one sentence with its numbers. effect: of fixing it, likewise.

    numbers: everything measured, for the tables, the figure and the tests.
    """

    where: str
    wrong: str
    verified: str
    effect: str
    numbers: dict[str, Any] = field(default_factory=dict)

    def written(self) -> dict[str, Any]:
        return asdict(self)


Check = Callable[[bool], Finding]  # fast -> finding; an assertion fails where the defect is not there
