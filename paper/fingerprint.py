"""What a result depends on besides its settings: the code that computes it and the packages it calls.

A cache keyed by it cannot hand out a number that other code made.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["files_of", "fingerprint"]

ROOT = Path(__file__).resolve().parents[1]
# Rooms of monolip that compute; the others export, draw and print. The files at its top count always.
ROOMS = ("certify", "engine", "estimators", "nn")


@cache
def fingerprint(
    modules: tuple[str, ...],
    packages: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    rooms: tuple[str, ...] = ROOMS,
) -> str:
    """sha256 over every file that these modules of paper/ import, directly or not, and over versions of packages.

    `without`: modules whose files, and what only they import, do not count. `rooms`: of monolip, all of whose files
    count as soon as one file imports monolip.

    >>> fingerprint(("paper.table1.scores",)) == fingerprint(("paper.table1.scores",), without=("paper.lhc.sample",))
    True
    """
    found = hashlib.sha256()
    for path in files_of(modules, without, rooms):
        found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    for package in sorted(packages):
        found.update(f"{package} {_version(package)}".encode())
    return found.hexdigest()[:16]


def files_of(modules: Iterable[str], without: Iterable[str] = (), rooms: Iterable[str] = ROOMS) -> list[Path]:
    """The files of modules of paper/ and of all that they import from paper/ and monolip, sorted."""
    seen: set[Path] = set()
    open_names, closed = list(modules), set(without)
    while open_names:
        name = open_names.pop()
        path = _file(name)
        if path is None or path in seen or name in closed:
            continue
        seen.add(path)
        open_names += _imports(path)
    return sorted(seen | (_monolip(rooms) if any(_uses_monolip(path) for path in seen) else set()))


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Names of paper/ that a file imports, at the top or inside functions; of `from a import b`, a and a.b."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *[f"{node.module}.{alias.name}" for alias in node.names]]
    return tuple(names)


def _uses_monolip(path: Path) -> bool:
    return any(name.split(".")[0] == "monolip" for name in _imports(path))


def _file(name: str) -> Path | None:
    if name.split(".")[0] != "paper":
        return None
    stem = ROOT.joinpath(*name.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def _monolip(rooms: Iterable[str]) -> set[Path]:
    source = ROOT / "src" / "monolip"
    return {*source.glob("*.py"), *(path for room in rooms for path in (source / room).rglob("*.py"))}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
