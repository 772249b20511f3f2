"""The tables of the section on Section 3.2."""

from __future__ import annotations

from typing import Any

from paper.markdown import table
from paper.section_3_2.variants import BASE, VARIANTS

__all__ = ["tables"]

HEAD = ("variant", "test loss, base = 1", "better on", "training loss", "time", "lowest rate", "highest rate")
CLAIMS = ("where lambda goes", "per vector", "scheme", "direct or projected", "activation", "form")


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """One table of all variants, grouped by the claim they belong to, and ratios of pairs that the text speaks of."""
    found = numbers["comparison"]
    edges = {name: _edges(own, numbers["rates"]) for name, own in numbers["cells"].items()}
    rows = [(f"**{BASE}** (base)", "1", "", "1", "1", *edges[BASE])]
    for claim in CLAIMS:
        rows += [(*_row(name, one), *edges[name]) for name, one in found.items() if one["claim"] == claim]
    steps = numbers["steps"] * sum(VARIANTS[name].steps * own["milliseconds"] for name, own in numbers["cells"].items())
    rates = [f"{rate:g}" for rate in numbers["rates"]]
    minutes = {"minutes": f"{steps / 6e4:.0f}", "n_rates": str(len(rates)), "rate_list": ", ".join(rates)}
    pairs = {name: _pair(found, *pair) for name, pair in PAIRS.items()}
    return {
        "table_variants": table(HEAD, rows),
        **pairs,
        **minutes,
        **{k: _single(found[name]) for k, name in SINGLES.items()},
    }


PAIRS = {
    "right_to_left": ("Eq. 9 right, whole matrix", "Eq. 9 left, whole matrix"),
    "column_to_whole": ("Eq. 10, per column", "Eq. 9 right, whole matrix"),
    "entry_to_whole": ("Eq. 11 per vector", "Eq. 11, whole matrix"),
    "scheme_layers": ("Eq. 11 per vector", "Eq. 10, per column"),
    "scheme_input": (BASE, "Eq. 10, per column, budget at the input"),
    "input_to_layers": (BASE, "Eq. 11 per vector"),
    "input_to_layers_columns": ("Eq. 10, per column, budget at the input", "Eq. 10, per column"),
}


SINGLES = {
    "rescaled": "rescaled after each step",
    "projected": "Euclidean projection after each step",
    "exact": "exact gradient of the normalisation",
    "sort_4": "GroupSort 4",
    "sort_8": "GroupSort 8",
    "sort_all": "GroupSort, whole layer",
    "householder": "Householder 2",
    "relu": "ReLU",
    "convex": "convex form",
    "convex_longer": "convex form, 1.3 times the steps",
}


def _row(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    return (
        name,
        f"{one['test']:.3f} ± {one['error']:.3f}",
        f"{one['better_on']} of {one['tables']}",
        f"{one['train']:.3f}",
        f"{one['time']:.2f}",
    )


def _edges(own: dict[str, Any], rates: list[float]) -> tuple[str, str]:
    """How often the lowest and the highest rate were chosen: a grid that is cut off favours whoever needs less."""
    chosen = [rate for cell in own["tables"].values() for rate in cell["rate"]]
    return f"{chosen.count(min(rates))} of {len(chosen)}", f"{chosen.count(max(rates))} of {len(chosen)}"


def _single(one: dict[str, Any]) -> str:
    return f"{one['test']:.3f} ± {one['error']:.3f} (training {one['train']:.3f}, time {one['time']:.2f})"


def _pair(found: dict[str, Any], name: str, other: str) -> str:
    """Ratio of two variants on test rows and in training, and on how many tables the first is better."""
    a, b = found[name], found[other]
    wins = sum(a["ratios"][t] < b["ratios"][t] for t in a["ratios"])
    return f"{a['test'] / b['test']:.3f} (training {a['train'] / b['train']:.3f}; better on {wins} of {a['tables']})"
