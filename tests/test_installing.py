"""Advice on installing works: the package is on no index, so an extra is installed from a checkout."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from monolip.errors import MissingExtraError

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TEXTS = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").rglob("*")) if path.suffix in (".md", ".ipynb")),
    *sorted((ROOT / "examples").rglob("*.py")),
    *sorted((ROOT / "src").rglob("*.py")),
]


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_a_missing_extra_is_installed_from_a_checkout(extra: str) -> None:
    said = str(MissingExtraError("something", extra))
    assert f'something, which is not installed; run: pip install ".[{extra}]" in a checkout of monolip' in said
    needs_torch = any(package.startswith("torch") for package in EXTRAS[extra])
    assert ("install a CPU build of torch first" in said) == needs_torch


def test_a_package_of_others_is_installed_by_its_name() -> None:
    said = str(MissingExtraError("lightgbm", "bench", "pip install lightgbm"))
    assert said == "this needs lightgbm, which is not installed; run: pip install lightgbm"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_text_takes_monolip_from_an_index(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace('\\"', '"')
    assert not re.findall(r'pip install (?:-\S+ )*"?monolip\b', text)
    assert set(re.findall(r'pip install "\.\[(\w+)\]"', text)) <= set(EXTRAS)


def test_the_program_has_the_advice_in_one_place() -> None:
    holders = [path.name for path in (ROOT / "src").rglob("*.py") if 'pip install ".[' in path.read_text()]
    assert holders == ["installing.py"]
