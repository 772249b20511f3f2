"""Notes of a fit that commands pass on, in the words of the command line."""

from __future__ import annotations

__all__ = ["in_our_words", "is_a_note"]

_WORDS = {"groups: ": "--groups: ", "or leave groups out": "or leave --groups out"}


def is_a_note(sentence: str) -> bool:
    """Whether a warning of an estimator speaks of groups, which commands pass on in their words."""
    return sentence.startswith("groups:")


def in_our_words(sentence: str) -> str:
    """What an estimator says of its arguments, with the names of our options."""
    for theirs, ours in _WORDS.items():
        sentence = sentence.replace(theirs, ours)
    return sentence
