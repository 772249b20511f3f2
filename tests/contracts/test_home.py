"""~ is the home wherever a user names a file: what is written under it is found there, and no folder "~" is made."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from monolip import FixedPointNetwork, FrozenNetwork, MonotonicRegressor
from monolip.certify import Certificate
from monolip.certify.fixed_point import compile_fixed_point
from monolip.export import from_json, to_json
from monolip.report import write_report
from monolip.sealed_file import named_path

X = np.random.default_rng(0).normal(size=(300, 2))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, and a folder to work in that must stay as empty as it is."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.chdir(elsewhere)
    yield home
    assert not list(elsewhere.iterdir())


@pytest.fixture(scope="module")
def model() -> MonotonicRegressor:
    return MonotonicRegressor(monotonic_cst=[1, 0], max_iter=1, random_state=0).fit(X, X[:, 0])


def test_what_is_saved_at_home_is_loaded_from_there(home: Path, model: MonotonicRegressor):
    model.save("~/model")
    assert MonotonicRegressor.load("~/model").frozen_ == FrozenNetwork.load(Path("~/model")) == model.frozen_
    integers = compile_fixed_point(model.frozen_)
    integers.save("~/integers")
    assert FixedPointNetwork.load("~/integers") == integers
    model.certificate_.save("~/certificate.json")
    assert Certificate.load("~/certificate.json") == model.certificate_
    to_json(model, "~/model.json").save("~/parity.json")
    assert from_json("~/model.json") == model.frozen_
    assert write_report(model, "~/report.html", check=False) == home / "report.html"
    names = {"model", "integers", "certificate.json", "model.json", "parity.json", "report.html"}
    assert {path.name for path in home.iterdir()} == names


def test_a_stream_of_the_home_its_checkpoint_and_its_predictions(home: Path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (home / "rows").mkdir()
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), home / "rows" / "1.parquet")
    model = MonotonicRegressor(max_iter=1, random_state=0).fit_stream("~/rows", "b", checkpoint="~/kept")
    assert (home / "kept").is_dir()
    assert model.predict_stream(["~/rows/*.parquet"], "~/answers.parquet") == len(X)
    assert (home / "answers.parquet").is_file()
    with pytest.raises(ValueError, match="outside of the folder or pattern they are made of"):
        model.predict_stream("~/rows", "~/rows/answers.parquet")


def test_a_checkpoint_of_torch_lies_at_home(home: Path):
    pytest.importorskip("torch")
    from monolip import SlopeBounds
    from monolip.nn import FitPlan, fit, start_network

    plan, slopes = FitPlan(epochs=2, batch=64, lanes=4), SlopeBounds([0.0, -1.0], [1.0, 1.0])
    done = [fit(start_network(slopes, hidden=(8,)), X, X[:, 0], plan, checkpoint="~/fit") for _ in range(2)]
    assert (home / "fit").is_file()
    assert done[1].epoch_seconds == (), "the second call goes on from the end of the first"


def test_the_command_line_expands_what_a_shell_leaves(home: Path):
    pytest.importorskip("click")
    pytest.importorskip("pyarrow")
    from monolip.cli import run

    np.savetxt(home / "rows.csv", X, delimiter=",", header="a,b", comments="")
    assert run(["fit", "~/rows.csv", "--target=b", "--output=~/model.safetensors", "--quiet"]) == 0
    assert run(["check", "~/model.certificate.json", "--model=~/model.safetensors"]) == 0
    assert run(["predict", "~/model.safetensors", "--data=~/rows.csv", "--output=~/answers.csv"]) == 0
    assert (home / "answers.csv").is_file()


def test_only_a_leading_tilde_is_the_home(home: Path):
    assert named_path("~") == home
    assert [str(named_path(name)) for name in ("a~", f"a{os.sep}~", f".{os.sep}~", "~nobody-of-this-name")] == [
        "a~", f"a{os.sep}~", "~", "~nobody-of-this-name",
    ]  # fmt: skip
