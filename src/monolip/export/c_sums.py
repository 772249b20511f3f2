"""What happens to a sum, in C: the shift and clamp of fixed point, the share of a member, the clamp of inputs."""

from __future__ import annotations

from monolip.export.c_network import CNetwork, CTrunk
from monolip.export.c_text import literal

__all__ = ["added", "after_sum", "clip", "ending", "starting"]


def starting(network: CNetwork, k: str, lanes: str = "") -> list[str]:
    """Outputs before any member is added; fixed point begins with half a unit."""
    if network.is_single:
        return []
    first = 0 if network.shift is None else 1 << (network.shift - 1)
    return [f"    for ({k} = 0; {k} < {network.n_outputs}{lanes}; {k}++) f[{k}] = {literal(first, network.number)};"]


def ending(network: CNetwork, k: str, lanes: str = "") -> list[str]:
    """Outputs after all members."""
    if network.is_single or network.shift is None:
        return []
    return [f"    for ({k} = 0; {k} < {network.n_outputs}{lanes}; {k}++) f[{k}] = f[{k}] >> {network.shift};"]


def added(M: str, network: CNetwork, trunk: CTrunk, f: str, value: str) -> str:
    """An output of a trunk, times its member's share, added to f."""
    if network.is_single:
        return f"{f} = {value};"
    return f"{f} = {M}_MULTIPLY_ADD({literal(trunk.share, network.number)}, {value}, {f});"


def after_sum(M: str, network: CNetwork, value: str, hidden: bool) -> str:
    """The shift that rounds down, and the clamp of activations that saturate."""
    if network.shift is None:
        return value
    down = f"({value} >> {network.shift})"
    if network.saturate is None or not hidden:
        return down
    return clip(M, down, network.saturate, network.number)


def clip(M: str, value: str, limit: float, number: str) -> str:
    """The value, at most `limit` away from 0."""
    most = literal(limit, number)
    return f"{M}_SMALLER({M}_LARGER({value}, -{most}), {most})"
