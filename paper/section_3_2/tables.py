"""The tables of the section on Section 3.2."""

from __future__ import annotations

from math import ceil, log
from statistics import median
from typing import Any

from paper.markdown import table
from paper.section_3_2.variants import BASE, VARIANTS

__all__ = ["tables"]

HEAD = ("variant", "test loss, base = 1", "better on", "lowest training loss", "time", "lowest rate", "highest rate")
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
    low, _, high = numbers["pace"][BASE]
    return {
        "table_variants": table(HEAD, rows),
        **pairs,
        **minutes,
        **{f"without_{edge}": _most_moved(found, edge) for edge in ("lowest", "highest")},
        "moved_in_errors": _moved_in_errors(found),
        "lowest_chosen": _most_chosen(numbers["cells"], min(numbers["rates"])),
        "highest_chosen": _most_chosen(numbers["cells"], max(numbers["rates"])),
        "column_fit": " and ".join(
            f"{found[b]['fit'] / found[a]['fit']:.2f}" for a, b in (PAIRS["scheme_layers"], PAIRS["scheme_input"])
        ),
        "convex_by_table": _by_table(found["convex form, 1.23 times the steps"]["ratios"]),
        "convex_pace": f"{numbers['pace']['convex form'][1]:.2f}",
        "chance_of_time": f"{low:.2f} to {high:.2f}",
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
    "convex_equal_time": "convex form, 1.23 times the steps",
}


def _row(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    return (
        name,
        f"{one['test']:.3f} ± {one['error']:.3f}",
        f"{one['better_on']} of {one['tables']}",
        f"{one['fit']:.3f}",
        f"{one['time']:.2f}",
    )


def _edges(own: dict[str, Any], rates: list[float]) -> tuple[str, str]:
    """How often the lowest and the highest rate were chosen: a grid that is cut off favours whoever needs less."""
    chosen = [rate for cell in own["tables"].values() for rate in cell["rate"]]
    return f"{chosen.count(min(rates))} of {len(chosen)}", f"{chosen.count(max(rates))} of {len(chosen)}"


def _most_moved(found: dict[str, Any], edge: str) -> str:
    """The variant whose comparison changes most when a rate at the edge of the grid is left out for all."""
    name = max(found, key=lambda n: abs(log(found[n]["test_without"][edge] / found[n]["test"])))
    return f"{name}, from {found[name]['test']:.3f} to {found[name]['test_without'][edge]:.3f}"


def _moved_in_errors(found: dict[str, Any]) -> str:
    """The largest such change, in standard errors of the row, rounded up."""
    rows = [
        (abs(without - one["test"]), one["error"]) for one in found.values() for without in one["test_without"].values()
    ]
    return f"{ceil(10 * max(move / error for move, error in rows if error)) / 10:.1f}"


def _by_table(ratios: dict[str, float]) -> str:
    """The table with the lowest ratio, and the median of all."""
    name = min(ratios, key=lambda table: ratios[table])
    return f"{ratios[name]:.2f} on {name}, {median(ratios.values()):.2f} in the median"


def _most_chosen(cells: dict[str, Any], rate: float) -> str:
    """The variant that chose a rate most often."""
    chosen = {name: [r for cell in own["tables"].values() for r in cell["rate"]] for name, own in cells.items()}
    name = max(chosen, key=lambda n: chosen[n].count(rate))
    return f"{chosen[name].count(rate)} of {len(chosen[name])} splits ({name})"


def _single(one: dict[str, Any]) -> str:
    return f"{one['test']:.3f} ± {one['error']:.3f} (training {one['fit']:.3f}, time {one['time']:.2f})"


def _pair(found: dict[str, Any], name: str, other: str) -> str:
    """Ratio of two variants on test rows and in training, and on how many tables the first is better."""
    a, b = found[name], found[other]
    wins = sum(a["ratios"][t] < b["ratios"][t] for t in a["ratios"])
    return f"{a['test'] / b['test']:.3f} (training {a['fit'] / b['fit']:.3f}; better on {wins} of {a['tables']})"
