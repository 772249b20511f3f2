"""API pages of the site: one a package, one entry a public name, so that no name can be forgotten."""

from __future__ import annotations

import importlib
import inspect

__all__ = ["API", "api_page"]

API = {
    "api/estimators.md": ("Estimators", "monolip.estimators"),
    "api/core.md": ("Slopes and networks", "monolip"),
    "api/engine.md": ("Training one network", "monolip.engine"),
    "api/nn.md": ("PyTorch modules", "monolip.nn"),
    "api/certify.md": ("Certificates, robustness, audit", "monolip.certify"),
    "api/export.md": ("Export and import", "monolip.export"),
    "api/report.md": ("Reports and plots", "monolip.report"),
    "api/distributed.md": ("On Ray", "monolip.distributed"),
    "api/errors.md": ("Errors", "monolip.errors"),
}


def api_page(page: str) -> str:
    """Markdown that mkdocstrings fills: every public class and function of the package, at its real home."""
    title, package = API[page]
    lines = [f"# {title}", "", f"`{package}`", ""]
    try:
        importlib.import_module(package)
    except ImportError as missing:  # the machine that builds the site lacks an extra
        return "\n".join([*lines, str(missing)])
    for name in _names(package):
        thing = getattr(importlib.import_module(package), name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            lines += [f"::: {thing.__module__}.{thing.__qualname__}", ""]
    return "\n".join(lines)


def _names(package: str) -> list[str]:
    """Public names; of monolip itself those that no other page has."""
    names = list(importlib.import_module(package).__all__)
    if package != "monolip":
        return sorted(names)
    elsewhere = {
        name for _, other in API.values() if other not in ("monolip", "monolip.distributed") for name in _names(other)
    }
    return sorted(set(names) - elsewhere)
