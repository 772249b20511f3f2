"""What training cannot learn from is refused: the rule, what was got, what to do."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.engine._compile import compiled
from monolip.engine.architecture import Architecture
from monolip.engine.losses import Loss
from monolip.engine.members import Member, train_members
from monolip.engine.problem import Problem
from monolip.engine.trainer import Trainer
from monolip.engine.training import train
from monolip.engine.training_options import TrainingOptions
from monolip.errors import InputError, SlopeError, StructureError

X = np.random.default_rng(0).normal(size=(70, 2))
Y = X[:, 0]
NAN = np.where(np.arange(70) == 7, np.nan, Y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": NAN}, "target: training needs finite numbers.*got nan in row 7"),
        ({"x": np.column_stack([Y, NAN])}, "features: .*got nan in row 7, column 1"),
        ({"x": 1e39 * X}, "features: .*got -?inf"),
        ({"offset": NAN}, "offset: .*got nan"),
        ({"sample_weight": NAN}, "sample_weight: .*got nan"),
        (
            {"sample_weight": np.where(np.arange(70) == 3, -0.5, 1.0)},
            "a negative weight rewards errors.*got -0.5; drop",
        ),
        ({"sample_weight": np.zeros(70)}, "all 0"),
        ({"sample_weight": np.ones(3)}, "one number a row"),
        ({"offset": np.zeros((70, 5))}, "offset has shape"),
        ({"y": Y[:50]}, "50 targets for 70 rows"),
        ({"x": np.zeros((0, 2)), "y": []}, "a table of rows and features"),
        ({"y": np.stack([Y, Y], 1)}, "one column for each of 1 outputs"),
        ({"loss": "logistic", "y": 2 * np.abs(Y) + 1}, r"in \[0, 1\]"),
        ({"loss": "gamma", "y": 0 * Y}, "greater than 0; got 0.0"),
        ({"loss": "poisson", "y": Y}, "a count"),
        ({"loss": "softmax", "y": 0 * Y}, "got 1 outputs"),
        ({"loss": "cubic"}, "one of squared"),
        ({"loss": Loss("pinball", 1.5)}, "quantile .* between 0.0 and 1.0; got 1.5"),
    ],
)
def test_bad_data_is_refused_by_name(change, message):
    arguments = {"x": X, "y": Y, "lower": [0.0, 0.0], "upper": [1.0, 1.0], **change}
    with pytest.raises(InputError, match=message):
        Problem(**arguments)


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [([0, 2], [1, 1], r"got \[2.0, 1.0\] for feature 1"), ([0, np.nan], [1, 1], "nan"), ([0], [1], "shape")],
)
def test_empty_slope_intervals_are_refused(lower, upper, message):
    with pytest.raises(SlopeError, match=message):
        Problem(X, Y, lower, upper)


def test_paper_form_needs_a_cap():
    with pytest.raises(SlopeError, match="finite slope intervals"):
        Problem(X, Y, [0, 0], [np.inf, 1], architecture=Architecture(paper_form=True))


@pytest.mark.parametrize(
    "shape", [{"hidden": (8,) * 8}, {"hidden": (5,)}, {"hidden": (4, 0)}, {"group_size": 0}, {"fan_in": 0}]
)
def test_impossible_architectures_are_refused(shape):
    with pytest.raises(StructureError, match="got"):
        Architecture(**shape)


@pytest.mark.parametrize("option", [{"n_steps": 0}, {"beta1": 1.0}, {"slope_rate": np.nan}, {"bias_rate": -1.0}])
def test_impossible_options_are_refused(option):
    with pytest.raises(InputError, match=next(iter(option))):
        TrainingOptions(**option)


def test_a_loss_that_overflows_is_an_error_that_names_the_cause():
    with pytest.raises(InputError, match=r"gradient of the squared loss must stay finite.*largest \|y\| = 3e\+38"):
        train(Problem(X, np.where(Y > 0, 3e38, -3e38), [0, 0], [1, 1]), TrainingOptions(n_steps=50))
    problem = Problem(X, np.abs(Y), [0, 0], [1, 1], loss="poisson", offset=np.where(Y > 0, 1e3, 0.0))
    with pytest.raises(InputError, match=r"poisson loss must stay finite.*largest \|offset\| = 1e\+03"):
        train(problem, TrainingOptions(n_steps=8))
    with pytest.raises(InputError, match="must stay finite"):
        train_members(problem, [Member(TrainingOptions(n_steps=8, seed=s)) for s in range(3)], n_threads=2)


def test_rows_outside_the_table_are_refused():
    problem = Problem(X, Y, [0, 0], [1, 1])
    for index in ([], [-1], [70]):
        with pytest.raises(InputError, match=r"numbers in 0 \.\. 69"):
            Trainer(problem, TrainingOptions(), index)


def test_kernels_work_where_nothing_can_be_cached(monkeypatch):
    monkeypatch.setattr("numba.core.caching.CompileResultCacheImpl._locator_classes", [])
    assert compiled()(lambda x: x + 1)(1) == 2
