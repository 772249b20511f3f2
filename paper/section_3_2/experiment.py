"""Section 3.2's claims over the suite: every variant on every table, with the same steps, rates, splits and starts.

The rate is chosen on validation rows, for each variant, table and split; what is compared is the loss on test rows.
A variant that was measured before with the same settings is read from build/paper/section_3_2/ again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import exp, log
from statistics import fmean, stdev
from typing import Any

import numpy as np
import torch

from paper.results_file import ROOT, recording
from paper.section_3_2.stacks import train_stack
from paper.section_3_2.suite import Splits, list_sets, read_splits
from paper.section_3_2.variants import BASE, LAMBDA, VARIANTS

__all__ = ["Size", "compare", "main", "measure"]

Cells = dict[str, Any]  # of one variant: losses by table, and the time of a step


@dataclass(frozen=True)
class Size:
    sets: int
    seeds: int
    steps: int
    rates: tuple[float, ...]
    hidden: tuple[int, ...]
    batch: int


FULL = Size(sets=15, seeds=4, steps=800, rates=(6e-3, 2e-2, 6e-2, 0.2, 0.6), hidden=(16, 16), batch=64)
FAST = Size(sets=2, seeds=2, steps=40, rates=(6e-2,), hidden=(16, 16), batch=64)


def main(*, fast: bool) -> None:
    """Writes section_3_2.json."""
    torch.set_num_threads(1)
    size = FAST if fast else FULL
    with recording("section_3_2", fast=fast, packages=("numpy", "torch")) as numbers:
        names = list(list_sets())[: size.sets]
        tables = [read_splits(name, size.seeds) for name in names]
        numbers |= {"lambda": LAMBDA, **asdict(size), "sets": names}
        numbers["cells"] = {variant: _kept(variant, tables, size) for variant in VARIANTS}
        numbers["comparison"] = compare(numbers["cells"])


def _kept(variant: str, tables: list[Splits], size: Size) -> Cells:
    """Cells of one variant, from the file of an earlier run with the same settings where there is one."""
    label = "".join(c if c.isalnum() else "_" for c in variant)
    path = ROOT / "build" / "paper" / "section_3_2" / f"{label}_{size.steps}.json"
    own = {"lambda": LAMBDA, "variant": repr(VARIANTS[variant]), "times": VARIANTS[variant].steps}
    settings = json.loads(json.dumps({**asdict(size), **own}))
    if path.is_file():
        found = json.loads(path.read_text())
        if found["settings"] == settings:
            cells: Cells = found["cells"]
            return cells
    cells = measure(variant, tables, size)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"settings": settings, "cells": cells}))
    print(f"  {variant:48s} {fmean(fmean(cell['test']) for cell in cells['tables'].values()):.4f}", flush=True)
    return cells


def measure(variant: str, tables: list[Splits], size: Size) -> Cells:
    """One variant on every table: the test loss of each split at the rate its validation rows chose."""
    steps = round(size.steps * VARIANTS[variant].steps)
    options: dict[str, Any] = {"rates": size.rates, "steps": steps, "hidden": size.hidden, "batch": size.batch}
    run = train_stack(VARIANTS[variant], tables, **options)
    best = np.nan_to_num(run.validation, nan=np.inf).argmin(axis=2)[..., None]
    test, train = (np.take_along_axis(losses, best, axis=2)[..., 0].round(5) for losses in (run.test, run.train))
    return {
        "tables": {
            table.name: {
                "test": test[k].tolist(),
                "train": train[k].tolist(),
                "rate": [size.rates[rate] for rate in best[k, :, 0]],
            }
            for k, table in enumerate(tables)
        },
        "milliseconds": round(1e3 * run.seconds_a_step, 3),
    }


def compare(cells: dict[str, Cells]) -> dict[str, dict[str, Any]]:
    """Each variant against the base: geometric mean over splits and tables of the ratio of losses on the same split.

    The standard error is that over tables.
    """
    found, base = {}, cells[BASE]
    for variant, own in cells.items():
        ratios = {name: _ratio(own, base, name, "test") for name in base["tables"]}
        logs = [log(ratio) for ratio in ratios.values()]
        mean = exp(fmean(logs))
        found[variant] = {
            "claim": VARIANTS[variant].claim,
            "test": mean,
            "error": mean * stdev(logs) / len(logs) ** 0.5 if len(logs) > 1 else 0.0,
            "train": exp(fmean(log(_ratio(own, base, name, "train")) for name in base["tables"])),
            "better_on": sum(ratio < 1.0 for ratio in ratios.values()),
            "tables": len(logs),
            "time": own["milliseconds"] / base["milliseconds"] * VARIANTS[variant].steps,
            "ratios": {name: round(ratio, 4) for name, ratio in ratios.items()},
        }
    return found


def _ratio(own: Cells, base: Cells, table: str, part: str) -> float:
    pairs = zip(own["tables"][table][part], base["tables"][table][part], strict=True)
    return exp(fmean(log(max(a, 1e-4) / max(b, 1e-4)) for a, b in pairs))
