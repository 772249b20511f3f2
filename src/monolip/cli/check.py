"""monolip check: the independent checker, run as a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from monolip.cli._exits import Exit, FindingError
from monolip.cli._models import read_metadata
from monolip.cli._options import FILE, json_option
from monolip.cli._screen import Answer, show

__all__ = ["command"]


@click.command("check")
@click.argument("certificate", type=FILE)
@click.option("--model", type=FILE, help="Also: is the certificate about this model file?")
@json_option
def command(certificate: Path, model: Path | None, as_json: bool) -> int:
    """Prove every claim of a certificate again, by a program that shares no code with monolip. Exit code 1: rejected.

    \b
      monolip check certificate.json --model model.safetensors
    """
    for path in (certificate, *([] if model is None else [model])):
        path.open("rb").close()  # an unreadable file is an error of its own, not a rejection
    if "monolip" in read_metadata(certificate):
        raise click.UsageError(
            f"a certificate is checked; {certificate} is a model; name its .certificate.json, and the model by --model"
        )
    from monolip.certify.checker import checker_path

    checker = checker_path()
    (proved, text), remedy = _run(checker, str(certificate)), "do not rely on it"
    answer = Answer({"certificate": str(certificate), "accepted": proved, "checker": str(checker), "said": text})
    for line in text.splitlines():
        answer.line(line)
    if proved and model is not None:
        same, digest = _run(checker.with_name("monolip_digest.py"), str(model), str(certificate))
        answer.data |= {"model": str(model), "about_this_model": same, "accepted": same}
        answer.line(
            f"PROVED: it is about {model}" if same else f"REJECTED: {model}: {digest.removeprefix('REJECTED: ')}"
        )
        proved, text = same, digest
        remedy = "give the model it was made for" if "another network" in digest else remedy
    if not proved and not as_json:
        raise FindingError(f"a certificate is worth what can be proved; {text.splitlines()[0]}; {remedy}")
    show(answer, as_json)
    return Exit.OK if proved else Exit.FOUND


def _run(program: Path, *arguments: str) -> tuple[bool, str]:
    """In an interpreter that cannot import monolip."""
    command = [sys.executable, "-I", "-S", str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = (done.stdout or done.stderr).strip() or "REJECTED: the checker said nothing"
    text = text.replace(" (ValueError)", "")  # the checker's own finding, no accident
    return done.returncode == 0, text
