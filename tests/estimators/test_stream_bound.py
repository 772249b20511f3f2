"""A checkpoint belongs to one fit; few rows that count; outputs that are no ordinary files."""

from __future__ import annotations

import os
import shutil
import stat

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from monolip import MonotonicClassifier, MonotonicRegressor  # noqa: E402
from monolip.errors import CheckpointError, InputError  # noqa: E402
from monolip.estimators import checkpoint as checkpoints  # noqa: E402
from monolip.estimators.stream._bottom import keys_of  # noqa: E402
from monolip.estimators.stream._plan import Plan  # noqa: E402
from monolip.estimators.stream.source import Source  # noqa: E402

from .streams import numbers, shrink, write  # noqa: E402

N = 3000


def model(kind=MonotonicRegressor, **more):
    return kind(**{"hidden_layer_sizes": (4,), "n_estimators": 1, "max_iter": 1, "random_state": 0, **more})


@pytest.fixture
def long_stream(tmp_path, monkeypatch):
    shrink(monkeypatch)
    return write(tmp_path / "d", numbers(N))


def refused(pattern, call, kind=InputError):
    with pytest.raises(kind, match=pattern) as found:
        call()
    assert str(found.value).count(";") >= 2  # rule; what was got; what to do


def held_out_rows():
    """Positions that the fit of a shrunk stream of N rows under seed 0 holds out."""
    seed = model()._settings().seed
    return np.flatnonzero(keys_of(np.arange(N, dtype=np.uint64), 2 * seed + 1) < np.uint64(int(512 / N * 2.0**64)))


def test_a_pipe_stays_a_pipe(tmp_path):
    folder = write(tmp_path / "d", numbers(300))
    fitted, pipe = model().fit_stream(folder, "y"), tmp_path / "pipe.parquet"
    os.mkfifo(pipe)
    link = tmp_path / "link.safetensors"
    link.symlink_to(pipe)
    refused("a pipe or a device, which that would replace", lambda: fitted.predict_stream(folder, pipe))
    refused("a pipe or a device, which that would replace", lambda: fitted.save(pipe))
    refused("a pipe or a device, which that would replace", lambda: fitted.save(link))
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["d", "link.safetensors", "pipe.parquet"]


def test_a_generator_is_recorded_by_what_it_gave(tmp_path):
    folder, kept = write(tmp_path / "d", numbers(300)), tmp_path / "c"

    def fit(seed):
        return model(random_state=np.random.RandomState(seed)).fit_stream(folder, "y", checkpoint=kept)

    first = fit(0)
    assert fit(0).frozen_.digest == first.frozen_.digest
    refused(r"is of another random_state: {\"drawn\": \d+} then", lambda: fit(1), CheckpointError)


def test_every_entry_of_an_argument_counts(tmp_path):
    columns = {f"x{k}": np.linspace(0, 1, 60) ** (1 + k % 3) for k in range(1100)}
    folder, kept = write(tmp_path / "d", {**columns, "y": columns["x1"]}, files=1), tmp_path / "c"
    signs = np.zeros(1100, int)
    model(monotonic_cst=signs).fit_stream(folder, "y", checkpoint=kept)
    other = signs.copy()
    other[600] = 1
    pattern = r"another monotonic_cst: \.\.\..*0, 0, 0.* then, \.\.\..*0, 1, 0"
    refused(pattern, lambda: model(monotonic_cst=other).fit_stream(folder, "y", checkpoint=kept), CheckpointError)


def test_what_differs_is_named(tmp_path):
    folder, kept = write(tmp_path / "d", numbers(300)), tmp_path / "c"
    model().fit_stream(folder, "y", checkpoint=kept)
    differ = {"random_state: 0 then, 1 now": {"random_state": 1}, 'loss: "squared_error" then, "hub': {"loss": "huber"}}
    for words, more in differ.items():
        refused(
            f"is of another {words}",
            lambda more=more: model(**more).fit_stream(folder, "y", checkpoint=kept),
            CheckpointError,
        )


def test_other_columns_and_files_are_named(tmp_path):
    folder, kept = write(tmp_path / "d", numbers(300)), tmp_path / "c"
    model().fit_stream(folder, "y", features=["a", "b"], checkpoint=kept)

    def refuse(words, **more):
        given = {"source": folder, "target": "y", "features": ["a", "b"], "checkpoint": kept, **more}
        ending = "; repeat the arguments and files it was begun with, or remove the folder to start afresh\\.$"
        refused(words + ending, lambda: model().fit_stream(**given), CheckpointError)

    refuse("c is of another list of features: with 'b' then, without now", features=["a"])
    refuse("c is of another list of features: with 'b' then, with 'c', 'd' now", features=["a", "c", "d"])
    refuse('c is of another target: "y" then, "c" now', target="c")
    refuse(r'c is of another file part-2.parquet: "\d+ bytes, footer [^;]* then, null now \(and another order [^;]*',
           source=[folder / "part-0.parquet", folder / "part-1.parquet"])  # fmt: skip
    refuse(r"c is of another order of files \(sha256\): [^;]*",
           source=[folder / f"part-{k}.parquet" for k in (1, 0, 2)])  # fmt: skip
    write(folder, {**numbers(300, seed=1)})
    refuse(r'c is of another file part-0.parquet: "\d+ bytes, footer \w+" then, "[^;]*" now'
           r" \(and another file part-1.parquet, file part-2.parquet\)")  # fmt: skip
    assert model().fit_stream(write(folder, numbers(300)), "y", features=["a", "b"], checkpoint=kept)


def test_files_of_one_name_are_told_apart(tmp_path):
    one, two = (write(tmp_path / name, numbers(300, k), files=1) / "part-0.parquet" for k, name in enumerate("de"))
    assert list(Source([one, two]).listing) == ["file part-0.parquet", "file part-0.parquet (1)"]


@pytest.mark.parametrize("name", ["pass.safetensors", "stretch.safetensors"])
def test_a_state_of_another_fit_is_refused(long_stream, tmp_path, name):
    one, two = tmp_path / "one", tmp_path / "two"
    model().fit_stream(long_stream, "y", checkpoint=one)
    model(random_state=1).fit_stream(long_stream, "y", checkpoint=two)
    shutil.copy(one / name, two / name)
    refused(
        f"continues the same fit; .*{name} is of another; remove",
        lambda: model(random_state=1).fit_stream(long_stream, "y", checkpoint=two),
        CheckpointError,
    )


def test_places_that_are_no_folder(tmp_path):
    folder = write(tmp_path / "d", numbers(300))
    (tmp_path / "file").write_text("x")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "x")
    for place in ("file", "file/below", "dangling"):
        refused(
            f"{place} is none and cannot be made",
            lambda place=place: model().fit_stream(folder, "y", checkpoint=tmp_path / place),
            CheckpointError,
        )


def test_a_folder_that_is_removed_meanwhile(tmp_path, monkeypatch):
    folder, kept, write_whole = write(tmp_path / "d", numbers(300)), tmp_path / "c", checkpoints.write_whole

    def gone(path, data):
        if path.name != "fit.json":
            shutil.rmtree(kept, ignore_errors=True)
        write_whole(path, data)

    monkeypatch.setattr(checkpoints, "write_whole", gone)
    refused(
        "could not be: No such file or directory; free some space",
        lambda: model().fit_stream(folder, "y", checkpoint=kept),
        CheckpointError,
    )


def test_two_classes_count_by_weight_as_in_fit(long_stream, tmp_path):
    table = numbers(N)
    y = (table["a"] > 0).astype(int)
    folder = write(tmp_path / "e", {**table, "y": y, "w": (y == 1) * 1.0})
    pattern = "at least two classes; got only one class, 1; check the target"
    refused(pattern, lambda: model(MonotonicClassifier).fit_stream(folder, "y", sample_weight="w"))
    X = pa.table({name: table[name] for name in "abcd"})
    refused(pattern, lambda: model(MonotonicClassifier).fit(X, y, sample_weight=(y == 1) * 1.0))
    nothing = model(MonotonicClassifier, class_weight={0: 0.0, 1: 1.0})
    refused(pattern, lambda: nothing.fit_stream(folder, "y", features=list("abcd")))


@pytest.mark.parametrize("step", [500, 1500])
def test_few_rows_that_count(long_stream, tmp_path, step):
    weight = (np.arange(N) % step == 77) * 1.0
    folder = write(tmp_path / "e", {**numbers(N), "w": weight})
    fitted = model(monotonic_cst={"a": 1}).fit_stream(folder, "y", sample_weight="w")
    assert fitted.slopes_["a"][0] >= 0
    assert np.isfinite(fitted.predict(pa.table({n: numbers(5)[n] for n in "abcd"}))).all()


def test_all_that_counts_is_held_out(long_stream, tmp_path):
    table, at = numbers(N), np.arange(N) == held_out_rows()[0]
    weighed = write(tmp_path / "e", {**table, "w": at * 1.0})
    refused(
        "got 1 with a positive weight, all held out; name more such rows, or set early_stopping=False",
        lambda: model().fit_stream(weighed, "y", sample_weight="w"),
    )
    counts = write(tmp_path / "f", {**table, "y": at * 3.0})
    refused(
        "got 1 with a positive weight and a target above 0, all held out",
        lambda: model(loss="poisson").fit_stream(counts, "y"),
    )
    assert model(loss="poisson", early_stopping=False).fit_stream(counts, "y").n_iter_ >= 1


@pytest.mark.parametrize(("group_rows", "n_buffers"), [(200, 4), (128, 3), (30, 4), (1, 3)])
def test_small_row_groups_fill_a_buffer(tmp_path, monkeypatch, group_rows, n_buffers):
    shrink(monkeypatch)
    folder = write(tmp_path / "d", numbers(N), files=1, group_rows=group_rows)
    plan = Plan.of(Source(folder), 4, model()._settings())
    assert plan.n_buffers == n_buffers
    assert plan.per_buffer * min(group_rows, 128) <= 8 * 128  # memory is that of full batches


@pytest.mark.parametrize("row", [0, 1, 1500, 2999, "held out"])
@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_one_target_far_from_all_others(long_stream, tmp_path, row, loss):
    table = numbers(N)
    table["y"][held_out_rows()[0] if row == "held out" else row] = 1e30
    fitted = model(loss=loss).fit_stream(write(tmp_path / "e", table), "y")  # no warning: they are errors here
    assert np.isfinite(fitted.predict(pa.table({n: table[n] for n in "abcd"}))).all()
