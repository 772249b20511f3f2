"""predict_stream: the bits of predict, row by row in the order of the files, in a file that appears whole."""

from __future__ import annotations

import time

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from monolip import MonotonicClassifier, MonotonicRegressor  # noqa: E402
from monolip.errors import InputError  # noqa: E402
from monolip.estimators.stream import _answering, scoring  # noqa: E402
from monolip.estimators.stream._answering import Answering  # noqa: E402

from .streams import mixed, write  # noqa: E402

FEATURES = ["a", "b", "c", "city"]
QUICK = {"hidden_layer_sizes": (8,), "random_state": 0, "max_iter": 2}


@pytest.fixture(scope="module")
def rows():
    return {**mixed(700), "id": np.arange(700)}


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    return write(tmp_path_factory.mktemp("p"), rows)


@pytest.fixture(scope="module")
def regressor(rows):
    X = pa.table(rows).select(FEATURES)
    return MonotonicRegressor(monotonic_cst={"a": 1}, **QUICK).fit(X, rows["y"])


@pytest.mark.parametrize("batch", [64, 2**16])
def test_numbers_in_order_with_keys_and_offsets(regressor, rows, folder, batch, monkeypatch, tmp_path):
    monkeypatch.setattr(_answering, "BATCH_ROWS", batch)
    monkeypatch.setattr(scoring, "GROUP_ROWS", 3 * batch)
    out, X = tmp_path / "p.parquet", pa.table(rows).select(FEATURES)
    assert regressor.predict_stream(folder, out, keep=["id", "city"]) == 700
    found = pq.read_table(out)
    assert found.column_names == ["id", "city", "prediction"]
    assert (found["id"].to_numpy() == rows["id"]).all()
    assert (found["prediction"].to_numpy() == regressor.predict(X)).all()
    regressor.predict_stream(str(folder / "*.parquet"), out, offset="o")
    assert (pq.read_table(out)["prediction"].to_numpy() == regressor.predict(X, rows["o"])).all()
    regressor.predict_stream(folder, out, exact=True)
    assert (pq.read_table(out)["prediction"].to_numpy() == regressor.predict(X, exact=True)).all()
    assert [path.name for path in tmp_path.iterdir()] == ["p.parquet"]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2, 5, 40])
def test_batches_keep_their_order_whichever_thread_is_first(n_jobs, exact, rows, folder, monkeypatch, tmp_path):
    monkeypatch.setattr(_answering, "BATCH_ROWS", 32)
    original = Answering.answer

    def slow_at_times(self, part):
        time.sleep(0.01 * (part.before % 3))  # the first batch is not the first to be done
        return original(self, part)

    monkeypatch.setattr(Answering, "answer", slow_at_times)
    X, out, seen = pa.table(rows).select(FEATURES), tmp_path / "p.parquet", []
    model = MonotonicRegressor(monotonic_cst={"a": 1}, n_jobs=n_jobs, **QUICK).fit(X, rows["y"])
    options = {"keep": ["id"], "exact": exact, "watcher": lambda part, done, of: seen.append((done, of))}
    assert scoring.predict_stream(model, folder, out, **options) == 700
    found = pq.read_table(out)
    assert (found["id"].to_numpy() == rows["id"]).all()
    assert (found["prediction"].to_numpy() == model.predict(X, exact=exact)).all()
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (700, 700)


def test_classes_and_their_probabilities(rows, folder, tmp_path):
    X, out = pa.table(rows).select(FEATURES), tmp_path / "p.parquet"
    for labels in (np.where(rows["y"] > 0, "up", "down"), np.digitize(rows["y"], [-0.5, 0.5])):
        model = MonotonicClassifier(**QUICK).fit(X, labels)
        for exact in (False, True):
            model.predict_stream(folder, out, exact=exact)
            found = pq.read_table(out)
            assert found["prediction"].to_pylist() == model.predict(X, exact=exact).tolist()
            probabilities = np.stack([found[f"P({label})"].to_numpy() for label in model.classes_], axis=1)
            assert (probabilities == model.predict_proba(X, exact=exact)).all()


def test_what_goes_wrong_names_the_file_and_leaves_none(regressor, rows, tmp_path, monkeypatch):
    folder, out = write(tmp_path / "d", rows), tmp_path / "o" / "p.parquet"
    out.parent.mkdir()
    change = pq.read_table(folder / "part-1.parquet")
    pq.write_table(change.set_column(0, "a", pa.array([float("inf")] * len(change))), folder / "part-1.parquet")
    with pytest.raises(InputError, match=r"part-1.parquet: .*infinity"):
        regressor.predict_stream(folder, out)
    pq.write_table(change.drop_columns(["b"]), folder / "part-1.parquet")
    with pytest.raises(InputError, match=r"part-1.parquet has no 'b'"):
        regressor.predict_stream(folder, out)
    pq.write_table(change, folder / "part-1.parquet")
    with pytest.raises(InputError, match="keep= or offset= names a column"):
        regressor.predict_stream(folder, out, keep=["nobody"])
    with pytest.raises(InputError, match=r"keep= lists columns by name; got 'id'; write for example \['id'\]"):
        regressor.predict_stream(folder, out, keep="id")
    with pytest.raises(InputError, match="exact is True or False; got 'yes'; choose one"):
        regressor.predict_stream(folder, out, exact="yes")
    with pytest.raises(InputError, match="which is read from; name another"):
        regressor.predict_stream(folder, folder / "part-0.parquet")

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scoring.os, "fsync", full)
    with pytest.raises(InputError, match=r"p.parquet could not be: .*No space left on device"):
        regressor.predict_stream(folder, out)
    assert not list(out.parent.iterdir())


def test_an_infinite_value_is_named_by_its_row_in_the_file(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=10_000)
    model = MonotonicRegressor(monotonic_cst={"x": 1}, max_iter=2, random_state=0).fit(pa.table({"x": x}), x)
    x[9000] = np.inf
    pq.write_table(pa.table({"x": x}), tmp_path / "a.parquet", row_group_size=777)
    for exact in (False, True):
        with pytest.raises(InputError, match="row 9000 of column 'x'"):
            model.predict_stream(tmp_path / "a.parquet", tmp_path / "b.parquet", exact=exact)


def test_a_place_that_cannot_be_is_told_before_a_row_is_read(regressor, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(scoring.Source, "read", lambda *a, **k: pytest.fail("rows were read"))
    (tmp_path / "old.parquet").mkdir()
    for name, words in {
        "o.csv": "are a Parquet file, .parquet or .pq; got 'o.csv'; name it 'o.parquet'.",
        "o": "got 'o'; name it 'o.parquet'.",
        "old.parquet": "old.parquet', which is a folder; name a file in it.",
        "nowhere/o.pq": "nowhere'; make it first, or name another place.",
    }.items():
        with pytest.raises(InputError) as found:
            regressor.predict_stream(folder, tmp_path / name)
        assert str(found.value).endswith(words)
        assert str(found.value).count(";") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["old.parquet"]


@pytest.mark.parametrize("name", ["o.pq", "O.PARQUET"])
def test_endings_of_parquet(name, regressor, folder, tmp_path):
    assert regressor.predict_stream(folder, tmp_path / name) == pq.read_metadata(tmp_path / name).num_rows
