"""What a person at a terminal sees: tables with colours, a progress bar, and nothing of either in a pipe."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from monolip.cli._exits import Exit

from .conftest import FIT, Line

pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")


def in_a_terminal(*words: object, program: str | None = None) -> tuple[int, str]:
    """Run monolip, or a program that does, with a terminal of 100 columns as its input, output and errors."""
    import fcntl
    import struct

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    start = ["-m", "monolip.cli"] if program is None else ["-c", program]
    command = [sys.executable, *start, *map(str, words)]
    hidden = {"NO_COLOR", "COLUMNS", "CI", "FORCE_COLOR"}
    environment = {**{k: v for k, v in os.environ.items() if k not in hidden}, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        if select.select([ours], [], [], 120)[0]:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the last writer has closed it
                part = b""
            seen += part
            if part:
                continue
        break
    os.close(ours)
    return process.wait(60), seen.decode()


def test_tables_in_a_terminal():
    code, seen = in_a_terminal("doctor")
    assert code == 0
    assert "\x1b[1mThis machine" in seen
    assert "─" in seen


@pytest.mark.slow
def test_a_fit_in_a_terminal(fitted: Path, tmp_path):
    code, seen = in_a_terminal("fit", fitted / "loans.csv", *FIT, "-o", tmp_path / "m")
    assert code == 0
    assert "preparing" in seen  # the bar
    assert "━" in seen
    assert "\x1b[32mincreasing" in seen
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert "What was promised, and what is certified, in your units" in text
    assert (tmp_path / "m").exists()


def test_an_audit_leaves_its_report_on_the_screen_and_no_bar(fitted: Path):
    program = (
        "import monolip.certify.audit_progress as p; p._PATIENCE_SECONDS = 0.0; from monolip.cli import main; main()"
    )
    words = ("audit", fitted / "model.safetensors", fitted / "loans.csv", "--max-rows", "20")
    code, seen = in_a_terminal(*words, program=program)
    assert code == 0
    assert "rows scored" in seen  # the bar
    assert seen.rindex("\x1b[2K") > seen.rindex("rows scored")  # its line is cleared, and the report comes after
    assert seen.rindex("worst drop") > seen.rindex("\x1b[2K")


def test_an_error_in_a_terminal_is_plain(tmp_path):
    code, seen = in_a_terminal("fit", tmp_path / "none.csv", "-t", "y", "-o", tmp_path / "m")
    assert code == Exit.INPUT
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert "which does not" in text
    assert "Traceback" not in text
    assert "\x1b[?25h" in seen or "\x1b[?25l" not in seen  # the cursor is there again


def test_a_pipe_has_neither_colours_nor_bars(fitted: Path, line: Line):
    done = line("certify", fitted / "model.safetensors", "-o", fitted / "again.json")
    assert "\x1b" not in done.out + done.err
