"""The shape of a network to be trained: layers, sort groups, block-diagonal fan-in, and which form it has."""

from __future__ import annotations

from dataclasses import dataclass

from monolip.errors import StructureError

__all__ = ["Architecture"]

MAX_LAYERS = 8


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """hidden: width of each hidden layer (0 to 7 of them; none is a linear function with bounded slopes).

    group_size: sorted together after each hidden layer; must divide every width.
    fan_in:     hidden layers after the first are block-diagonal with about this many inputs a unit; None: dense.
    paper_form: signed rows of absolute sum at most 1 and a residual, instead of mixing rows.
    """

    hidden: tuple[int, ...] = (32, 32)
    group_size: int = 2
    fan_in: int | None = 16
    paper_form: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))  # a list would have no hash
        if len(self.hidden) >= MAX_LAYERS:
            raise StructureError(
                f"a trained network has 1 to {MAX_LAYERS} layers; got {len(self.hidden) + 1}; remove hidden layers."
            )
        if self.group_size < 1 or any(width < 1 or width % self.group_size for width in self.hidden):
            raise StructureError(
                "every hidden width is a positive multiple of group_size;"
                f" got widths {self.hidden} and group_size={self.group_size}; change one of them."
            )
        if self.fan_in is not None and self.fan_in < 1:
            raise StructureError(f"fan_in is at least 1, or None for dense layers; got {self.fan_in}; change it.")

    @property
    def group_sizes(self) -> tuple[int, ...]:
        return (self.group_size,) * len(self.hidden)
