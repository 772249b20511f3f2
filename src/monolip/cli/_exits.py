"""Exit codes, and every error as one line: the rule; what was got; what to do."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
import shlex
from enum import IntEnum

import click

from monolip.errors import CheckpointError, MissingExtraError, MonolipError

__all__ = ["Exit", "FindingError", "explain_error", "one_line"]


_ORDERED = re.compile(r"make it ordered by categorical_features=(\{.*\}), from low to high")
_DATE = re.compile(r"in column (.+); convert it to numbers \(for a date, .*\) or to strings(: .*)?")
_WORDS = {
    "list it in categorical_features": "name it by --categorical",
    "raise n_estimators": "raise --members",
    "remove the folder to start afresh": "pass --restart to begin again",
}


class Exit(IntEnum):
    """What a script learns from a run; documented in docs/cli.md."""

    OK = 0  # done; for check, audit and export also: nothing was found against it
    FOUND = 1  # done, and the answer is no: rejected, violated, differs, unhealthy
    USAGE = 2  # the command line itself: an unknown verb or option, a value out of range
    INPUT = 3  # a file, a column or a value that cannot be used
    MISSING = 4  # an optional package that is not installed
    SYSTEM = 5  # the system refused: permissions, a full disk, memory
    BUG = 70  # a defect of monolip
    INTERRUPTED = 130  # Ctrl-C; what was done is kept


class FindingError(Exception):
    """The answer is no; its text is the one line that says why. Ends with Exit.FOUND."""


def one_line(text: object) -> str:
    """Any text without line breaks and control characters: file names and cells may hold both."""
    words = " ".join(str(text).split())
    return "".join(letter if letter.isprintable() else "?" for letter in words)


def explain_error(error: BaseException, verb: str | None) -> tuple[Exit, str]:
    """The exit code and the line for anything that ended a verb."""
    if isinstance(error, FindingError):
        return Exit.FOUND, one_line(error)
    if isinstance(error, click.ClickException):
        place = "monolip --help" if verb is None else f"monolip {verb} --help"
        line = one_line(error.format_message()).rstrip(".;")
        if verb in ("fit", "predict") and "unexpected extra argument" in line:  # the shell opened a pattern
            line += "; several files are one quoted pattern ('data/*.parquet') or their folder"
        if verb == "export" and "unexpected extra argument" in line:
            line += "; a format is an option: monolip export MODEL --format c"
        return Exit.USAGE, f"{line}; see {place}"
    if isinstance(error, MissingExtraError):
        return Exit.MISSING, one_line(error)
    if isinstance(error, CheckpointError) and _is_full(error.__cause__):
        return Exit.SYSTEM, one_line(error)
    if isinstance(error, MonolipError):
        return Exit.INPUT, _in_our_words(one_line(error))
    if isinstance(error, FileNotFoundError):
        return Exit.INPUT, f"a file that is read must exist; got {_name(error)}, which does not; check the path"
    if isinstance(error, IsADirectoryError):
        return Exit.INPUT, f"a file is needed; got {_name(error)}, which is a folder; name a file in it"
    if isinstance(error, OSError):
        return Exit.SYSTEM, _system(error)
    if isinstance(error, MemoryError):
        return Exit.SYSTEM, "this needs more memory than there is; got none from the system; use fewer rows or columns"
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED, one_line(error) or "interrupted"
    what = f"{type(error).__name__}: {one_line(error)[:300]}"
    return Exit.BUG, f"this is a defect of monolip; got {what}; set MONOLIP_TRACEBACK=1 to see where, and report it"


def _in_our_words(line: str) -> str:
    """The library's remedies name parameters; a command line has options."""
    for theirs, ours in _WORDS.items():
        line = line.replace(theirs, ours)
    date = _DATE.search(line)
    if date:  # without the line of Python that the library gives
        line = line[: date.start(2)] if date[2] else line.rstrip(".")
        line += f", or pass --drop {_plainly(date[1])}"
    return _ORDERED.sub(lambda found: _as_toml(found[1]), line)


def _plainly(name: str) -> str:
    """A name as a shell takes it."""
    try:
        return shlex.quote(str(ast.literal_eval(name)))
    except (SyntaxError, ValueError):
        return name


def _as_toml(order: str) -> str:
    """{'grade': ['A', 'B']} as lines of a constraints file."""
    try:
        ((name, labels),) = ast.literal_eval(order).items()
    except (SyntaxError, ValueError):
        return f"order it under [ordered] in a constraints file, as in {order}, from low to high"
    key = name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
    listed = ", ".join("..." if label is ... else json.dumps(label, ensure_ascii=False) for label in labels)
    return f"write its order, from low to high, in a constraints file: a line [ordered], then {key} = [{listed}]"


def _is_full(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _name(error: OSError) -> str:
    return repr(os.fspath(error.filename)) if error.filename is not None else "one"


def _system(error: OSError) -> str:
    plain = os.strerror(error.errno) if error.errno else error.strerror  # ours say what to do, as this line does
    reason = (plain or one_line(error) or type(error).__name__).lower()
    place = "" if error.filename is None else f" for {_name(error)}"
    remedy = "free some space" if _is_full(error) else "choose another place with --output"
    return f"the system must let this file be read or written; got '{reason}'{place}; {remedy}, or change permissions"
