"""What every exporter begins and ends with: the certified network to write, its features, and a file written whole."""

from __future__ import annotations

from os import PathLike
from typing import Any

from monolip.certify.certificate import require_certifiable
from monolip.certify.fixed_point import compile_fixed_point
from monolip.convex import ConvexForm
from monolip.errors import FreezeError, InputError
from monolip.export.c_float32 import to_float32
from monolip.export.c_network import float_limit
from monolip.export.parity_inputs import raw_columns_of
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork
from monolip.sealed_file import named_path, write_whole, writing_to

__all__ = ["ARITHMETICS", "Network", "features_of", "is_ordered", "network_for", "require_float32_room", "write_file"]

ARITHMETICS = ("float32", "float64", "fixed-point")
Network = FrozenNetwork | FixedPointNetwork


def network_for(model: Any, arithmetic: str, preset: Any = "wide", input_ranges: Any = None) -> Network:
    """The network an artefact of this arithmetic holds; what cannot be certified is an error.

    Args:
        model: a fitted estimator, a FrozenNetwork, or (for "fixed-point") a FixedPointNetwork.
        arithmetic: "float32" (weights rounded, the promise proved again), "float64" (as it is) or "fixed-point".
        preset, input_ranges: of `compile_fixed_point`.
    """
    if arithmetic not in ARITHMETICS:
        raise InputError(f"arithmetic is one of {', '.join(ARITHMETICS)}; got {arithmetic!r}; choose one.")
    network = getattr(model, "frozen_", model)
    if isinstance(network, FixedPointNetwork):
        if arithmetic != "fixed-point":
            raise InputError(f"integers export as fixed-point; got arithmetic={arithmetic!r}; pass the float network.")
        _require_text(network)
        return network
    if not isinstance(network, FrozenNetwork):
        raise InputError(
            f"exporters take a fitted estimator, a FrozenNetwork or a FixedPointNetwork; got {type(model).__name__}; "
            "fit or freeze it first."
        )
    _require_text(network)
    require_certifiable(network)
    if arithmetic == "fixed-point":
        return compile_fixed_point(network, preset, input_ranges=input_ranges)
    if arithmetic == "float32" and not network.is_convex:
        raise FreezeError(
            "float32 export rounds convex form; got paper form; use to_convex(), or arithmetic='float64'."
        )
    if arithmetic != "float32":
        return network
    require_float32_room(network)
    return to_float32(network)


def require_float32_room(network: FrozenNetwork) -> None:
    """Refuse weights so large that float32 sums of ordinary inputs would overflow."""
    for trunk in (trunk for member in network.members for trunk in member):
        if isinstance(trunk.form, ConvexForm):
            try:
                float_limit(trunk.form)
            except ValueError as error:
                raise FreezeError(f"sums must fit float32; {error}; export float64.") from None


def _require_text(network: Network) -> None:
    """Refuse names and labels that no file can hold."""
    link = network.link.link if isinstance(network, FixedPointNetwork) else network.link
    words = [*features_of(network), *((link.labels or ()) if link is not None else ())]
    words += [link.target] if link is not None and link.target is not None else []
    words += [label for column in raw_columns_of(network) for label in getattr(column, "categories", ())]
    for word in words:
        if isinstance(word, str) and any("\ud800" <= letter <= "\udfff" for letter in word):
            raise InputError(f"names and labels are Unicode text; got {word!r:.60}, half a character; rename it.")


def is_ordered(network: FrozenNetwork) -> bool:
    """Whether float evaluation in monolip's order gives the same bits, and every direction, on all machines."""
    return network.is_convex and network.free_branch is None  # tanh and exp of a branch are the library's


def features_of(network: Network) -> list[str]:
    """Names of what the artefact takes, in order: raw columns, or model columns where there is no transform."""
    if isinstance(network, FixedPointNetwork):
        return list(network.feature_names)
    if network.inputs is not None:
        return list(network.inputs.names)
    names = network.slopes.feature_names or [str(i) for i in range(network.n_features)]
    return [*names, *(network.free_names or [f"free {i}" for i in range(network.n_free_features)])]


def write_file(data: bytes, path: str | PathLike[str]) -> None:
    """Write atomically: a temporary file beside the target, then one rename."""
    target = named_path(path)
    if not target.parent.is_dir():
        raise InputError(f"a file goes into a folder that exists; got {str(target.parent)!r}, which does not; make it.")
    with writing_to(target):
        write_whole(target, data)
