"""How often does a step upward in an increasing feature lower the output? Convex form: never. Paper form: percents.

    python benchmarks/ulp_steps.py            writes benchmarks/results/ulp_steps.json, about three minutes

The same random functions (all features increasing, weights saturated) in both forms, in three number formats.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np

from monolip.engine.ordered import evaluate_ordered
from monolip.engine.ulp_search import NUMBER_FORMATS, search_decreases

RESULTS = Path(__file__).parent / "results" / "ulp_steps.json"
FEATURES, WIDTH, NETWORKS = 5, 8, 20


def paper_network(rng: np.random.Generator) -> tuple[list[np.ndarray], list[np.ndarray], tuple[int, ...]]:
    """Signed rows: entries capped at 1, most of them at the cap; later rows of absolute sum 1."""
    weights = [np.clip(rng.normal(0, 1.5, (WIDTH, FEATURES)), -1, 1)]
    for out in (WIDTH, 1):
        signed = rng.normal(size=(out, WIDTH))
        weights.append(signed / np.abs(signed).sum(1, keepdims=True))
    return weights, [rng.normal(0, 2, WIDTH), rng.normal(0, 0.5, WIDTH), np.zeros(1)], (2, 2)


def convex_twin(weights: list[np.ndarray], biases: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The same function, center of 1 per feature included, without a negative weight, at twice the width.

    Every unit is kept with its negative; sorting a pair of negatives gives the negatives of the sorted pair, swapped.
    """
    swap = np.arange(WIDTH).reshape(-1, 2)[:, ::-1].ravel()
    wide = [np.vstack([weights[0], -weights[0]]) + 1.0]
    wide_biases = [np.concatenate([biases[0], -biases[0]])]
    for weight, bias in zip(weights[1:], biases[1:], strict=True):
        plus, minus = np.maximum(weight, 0), np.maximum(-weight, 0)
        unit, negative = np.hstack([plus, minus[:, swap]]), np.hstack([minus, plus[:, swap]])
        last = weight.shape[0] == 1
        wide.append(unit if last else np.vstack([unit, negative]))
        wide_biases.append(bias if last else np.concatenate([bias, -bias]))
    return wide, wide_biases


def largest_difference(paper: Any, convex: Any, groups: tuple[int, ...]) -> float:
    """Between the two forms in float64, relative: they are one function."""
    x = np.random.default_rng(0).normal(size=(1000, FEATURES))
    signed = evaluate_ordered(*paper, groups, x, 1e6) + x.sum(1, keepdims=True)
    return float(np.max(np.abs(signed - evaluate_ordered(*convex, groups, x, 1e6)) / (1 + np.abs(signed))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=100_000_000, help="pairs per number format and form")
    pairs = parser.parse_args().pairs
    rows = []
    for number_format in NUMBER_FORMATS:
        counts: dict[str, dict[str, Any]] = {
            form: {"pairs": 0, "decreases": 0, "worst_drop": 0.0, "seconds": 0.0} for form in ("convex", "paper")
        }
        for seed in range(NETWORKS):
            weights, biases, groups = paper_network(np.random.default_rng(seed))
            twin = convex_twin(weights, biases)
            assert largest_difference((weights, biases), twin, groups) < 1e-12
            for form, network, center in (("convex", twin, None), ("paper", (weights, biases), np.ones(FEATURES))):
                start = time.perf_counter()
                found = search_decreases(
                    *network, groups, n_pairs=pairs // NETWORKS, seed=seed, number_format=number_format, center=center
                )
                count = counts[form]
                count["pairs"] += found.pairs
                count["decreases"] += found.decreases
                count["worst_drop"] = max(count["worst_drop"], found.worst_drop)
                count["seconds"] = round(count["seconds"] + time.perf_counter() - start, 2)
        for form, count in counts.items():
            rows.append({"number_format": number_format, "form": form, **count})
            found_of = f"{count['decreases']:>9} of {count['pairs']:.3g}"
            print(f"{number_format:9} {form:7} {found_of}, worst {count['worst_drop']:.3g}")
    report = {
        "command": f"python benchmarks/ulp_steps.py --pairs {pairs}",
        "networks": {
            "random": NETWORKS,
            "paper": [FEATURES, WIDTH, WIDTH, 1],
            "convex": [FEATURES, 2 * WIDTH, 2 * WIDTH, 1],
        },
        "machine": {"system": platform.system(), "processor": platform.machine(), "python": sys.version.split()[0]},
        "versions": {"numpy": np.__version__, "numba": numba.__version__},
        "results": rows,
    }
    RESULTS.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
