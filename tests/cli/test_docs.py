"""Every command of docs/cli.md runs, in order, in a folder that has what its Python blocks write."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from .conftest import Line

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def test_the_commands_of_the_page_run(line: Line, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page, commands, counts = PAGE.read_text(), 0, 0
    for kind, block in re.findall(r"^```(python|console)\n(.*?)^```", page, re.M | re.S):
        if kind == "python":
            exec(compile(block, PAGE.name, "exec"), {})
            continue
        for command, shown in re.findall(r"^\$ monolip (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            done = line(*shlex.split(command))
            assert done.code == 0, f"monolip {command}: {done.err}"
            for counted in re.findall(r"fitted on [\d,]+ rows, \d+ features", shown):
                assert counted in done.out
                counts += 1
            commands += 1
    assert counts >= 2
    assert commands >= 10


def test_every_option_that_the_page_names_exists(line: Line):
    from monolip.cli._app import VERBS

    known = " ".join(line(verb, "--help").out for verb in VERBS) + " --version"
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE.read_text()))
    assert {option for option in named if not re.search(rf"{option}\b", known)} == set()
