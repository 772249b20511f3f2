"""Bad input on the way: the message names the file, and the last checkpoint stays usable."""

from __future__ import annotations

import errno
import os
import re
import sys
from decimal import Decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from monolip import MonotonicClassifier, MonotonicRegressor  # noqa: E402
from monolip.errors import CheckpointError, InputError, MissingExtraError  # noqa: E402
from monolip.estimators import checkpoint as checkpoints  # noqa: E402
from monolip.estimators.stream import fitting  # noqa: E402

from .streams import mixed, numbers, rot, shrink, write  # noqa: E402


def model(**more):
    return MonotonicRegressor(monotonic_cst={"a": 1}, hidden_layer_sizes=(8,), random_state=0, **more)


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "d", numbers(300))


def change(folder, edit, k: int = 1):
    path = folder / f"part-{k}.parquet"
    pq.write_table(edit(pq.read_table(path)), path)


def cast(name, kind):
    def edit(table):
        at = table.column_names.index(name)
        return table.set_column(at, name, table.column(at).cast(kind))

    return edit


def refused(folder, pattern, kind=InputError, **more):
    with pytest.raises(kind, match=pattern) as found:
        model().fit_stream(folder, "y", **more)
    assert str(found.value).count(";") >= 2  # rule; what was got; what to do


def test_an_empty_file(folder):
    (folder / "part-1.parquet").write_bytes(b"")
    refused(folder, r"part-1.parquet cannot be read: it has no bytes; replace it")


def test_a_file_that_is_something_else(folder):
    (folder / "part-1.parquet").write_text("a,b\n1,2\n")
    refused(folder, r"part-1.parquet cannot be read: it begins like none of them")


@pytest.mark.parametrize("keep", [20, -30, -1])
def test_a_file_that_was_cut_off(folder, keep):
    path = folder / "part-2.parquet"
    path.write_bytes(path.read_bytes()[:keep])
    refused(folder, r"part-2.parquet cannot be read: ")


def test_a_page_that_differs_from_its_checksum(folder, tmp_path):
    known, path = model().fit_stream(folder, "y"), folder / "part-1.parquet"
    plain = {"compression": "none", "use_dictionary": False}
    pq.write_table(pq.read_table(path), path, write_page_checksum=True, **plain)
    model().fit_stream(folder, "y")
    rot(path)
    changed = pq.read_table(path)  # a reader that does not compare sees another number
    refused(folder, r"part-1.parquet cannot be read: .*CRC checksum verification failed.*; replace it")
    with pytest.raises(InputError, match=r"part-1.parquet cannot be read: .*CRC checksum"):
        known.predict_stream(folder, tmp_path / "out.parquet")
    pq.write_table(changed, path, **plain)  # without checksums nobody can know: as streaming.md says
    assert known.predict_stream(folder, tmp_path / "out.parquet") == 300


def test_a_column_missing_in_one_partition(folder):
    change(folder, lambda t: t.drop_columns(["c"]))
    refused(folder, r"part-1.parquet has no 'c', which .*part-0.parquet has; add it")


def test_a_column_that_appears_later(folder):
    change(folder, lambda t: t.append_column("new", t.column("a")), 2)
    refused(folder, r"part-2.parquet has 'new', which .*part-0.parquet has not; drop it")
    model().fit_stream(folder, "y", features=["a", "b"])  # unless one says which columns to learn from


def test_a_type_that_changes_between_files(folder):
    change(folder, cast("b", pa.string()))
    refused(folder, r"'b' holds strings or categories in .*part-1.parquet and numbers in .*part-0.parquet; convert")


def test_numbers_may_differ_in_width(folder):
    whole = model().fit_stream(folder, "y").frozen_.digest
    change(folder, cast("d", pa.float64()))  # as exact in double precision
    assert model().fit_stream(folder, "y").frozen_.digest == whole


def test_a_column_of_dates(folder):
    for k in range(3):
        change(folder, lambda t: t.append_column("day", pa.array(np.arange(len(t))).cast(pa.timestamp("ms"))), k)
    refused(folder, r"'day' of .*part-0.parquet holds timestamp\[ms\]; convert it")


def test_files_without_rows_are_passed_over(folder):
    whole = model().fit_stream(folder, "y").frozen_.digest
    empty = pq.read_table(folder / "part-0.parquet").slice(0, 0)
    pq.write_table(empty, folder / "part-00.parquet")
    assert model().fit_stream(folder, "y").frozen_.digest == whole
    for k in range(3):
        change(folder, lambda t: t.slice(0, 0), k)
    refused(folder, r"a stream has rows; got none in 4 file\(s\)")


def test_values_that_cannot_be_learned_from(folder):
    change(folder, lambda t: t.set_column(4, "y", pa.array(np.where(np.arange(len(t)) == 3, np.nan, 1.0))))
    refused(folder, r"part-1.parquet: targets are finite.*got nan in column 'y'")
    change(folder, lambda t: t.set_column(4, "y", pa.array([None] * len(t), pa.float64())))
    refused(folder, r"part-1.parquet: targets are known; got null in column 'y'")


def test_a_file_is_named_in_a_short_stream_too(folder):
    change(folder, lambda t: t.set_column(0, "a", pa.array(np.full(len(t), np.inf))))
    refused(folder, r"part-1.parquet: inputs must be finite")
    change(folder, lambda t: t.set_column(0, "a", pa.array(np.full(len(t), -1.0))))
    refused(folder, r"part-0.parquet: sample weights are at least 0", sample_weight="b")


def test_infinite_numbers_and_negative_weights_in_a_long_stream(monkeypatch, tmp_path):
    shrink(monkeypatch)
    columns = {**numbers(3000), "w": np.ones(3000)}
    columns["w"][1500] = -1.0
    folder = write(tmp_path / "d", columns)
    refused(folder, r"part-1.parquet: sample weights are at least 0; got -1; drop", sample_weight="w")
    columns["b"][2500] = np.inf
    refused(write(folder, columns), r"part-2.parquet: inputs must be finite", features=["a", "b"])


@pytest.mark.parametrize(
    ("source", "pattern"),
    [("nothing", "nothing does not; correct"), ("*.parquet", "matches none"), (".", "has none; name another")],
)
def test_sources_that_are_none(source, pattern, tmp_path):
    refused(str(tmp_path / source), pattern)


def test_a_table_is_no_source(folder):
    refused(5, "got a int; pass paths, or call fit with a table")
    refused([], "got an empty list; name some")
    refused(folder, r"names a column of the files; got 'z', they have 'a', 'b'", features=["z"])
    with pytest.raises(InputError, match="target= names a column"):
        model().fit_stream(folder, "nope")
    with pytest.raises(InputError, match="classes are whole numbers or strings; got double in column 'y'"):
        MonotonicClassifier().fit_stream(folder, "y")
    refused(folder, "a column is one feature, the target, .*; got 'y' twice", features=["a", "y"])
    refused(folder, r"features= lists columns by name; got 'income'; write for example \['income'\]", features="income")
    refused(folder, r"features= lists columns by name; got \[0, 1\]; write", features=[0, 1])


@pytest.fixture
def begun(monkeypatch, tmp_path):
    """A long fit with a checkpoint after every batch and buffer, its folder, and the digest it should have."""
    shrink(monkeypatch)
    monkeypatch.setattr(fitting, "PAUSE_SECONDS", 0.0)
    folder = write(tmp_path / "d", numbers(4000))
    return folder, tmp_path / "c", model(max_iter=2).fit_stream(folder, "y").frozen_.digest


def test_a_disk_that_fills_up_leaves_the_checkpoint_usable(begun, monkeypatch):
    folder, kept, digest = begun
    left, original = [30], os.fsync

    def full(number):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        original(number)

    monkeypatch.setattr(checkpoints.os, "fsync", full)
    with pytest.raises(CheckpointError, match=r"pass.safetensors could not be: No space left on device; make room"):
        model(max_iter=2).fit_stream(folder, "y", checkpoint=kept)
    monkeypatch.setattr(checkpoints.os, "fsync", original)
    assert not list(kept.glob("*.part"))
    assert (kept / "pass.safetensors").exists()
    assert model(max_iter=2).fit_stream(folder, "y", checkpoint=kept).frozen_.digest == digest


def test_a_file_that_rots_during_the_fit_leaves_the_checkpoint_usable(begun):
    folder, kept, digest = begun
    path = folder / "part-1.parquet"
    good = path.read_bytes()
    bad = bytearray(good)
    bad[len(bad) // 8 : len(bad) // 8 + 3000] = bytes(3000)  # pages, not the footer
    path.write_bytes(bytes(bad))
    with pytest.raises(InputError, match=re.escape(str(path))):
        model(max_iter=2).fit_stream(folder, "y", checkpoint=kept)
    path.write_bytes(good)
    assert model(max_iter=2).fit_stream(folder, "y", checkpoint=kept).frozen_.digest == digest


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"monotonic_cst": {"a": 1, "city": 1}}, "a direction needs an order; 'city' is an unordered category"),
        ({"monotonic_cst": {"A": 1}}, "got 'A'; the features are"),
        ({"slopes": {"city": (0, 1)}}, "a category has no slope"),
        ({"missing": {"city": "lowest"}}, "a lowest or highest value needs an order"),
        ({"categorical_features": ["town"]}, "got 'town'"),
        ({"loss": "square"}, "loss is one of squared_error"),
        ({"loss": "quantile", "loss_parameter": 3.0}, "quantile of the pinball loss lies between"),
        ({"categorical_features": {"city": ["Rome", "Oslo"]}}, "'Bonn' of column 'city' is not in it"),
    ],
)
def test_wrong_arguments_leave_no_checkpoint(wrong, words, monkeypatch, tmp_path):
    shrink(monkeypatch)
    folder, kept = write(tmp_path / "d", mixed(3000)), tmp_path / "c"
    if "is not in it" not in words:  # of which a pass has to tell
        monkeypatch.setattr(fitting, "read_stretches", lambda *a: pytest.fail("the stream was read"))
    fit = {"target": "y", "features": ["a", "b", "city"], "checkpoint": kept}
    right = {"monotonic_cst": {"a": 1}, "hidden_layer_sizes": (8,), "random_state": 0, "max_iter": 1}
    with pytest.raises(ValueError, match=re.escape(words)):
        MonotonicRegressor(**right | wrong).fit_stream(folder, **fit)
    assert not kept.exists()


def test_a_fit_that_fails_touches_no_model_that_lies_in_its_checkpoint_folder(monkeypatch, tmp_path):
    shrink(monkeypatch)
    folder, models = write(tmp_path / "d", mixed(3000)), tmp_path / "models"
    models.mkdir()
    (models / "best_model.safetensors").write_bytes(b"mine")
    fit = {"target": "y", "features": ["a", "b", "city"], "checkpoint": models}
    right = {"hidden_layer_sizes": (8,), "random_state": 0, "max_iter": 1}
    with pytest.raises(InputError, match="'Bonn' of column 'city' is not in it"):
        MonotonicRegressor(categorical_features={"city": ["Rome", "Oslo"]}, **right).fit_stream(folder, **fit)
    assert [path.name for path in models.iterdir()] == ["best_model.safetensors"]
    MonotonicRegressor(**right).fit_stream(folder, **fit)  # corrected, it is not refused
    assert (models / "best_model.safetensors").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"monotonic_cst": {"a": 7}}, "got 7 for feature 'a'"),
        ({"monotonic_cst": {"a": {True: 7}}}, "got 7 for class True of feature 'a'"),
        ({"monotonic_cst": {"a": {False: "down"}}}, "got 'down' for class False of feature 'a'"),
        ({"slopes": {"a": (2, 1)}}, "a slope interval is finite and not empty; got (2, 1) for 'a'"),
        ({"slopes": {"a": {True: (2, 1)}}}, "a slope interval is finite and not empty; got (2, 1) for 'a'"),
        ({"class_weight": "balance"}, "class_weight is {class: weight}, 'balanced' or None; got 'balance'"),
        ({"class_weight": {True: -2}}, "at least 0; got -2 for class True"),
    ],
)
def test_wrong_arguments_of_a_classifier_are_told_before_a_pass_and_alike_by_fit(wrong, words, monkeypatch, tmp_path):
    shrink(monkeypatch)
    monkeypatch.setattr(fitting, "read_stretches", lambda *a: pytest.fail("the stream was read"))
    rows = mixed(3000)
    rows["y"] = rows["y"] > 0
    model = MonotonicClassifier(hidden_layer_sizes=(8,), random_state=0, max_iter=1, **wrong)
    with pytest.raises(ValueError, match=re.escape(words)):
        model.fit_stream(write(tmp_path / "d", rows), "y", features=["a", "b", "city"])
    table = pa.table({name: rows[name] for name in ("a", "b", "city")})
    with pytest.raises(ValueError, match=re.escape(words)):
        model.fit(table, np.asarray(rows["y"]))


def test_right_promises_of_either_class_pass_the_first_look(monkeypatch, tmp_path):
    shrink(monkeypatch)
    rows = mixed(3000)
    rows["y"] = rows["y"] > 0
    asked = {"monotonic_cst": {"a": {False: -1}}, "slopes": {"b": {False: (-1.0, 0.5)}}}
    model = MonotonicClassifier(hidden_layer_sizes=(8,), random_state=0, max_iter=1, class_weight={True: 0.5}, **asked)
    model.fit_stream(write(tmp_path / "d", rows), "y", features=["a", "b", "city"])
    assert model.slopes_["b"][0] >= -1.0
    assert model.slopes_["b"][1] <= 0.5  # of the class that was named


def test_wrong_promises_of_classes(monkeypatch, tmp_path):
    shrink(monkeypatch)
    rows, kept = mixed(3000), tmp_path / "c"
    rows["y"] = np.where(rows["y"] > 1, "high", np.where(rows["y"] > -1, "mid", "low"))
    folder, right = write(tmp_path / "d", rows), {"hidden_layer_sizes": (8,), "random_state": 0, "max_iter": 1}
    fit = {"target": "y", "features": ["a", "city"], "checkpoint": kept}
    for wrong in ({"a": {"hi": 1}}, {"city": {"high": 1}}, {"a": 1}):  # the first and last take a pass
        with pytest.raises(ValueError, match=r"class|order"):
            MonotonicClassifier(monotonic_cst=wrong, **right).fit_stream(folder, **fit)
        assert not kept.exists()
    order = {"city": ["Bonn", "Oslo", "Rome"]}
    promise = {"a": {"high": 1, "low": -1}, "city": {"high": 0}}
    MonotonicClassifier(monotonic_cst=promise, categorical_features=order, **right).fit_stream(folder, **fit)


def test_an_error_before_anything_is_kept_leaves_no_folder_and_an_old_one_stays(folder, tmp_path):
    kept = tmp_path / "c"
    with pytest.raises(ValueError, match="got 'A'"):
        MonotonicRegressor(monotonic_cst={"A": 1}, random_state=0).fit_stream(folder, "y", checkpoint=kept)
    assert not kept.exists()
    done = model(max_iter=1).fit_stream(folder, "y", checkpoint=kept)
    before = sorted(path.name for path in kept.iterdir())
    with pytest.raises(CheckpointError, match="of another monotonic_cst"):
        MonotonicRegressor(monotonic_cst={"A": 1}, hidden_layer_sizes=(8,), random_state=0, max_iter=1).fit_stream(
            folder, "y", checkpoint=kept
        )
    assert sorted(path.name for path in kept.iterdir()) == before
    assert model(max_iter=1).fit_stream(folder, "y", checkpoint=kept).frozen_.digest == done.frozen_.digest


def test_without_pyarrow_the_line_that_installs_it_is_told(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=re.escape('pip install ".[stream]"')):
        model().fit_stream(folder, "y")


@pytest.fixture(scope="module")
def with_labels():
    n = 2000
    table = pa.table({"a": np.linspace(0, 1, n), "k": ["ab", "cd"] * (n // 2), "y": np.linspace(0, 1, n)})
    return table, model().fit(table.drop_columns("y"), table["y"].to_numpy())


def test_offsets_of_strings_that_lead_out_of_an_arrow_file(tmp_path, with_labels):
    """Without a look at them the process dies."""
    table, fitted = with_labels
    path = tmp_path / "d.arrow"
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    data = bytearray(path.read_bytes())
    at = data.index(np.arange(0, 16, 2, dtype=np.int32).tobytes()) + 400
    data[at : at + 4] = (0x7FFFFF00).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"d\.arrow cannot be read"):
        fitted.predict_stream(path, tmp_path / "out.parquet")
    with pytest.raises(InputError, match=r"d\.arrow cannot be read"):
        model().fit_stream(path, "y")
    assert not (tmp_path / "out.parquet").exists()


def test_strings_that_are_no_text(tmp_path, with_labels):
    table, fitted = with_labels
    wrong = pa.array([b"ab", b"\xff\xfe"] * (table.num_rows // 2), pa.binary()).view(pa.string())
    damaged = table.set_column(1, "k", wrong)
    path = tmp_path / "d.parquet"
    pq.write_table(damaged, path)
    with pytest.raises(InputError, match=r"d\.parquet cannot be read"):
        fitted.predict_stream(path, tmp_path / "out.parquet")
    with pytest.raises(InputError, match=r"d\.parquet cannot be read"):
        model().fit_stream(path, "y")
    with pytest.raises(InputError, match=r"strings are UTF-8; got .* in column 'k'"):
        fitted.predict(damaged.drop_columns("y"))


def test_decimals_are_the_nearest_floats_wherever_they_come_from(tmp_path, rng):
    pd = pytest.importorskip("pandas")
    digits = [Decimal(int(v)).scaleb(-6) for v in rng.integers(-(10**12), 10**12, 3000)]
    table = pa.table({"a": pa.array([*digits, None], pa.decimal128(18, 6)), "b": rng.normal(size=3001)})
    fitted = MonotonicRegressor(monotonic_cst={"a": 1}, max_iter=2, random_state=0)
    fitted.fit(table, np.r_[[float(v) for v in digits], 0.0])
    floats = pd.DataFrame({"a": [*map(float, digits), np.nan], "b": table["b"].to_numpy()})
    assert np.array_equal(fitted.predict(table), fitted.predict(floats))
    assert np.array_equal(fitted.predict(table.to_pandas(types_mapper=pd.ArrowDtype)), fitted.predict(floats))
    pq.write_table(table, tmp_path / "d.parquet")
    fitted.predict_stream(tmp_path / "d.parquet", tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet").column("prediction").to_numpy()
    assert np.array_equal(found, fitted.predict(floats))
