"""Small tables with everything in them, and budgets that keep a fit below a tenth of a second."""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["QUICK", "credit", "one_ulp_up"]

QUICK = {"n_estimators": 2, "max_iter": 20, "random_state": 0}


def credit(n=400, seed=0):
    """(X, y): income and debt as numbers, age with missing values, an ordered grade, an unordered city; y a score."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10, 1, n)
    debt = rng.gamma(1.0, 5000, n)
    age = np.where(rng.random(n) < 0.15, np.nan, rng.integers(18, 80, n).astype(float))
    grade = pd.Categorical(rng.choice(["low", "mid", "high"], n), categories=["low", "mid", "high"], ordered=True)
    city = rng.choice(["A", "B", "C"], n)
    y = np.log(income) - debt / 10_000 + np.array([0.0, 0.5, 0.7])[grade.codes] + (city == "B")
    y = y + np.where(np.isnan(age), -0.5, np.nan_to_num(age) / 100) + 0.2 * rng.normal(size=n)
    frame = pd.DataFrame({"income": income, "debt": debt, "age": age, "grade": grade, "city": city})
    return frame, y


def one_ulp_up(X, name):
    """The table with one column moved up by the smallest possible step."""
    moved = X.copy()
    moved[name] = np.nextafter(X[name].to_numpy(dtype=float), np.inf)
    return moved
