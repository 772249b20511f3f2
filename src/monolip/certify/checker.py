"""The independent checker: where it lies, and a call of it. It is run as a program of its own, never imported."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from monolip.errors import CertificateError

__all__ = ["checker_path", "run_checker"]

_NAME = "monolip_check.py"


def checker_path() -> Path:
    """The file monolip_check.py: in the source tree, or where the wheel has put it, unchanged.

    >>> checker_path().name
    'monolip_check.py'
    """
    source = Path(__file__).resolve().parents[3] / "checker" / _NAME
    if source.is_file():
        return source
    try:
        installed = [Path(str(file.locate())) for file in files("monolip") or () if file.name == _NAME]
    except PackageNotFoundError:
        installed = []
    if not installed or not installed[0].is_file():
        raise CertificateError(
            f"the checker comes with monolip as {_NAME}; it was not found; reinstall monolip, or use the sources."
        )
    return installed[0]


def run_checker(document: str) -> str:
    """What the checker prints about a document, in an interpreter that cannot import monolip; raises if it rejects."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        path.write_text(document, encoding="utf-8")
        command = [sys.executable, "-I", "-S", str(checker_path()), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CertificateError(
            "a certificate is worth what the checker can prove; it said "
            f"{(done.stdout or done.stderr).strip()!r}; do not rely on this document."
        )
    return done.stdout
