"""Results are data: one JSON file per benchmark, with its command, the day, the machine and the versions."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "record"]

ROOT = Path(__file__).resolve().parent.parent


def record(name: str, results: Any, packages: tuple[str, ...], **settings: Any) -> Path:
    """Write benchmarks/results/<name>.json."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    data = os.environ.get("MONOLIP_DATA", "")
    made_here = [f"MONOLIP_DATA={data}"] if data.startswith("build/") else []  # else the open suite, wherever it lies
    content = {
        "command": " ".join([*made_here, "python", os.path.relpath(sys.argv[0], ROOT), *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {"system": platform.system(), "processor": _processor(), "cores": os.cpu_count()},
        "versions": {"python": platform.python_version(), **{package: version(package) for package in packages}},
        "settings": settings,
        "results": results,
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
