"""What the site shows beside docs/: README as its front page, CHANGELOG, CONTRIBUTING, the paper's report, the checker.

Links are written for the repository, where people read them first. Here they are turned to the pages they became, and
those that lead to source files into plain text: the site has no copy of the sources.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))  # a hook is loaded by its path
from site_api import API, api_page  # noqa: E402

PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "paper/README.md": "paper.md",
    "checker/SPECIFICATION.md": "checker_specification.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Pages and pictures that live outside docs/, and the API pages."""
    for page in API:
        files.append(File.generated(config, page, content=api_page(page)))
    for source, page in PAGES.items():
        if not (ROOT / source).exists():
            continue
        text = (ROOT / source).read_text()
        files.append(File.generated(config, page, content=_relinked(text, (ROOT / source).parent, page)))
        for path in _pictures(text, (ROOT / source).parent):
            if DOCS not in path.parents:
                files.append(File.generated(config, _place(path), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links of docs/ that lead out of it."""
    if page.file.src_uri in {*PAGES.values(), *API} or page.file.src_uri.endswith(".ipynb"):
        return markdown
    return _relinked(markdown, (DOCS / page.file.src_uri).parent, page.file.src_uri)


def _pictures(text: str, home: Path) -> list[Path]:
    found = [(home / link.group(3)).resolve() for link in LINK.finditer(text) if link.group(1)]
    return [path for path in dict.fromkeys(found) if path.exists()]


def _place(path: Path) -> str:
    """Where in the site a picture from elsewhere lies."""
    return "outside/" + "/".join(path.relative_to(ROOT).parts)


def _relinked(text: str, home: Path, page: str) -> str:
    """Markdown with every relative link turned to what it became; home: the folder the links are relative to."""

    def turned(link: re.Match[str]) -> str:
        picture, label, target, anchor = link.group(1), link.group(2), link.group(3), link.group(4) or ""
        if "://" in target or target.startswith("mailto:"):
            return link.group(0)
        path = (home / target).resolve()
        inside = _inside(path)
        if inside is None:
            return label
        start = os.path.dirname(page) or "."
        return f"{picture}[{label}]({Path(os.path.relpath(inside, start)).as_posix()}{anchor})"

    return LINK.sub(turned, text)


def _inside(path: Path) -> str | None:
    """The site's name of a file of the repository, or None where the site does not have it."""
    if not path.is_relative_to(ROOT) or not path.is_file():
        return None
    known = PAGES.get(path.relative_to(ROOT).as_posix())
    if known is not None:
        return known
    if path.is_relative_to(DOCS) and path.suffix != ".py":
        return path.relative_to(DOCS).as_posix()
    return _place(path) if path.suffix in (".png", ".svg") else None
