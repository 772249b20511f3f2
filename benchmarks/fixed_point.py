"""What integers cost: error of the deployed fixed-point network beside the float64 one, on every set of the open suite.

    MONOLIP_DATA=../shared/data python benchmarks/fixed_point.py [--only airfoil,concrete]

Default estimators, one split (four fifths train, one fifth test). Error: RMSE (regression) or log-loss (two classes).
"loss" is the relative change of that error; "steps" counts one-ulp and larger steps of a promised raw feature along
which the deployed prediction moved the wrong way. Every carrier of a format must give the same bits.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

from monolip.certify.fixed_point import compile_fixed_point
from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from record import record

STEPS = 200_000


def data_folder() -> Path:
    here = Path(os.environ.get("MONOLIP_DATA", Path(__file__).parents[2] / "shared" / "data"))
    return here / "suite"


def error(y: np.ndarray, prediction: np.ndarray, classes: bool) -> float:
    if not classes:
        return float(root_mean_squared_error(y, prediction))
    return float(log_loss(y, np.clip(prediction, 1e-6, 1 - 1e-6)))


def wrong_steps(network, X: pd.DataFrame, cst: dict[str, int], classes: bool) -> tuple[int, int]:
    """Steps of promised features, up to the next float and further: (taken, in the wrong direction)."""
    rng, taken, wrong = np.random.default_rng(0), 0, 0
    numeric = [name for name in cst if pd.api.types.is_numeric_dtype(X[name])]
    for name in numeric:
        count = STEPS // len(numeric)
        rows = X.iloc[rng.integers(0, len(X), count)].reset_index(drop=True)
        x = rows[name].to_numpy(float)
        width = np.nanmax(X[name]) - np.nanmin(X[name])
        x = x + rng.normal(0, 0.1 * width, count) * (rng.random(count) < 0.5)
        further = x + width * rng.choice([0.0, 1e-9, 1e-6, 1e-3], count)
        moved = np.where(further > x, further, np.nextafter(x, np.inf))
        known = ~np.isnan(x)
        f = [network.evaluate_raw(rows.assign(**{name: v}), "float64")[:, 0] for v in (x, moved)]
        p = [network.link.apply(v[:, None]) for v in f]
        p = [v[:, 1] if classes else v for v in p]
        taken += int(known.sum())
        wrong += int((((f[1] - f[0]) * cst[name] < 0) | ((p[1] - p[0]) * cst[name] < 0))[known].sum())
    return taken, wrong


def one_set(frame: pd.DataFrame, meta: dict) -> dict:
    y, classes = frame["y"].to_numpy(), meta["task"] == "binary"
    X = frame.drop(columns="y")
    X = X.astype({c: "category" for c in X if not pd.api.types.is_numeric_dtype(X[c])})
    rows = train_test_split(np.arange(len(X)), test_size=0.2, random_state=0, stratify=y if classes else None)
    kind = MonotonicClassifier if classes else MonotonicRegressor
    model = kind(monotonic_cst=meta["monotonic_cst"], random_state=0).fit(X.iloc[rows[0]], y[rows[0]])
    test, truth = X.iloc[rows[1]], y[rows[1]]
    plain = error(truth, model.predict_proba(test)[:, 1] if classes else model.predict(test), classes)
    result = {"task": meta["task"], "rows": len(X), "float_error": plain}
    for preset in ("wide", "narrow"):
        begun = time.perf_counter()
        network = compile_fixed_point(model.frozen_, preset)
        spent = time.perf_counter() - begun
        f = network.evaluate_raw(test)
        equal = all(np.array_equal(network.evaluate_raw(test, carrier), f) for carrier in network.carriers)
        prediction = network.link.apply(f)
        found = error(truth, prediction[:, 1] if classes else prediction, classes)
        taken, wrong = wrong_steps(network, X, meta["monotonic_cst"], classes)
        result[preset] = {
            "error": found, "loss": found / plain - 1, "carriers": list(network.carriers), "same_bits": equal,
            "bits": network.reach.bit_length() + 1, "unit": network.link.unit, "steps": taken, "wrong": wrong,
            "compile_s": spent,
        }  # fmt: skip
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    folder = data_folder()
    suite = json.loads((folder / "suite.json").read_text())
    table = {}
    print(f"{'data set':20s} {'float':>9s} {'wide':>10s} {'narrow':>10s} {'bits':>6s} {'wrong steps':>12s} same bits")
    for name in [name for name in suite if not arguments.only or name in arguments.only.split(",")]:
        row = table[name] = one_set(pd.read_parquet(folder / f"{name}.parquet"), suite[name])
        wide, narrow = row["wide"], row["narrow"]
        print(
            f"{name:20s} {row['float_error']:9.4g} {100 * wide['loss']:+9.4f}% {100 * narrow['loss']:+9.3f}% "
            f"{wide['bits']:3d}/{narrow['bits']} {wide['wrong'] + narrow['wrong']:4d}/"
            f"{wide['steps'] + narrow['steps']} {wide['same_bits'] and narrow['same_bits']}",
            flush=True,
        )
    if not arguments.only:
        record("fixed_point", table, ("monolip", "numpy"), test_share=0.2, steps=STEPS)


if __name__ == "__main__":
    main()
