"""Whether a fit may go on from the one before it: the same kind of members, on the same rows."""

from __future__ import annotations

from typing import Any

from monolip.errors import InputError
from monolip.estimators._schema import Schema
from monolip.estimators.fit import Fitted

__all__ = ["to_continue"]


def to_continue(model: Any, schema: Schema, asked: dict[str, Any], same: dict[str, str]) -> Fitted | None:
    """The fit a warm start adds members to; asked: what defines a member now; same: the data, which must be."""
    fitted: Fitted | None = getattr(model, "_fitted", None)
    if not model.warm_start or fitted is None:
        return None
    asked_for = 0 if str(model.n_estimators) == "auto" else model.n_estimators
    if schema != model._schema or asked_for <= len(fitted.networks):
        raise InputError(
            "warm_start keeps the members there are and adds more on the same columns; got n_estimators="
            f"{model.n_estimators!r} after {len(fitted.networks)}; raise n_estimators to at least "
            f"{len(fitted.networks) + 1}, or set warm_start=False."
        )
    changed = [
        name for name, value in asked.items() if name not in fitted.definition or fitted.definition[name] != value
    ]
    changed = changed or [name for name, value in same.items() if model._fitted_on.get(name) != value]
    if changed:
        raise InputError(
            "warm_start adds members of the same kind to those there are; got a different "
            f"{', '.join(changed)}; change nothing but n_estimators, or set warm_start=False."
        )
    return fitted
