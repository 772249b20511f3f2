"""monolip doctor: what this installation has, and what it lacks."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from monolip._version import __version__
from monolip.cli._exits import Exit
from monolip.cli._options import json_option
from monolip.cli._screen import Answer, show
from monolip.installing import install_advice

__all__ = ["command"]

_CORE = ("numpy", "numba", "scikit-learn", "safetensors", "narwhals", "rich", "scipy")
_EXTRAS = {
    "click": "cli", "pyarrow": "cli", "matplotlib": "plot", "onnx": "onnx", "onnxruntime": "onnx", "torch": "torch",
    "lightgbm": "bench", "xgboost": "bench",
}  # fmt: skip
_ALONE = ("lightgbm", "xgboost")  # `compare` needs these alone; the rest of their extra is for benchmarks
_VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "CUDA_VISIBLE_DEVICES")


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Show versions, threads, accelerator, kernel cache and checker. Exit code 1: something needed is missing."""
    core = {name: _version(name) for name in _CORE}
    extras = {name: _version(name) for name in _EXTRAS}
    cache, checker = _cache(), _checker()
    problems = [f"{name} is missing; run: pip install {name}" for name, found in core.items() if found is None]
    problems += (
        [] if cache["writable"] else [f"kernels cannot be cached: {cache['folder']} is read-only; set NUMBA_CACHE_DIR"]
    )
    problems += [] if checker else ["the independent checker was not found; reinstall monolip"]
    facts: dict[str, Any] = {
        "monolip": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": {"present": os.cpu_count(), "usable": _usable_cores()},
        "packages": core,
        "extras": extras,
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "accelerator": _accelerator(),
        "compiler": shutil.which("cc") or shutil.which("gcc") or shutil.which("clang"),
        "kernel_cache": cache,
        "checker": checker,
        "problems": problems,
    }
    show(_answer(facts), as_json)
    return Exit.FOUND if problems else Exit.OK


def _answer(facts: dict[str, Any]) -> Answer:
    answer = Answer(facts)
    cores, cache = facts["cores"], facts["kernel_cache"]
    state = (
        f"{cache['files']} kernels compiled" if cache["files"] else "empty: the first fit compiles for half a minute"
    )
    rows = [
        ["what", "found"],
        ["monolip", facts["monolip"]],
        ["Python", f"{facts['python']} ({sys.executable})"],
        ["system", facts["system"]],
        ["threads", f"{cores['usable']} of {cores['present']} cores usable; a fit uses 1 unless --threads says more"],
        ["accelerator", facts["accelerator"] or "none (none is needed: fits run on the processor)"],
        ["C compiler", facts["compiler"] or "none (export to C then writes without running)"],
        ["kernel cache", f"{cache['folder']}: {state}"],
        ["checker", facts["checker"] or "missing"],
    ]
    rows += [[name, value] for name, value in facts["environment"].items()]
    answer.table("This machine", rows)
    packages = [["package", "for", "version"]]  # advice may be long, and comes last
    packages += [[name, "core", found or "missing"] for name, found in facts["packages"].items()]
    for name, found in facts["extras"].items():
        advice = f"pip install {name}" if name in _ALONE else install_advice(_EXTRAS[name])
        words = f"missing: {advice}" if found is None else found
        packages.append([name, f"extra {_EXTRAS[name]}", words])
    answer.table("Packages", packages)
    for problem in facts["problems"]:
        answer.line(f"problem: {problem}")
    return answer if facts["problems"] else answer.line("Nothing needed is missing.")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _usable_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _accelerator() -> str | None:
    """As the driver names it; torch is not loaded to find out."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    question = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(question, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return "; ".join(done.stdout.split("\n")).strip("; ") or None if done.returncode == 0 else None


def _cache() -> dict[str, Any]:
    """Where numba keeps compiled kernels: beside the engine's sources, or in NUMBA_CACHE_DIR."""
    import monolip

    own = os.environ.get("NUMBA_CACHE_DIR")
    package = Path(monolip.__file__).parent
    folders = [Path(own)] if own else [package / part / "__pycache__" for part in ("engine", "estimators")]
    files = [file for folder in folders if folder.is_dir() for file in folder.rglob("*.nbc")]
    writable = any(os.access(folder if folder.exists() else folder.parent, os.W_OK) for folder in folders)
    megabytes = round(sum(file.stat().st_size for file in files) / 1e6, 1)
    user = Path(sysconfig.get_path("purelib"))
    folder = str(folders[0]).replace(str(user), "site-packages")
    return {"folder": folder, "files": len(files), "megabytes": megabytes, "writable": writable}


def _checker() -> str | None:
    from monolip.certify.checker import checker_path
    from monolip.errors import CertificateError

    try:
        return str(checker_path())
    except CertificateError:
        return None
