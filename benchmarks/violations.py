"""Who keeps a monotone promise? A billion pairs against monolip, and an audit of everybody's models.

    MONOLIP_DATA=../shared/data python benchmarks/violations.py [--only float32,peers,compas] [--quick]

float32, float64   the compiled attack on plain `predict`: saturated random networks and a trained one, 1e9 pairs
                   each format; the same functions in paper form beside them
fixed              the same attack on a fixed-point network
peers              `audit` of other libraries' models on the concrete data set
compas             every point of the COMPAS domain of raw integers, every neighbouring pair: a proof for that model
compas_fixed       the same for its fixed-point network

Sections are merged into benchmarks/results/violations.json, so that each can be run by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from monolip.certify import audit
from monolip.certify.fixed_point import compile_fixed_point
from monolip.engine.adversarial_search import AttackResult, attack_directions
from monolip.engine.integer_search import attack_integers, evaluate_carried
from monolip.estimators import MonotonicClassifier
from record import ROOT, record
from ulp_steps import FEATURES, convex_twin, paper_network

SECTIONS = ("float32", "float64", "fixed", "peers", "compas", "compas_fixed")
NETWORKS = 10
RUN = "without --only all sections are made; the command above is that of the section that was run last"
COMPAS = {"priors_count": (0, 38), "juv_fel_count": (0, 20), "juv_misd_count": (0, 13), "juv_other_count": (0, 9)}
AGES = (18, 96)


def suite(name: str) -> tuple[pd.DataFrame, np.ndarray, dict[str, int]]:
    folder = Path(os.environ.get("MONOLIP_DATA", ROOT.parent / "shared" / "data")) / "suite"
    frame = pd.read_parquet(folder / f"{name}.parquet")
    return (
        frame.drop(columns="y"),
        frame["y"].to_numpy(),
        json.loads((folder / "suite.json").read_text())[name]["monotonic_cst"],
    )


def compas_model() -> tuple[Any, pd.DataFrame]:
    """Default settings on raw integers: race and sex as codes of categories."""
    X, y, cst = suite("compas")
    for name in ("race", "sex"):
        X[name] = pd.factorize(X[name], sort=True)[0]
    X = X[[*COMPAS, "age", "race", "sex"]]
    return MonotonicClassifier(monotonic_cst=cst, categorical_features=["race", "sex"], random_state=0).fit(X, y), X


def directions(bounds: Any) -> np.ndarray:
    return np.where(bounds.lower >= 0, 1, np.where(bounds.upper <= 0, -1, 0))


def row_of(name: str, found: list[AttackResult], seconds: float) -> dict[str, Any]:
    pairs, decreases = sum(r.pairs for r in found), sum(r.decreases for r in found)
    by_kind = {kind: sum(r.by_kind[kind].decreases for r in found) for kind in found[0].by_kind}
    print(f"{name}: {decreases:,} of {pairs:,} pairs fall, {pairs / seconds / 1e6:.1f} million pairs a second")
    return {
        "model": name, "pairs": pairs, "decreases": decreases, "worst_drop": max(r.worst_drop for r in found),
        "decreases_by_kind": by_kind, "seconds": round(seconds, 1), "pairs_per_cpu_second": round(pairs / seconds),
    }  # fmt: skip


def timed(work: Callable[[], list[AttackResult]]) -> tuple[list[AttackResult], float]:
    """CPU seconds: the machine is shared."""
    start = time.process_time()
    return work(), time.process_time() - start


def floats(number_format: str, pairs: int) -> list[dict[str, Any]]:
    """Half of the pairs on saturated random networks, half on the trained default model; a tenth on paper form."""
    random_ones = [paper_network(np.random.default_rng(seed)) for seed in range(NETWORKS)]
    share = pairs // 2 // NETWORKS
    attack_directions(*random_ones[0], n_pairs=1, number_format=number_format)  # compiled before the clock starts

    def convex() -> list[AttackResult]:
        twins = [(*convex_twin(weights, biases), groups) for weights, biases, groups in random_ones]
        return [attack_directions(*n, n_pairs=share, seed=s, number_format=number_format) for s, n in enumerate(twins)]

    def paper() -> list[AttackResult]:
        given: dict[str, Any] = {"number_format": number_format, "center": np.ones(FEATURES)}
        return [attack_directions(*n, n_pairs=share // 5, seed=s, **given) for s, n in enumerate(random_ones)]

    model = compas_model()[0].frozen_
    trunks = [trunk.form for member in model.members for trunk in member]

    def trained() -> list[AttackResult]:
        given: dict[str, Any] = {"number_format": number_format, "directions": directions(model.bounds)}
        n = pairs // 2 // len(trunks)
        return [
            attack_directions(f.weights, f.biases, f.group_sizes, n_pairs=n, seed=50 + s, **given)
            for s, f in enumerate(trunks)
        ]

    shape = "-".join(str(w.shape[1]) for w in trunks[0].weights)
    names = (
        "convex form, saturated",
        f"convex form, trained on COMPAS ({len(trunks)} x {shape}-1)",
        "paper form, the same functions",
    )
    works = zip(names, (convex, trained, paper), strict=True)
    return [row_of(f"{name}, {number_format}", *timed(work)) for name, work in works]


def fixed(pairs: int) -> list[dict[str, Any]]:
    model, rows = compas_model()[0].frozen_, []
    for preset in ("wide", "narrow"):
        network = compile_fixed_point(model, preset)
        packed, signs = network.packed(), directions(model.bounds)
        attack_integers(packed, network.limits, signs, n_pairs=1)

        def work(packed: Any = packed, limits: Any = network.limits) -> list[AttackResult]:
            return [attack_integers(packed, limits, directions(model.bounds), n_pairs=pairs // 2)]

        rows.append(row_of(f"fixed point, {preset}, trained on COMPAS", *timed(work)))
    return rows


def peers(evaluations: int) -> list[dict[str, Any]]:
    from violation_models import models

    X, y, cst = suite("concrete")
    X = X.astype(np.float64)
    rows = []
    for library, what, model, wanted in models(X, y, cst):
        if isinstance(model, str):
            rows.append({"library": library, "what": what, "refused": model})
            print(f"{library}, {what}: refused ({model})")
            continue
        table = X.astype(np.float32) if library == "monotonicnetworks" else X  # steps in the model's own format
        report = audit(model, table, wanted, max_evaluations=evaluations, max_seconds=120.0)
        scores = [feature.curve[1] for feature in report.features]
        rows.append({
            "library": library, "what": what, "pairs": report.pairs, "evaluations": report.evaluations,
            "rows_affected": max(f.share_affected for f in report.features),
            "rows_beyond_rounding": max(f.share_beyond_rounding for f in report.features),
            "worst_drop": report.worst_drop, "violated": report.violated, "beyond_rounding": report.beyond_rounding,
            "score_range": float(max(s.max() for s in scores) - min(s.min() for s in scores)),
            "batch_dependent": report.batch_dependent, "seconds": round(report.seconds, 1),
        })  # fmt: skip
        print(f"{library}, {what}: {str(report).splitlines()[0]}")
    return rows


def integers(network: Any, table: pd.DataFrame) -> np.ndarray:
    """network.evaluate_raw by the compiled kernel; that both give the same integers is checked on some rows."""
    x = network.quantise(table)
    f = evaluate_carried(network.packed(), network.limits, x)
    assert np.array_equal(f[::5000], network.evaluate(x[::5000]))
    return f


def compas(quick: bool, preset: str | None = None) -> dict[str, Any]:
    """f at every point of the domain, block by block of (age, race, sex), and every pair of neighbours.

    preset: of a fixed-point network instead of plain predict; integers carried in float64, which holds every sum.
    """
    model, X = compas_model()
    network = None if preset is None else compile_fixed_point(model.frozen_, preset)
    grids = np.meshgrid(*(np.arange(low, high + 1) for low, high in COMPAS.values()), indexing="ij")
    shape, inner = grids[0].shape, np.stack([grid.ravel() for grid in grids], axis=1)
    ages = range(AGES[0], AGES[1] + 1, 20 if quick else 1)
    points = pairs = falls = equal = 0
    start = time.process_time()
    for age, race, sex in product(ages, range(X["race"].max() + 1), range(X["sex"].max() + 1)):
        block = np.hstack([inner, np.tile([age, race, sex], (len(inner), 1))]).astype(np.float64)
        table = pd.DataFrame(block, columns=X.columns)
        f = model.decision_function(table) if network is None else integers(network, table)
        f = f.reshape(shape)
        points += f.size
        for axis in range(f.ndim):
            rise = np.diff(f, axis=axis)
            pairs, falls, equal = pairs + rise.size, falls + int((rise < 0).sum()), equal + int((rise == 0).sum())
    seconds = time.process_time() - start
    name = "plain predict, float64" if preset is None else f"fixed point, {preset}"
    print(f"COMPAS, {name}: {falls} of {pairs:,} pairs fall on {points:,} points; {seconds:.0f} s")
    return {
        "model": name, "points": points, "pairs": pairs, "decreases": falls, "equal": equal,
        "seconds": round(seconds, 1), "accuracy_on_training_rows": float(model.score(X, suite("compas")[1])),
        "complete": not quick,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--pairs", type=float, default=1e9)
    parser.add_argument("--quick", action="store_true", help="minutes become seconds; not written")
    options = parser.parse_args()
    pairs = int(2e6 if options.quick else options.pairs)
    works: dict[str, Callable[[], Any]] = {
        "float32": lambda: floats("float32", pairs),
        "float64": lambda: floats("float64", pairs),
        "fixed": lambda: fixed(pairs),
        "peers": lambda: peers(20_000 if options.quick else 500_000),
        "compas": lambda: compas(options.quick),
        "compas_fixed": lambda: compas(options.quick, "wide"),
    }
    path = ROOT / "benchmarks" / "results" / "violations.json"
    for section in options.only.split(","):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = works[section]()
        if not options.quick:  # read again: sections may run side by side
            results = json.loads(path.read_text())["results"] if path.exists() else {}
            order = {name: {**results, section: result}[name] for name in SECTIONS if name in {*results, section}}
            packages = ("numpy", "numba", "scikit-learn", "xgboost", "lightgbm", "torch", "monotonicnetworks")
            record("violations", order, packages, pairs=pairs, networks=NETWORKS, run=RUN)


if __name__ == "__main__":
    main()
