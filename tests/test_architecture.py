"""The import rules, read off the source: who may import whom, and that importing monolip is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "monolip"
FILES = sorted(SOURCE.rglob("*.py"))

# One-way flow: a part may import parts of a lower rank, and itself. Equal ranks do not import each other.
BOTTOM = ("cached", "errors", "floats", "installing", "rounding", "monotonic_cst", "slopes", "_version")
RANK = {"engine": 2, "nn": 2, "certify": 2, "estimators": 3, "distributed": 4, "export": 4, "report": 5, "cli": 6}
FREE = ("__init__", "__main__")  # the lazy list of public names, and the door of the command line, point everywhere

HEAVY = ("torch", "numba")
MAY_IMPORT_TORCH_IN_FUNCTIONS = ("estimators/_torch.py", "export/torch.py", "export/hls4ml.py")


def name_of(path: Path) -> str:
    """Dotted name below monolip: src/monolip/engine/ordered.py -> engine.ordered."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def part_of(module: str) -> str:
    """The part a module belongs to: a package, "bottom" or "core"."""
    head = module.split(".")[0]
    return head if head in RANK else "bottom" if head in BOTTOM else "core"


def rank_of(part: str) -> int:
    return RANK.get(part, {"bottom": 0, "core": 1}.get(part, 1))


def imports_of(path: Path, *, at_module_level: bool = False) -> set[str]:
    """Absolute names of what a file imports; at module level, only what runs when it is imported."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and at_module_level:
            return
        if at_module_level and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ["monolip", *path.relative_to(SOURCE).parts[:-1]]
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found.update({origin} | {f"{origin}.{alias.name}" for alias in node.names})
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def modules_among(names: set[str]) -> set[str]:
    """Those of the names that are modules of monolip, without the prefix."""
    known = {name_of(path) for path in FILES}
    return {name.removeprefix("monolip.") for name in names if name.removeprefix("monolip.") in known} - {"__init__"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_one_way(path):
    module = name_of(path)
    if module in FREE:
        return
    here = part_of(module)
    for other in modules_among(imports_of(path)):
        there = part_of(other)
        assert here == there or rank_of(there) < rank_of(here), f"{module} ({here}) may not import {other} ({there})"


def test_modules_do_not_import_each_other_in_a_circle():
    graph = {name_of(path): modules_among(imports_of(path, at_module_level=True)) for path in FILES}
    graph = {module: {other for other in others if other != module} for module, others in graph.items()}
    for module in list(graph):  # a package's __init__ names its own modules, which may name their siblings
        graph[module] = {other for other in graph[module] if not module.startswith(other + ".")}
    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_heavy_libraries_are_imported_where_they_belong(path):
    place = path.relative_to(SOURCE).as_posix()
    loaded = {name.split(".")[0] for name in imports_of(path, at_module_level=True)}
    anywhere = {name.split(".")[0] for name in imports_of(path)}
    assert "torch" not in loaded or place.startswith("nn/")
    assert "torch" not in anywhere or place.startswith("nn/") or place in MAY_IMPORT_TORCH_IN_FUNCTIONS
    assert "numba" not in anywhere or place.startswith("engine/")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nobody_imports_the_paper_or_the_benchmarks(path):
    assert not {name.split(".")[0] for name in imports_of(path)} & {"paper", "benchmarks", "tests", "examples"}


def loaded_by(program: str) -> set[str]:
    """Top-level packages in sys.modules after a program ran in a fresh interpreter."""
    program += "; import sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_monolip_loads_neither_torch_nor_numba():
    assert not loaded_by("import monolip") & {*HEAVY, "sklearn", "pandas"}


def test_the_core_loads_neither_torch_nor_numba_not_even_to_save_and_load(tmp_path):
    core = [name_of(path) for path in FILES if part_of(name_of(path)) in ("core", "bottom")]
    modules = ", ".join(f"monolip.{name}" for name in core if name not in FREE)
    program = (
        f"import {modules}; from monolip.frozen import FrozenNetwork, Trunk; from monolip.convex import ConvexForm;"
        "from monolip.slopes import SlopeBounds; f = ConvexForm(([[1.0]],), ([0.0],), ());"
        f"FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(f, (0,)),),)).save({str(tmp_path / 'f')!r});"
        f"FrozenNetwork.load({str(tmp_path / 'f')!r}).evaluate([1.0])"
    )
    assert not loaded_by(program) & {*HEAVY, "sklearn", "pandas"}


def test_the_engine_does_not_need_torch():
    assert "torch" not in loaded_by("import monolip.engine.ordered")
