"""A person with a table does not need torch: the whole job runs with torch blocked, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

JOB = """
import sys


class NoTorch:  # as if it were not installed (None in sys.modules would confuse scipy)
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


sys.meta_path.insert(0, NoTorch)
import numpy as np
from monolip import FrozenNetwork, MonotonicClassifier, MonotonicRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=300)
regressor = MonotonicRegressor(monotonic_cst=[1, -1, 0], random_state=0).fit(X, y)
classifier = MonotonicClassifier(monotonic_cst=[1, -1, 0], random_state=0).fit(X, y > 0)
up = X.copy()
up[:, 0] = np.nextafter(up[:, 0], np.inf)
assert (regressor.predict(up) >= regressor.predict(X)).all()
assert (classifier.decision_function(up) >= classifier.decision_function(X)).all()
regressor.save("model.safetensors")
assert (MonotonicRegressor.load("model.safetensors").predict(X) == regressor.predict(X)).all()
assert FrozenNetwork.load("model.safetensors").digest == regressor.frozen_.digest
print("done", [name for name in sys.modules if name.split(".")[0] == "torch"])
"""


def test_fit_predict_save_and_load_with_torch_blocked(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", JOB], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "done []"
