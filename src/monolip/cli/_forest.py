"""Trees beside the network, on the command line: its option, what came of it, and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

__all__ = ["CHOICES", "forest_data", "forest_line", "forest_option", "in_our_words", "is_a_note"]

Verb = TypeVar("Verb", bound=Callable[..., Any])
# None: the estimator's own default
CHOICES: Mapping[str, bool | str | None] = {"auto": None, "free": "free", "yes": True, "no": False}
_NOTHING = "Nothing is promised of what they read"
_WORDS = {
    "leave trees='free' out": "leave --trees free out",
    "leave trees=True out": "leave --trees yes out",
    "trees='free', but": "--trees free, but",
    "trees=True, but": "--trees yes, but",
    "name them by fit(groups=)": "name them by --groups",
    "leave all trees out by trees=False": "leave all trees out by --trees no",
    "groups: ": "--groups: ",
    "or leave groups out": "or leave --groups out",
}


def forest_option(function: Verb) -> Verb:
    """--trees auto, free, yes or no."""
    text = (
        "Trees beside the network, which keep every direction but have no slope bounds. auto: where rows held out gain "
        "enough by them; yes: where they gain anything; free: the same, but only over features nothing is promised of; "
        "no: never."
    )
    return click.option("--trees", type=click.Choice(list(CHOICES)), default="auto", show_default=True, help=text)(
        function
    )


def is_a_note(sentence: str) -> bool:
    """Whether a warning of an estimator speaks of trees or of groups, which commands pass on in their words."""
    return "forest" in sentence or sentence.startswith(("groups:", "trees="))


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
    return {"features": list(model.tree_features_), "trees": len(forest.roots), "gain": model.trees_gain_}


def forest_line(model: Any, wanted: bool | str | None, told: bool) -> str:
    """For people; "" where there is nothing to say. told: whether a note says already why there is none."""
    found = forest_data(model)
    if found is None:
        return "No trees were added: rows held out did not gain by them." if wanted and not told else ""
    names, loss = _some(found["features"]), "squared error" if model.frozen_.link.labels is None else "log loss"
    gain = f"{100 * found['gain']:.2g} % less {loss} on rows held out while fitting"
    read = {row.feature: row.promise.partition(" ")[0] for row in model.slopes_ if row.feature in found["features"]}
    directed = [name for name, word in read.items() if word != "free"]
    about = f"What they read has no slope bounds; directions hold ({_some(directed)})" if directed else _NOTHING
    every = len(found["features"]) == model.frozen_.inputs.n_raw
    rest = "" if every else "; what is promised of other features holds for network and trees together"
    return f"{found['trees']} trees over {names} are part of the model: {gain}.\n{about}{rest}."


def _some(names: list[str]) -> str:
    """Of many, the first ones and how many more."""
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
