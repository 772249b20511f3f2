"""A forest over features without a promise, on the command line: its option, what came of it, and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

__all__ = ["CHOICES", "forest_data", "forest_line", "forest_option", "in_our_words", "is_a_note"]

Verb = TypeVar("Verb", bound=Callable[..., Any])
CHOICES: Mapping[str, bool | None] = {"auto": None, "yes": True, "no": False}  # None: the estimator's own default
_NOTHING = "Nothing is promised of what it reads"
_WORDS = {
    "leave free_forest=True out": "leave --free-forest yes out",
    "free_forest=True, but": "--free-forest yes, but",
    "name them by fit(groups=)": "name them by --groups",
    "leave the forest out by free_forest=False": "leave the forest out by --free-forest no",
    "groups: ": "--groups: ",
    "or leave groups out": "or leave --groups out",
}


def forest_option(function: Verb) -> Verb:
    """--free-forest auto, yes or no."""
    text = "Add trees over features without a promise: where rows held out gain much by them, anything, or never."
    return click.option(
        "--free-forest", type=click.Choice(list(CHOICES)), default="auto", show_default=True, help=text
    )(function)


def is_a_note(sentence: str) -> bool:
    """Whether a warning of an estimator speaks of a forest or of groups, which commands pass on in their words."""
    return "forest" in sentence or sentence.startswith("groups:")


def in_our_words(sentence: str) -> str:
    """What an estimator says of its arguments, with the names of our options."""
    for theirs, ours in _WORDS.items():
        sentence = sentence.replace(theirs, ours)
    return sentence


def forest_data(model: Any) -> dict[str, Any] | None:
    """For programs: what it reads, how many trees, and the part of the loss that rows held out gained."""
    forest = model.frozen_.inputs.forest
    if forest is None:
        return None
    return {"features": list(model.free_features_), "trees": len(forest.roots), "gain": model.forest_gain_}


def forest_line(model: Any, wanted: bool | None, told: bool) -> str:
    """For people; "" where there is nothing to say. told: whether a note says already why there is none."""
    found = forest_data(model)
    if found is None:
        return "No forest was added: rows held out did not gain by one." if wanted and not told else ""
    names, loss = ", ".join(found["features"]), "squared error" if model.frozen_.link.labels is None else "log loss"
    gain = f"{100 * found['gain']:.2g} % less {loss} on rows held out while fitting"
    read = {row.feature: row.promise.partition(" ")[0] for row in model.slopes_ if row.feature in found["features"]}
    directed = ", ".join(name for name, word in read.items() if word != "free")
    about = f"What it reads has no slope bounds, and {directed} a direction" if directed else _NOTHING
    return (
        f"A forest of {found['trees']} trees over {names} is part of the model: {gain}.\n"
        f"{about}; what is promised of other features holds for network and trees together."
    )
