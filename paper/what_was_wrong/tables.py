"""The report's table of defects."""

from __future__ import annotations

from typing import Any

from paper.markdown import table

__all__ = ["tables"]


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """table_text: of the text; table_experiments: of the scripts and data; where the figure's red line ends."""
    looked = numbers["findings"].get("selection_on_test", {}).get("numbers", {})
    rows = [
        (f["where"].startswith("text"), [f["where"], f["wrong"], f["verified"], f["effect"]])
        for f in numbers["findings"].values()
    ]
    missing = [[name, "", f"not checked: {why}", ""] for name, why in numbers["missing"].items()]
    head = ["#", "where", "what is wrong", "verified", "effect of fixing it"]

    def numbered(prefix: str, found: list[list[str]]) -> str:
        return table(head, [[f"{prefix}{k}", *[_cell(cell) for cell in row]] for k, row in enumerate(found, start=1)])

    return {
        "red_line_end": f"{looked['running_maximum'][-1]:.2f}" if looked else "(missing)",
        "table_text": numbered("T", [row for is_text, row in rows if is_text]),
        "table_experiments": numbered("E", [row for is_text, row in rows if not is_text] + missing),
    }


def _cell(text: str) -> str:
    """A bar would end the cell."""
    return text.replace("|", "\\|")
