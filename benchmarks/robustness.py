"""Certified accuracy against radius on COMPAS and heart disease, by four kinds of bound, and against MILP.

    MONOLIP_DATA=../shared/data python benchmarks/robustness.py

Default classifier, three splits; radii in standard deviations of the training rows, categories held fixed. A second,
small network (8 units) is small enough for HiGHS: proved radii beside the smallest flips it finds, re-checked exactly.
Writes benchmarks/results/robustness.json and docs/figures/certified_accuracy.png.
"""

from __future__ import annotations

import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split

from monolip import MonotonicClassifier
from monolip.certify.milp import smallest_flip
from monolip.certify.robustness import CertifiedRadii, certified_radius
from monolip.certify.robustness_feature import feature_radii
from monolip.report.robustness import plot_certified_accuracy
from record import ROOT, record
from suite_data import data_folder

METHODS = {
    "promise": "slopes asked for",
    "slopes": "certificate slopes",
    "hull": "hull of rows",
    "local": "local slopes",
}
NORMS = {"L1": 1, "L2": 2, "Linf": np.inf}
RADII = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0]
SPLITS, TEST_ROWS, MILP_ROWS = 3, 250, 20


def join(parts: list[CertifiedRadii]) -> CertifiedRadii:
    """The rows of several splits as one."""
    first = parts[0]
    radius, decision = (np.concatenate([getattr(p, name) for p in parts]) for name in ("radius", "decision"))
    return CertifiedRadii(radius, decision, first.moved, first.scale, first.held, first.norm, first.method)


def one_set(name: str, meta: dict, axes) -> dict:
    frame = pd.read_parquet(data_folder() / f"{name}.parquet")
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    parts: dict[tuple[str, str], list[CertifiedRadii]] = {}
    right, seconds, features, milp = [], {}, [], []
    for split in range(SPLITS):
        train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=split)
        test = test[:TEST_ROWS]
        model = MonotonicClassifier(monotonic_cst=meta["monotonic_cst"], random_state=split).fit(
            X.iloc[train], y[train]
        )
        rows = X.iloc[test]
        right.append(model.predict(rows) == y[test])
        scale = {c: float(X.iloc[train][c].std()) for c in X if pd.api.types.is_numeric_dtype(X[c])}
        for norm, power in NORMS.items():
            for method in METHODS:
                begun = time.process_time()
                found = certified_radius(model, rows, norm=power, scale=scale, method=method)
                seconds[method] = seconds.get(method, 0.0) + time.process_time() - begun
                parts.setdefault((norm, method), []).append(found)
        features.append(feature_radii(model, rows))
        milp += against_milp(X.iloc[train], y[train], rows.iloc[:MILP_ROWS], meta, scale, split)
    good = np.concatenate(right)
    joined = {key: join(found) for key, found in parts.items()}
    for axis, norm in zip(axes, ("L1", "Linf"), strict=True):
        plot_certified_accuracy({METHODS[m]: joined[norm, m] for m in METHODS}, good, axis=axis)
        axis.set_title(f"{name}, {norm}", fontsize=9)
        axis.set_xlabel("radius in standard deviations")
        axis.get_legend().remove()
    table = {
        norm: {
            method: {
                "median_radius": float(np.median(joined[norm, method].radius)),
                "infinite": float(np.isinf(joined[norm, method].radius).mean()),
                "certified_accuracy": joined[norm, method].certified_accuracy(good, RADII).tolist(),
            }
            for method in METHODS
        }
        for norm in NORMS
    }
    per_row = {method: 1e3 * total / (len(good) * len(NORMS)) for method, total in seconds.items()}
    held = joined["L1", "local"].held
    return {
        "rows": len(good), "accuracy": float(good.mean()), "held_fixed": held, "radii": RADII, "table": table,
        "ms_per_row": per_row, "features": feature_table(features), "milp": milp_table(milp),
    }  # fmt: skip


def feature_table(found: list) -> dict:
    sides = {side: np.concatenate([getattr(f, side) for f in found]) for side in ("up", "down")}
    return {
        name: {
            f"{side}_{what}": float(value)
            for side, radius in sides.items()
            for what, value in (("median", np.median(radius[:, i])), ("infinite", np.isinf(radius[:, i]).mean()))
        }
        for i, name in enumerate(found[0].features)
    }


def against_milp(X, y, rows, meta: dict, scale: dict, seed: int) -> list[dict]:
    small = MonotonicClassifier(
        monotonic_cst=meta["monotonic_cst"],
        hidden_layer_sizes=(8,),
        n_estimators=1,
        n_bins=0,
        random_state=seed,
    ).fit(X, y)
    found = []
    for norm in ("L1", "Linf"):
        proved = {m: certified_radius(small, rows, norm=norm, scale=scale, method=m).radius for m in METHODS}
        for i in range(len(rows)):
            box = float(np.clip(4 * proved["local"][i], 1e-3, 20.0))
            begun = time.process_time()
            flip = smallest_flip(small, rows.iloc[i : i + 1], norm=norm, scale=scale, box=box, time_limit=10.0)[0]
            took = time.process_time() - begun
            radii = {m: float(radius[i]) for m, radius in proved.items()}
            found.append({"norm": norm, **radii, "witness": flip.radius, "optimum": flip.optimum, "seconds": took})
            assert all(radius < flip.radius for radius in radii.values()), "a witness inside a proved radius"
    return found


def milp_table(found: list[dict]) -> dict:
    table = {}
    for norm in ("L1", "Linf"):
        rows = [r for r in found if r["norm"] == norm and np.isfinite(r["witness"])]
        witness = np.array([r["witness"] for r in rows])
        table[norm] = {
            "rows": sum(r["norm"] == norm for r in found),
            "witnesses": len(rows),
            "median_witness": float(np.median(witness)),
            "median_ratio": {m: float(np.median([r[m] for r in rows] / witness)) for m in METHODS},
            "largest_ratio": {m: float(np.max([r[m] for r in rows] / witness)) for m in METHODS},
            "median_seconds": float(np.median([r["seconds"] for r in rows])),
        }
    return table


def main() -> None:
    suite = json.loads((data_folder() / "suite.json").read_text())
    figure = Figure(figsize=(9.0, 6.4), layout="constrained")
    axes = figure.subplots(2, 2)
    results = {name: one_set(name, suite[name], axes[k]) for k, name in enumerate(("compas", "heart_disease"))}
    for name, data in results.items():
        print(f"{name}: accuracy {data['accuracy']:.3f}, held fixed {data['held_fixed']}")
        for norm in NORMS:
            for method in METHODS:
                row = data["table"][norm][method]
                shares = " ".join(f"{v:.3f}" for v in row["certified_accuracy"])
                print(f"  {norm:4s} {METHODS[method]:20s} median {row['median_radius']:.4g}   {shares}")
        for norm, row in data["milp"].items():
            print(f"  MILP {norm}: {row['witnesses']} of {row['rows']} witnesses, ratios {row['median_ratio']}")
        print("  ms per row", data["ms_per_row"])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=5, fontsize=8, frameon=False)
    figure.savefig(ROOT / "docs" / "figures" / "certified_accuracy.png", dpi=110)
    packages = ("monolip", "scikit-learn", "numpy", "scipy")
    record("robustness", results, packages, splits=SPLITS, test_rows=TEST_ROWS, milp_rows=MILP_ROWS, threads=1)


if __name__ == "__main__":
    main()
