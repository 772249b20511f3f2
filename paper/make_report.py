"""Makes paper/README.md from paper/sections/*.md and the committed results, so that no number is typed by hand.

    python paper/make_report.py      a test fails when README.md is out of date

A section is Markdown with {{places}}:

    {{toy.rows}}  {{toy.fit.seconds|.2f}}     a number of paper/results/toy.json, below "numbers", with a format
    {{toy.table_fits}}                        a table: tables(numbers)["table_fits"] of paper/toy/tables.py
    {{toy:seconds|.0f}}                       a field of the file itself (command, versions, machine, seconds)
    {{section.toy}}                           a link to a section, by its title

Where the results of an experiment are not there, its places say so; where they were made without a data set, so do
those places that need it.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from paper.results_file import PAPER, read_results, results_path

# The order of the report; each is paper/sections/<name>.md. A section that is not written yet is left out.
SECTIONS = (
    "abstract",
    "toy",
    "lhc",
    "table1",
    "what_was_wrong",
    "appendix_a",
    "section_3_2",
    "how_this_folder_works",
)
PAGE = PAPER / "README.md"
NOTICE = "<!-- made by paper/make_report.py from paper/sections and paper/results: edit those -->\n\n"
PLACE = re.compile(r"\{\{\s*(\w+)([.:])([\w.\- ]+?)\s*(?:\|([^}]*))?\}\}")


@cache
def content(name: str) -> dict[str, Any] | None:
    return read_results(name) if results_path(name).is_file() else None


@cache
def tables(name: str) -> dict[str, str]:
    results = content(name)
    if results is None or not (PAPER / name / "tables.py").is_file():
        return {}
    made: dict[str, str] = import_module(f"paper.{name}.tables").tables(results["numbers"])
    return made


def link(name: str) -> str:
    """A link to a section of the page; the anchor is made from the title as GitHub makes it."""
    path = PAPER / "sections" / f"{name}.md"
    if not path.is_file():
        return "not written yet"
    title = path.read_text(encoding="utf-8").lstrip("\n").splitlines()[0].lstrip("# ")
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"


def fill(place: re.Match[str]) -> str:
    """What stands in a place; an unknown path is an error, since the text would lie."""
    name, mark, path, form = place.groups()
    if name == "section":
        return link(path)
    results = content(name)
    if results is None:
        return f"(missing: run `python paper/run.py {name}`)"
    if mark == "." and path in tables(name):
        return tables(name)[path].strip("\n")
    value: Any = results["numbers"] if mark == "." else results
    try:
        for step in path.split("."):
            value = value[int(step)] if isinstance(value, list) else value[step]
    except (KeyError, IndexError):
        if absent := results["numbers"].get("missing"):  # what was not run has no numbers
            return f"(missing: {', '.join(absent)})"
        raise
    return format(value, form or "")


def main() -> str:
    """The text of README.md."""
    content.cache_clear()
    tables.cache_clear()
    paths = [PAPER / "sections" / f"{name}.md" for name in SECTIONS]
    texts = [path.read_text(encoding="utf-8").strip("\n") for path in paths if path.is_file()]
    return NOTICE + PLACE.sub(fill, "\n\n".join(texts)) + "\n"


if __name__ == "__main__":
    PAGE.write_text(main(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
