"""The command line `monolip`: one file a verb, each of which parses, calls the library and prints.

Importing this loads neither torch, numba nor click; a verb loads what it needs when it runs.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from monolip.installing import install_advice

__all__ = ["main", "run"]


def run(arguments: Sequence[str]) -> int:
    """Run one command line, without the program's name; the exit code (docs/cli.md). Prints, and never raises."""
    try:
        from monolip.cli._app import run_line
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "click":
            raise
        print(
            f"monolip: the command line needs click; it is not installed; run: {install_advice('cli')}",
            file=sys.stderr,
        )
        return 4
    return run_line(list(arguments))


def main() -> None:
    """The console script."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a letter that a terminal does not have must not end a verb
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))
