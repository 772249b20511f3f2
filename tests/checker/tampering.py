"""How changes of a document are written down: functions under their own names, and short ways to reach into it."""

from __future__ import annotations

import math

__all__ = ["FIRST", "SECOND", "Nudges", "down", "entry", "up"]

FIRST, SECOND = "member.0.trunk.0.0.weight", "member.0.trunk.0.1.weight"


class Nudges(dict):
    """Name of a change: (name of the network whose document it changes, the function that changes it)."""

    def tamper(self, name="raw"):
        """Register a change of the document of the named network, under the function's own name."""

        def register(change):
            self[change.__name__.replace("_", " ")] = (name, change)
            return change

        return register


def entry(document, feature):
    return next(e for e in document["claims"]["raw"] or document["claims"]["model"] if e["name"] == feature)


def up(text):
    return math.nextafter(float.fromhex(text), math.inf).hex()


def down(text):
    return math.nextafter(float.fromhex(text), -math.inf).hex()
