"""The main job in one page: fit a model that is provably monotone, see what it guarantees, save it, attack it.

Run: make demo
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score, train_test_split

from monolip import FrozenNetwork, MonotonicRegressor

OUTPUT = Path("demo")
# Disease progression is asked never to fall with body-mass index, blood pressure and the s5 serum measurement,
# and never to rise with s3 (the "good" cholesterol): what a clinician would insist on.
DIRECTIONS = {"bmi": +1, "bp": +1, "s5": +1, "s3": -1}


def main() -> None:
    OUTPUT.mkdir(exist_ok=True)
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0)

    started = time.perf_counter()
    model = MonotonicRegressor(monotonic_cst=DIRECTIONS, random_state=0).fit(X_train, y_train)
    seconds = time.perf_counter() - started
    print(f"fitted {len(X_train)} patients in {seconds:.2f} s (a first fit compiles its kernels)")
    compare(X, y)
    print("\nWhat was promised, and what is certified, in your units:")
    print(model.slopes_)

    path = OUTPUT / "diabetes.safetensors"
    model.save(path)
    frozen = FrozenNetwork.load(path)
    size = path.stat().st_size / 1024
    print(f"\nsaved {path} ({size:.0f} KiB), sha256 {frozen.digest[:16]}...; loaded again, the promise re-proved")

    attack(model, X_test)
    draw(model, X_train)


def compare(X, y) -> None:
    """R2 of five folds beside a monotone boosted tree and a straight line, all at their defaults."""
    ours = MonotonicRegressor(monotonic_cst=DIRECTIONS, random_state=0)
    trees = HistGradientBoostingRegressor(monotonic_cst=DIRECTIONS, random_state=0)
    print("R2 on patients not seen in fit, mean of five folds:")
    for name, model in (
        ("this model", ours),
        ("monotone gradient boosting", trees),
        ("linear regression (promises nothing)", LinearRegression()),
    ):
        print(f"  {name:38s}{cross_val_score(model, X, y, cv=5).mean():.3f}")


def attack(model: MonotonicRegressor, X, steps: int = 200_000) -> None:
    """Raise one constrained feature by one ulp, or by any other step, at random patients; look for a wrong move."""
    rng = np.random.default_rng(0)
    columns = list(X.columns)
    before = X.to_numpy(dtype=float)[rng.integers(len(X), size=steps)]
    before += rng.normal(size=before.shape) * X.std().to_numpy()
    wrong = 0
    for name, direction in DIRECTIONS.items():
        after, k = before.copy(), columns.index(name)
        half = steps // 2
        after[:half, k] = np.nextafter(after[:half, k], np.inf)
        after[half:, k] += 10 ** rng.uniform(-12, 3, size=steps - half)
        low, high = (model.predict(type(X)(rows, columns=columns)) for rows in (before, after))
        wrong += int((direction * (high - low) < 0).sum())
    print(
        f"attacked with {steps * len(DIRECTIONS):,} steps, one-ulp steps included: {wrong} moves in the wrong direction"
    )
    if wrong:
        sys.exit("the guarantee was broken: please report this")


def draw(model: MonotonicRegressor, X) -> None:
    """Response curves of the constrained features, each inside the cone its slopes allow."""
    from monolip.report import plot_shapes

    axes = plot_shapes(model, X, features=list(DIRECTIONS), n_columns=2)
    path = OUTPUT / "response_curves.png"
    axes[0].figure.savefig(path, dpi=120)
    print(f"response curves drawn in {path}")


if __name__ == "__main__":
    main()
