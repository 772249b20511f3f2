"""Networks: the reference LMN with its paper's recipe, and one without any constraint (scikit-learn's)."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from scipy.special import expit

from contestants.encoding import Encoding
from contestants.task import Predict, Task, inner_splits, main_error

__all__ = ["LMN_GRID", "PLAIN_GRID", "lmn", "plain_network"]

# The paper: depth 3, GroupSort-2, lambda^(1/3) a layer, the residual lambda x_i on constrained features, Adam. It sets
# lambda and width by hand for each data set; here they are chosen on inner held-out rows, as is the epoch.
LMN_GRID: list[dict[str, Any]] = [
    {"lambda": 1.0, "width": 16}, {"lambda": 2.0, "width": 32}, {"lambda": 4.0, "width": 32},
    {"lambda": 10.0, "width": 32},
]  # fmt: skip
LMN_STEPS, LMN_RATE, LMN_BATCH, LMN_PATIENCE = 3000, 1e-2, 256, 1000  # steps, not epochs

PLAIN_GRID: list[dict[str, Any]] = [
    {"hidden_layer_sizes": sizes, "alpha": alpha} for sizes in ((32, 32), (128, 128)) for alpha in (1e-3, 1.0)
]


def lmn(task: Task) -> Predict:
    """The setting and the epoch with the least error on inner held-out rows; that network is kept, not refitted."""
    rows, held = inner_splits(task)[0]
    found = [_lmn_train(task, setting, rows, held) for setting in LMN_GRID]
    return min(found, key=lambda pair: pair[0])[1]


def _lmn_train(task: Task, setting: dict, rows: np.ndarray, held: np.ndarray) -> tuple[float, Predict]:
    import torch
    from monotonicnetworks import MonotonicWrapper

    from reference import reference_network

    torch.set_num_threads(task.threads)
    torch.manual_seed(task.seed)
    encode = Encoding(task.X.iloc[rows], task.cst)
    y = task.y.astype(float)
    shift, scale = (0.0, 1.0) if task.classes else (y[rows].mean(), y[rows].std() or 1.0)
    x, z = (torch.tensor(encode(task.X.iloc[part]), dtype=torch.float32) for part in (rows, held))
    t, u = (torch.tensor((y[part] - shift) / scale, dtype=torch.float32)[:, None] for part in (rows, held))
    bound, width = setting["lambda"], setting["width"]
    inner = reference_network((x.shape[1], width, width, 1), bound)
    net = MonotonicWrapper(inner, lipschitz_const=bound, monotonic_constraints=encode.directions.astype(float))
    loss = torch.nn.BCEWithLogitsLoss() if task.classes else torch.nn.MSELoss()
    _lmn_steps(net, loss, x, t, z, u)

    def predict(X: Any) -> np.ndarray:
        with torch.no_grad():
            f = net(torch.tensor(encode(X), dtype=torch.float32))[:, 0].double().numpy()
        return np.asarray(expit(f) if task.classes else shift + scale * f)

    return main_error(task.y[held], predict(task.X.iloc[held]), task.classes), predict


def _lmn_steps(net: Any, loss: Any, x: Any, t: Any, z: Any, u: Any) -> None:
    """Adam until the held-out loss has not gained for LMN_PATIENCE steps; leaves the best weights in `net`."""
    import torch

    optimiser = torch.optim.Adam(net.parameters(), lr=LMN_RATE)
    best, state, since, done = np.inf, None, 0, 0
    batch = min(LMN_BATCH, max(16, len(x) // 8))
    while done < LMN_STEPS and since < LMN_PATIENCE:
        for part in torch.randperm(len(x)).split(batch):
            optimiser.zero_grad()
            loss(net(x[part]), t[part]).backward()
            optimiser.step()
            done, since = done + 1, since + 1
        with torch.no_grad():
            now = float(loss(net(z), u))
        if now < best:
            best, state, since = now, copy.deepcopy(net.state_dict()), 0
    if state is not None:
        net.load_state_dict(state)


def plain_network(task: Task) -> Predict:
    """Adam with scikit-learn's own early stopping; the best of four settings on inner held-out rows, refitted."""
    rows, held = inner_splits(task)[0]
    errors = []
    for setting in PLAIN_GRID:
        predict = _plain_fit(task, setting, rows)
        errors.append(main_error(task.y[held], predict(task.X.iloc[held]), task.classes))
    return _plain_fit(task, PLAIN_GRID[int(np.argmin(errors))], np.arange(len(task.y)))


def _plain_fit(task: Task, setting: dict, rows: np.ndarray) -> Predict:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    encode = Encoding(task.X.iloc[rows], {})
    y = task.y[rows]
    shift, scale = (0.0, 1.0) if task.classes else (y.mean(), y.std() or 1.0)
    target = y if task.classes else (y - shift) / scale
    model = (MLPClassifier if task.classes else MLPRegressor)(
        early_stopping=True, validation_fraction=0.125, n_iter_no_change=20, max_iter=400, learning_rate_init=3e-3,
        batch_size=min(128, max(16, len(rows) // 8)), random_state=task.seed, **setting,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(encode(task.X.iloc[rows]), target)
    if task.classes:
        return lambda X: model.predict_proba(encode(X))[:, 1]
    return lambda X: shift + scale * model.predict(encode(X))
