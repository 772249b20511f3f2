"""Of two classes, the one a report speaks of: the one that was asked for, or that all directions were asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from monolip.errors import InputError

__all__ = ["named_class"]


def named_class(model: Any, classes: Sequence[str], positive: Any) -> int:
    """A position in classes, the labels as text: of `positive`; else of the class that monotonic_cst names; else 1.

    The network knows the log-odds of the second class only. A person who asked for "increasing in P(default)" and
    reads about P(paid) has to turn every sentence around in the head; the page does it instead.

    Example:
        >>> from types import SimpleNamespace
        >>> model = SimpleNamespace(monotonic_cst={"debt": {"default": 1}, "income": {"default": -1}})
        >>> named_class(model, ["default", "paid"], None), named_class(model, ["default", "paid"], "paid")
        (0, 1)
    """
    if positive is not None:
        if len(classes) != 2 or str(positive) not in classes:
            known = f"the classes {list(classes)}" if classes else "no classes"
            raise InputError(
                f"positive is one of the two classes of a classifier; got {positive!r} and {known[:200]}; name one of "
                "them, or leave it out."
            )
        return list(classes).index(str(positive))
    asked = getattr(model, "monotonic_cst", None)
    if len(classes) != 2 or not isinstance(asked, Mapping) or not asked:
        return 1
    named = [{str(label) for label in entry} if isinstance(entry, Mapping) else set() for entry in asked.values()]
    return 0 if all(labels == {classes[0]} for labels in named) else 1
