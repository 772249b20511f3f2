"""monolip audit: files of other libraries, recognised by what they hold, and never run as programs."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest

from monolip import ConvexForm, FrozenNetwork, MonotonicRegressor, SlopeBounds
from monolip.cli._exits import Exit
from monolip.export import to_json, to_onnx
from monolip.frozen import Trunk

from .conftest import Line, arrow, csv

NAMES = ["income", "dti", "noise"]
WORDS = ("-i", "dti", "-d", "income", "--max-rows", "20", "--max-evaluations", "4000")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = (x[:, 1] - x[:, 0] + rng.normal(size=300) > 0).astype(int)
    folder: Path = tmp_path_factory.mktemp("audit")
    csv.write_csv(arrow.table({**dict(zip(NAMES, x.T, strict=True)), "id": np.arange(300)}), folder / "t.csv")
    return folder, x, y


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Foreign files are read in a process of its own, two seconds each: most tests are told that they are it."""
    monkeypatch.setenv("MONOLIP_APART", "1")


def test_a_file_that_crashes_its_reader_is_an_error(rows, line: Line, tmp_path, monkeypatch):
    monkeypatch.delenv("MONOLIP_APART")
    (tmp_path / "b.txt").write_bytes(b"tree\nversion=v4\n")
    dead = subprocess.CompletedProcess([], -11, "half a table", "terminate called")
    with monkeypatch.context() as patch:
        patch.setattr("monolip.cli._apart.subprocess.run", lambda *_, **__: dead)
        done = line("audit", tmp_path / "b.txt", rows[0] / "t.csv", *WORDS)
    assert done.code == Exit.INPUT
    assert done.out == ""
    assert "LightGBM must be able to read the file; got SIGSEGV" in done.err


def test_the_process_of_its_own_says_and_returns_the_same(rows, line: Line, tmp_path, monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    folder, x, y = rows
    settings = {"objective": "binary", "verbosity": -1, "num_threads": 1}
    lightgbm.train(settings, lightgbm.Dataset(x, y, feature_name=NAMES), 5).save_model(tmp_path / "b.txt")
    words = ("audit", tmp_path / "b.txt", folder / "t.csv", *WORDS, "--json")
    here = line(*words)
    monkeypatch.delenv("MONOLIP_APART")
    apart = line(*words)
    assert here.code == apart.code == Exit.FOUND
    assert {**here.data, "seconds": 0} == {**apart.data, "seconds": 0}
    assert apart.err == ""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["txt", "ubj", "json", "onnx"])
def test_damaged_files_of_others_are_errors_and_never_crashes(ending, rows, line: Line, tmp_path, monkeypatch):
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    pytest.importorskip("onnxruntime")
    folder, x, y = rows
    monkeypatch.delenv("MONOLIP_APART")
    path, rng = tmp_path / f"b.{ending}", np.random.default_rng(0)
    if ending == "txt":
        lightgbm.train({"verbosity": -1}, lightgbm.Dataset(x, y, feature_name=NAMES), 5).save_model(path)
    elif ending == "onnx":
        model = MonotonicRegressor(random_state=0).fit(arrow.table(dict(zip(NAMES, x.T, strict=True))), y)
        to_onnx(model, path)
    else:
        xgboost.train({}, xgboost.DMatrix(x, y, feature_names=NAMES), 5).save_model(path)
    good = path.read_bytes()
    for _ in range(6):
        data = bytearray(good)
        for at in rng.integers(0, len(data), 3):
            data[at] ^= 1 << int(rng.integers(8))
        cut = int(rng.integers(len(data)))
        path.write_bytes(bytes(data[:cut] + data[cut + 9 :]))
        done = line("audit", path, folder / "t.csv", *WORDS)
        assert done.code in (Exit.OK, Exit.FOUND, Exit.INPUT), done.err
        assert done.err.count("\n") == (done.code == Exit.INPUT)


def test_lightgbm(rows, line: Line, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    folder, x, y = rows
    for signs, code in ((None, Exit.FOUND), ([-1, 1, 0], Exit.OK)):
        settings = {"objective": "binary", "verbosity": -1, "num_threads": 1, "monotone_constraints": signs}
        booster = lightgbm.train(settings, lightgbm.Dataset(x, y, feature_name=NAMES), 20)
        booster.save_model(tmp_path / "b.txt")
        done = line("audit", tmp_path / "b.txt", folder / "t.csv", *WORDS, "--json", "-o", tmp_path / "found.csv")
        assert done.code == code
        assert done.data["format"] == "LightGBM"
        assert done.data["violated"] is (code == Exit.FOUND)
        assert len(done.data["counterexamples"]) == csv.read_csv(tmp_path / "found.csv").num_rows
    assert "no violation found" in line("audit", tmp_path / "b.txt", folder / "t.csv", *WORDS).out
    (tmp_path / "b.txt").write_text("tree\nversion=v4\nnonsense\n")
    damaged = line("audit", tmp_path / "b.txt", folder / "t.csv", *WORDS)
    assert damaged.code == Exit.INPUT
    assert damaged.out == ""


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_xgboost(rows, line: Line, tmp_path, ending):
    xgboost = pytest.importorskip("xgboost")
    folder, x, y = rows
    booster = xgboost.train(
        {"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(x, y, feature_names=NAMES), 10
    )
    booster.save_model(tmp_path / f"b.{ending}")
    done = line("audit", tmp_path / f"b.{ending}", folder / "t.csv", *WORDS, "--json")
    assert (done.code, done.data["format"]) == (Exit.FOUND, "XGBoost")
    data = (tmp_path / f"b.{ending}").read_bytes()
    (tmp_path / f"b.{ending}").write_bytes(data[: len(data) // 2] + data[len(data) // 2 + 7 :])
    assert line("audit", tmp_path / f"b.{ending}", folder / "t.csv", *WORDS).code == Exit.INPUT


def test_onnx_and_models_of_our_own(rows, line: Line, tmp_path, fitted: Path):
    done = line(
        "audit",
        fitted / "model.safetensors",
        fitted / "loans.csv",
        "--max-rows",
        "20",
        "--max-evaluations",
        "2000",
        "--json",
    )
    assert (done.code, done.data["format"]) == (0, "MonotonicClassifier")
    assert {(f["name"], f["direction"]) for f in done.data["features"]} == {("income", -1), ("dti", 1)}
    line("export", fitted / "model.safetensors", "-o", tmp_path / "m.json")
    again = line(
        "audit",
        tmp_path / "m.json",
        fitted / "loans.csv",
        "-i",
        "dti",
        "--max-rows",
        "5",
        "--max-evaluations",
        "2000",
        "--json",
    )
    assert (again.code, again.data["format"]) == (0, "FrozenNetwork (JSON)")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    line("export", fitted / "model.safetensors", "-o", tmp_path / "m.onnx", "--arithmetic", "float64")
    found = line(
        "audit",
        tmp_path / "m.onnx",
        fitted / "loans.csv",
        "-i",
        "dti",
        "-d",
        "income",
        "--max-rows",
        "10",
        "--max-evaluations",
        "2000",
        "--json",
    )
    assert found.data["format"] == "ONNX"
    assert found.data["beyond_rounding"] is False


def test_columns_of_a_model_without_names(rows, line: Line, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    folder, x, y = rows
    booster = lightgbm.train({"verbosity": -1, "num_threads": 1}, lightgbm.Dataset(x, y), 5)
    booster.save_model(tmp_path / "b.txt")
    done = line("audit", tmp_path / "b.txt", folder / "t.csv", *WORDS)
    assert done.code == Exit.INPUT
    assert "reads 3 columns and does not name them; got 4; pass --features" in done.err
    named = line("audit", tmp_path / "b.txt", folder / "t.csv", *WORDS, "--features", ",".join(NAMES), "--json")
    assert named.code == Exit.FOUND


class Bomb:
    """Unpickling this would write a file."""

    def __reduce__(self):
        return Path.touch, (Path("exploded"),)


@pytest.mark.parametrize("protocol", [2, 5])
def test_a_pickle_is_never_loaded(rows, line: Line, tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(pickle.dumps(Bomb(), protocol))
    done = line("audit", "m.onnx", rows[0] / "t.csv", *WORDS)
    assert done.code == Exit.INPUT
    assert "is a pickle" in done.err
    assert not (tmp_path / "exploded").exists()


def test_a_json_document_of_a_network_without_input_transform(rows, line: Line, tmp_path):
    slopes = SlopeBounds([-1.0, 0.0, -1.0], [0.0, 1.0, 1.0], feature_names=NAMES)
    form = ConvexForm(([[-0.5, 1.0, 0.0]],), ([0.0],), ())
    to_json(FrozenNetwork(slopes, ((Trunk(form, (0,)),),)), tmp_path / "n.json", rows=3)
    done = line("audit", tmp_path / "n.json", rows[0] / "t.csv", *WORDS, "--json")
    assert (done.code, done.data["format"]) == (Exit.OK, "FrozenNetwork (JSON)")
    assert {(f["name"], f["direction"]) for f in done.data["features"]} == {("income", -1), ("dti", 1)}
