"""fit_stream: `fit` bit for bit on few rows; on many a certified model that the whole stream has improved."""

from __future__ import annotations

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.feather as feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from monolip import MonotonicClassifier, MonotonicRegressor  # noqa: E402
from monolip.errors import CheckpointError, InputError  # noqa: E402
from monolip.estimators.stream import _buffers, _plan, _refining, _schedule, _state, fitting  # noqa: E402

from .streams import CAPACITY, mixed, numbers, shrink, write  # noqa: E402

FEATURES = ["a", "b", "c", "d", "city", "whole"]
QUICK = {"hidden_layer_sizes": (8,), "random_state": 0}


def model(**more):
    return MonotonicRegressor(monotonic_cst={"a": 1}, **{**QUICK, **more})


@pytest.fixture(scope="module")
def few():
    columns = mixed(600)
    table = pa.table(columns)
    fitted = model().fit(table.select(FEATURES), columns["y"], columns["w"], columns["o"])
    return columns, fitted.frozen_.digest


@pytest.mark.parametrize("form", ["directory", "glob", "list", "arrow", "hive"])
def test_few_rows_are_fitted_as_the_table_they_are_bit_for_bit(few, form, tmp_path):
    columns, digest = few
    table, names = pa.table(columns), {"sample_weight": "w", "offset": "o"}
    source = folder = write(tmp_path / "d", columns)
    if form == "glob":
        source = str(folder / "part-*.parquet")
    elif form == "list":
        source = [folder / f"part-{k}.parquet" for k in range(3)]
    elif form == "arrow":
        source = tmp_path / "t.feather"
        feather.write_feather(table, source, chunksize=150)
    elif form == "hive":  # rows in the order of folders, and the folder's column at the end
        source, order = tmp_path / "h", np.argsort(columns["whole"], kind="stable")
        for value in range(5):
            part = table.filter(pa.array(columns["whole"] == value)).drop_columns(["whole"])
            (source / f"whole={value}").mkdir(parents=True)
            pq.write_table(part, source / f"whole={value}" / "p.parquet")
        sorted_rows = table.take(pa.array(order))
        X, y = sorted_rows.select(FEATURES), sorted_rows.column("y").to_numpy()
        weights = (sorted_rows.column(n).to_numpy() for n in ("w", "o"))
        digest = model().fit(X, y, *weights).frozen_.digest
    (folder / "_SUCCESS").touch()
    assert model().fit_stream(source, "y", features=FEATURES, **names).frozen_.digest == digest


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    return write(tmp_path_factory.mktemp("big"), numbers(6000), files=4, group_rows=500)


def test_a_stream_improves_the_fit_of_its_sample_and_keeps_the_promise(monkeypatch, tmp_path):
    shrink(monkeypatch)
    monkeypatch.setattr(_schedule, "BATCH_ROWS", 1024)
    monkeypatch.setattr(_plan, "VISITS", 2**18)
    fitted = model(hidden_layer_sizes=(16, 16)).fit_stream(write(tmp_path, numbers(30_000), group_rows=5000), "y")
    losses = [entry["validation_loss"] for entry in fitted.history_ if "stream_rows" in entry]
    assert min(losses[1:]) < losses[0]
    assert fitted.slopes_["a"][0] >= 0
    assert fitted.certificate_.check()
    new = numbers(4000, seed=9)
    X = {name: new[name] for name in "abcd"}
    few = {name: values[:CAPACITY] for name, values in numbers(30_000).items()}
    alone = model(hidden_layer_sizes=(16, 16)).fit(pa.table({name: few[name] for name in "abcd"}), few["y"])
    errors = [np.mean((m.predict(pa.table(X)) - new["y"]) ** 2) for m in (fitted, alone)]
    assert errors[0] < 0.95 * errors[1]


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(big, monkeypatch):
    shrink(monkeypatch)
    first = model(n_jobs=1).fit_stream(big, "y")
    assert model(n_jobs=2).fit_stream(big, "y").frozen_.digest == first.frozen_.digest


def test_rows_held_out_are_never_trained_on_and_all_others_are(big, monkeypatch):
    shrink(monkeypatch)
    seen, sampled, original = [], [], _buffers.Buffers.problem

    def watched(self, cells):
        seen.append(cells[:, -1])
        sampled[:] = [b.taken()[1][:, -1] for b in self.sample.strata.values()]
        return original(self, cells)

    monkeypatch.setattr(_buffers.Buffers, "problem", watched)
    model(max_iter=1).fit_stream(big, "y")
    held, trained = set(seen[0]), np.concatenate(seen[1:])
    assert len(held) > 300
    assert not held & set(trained)
    assert not held & set(np.concatenate(sampled))
    assert len(trained) == len(set(trained)) == 6000 - len(held)


class Killed(BaseException):
    """kill -9, as far as one process can pretend."""


@pytest.mark.parametrize("writes", [20, 50, 56])
def test_whenever_it_is_killed_the_resumed_fit_has_the_same_bits(big, writes, monkeypatch, tmp_path):
    shrink(monkeypatch)
    monkeypatch.setattr(fitting, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(_refining, "PATIENCE", 99)
    whole = model().fit_stream(big, "y").frozen_.digest
    original, left = _state.write_state, [writes]

    def dying(*arguments):
        original(*arguments)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(_state, "write_state", dying)
    with pytest.raises(Killed):
        model().fit_stream(big, "y", checkpoint=tmp_path)
    again = [model().fit_stream(big, "y", checkpoint=tmp_path).frozen_.digest for _ in range(2)]
    assert again == [whole, whole]  # the second goes on from the end


def test_a_checkpoint_is_of_the_same_files_and_arguments(few, tmp_path):
    columns, _ = few
    folder = write(tmp_path / "d", columns)
    model().fit_stream(folder, "y", features=["a"], checkpoint=tmp_path / "c")
    with pytest.raises(CheckpointError, match="another list of features: without then, with 'b' now"):
        model().fit_stream(folder, "y", features=["b", "a"], checkpoint=tmp_path / "c")
    columns = {**columns, "y": columns["y"] + 1}
    write(folder, columns)
    with pytest.raises(CheckpointError, match=r"another file part-0.parquet"):
        model().fit_stream(folder, "y", features=["a"], checkpoint=tmp_path / "c")
    with pytest.raises(InputError, match="random_state"):
        model(random_state=None).fit_stream(folder, "y", checkpoint=tmp_path / "c")


def test_a_damaged_checkpoint_is_refused(big, monkeypatch, tmp_path):
    shrink(monkeypatch)
    model(max_iter=1).fit_stream(big, "y", checkpoint=tmp_path)
    path = tmp_path / "stretch.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(CheckpointError, match=r"stretch.safetensors is damaged or edited"):
        model(max_iter=1).fit_stream(big, "y", checkpoint=tmp_path)


def test_what_is_rare_in_a_stream_is_known_though_it_is_not_in_the_sample(monkeypatch, tmp_path):
    shrink(monkeypatch)
    columns = mixed(6000)
    columns["a"][170], columns["c"][4321], columns["c"][99] = 50.0, np.nan, -44.0
    columns["city"][3000] = "Atlantis"
    columns["w"][5:50], columns["y"][5:50] = 0.0, 1e9  # rows that do not count
    folder = write(tmp_path / "d", columns)
    names = {"features": FEATURES, "sample_weight": "w", "offset": "o"}
    fitted = model(max_iter=1).fit_stream(folder, "y", **names)
    by_name = {column.name: column for column in fitted.frozen_.inputs.columns}
    assert by_name["city"].categories == ("Atlantis", "Bonn", "Oslo", "Rome")
    assert by_name["a"].seen[-1] == 50.0
    assert by_name["c"].seen[0] == -44.0
    assert by_name["c"].present is not None  # a state of its own for a value that is missing once
    assert by_name["a"].present is None
    table = pa.table(columns).slice(100, 500)
    found = fitted.predict(table.select(FEATURES), columns["o"][100:600])
    assert np.mean((found - columns["y"][100:600]) ** 2) < 0.5 * np.var(columns["y"][100:600])


def test_classes_rare_ones_included_weights_and_calibration(monkeypatch, tmp_path):
    shrink(monkeypatch)
    columns = mixed(6000)
    score = columns.pop("y")
    columns["grade"] = np.where(score > 1.9, "top", np.where(score > 0, "mid", "low"))
    assert 20 < (columns["grade"] == "top").sum() < 300
    folder = write(tmp_path / "d", columns)
    more = {"class_weight": "balanced", "max_iter": 1, **QUICK}
    many = MonotonicClassifier(monotonic_cst={"a": {"top": 1}}, **more)
    many.fit_stream(folder, "grade", features=FEATURES)
    assert many.classes_.tolist() == ["low", "mid", "top"]
    assert many.calibration_ is not None
    assert (many.predict(pa.table(columns).select(FEATURES)) == columns["grade"]).mean() > 0.5
    columns["good"] = (score > 0).astype(int)
    two = MonotonicClassifier(monotonic_cst={"a": 1}, **QUICK)
    two.fit_stream(write(folder, columns), "good", features=FEATURES, sample_weight="w", offset="o")
    assert two.classes_.tolist() == [0, 1]
    assert (two.predict(pa.table(columns).select(FEATURES)) == columns["good"]).mean() > 0.8
    loaded = _roundtrip(two, tmp_path)
    assert loaded.history_ == two.history_


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_a_stream_tells_how_many_members_there_are(members, noise, monkeypatch, tmp_path):
    shrink(monkeypatch)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3000))
    folder = write(tmp_path / "d", {"a": a, "b": b, "y": a + noise * rng.normal(size=3000)})
    fitted = model(n_estimators=members).fit_stream(folder, "y")
    assert fitted.n_estimators_ == _roundtrip(fitted, tmp_path).n_estimators_ == members


def _roundtrip(fitted, folder):
    fitted.save(folder / "m.safetensors")
    return type(fitted).load(folder / "m.safetensors")


def test_counts_with_an_exposure(monkeypatch, tmp_path):
    shrink(monkeypatch)
    rng, columns = np.random.default_rng(1), numbers(5000)
    columns["log_days"] = np.log(rng.uniform(0.2, 2, 5000))
    columns["claims"] = rng.poisson(np.exp(0.7 * columns["a"] - 3 + columns["log_days"])).astype(float)
    names = {"features": ["a", "b"], "offset": "log_days"}
    fitted = model(loss="poisson", max_iter=1).fit_stream(write(tmp_path / "d", columns), "claims", **names)
    table = pa.table({name: columns[name] for name in "ab"})
    mean = fitted.predict(table, columns["log_days"])
    assert abs(mean.sum() / columns["claims"].sum() - 1) < 0.15
    columns["claims"][4000] = -1
    with pytest.raises(InputError, match=r"part-2.parquet: a target of the poisson loss is at least 0; got -1"):
        model(loss="poisson").fit_stream(write(tmp_path / "d", columns), "claims", **names)


def test_numbers_called_categories_and_many_of_them(monkeypatch, tmp_path):
    shrink(monkeypatch)
    rng, columns = np.random.default_rng(1), numbers(5000)
    columns["shop"] = rng.integers(0, 60, 5000)
    columns["y"] = columns["y"] + rng.standard_normal(60)[columns["shop"]]
    folder = write(tmp_path / "d", columns)
    seen, sampled, original = [], [], _buffers.Buffers.problem

    def watched(self, cells):
        seen.append(cells[:, -1])
        sampled[:] = [b.taken()[1][:, -1] for b in self.sample.strata.values()]
        return original(self, cells)

    monkeypatch.setattr(_buffers.Buffers, "problem", watched)
    fitted = model(categorical_features=["shop"], max_iter=2).fit_stream(folder, "y")
    assert not set(np.concatenate(sampled)) & set(np.concatenate(seen))  # target means would tell them their answers
    assert dict(zip(fitted.frozen_.inputs.names, fitted._schema.categories, strict=True))["shop"] == tuple(range(60))
    table = pa.table({name: columns[name] for name in ("a", "b", "c", "d", "shop")})
    assert np.mean((fitted.predict(table) - columns["y"]) ** 2) < 0.4 * np.var(columns["y"])


def test_time_and_ctrl_c_end_a_fit_with_the_best_model_so_far(big, monkeypatch, capsys):
    shrink(monkeypatch)
    fitted = model(max_time=1e-3, verbose=1).fit_stream(big, "y")
    assert fitted.certificate_.check()
    assert "fit_stream: max_time=0.001 ended training early; with more time the" in capsys.readouterr().err
    original = _buffers.Buffers._made

    def interrupted(self, start):
        for number, problem in enumerate(original(self, start)):
            if number == 3:
                raise KeyboardInterrupt
            yield problem

    monkeypatch.setattr(_buffers.Buffers, "_made", interrupted)
    with pytest.warns(UserWarning, match="fit_stream was interrupted"):
        fitted = model().fit_stream(big, "y")
    assert fitted.slopes_["a"][0] >= 0


def test_without_early_stopping_all_rows_are_learned_from(big, monkeypatch):
    shrink(monkeypatch)
    fitted = model(early_stopping=False, max_iter=2, n_estimators=5).fit_stream(big, "y")
    assert len(fitted.frozen_.members) == 5
    assert fitted.n_iter_ == 2
    new = numbers(1000, seed=3)
    table = pa.table({name: new[name] for name in "abcd"})
    assert np.mean((fitted.predict(table) - new["y"]) ** 2) < 0.5 * np.var(new["y"])


def test_a_warm_start_is_refused(big):
    with pytest.raises(InputError, match="a stream is fitted as a whole; got warm_start=True; set it to False"):
        model(warm_start=True).fit_stream(big, "y")


@pytest.mark.parametrize("group", [17_000, 100_000])
@pytest.mark.parametrize("passes", [1, 3])
def test_passes_and_rows_are_counted_as_they_were_made(group, passes, tmp_path, monkeypatch):
    monkeypatch.setattr("monolip.estimators._sampling.MAX_ROWS", 20_000)
    n, rng = 60_000, np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] * x[:, 1]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=group)
    model = MonotonicRegressor(max_iter=passes, n_estimators=1, random_state=0).fit_stream(tmp_path, target="y")
    rows = [entry["stream_rows"] for entry in model.history_ if "stream_rows" in entry]
    assert model.n_iter_ <= passes
    assert 0 == rows[0] < rows[-1] <= passes * n
    if passes == 1:
        assert rows[-1] >= 0.8 * n  # all but those held out
