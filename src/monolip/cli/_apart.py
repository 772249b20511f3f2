"""A verb in a process of its own: readers of other libraries may crash on a damaged file, not we."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from monolip.errors import InputError

__all__ = ["is_apart", "run_apart"]

_MARK = "MONOLIP_APART"


def is_apart() -> bool:
    """Whether this is the process of its own."""
    return os.environ.get(_MARK) == "1"


def run_apart(arguments: Sequence[str], reader: str) -> int:
    """The same command line again, in a child; its exit code. A child that dies of a signal is an InputError.

    A terminal is passed on, so that tables look the same. Of standard error only our own lines are: libraries in C++
    that read foreign files write there as well.
    """
    command = [sys.executable, "-m", "monolip.cli", *arguments]
    out = None if sys.stdout.isatty() else subprocess.PIPE
    done = subprocess.run(
        command, stdout=out, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, _MARK: "1"}
    )
    if done.returncode < 0 or done.returncode in (134, 139):
        name = signal.Signals(-done.returncode).name if done.returncode < 0 else "a crash"
        raise InputError(
            f"{reader} must be able to read the file; got {name}; the file is damaged: save the model again."
        )
    if done.stdout:
        sys.stdout.write(done.stdout)
    for line in done.stderr.splitlines():
        if line.startswith(("monolip", "note:")) or _is_error(line) or os.environ.get("MONOLIP_TRACEBACK"):
            print(line, file=sys.stderr)
    return done.returncode


def _is_error(line: str) -> bool:
    try:
        return "exit_code" in json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return False
