"""Results are data: one JSON file an experiment, with the command, the versions, the machine and the seconds.

    with recording("toy", fast=fast, packages=("monolip", "torch")) as numbers:
        numbers["rows"] = 50

writes paper/results/toy.json when the block ends without an error, or build/paper/results/toy.json for a fast run
(never committed: a fast run shows that the code works, not what the numbers are).
"""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from paper.missing_data import DamagedDataError

__all__ = ["PAPER", "ROOT", "figure_path", "read_results", "recording", "results_path", "write_results"]

PAPER = Path(__file__).resolve().parent
ROOT = PAPER.parent


def _home(fast: bool) -> Path:
    return ROOT / "build" / "paper" if fast else PAPER


def results_path(name: str, *, fast: bool = False) -> Path:
    return _home(fast) / "results" / f"{name}.json"


def figure_path(name: str, *, fast: bool = False) -> Path:
    """Where a figure goes, with its ending: figure_path("toy_regression.png")."""
    path = _home(fast) / "figures" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def recording(name: str, *, fast: bool, packages: tuple[str, ...] = ("monolip", "numpy")) -> Iterator[dict[str, Any]]:
    """A dictionary to fill with numbers; written, with where they come from, when the block ends well."""
    numbers: dict[str, Any] = {}
    begun, cpu = time.perf_counter(), time.process_time()
    yield numbers
    content = {
        "command": f"python paper/run.py {'--fast ' if fast else ''}{name}",
        "versions": {"python": platform.python_version(), **{package: _version(package) for package in packages}},
        "machine": {"system": platform.system(), "processor": _processor(), "cores": os.cpu_count()},
        "seconds": round(time.perf_counter() - begun, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "numbers": numbers,
    }
    write_results(name, content, fast=fast)


def write_results(name: str, content: dict[str, Any], *, fast: bool = False) -> None:
    """The whole file; for results that were read, and completed."""
    path = results_path(name, fast=fast)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")  # whole or not at all: what was there before stays until the new file is complete
    part.write_text(_text(content), encoding="utf-8")
    os.replace(part, path)


def _text(content: dict[str, Any]) -> str:
    """JSON a person can read and compare: indented, but a list of numbers, or of pairs of them, stays on one line."""
    text = json.dumps(content, indent=1, allow_nan=False)
    for pattern in (r"\[[^\[\]{}\"]*\]", r"\[\s*(?:\[ [^\[\],]+, [^\[\],]+ \],?\s*)+\]"):
        text = re.sub(pattern, lambda found: " ".join(found.group().split()), text)
    return text + "\n"


def read_results(name: str, *, fast: bool = False) -> dict[str, Any]:
    """The whole file, with "numbers" inside; one that is damaged is named."""
    path = results_path(name, fast=fast)
    content: Any = None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        said = 'no dictionary with "numbers" inside'
    except ValueError as error:  # of the JSON, or of its encoding
        said = f"{type(error).__name__}: {error}"
    if not isinstance(content, dict) or not isinstance(content.get("numbers"), dict):
        command = f"python paper/run.py {'--fast ' if fast else ''}{name}"
        raise DamagedDataError(
            f"results must be a JSON file as the runner writes it; {path} gave {said}; make it again: `{command}`"
        )
    return content


def _version(package: str) -> str:
    """A machine with a GPU may run monolip from its source, which has no metadata."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "from source, not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
