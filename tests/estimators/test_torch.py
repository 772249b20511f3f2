"""Through torch and back: the same function, and a promise that fine-tuning cannot break."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.errors import FreezeError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor

from .tables import QUICK, credit, one_ulp_up

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", params=["regressor", "three classes"])
def fitted(request):
    X, y = credit(200)
    if request.param == "regressor":
        return MonotonicRegressor(monotonic_cst={"income": 1, "debt": -1}, **QUICK).fit(X, y), X, y
    labels = np.digitize(y, [9.5, 10.5])
    return MonotonicClassifier(monotonic_cst={"income": {2: 1}}, **QUICK).fit(X, labels), X, labels


def outputs(modules, model, X):
    z = torch.tensor(model.model_columns(X))
    return torch.stack([module(z) for module in modules]).mean(0)


def test_torch_members_are_the_same_function_there_and_back(fitted):
    model, X, _ = fitted
    modules = model.to_torch()
    f = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)[:, None]
    assert np.allclose(outputs(modules, model, X).detach().numpy(), f, rtol=1e-9)
    again = model.from_torch(modules)
    g = again.decision_function(X) if hasattr(model, "classes_") else again.predict(X)[:, None]
    assert np.allclose(g, f, rtol=1e-9)


def test_fine_tuning_keeps_the_promise_bit_for_bit(fitted):
    model, X, y = fitted
    modules = model.to_torch()
    optimiser = torch.optim.Adam(modules.parameters(), lr=0.1)  # brutal on purpose
    for _ in range(8):
        f = outputs(modules, model, X)
        target = torch.tensor(y)
        loss = torch.nn.functional.cross_entropy(f, target) if f.shape[1] > 1 else ((f[:, 0] - target) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    tuned = model.from_torch(modules)
    assert tuned.frozen_.raw_promise == model.frozen_.raw_promise
    assert tuned.frozen_.digest != model.frozen_.digest
    method = "predict_proba" if hasattr(model, "classes_") else "predict"
    before, after = (np.atleast_2d(getattr(tuned, method)(Z).T)[-1] for Z in (X, one_ulp_up(X, "income")))
    assert (after >= before).all()
    far = np.atleast_2d(getattr(tuned, method)(X.assign(income=X["income"] * 5)).T)[-1]
    assert (far >= before).all()


def test_modules_of_another_promise_are_refused(fitted):
    from monolip import SlopeBounds
    from monolip.nn import ConvexMLP

    model, _, _ = fitted
    with pytest.raises(FreezeError, match="must keep the promise of the estimator"):
        model.from_torch([ConvexMLP(SlopeBounds([0.0], [1.0]))])


def test_one_module_is_not_a_list_of_members(fitted):
    model, _, _ = fitted
    with pytest.raises(FreezeError, match=r"one a member; got one ConvexMLP; pass \[module\]"):
        model.from_torch(model.to_torch()[0])


def test_members_that_were_tuned_keep_the_direction_and_are_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1500, 3))
    y = X[:, 0] + 2 * (np.floor(15 * X[:, 1]) % 2) + 0.1 * rng.normal(size=1500)
    model = MonotonicRegressor(monotonic_cst=[1, 0, 0], max_iter=2, random_state=0).fit(X, y)
    modules = model.to_torch()
    assert np.allclose(outputs(modules, model, X).detach().numpy()[:, 0], model.predict(X), rtol=0, atol=1e-12)
    assert np.allclose(model.from_torch(modules).predict(X), model.predict(X), rtol=0, atol=1e-12)
    optimiser = torch.optim.Adam(modules.parameters(), lr=0.1)
    for _ in range(8):
        optimiser.zero_grad()
        ((outputs(modules, model, X)[:, 0] - torch.tensor(y)) ** 2).mean().backward()
        optimiser.step()
    tuned = model.from_torch(modules)
    assert np.allclose(outputs(modules, model, X).detach().numpy()[:, 0], tuned.predict(X), rtol=0, atol=1e-9)
    up = X.copy()
    up[:, 0] = np.nextafter(X[:, 0], np.inf)
    assert (tuned.predict(up) >= tuned.predict(X)).all()
    tuned.save(tmp_path / "tuned.safetensors")
    assert (MonotonicRegressor.load(tmp_path / "tuned.safetensors").predict(X) == tuned.predict(X)).all()
