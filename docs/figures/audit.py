"""The figure of docs/audit.md: a quantile model of scikit-learn that breaks its monotone constraints.

Run: python docs/figures/audit.py  (writes audit.png beside this file)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from monolip.certify import audit
from monolip.report.audit import plot_audit


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) - 0.8 * X[:, 2] + 0.5 * rng.standard_t(3, size=600)
    cst = {"income": 1, "debt": -1}
    names = ["income", "age", "debt"]
    model = HistGradientBoostingRegressor(loss="quantile", quantile=0.9, monotonic_cst=[1, 0, -1], max_iter=60)
    report = audit(model.fit(X, y), X, cst, feature_names=names, max_evaluations=200_000)
    plot_audit(report)[0].figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main()
