"""Every block of code in the docs runs, every link leads somewhere, every home in the paper map exists."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from monolip.errors import MissingExtraError

matplotlib.use("Agg")

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "paper/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.M | re.S)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__docs__"}
    for k, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}, block {k + 1}", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not missing


def mentioned(page: Path, pattern: str) -> list[str]:
    return sorted(set(re.findall(pattern, page.read_text())))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_files_named_in_the_docs_exist(page: Path) -> None:
    paths = mentioned(page, r"`((?:tests|benchmarks|docs|src|examples)/[\w./]+)`")
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_symbols_named_in_the_docs_exist(page: Path) -> None:
    assert [name for name in mentioned(page, r"`(monolip(?:\.\w+)+)`") if not exists(name)] == []


def exists(dotted: str) -> bool:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            home: Any = importlib.import_module(".".join(parts[:cut]))
        except MissingExtraError:  # it is there, and asks for its extra
            return cut == len(parts)
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            if not hasattr(home, name):
                return name in getattr(home, "__annotations__", {})
            home = getattr(home, name)
        return True
    return False


def test_every_row_of_the_paper_map_has_a_home_or_says_planned() -> None:
    rows = [line for line in (ROOT / "docs/paper_map.md").read_text().splitlines() if line.startswith("| ")]
    body = [row for row in rows if not row.startswith("| paper ")]
    assert len(body) >= 20
    for row in body:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        assert len(cells) == 4, row
        assert "planned" in cells[2] or (cells[2] and cells[3]), row


def test_the_paper_map_names_every_equation_figure_and_table() -> None:
    text = (ROOT / "docs/paper_map.md").read_text()
    wanted = [f"Eq. {k}" for k in range(1, 5)] + ["Eq. 5, 6"] + [f"Eq. {k}" for k in range(7, 14)]
    wanted += [
        "Figure 1",
        "Figure 2",
        "Figures 3, 4",
        "Table 1",
        "Table 2",
        "Appendix A",
        "Definition 3.1",
        "Definition 3.2",
    ]
    assert [name for name in wanted if name not in text] == []


def test_the_benchmark_page_is_generated_from_the_committed_results() -> None:
    names: dict[str, Any] = {"__name__": "make_tables", "__file__": str(ROOT / "docs/make_tables.py")}
    exec(compile((ROOT / "docs/make_tables.py").read_text(), "make_tables.py", "exec"), names)
    assert names["main"]() == (ROOT / "docs/benchmarks.md").read_text(), "run: python docs/make_tables.py"


def test_the_tables_of_scale_are_generated_from_the_committed_results() -> None:
    names: dict[str, Any] = {"__name__": "scale_tables", "__file__": str(ROOT / "docs/scale_tables.py")}
    exec(compile((ROOT / "docs/scale_tables.py").read_text(), "scale_tables.py", "exec"), names)
    for page, text in names["updated"]().items():
        assert text == (ROOT / "docs" / page).read_text(), "run: python docs/scale_tables.py"


def test_the_table_of_the_readme_is_generated_from_the_committed_results() -> None:
    names: dict[str, Any] = {"__name__": "readme_table", "__file__": str(ROOT / "docs/readme_table.py")}
    exec(compile((ROOT / "docs/readme_table.py").read_text(), "readme_table.py", "exec"), names)
    text = (ROOT / "README.md").read_text()
    assert names["updated"](text) == text, "run: python docs/readme_table.py"


REFERENCE = re.compile(r"\[[^\[\]]+\]\s?\[[^\[\]]*\]")  # Markdown reads [a][b] as a link to b


def reference_links(docstring: str) -> list[str]:
    """What the site would take for links: outside backticks, indented blocks and examples."""
    text = re.sub(r"``[^`]*``|`[^`]*`", "", docstring)
    lines = [line for line in text.splitlines() if not line.strip().startswith((">>>", "...")) and line[:4].strip()]
    return REFERENCE.findall("\n".join(lines))


def test_no_docstring_holds_what_the_site_takes_for_a_link() -> None:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    found = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            links = reference_links(ast.get_docstring(node) or "") if isinstance(node, kinds) else []
            if links:
                found[f"{path.name}:{getattr(node, 'name', '')}"] = links
    assert found == {}
    assert reference_links("floats alone: [output][feature]; `[k][j]`") == ["[output][feature]"]


def test_what_lands_must_build_the_site_with_pinned_packages() -> None:
    assert re.search(r"^make .*\bdocs\b", (ROOT / ".ci/run").read_text(), flags=re.M)
    pins = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = {re.split(r"[\[<>=]", package)[0] for package in extras["docs"]}
    assert wanted | {"mkdocs", "mkdocs-autorefs", "mkdocstrings-python", "griffelib", "markdown"} <= pins
