"""Section 3.2's claims over the suite: every variant on every table, with the same steps, rates, splits and starts.

The rate is chosen on validation rows, for each variant, table and split; what is compared is the loss on test rows.
A variant that was measured before with the same settings and code is read from build/paper/section_3_2/ again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import exp, log
from statistics import fmean, geometric_mean, stdev
from typing import Any

import numpy as np
import torch

from paper.fingerprint import fingerprint
from paper.results_file import ROOT, recording
from paper.section_3_2.pace import measure_pace
from paper.section_3_2.stacks import Trained, train_stack
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


FULL = Size(sets=15, seeds=4, steps=800, rates=(2e-3, 6e-3, 2e-2, 6e-2, 0.2, 0.6, 2.0), hidden=(16, 16), batch=64)
FAST = Size(sets=2, seeds=2, steps=40, rates=(6e-2,), hidden=(16, 16), batch=64)


def main(*, fast: bool) -> None:
    """Writes section_3_2.json."""
    torch.set_num_threads(1)
    size = FAST if fast else FULL
    with recording("section_3_2", fast=fast, packages=("monolip", "numpy", "torch")) as numbers:
        names = list(list_sets())[: size.sets]
        tables = [read_splits(name, size.seeds) for name in names]
        numbers |= {"lambda": LAMBDA, **asdict(size), "sets": names}
        numbers["cells"] = {variant: _kept(variant, tables, size) for variant in VARIANTS}
        shape: dict[str, Any] = {"rates": size.rates, "hidden": size.hidden, "batch": size.batch}
        numbers["pace"] = measure_pace(VARIANTS, BASE, tables, **shape, turns=3 if fast else 11, steps=2 if fast else 4)
        numbers["comparison"] = compare(numbers["cells"], numbers["pace"])


def _kept(variant: str, tables: list[Splits], size: Size) -> Cells:
    """Cells of one variant, from the file of an earlier run with the same settings and code where there is one."""
    label = "".join(c if c.isalnum() else "_" for c in variant)
    path = ROOT / "build" / "paper" / "section_3_2" / f"{label}_{size.steps}.json"
    own = {"lambda": LAMBDA, "variant": repr(VARIANTS[variant]), "times": VARIANTS[variant].steps}
    own["code"] = fingerprint((__name__,), ("numpy", "torch"), ("paper.section_3_2.pace",), rooms=("nn",))
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
    """One variant on every table: losses of each split at the rate its validation rows chose.

    "fit" is the lowest loss on training rows at any rate: what the variant can fit, in so many steps.
    """
    steps = round(size.steps * VARIANTS[variant].steps)
    options: dict[str, Any] = {"rates": size.rates, "steps": steps, "hidden": size.hidden, "batch": size.batch}
    run = train_stack(VARIANTS[variant], tables, **options)
    count = len(size.rates)
    test, train, rate = _chosen(run, 0, count)
    cut = {"lowest": _chosen(run, min(1, count - 1), count)[0], "highest": _chosen(run, 0, max(1, count - 1))[0]}
    return {
        "tables": {
            table.name: {
                "test": test[k].tolist(),
                "train": train[k].tolist(),
                "rate": [size.rates[r] for r in rate[k]],
                "fit": np.nanmin(run.train[k], axis=1).round(5).tolist(),
                **{f"test_without_{edge}": losses[k].tolist() for edge, losses in cut.items()},
            }
            for k, table in enumerate(tables)
        },
        "milliseconds": round(1e3 * run.seconds_a_step, 3),
    }


def _chosen(run: Trained, start: int, stop: int) -> tuple[Any, Any, Any]:
    """Test and training loss, and the number of the rate, which validation rows choose among rates[start:stop]."""
    best = np.nan_to_num(run.validation[:, :, start:stop], nan=np.inf).argmin(axis=2)[..., None] + start
    test, train = (np.take_along_axis(losses, best, axis=2)[..., 0].round(5) for losses in (run.test, run.train))
    return test, train, best[..., 0]


def compare(cells: dict[str, Cells], pace: dict[str, list[float]]) -> dict[str, dict[str, Any]]:
    """Each variant against the base: geometric mean over splits and tables of the ratio of losses on the same split.

    The standard error is that over tables. `test_without`: the same with the lowest or the highest rate left out, for
    the variant and for the base.
    """
    found, base = {}, cells[BASE]
    for variant, own in cells.items():
        ratios = _ratios(own, base, "test")
        logs = [log(ratio) for ratio in ratios.values()]
        mean = exp(fmean(logs))
        found[variant] = {
            "claim": VARIANTS[variant].claim,
            "test": mean,
            "error": mean * stdev(logs) / len(logs) ** 0.5 if len(logs) > 1 else 0.0,
            "train": geometric_mean(_ratios(own, base, "train").values()),
            "fit": geometric_mean(_ratios(own, base, "fit").values()),
            "test_without": {
                edge: geometric_mean(_ratios(own, base, f"test_without_{edge}").values())
                for edge in ("lowest", "highest")
            },
            "better_on": sum(ratio < 1.0 for ratio in ratios.values()),
            "tables": len(logs),
            "time": pace[variant][1] * VARIANTS[variant].steps,
            "ratios": {name: round(ratio, 4) for name, ratio in ratios.items()},
        }
    return found


def _ratios(own: Cells, base: Cells, part: str) -> dict[str, float]:
    """By table, the geometric mean over splits."""
    pairs = {name: zip(own["tables"][name][part], base["tables"][name][part], strict=True) for name in base["tables"]}
    return {name: geometric_mean(max(a, 1e-4) / max(b, 1e-4) for a, b in both) for name, both in pairs.items()}
