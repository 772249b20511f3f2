"""Odd folders, files and types: everything is read, or told by name; nothing is left out in silence."""

from __future__ import annotations

import os
import shutil
from decimal import Decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.feather as feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from monolip import MonotonicClassifier, MonotonicRegressor  # noqa: E402
from monolip.errors import InputError  # noqa: E402
from monolip.estimators.stream.fitting import fit_stream  # noqa: E402
from monolip.estimators.stream.left_out import LeftOut  # noqa: E402
from monolip.estimators.stream.source import Source  # noqa: E402

from .streams import numbers, shrink, write  # noqa: E402

N = 200


def model(kind=MonotonicRegressor, **more):
    return kind(**{"hidden_layer_sizes": (8,), "n_estimators": 1, "max_iter": 1, "random_state": 0, **more})


def two_files(folder, one, two, name="c"):
    """The same rows twice; one column differs in type."""
    folder.mkdir()
    for k, column in enumerate((one, two)):
        pq.write_table(pa.table({**numbers(N, k), name: column}), folder / f"part-{k}.parquet")
    return folder


def refused(pattern, call):
    with pytest.raises(InputError, match=pattern) as found:
        call()
    assert str(found.value).count(";") >= 2  # rule; what was got; what to do


R = np.arange(N)
TEXT = pa.array(["u", "v"] * (N // 2))
DECIMAL = pa.array([Decimal(int(k)).scaleb(-2) for k in R], pa.decimal128(10, 2))
HUGE = pa.array(R.astype(np.uint64) + np.uint64(2**63))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (pa.array(R % 2 == 0), pa.array(R % 2)),
        (DECIMAL, pa.array(R)),
        (pa.array(R), HUGE),
        (pa.array(R + 2**60), pa.array(R / 7)),
    ],
)
def test_numbers_of_two_types_are_the_doubles_they_are(tmp_path, one, two):
    found = model().fit_stream(two_files(tmp_path / "d", one, two), "y")
    plain = two_files(tmp_path / "e", one.cast(pa.float64(), safe=False), two.cast(pa.float64(), safe=False))
    assert found.frozen_.digest == model().fit_stream(plain, "y").frozen_.digest


@pytest.mark.parametrize("other", [TEXT.dictionary_encode(), TEXT.cast(pa.string_view()), TEXT.cast(pa.large_string())])
def test_strings_of_two_types_are_strings(tmp_path, other):
    digests = {
        model().fit_stream(two_files(tmp_path / name, *pair), "y").frozen_.digest
        for name, pair in {"a": (TEXT, other), "b": (other, TEXT), "c": (TEXT, TEXT)}.items()
    }
    assert len(digests) == 1


def test_types_that_are_not_one_are_named(tmp_path):
    for k, column in enumerate((TEXT, pa.array(R / 7).dictionary_encode())):
        feather.write_feather(pa.table({**numbers(N, k), "c": column}), str(tmp_path / f"{k}.feather"))
    refused("'c' holds string in one and dictionary.* in another", lambda: model().fit_stream(tmp_path, "y"))


def test_links_to_folders_are_followed(tmp_path):
    write(tmp_path / "elsewhere", numbers(300))
    write(tmp_path / "d" / "own", numbers(300))
    (tmp_path / "d" / "link").symlink_to(tmp_path / "elsewhere")
    assert Source(tmp_path / "d").n_rows == 600 == Source(str(tmp_path / "d" / "**" / "*.parquet")).n_rows
    (tmp_path / "d" / "own" / "loop").symlink_to(tmp_path / "d")
    refused("does not hold itself", lambda: Source(tmp_path / "d"))


@pytest.mark.parametrize("name", ["more.csv", "more.parquet.gz", "more.CSV.zst", "more.orc"])
def test_data_that_would_be_left_out_is_named(tmp_path, name):
    folder = write(tmp_path / "d", numbers(300))
    (folder / name).write_bytes(b"1,2\n")
    refused(f"also holds .*{name}, whose rows would be left out", lambda: Source(folder))
    assert Source(str(folder / "*.parquet")).n_rows == 300


def test_files_beside_the_data_are_no_data(tmp_path):
    folder = write(tmp_path / "d", numbers(300), files=1)
    for name in ("_SUCCESS", "README", "notes.txt", ".part-0.parquet.crc"):
        (folder / name).write_text("no data")
    shutil.copy(folder / "part-0.parquet", folder / "part")  # Parquet without an ending
    assert Source(folder).n_rows == 600
    (folder / "gone.parquet").symlink_to(tmp_path / "nowhere")
    refused("gone.parquet is none; replace it", lambda: Source(folder))


def test_a_pattern_passes_over_what_a_folder_does(tmp_path):
    folder = write(tmp_path / "d", numbers(300))
    write(folder / "_old", numbers(300))
    assert Source(folder).n_rows == Source(str(folder / "**" / "*.parquet")).n_rows == 300
    assert Source(str(folder / "_old" / "*.parquet")).n_rows == 300
    assert Source(str(folder / "_*" / "*.parquet")).n_rows == 300  # who names it gets it


@pytest.mark.parametrize("source", [b"d/a.parquet", [None], [5], [b"a.parquet"], [np.zeros(3)]])
def test_a_source_that_is_no_path(source):
    refused("a stream (is a file, a directory, a glob|are named by text)|files of a stream", lambda: Source(source))


@pytest.mark.parametrize("left_out", [None, LeftOut(0.5, 0)])
@pytest.mark.parametrize("row", [18, 130, 150])
def test_an_infinite_value_is_told_by_file_and_row(tmp_path, left_out, row):
    table = numbers(600)
    table["b"][200 + row] = np.inf
    folder = write(tmp_path / "d", table, files=3, group_rows=60)
    pattern = rf"part-1.parquet: .*infinity in row {row} of column 'b'"
    refused(pattern, lambda: fit_stream(model(), folder, "y", left_out=left_out))


def test_classes_of_odd_types(tmp_path):
    table, sign = numbers(N), (numbers(N)["a"] > 0).astype(int)

    def fitted(y, name):
        return model(MonotonicClassifier).fit_stream(write(tmp_path / name, {**table, "y": y}, files=1), "y")

    half = fitted(sign.astype(np.float16), "half")  # no warning: they are errors here
    assert half.classes_.tolist() == [0, 1]
    assert half.classes_.dtype == np.int64
    decimals = pa.array([Decimal(int(k)) for k in sign], pa.decimal128(4, 1))
    refused("classes are whole numbers or strings; got decimal", lambda: fitted(decimals, "decimal"))
    refused(r"below 2\^63; got", lambda: fitted(sign.astype(np.uint64) + np.uint64(2**63), "huge"))


@pytest.mark.parametrize("as_dictionary", [False, True])
@pytest.mark.parametrize("long", [False, True])
def test_minus_zero_is_no_class_of_its_own(tmp_path, monkeypatch, as_dictionary, long):
    if long:
        shrink(monkeypatch)
    table = numbers(3000)
    plain = (table["a"] > 0).astype(float)
    first = np.arange(3000) < 1500
    digests = set()
    for k, signs in enumerate((first, ~first, np.zeros(3000, bool))):
        y = pa.array(np.where(signs & (plain == 0), -0.0, plain))
        (folder := tmp_path / str(k)).mkdir()
        stored = pa.table({**table, "y": y.dictionary_encode() if as_dictionary else y})
        feather.write_feather(stored, folder / "a.feather", chunksize=200)
        fitted = model(MonotonicClassifier).fit_stream(folder, "y")
        assert fitted.classes_.tolist() == [0, 1]
        assert fitted.classes_.dtype == np.int64
        digests.add(fitted.frozen_.digest)
    assert len(digests) == 1


@pytest.mark.parametrize(
    "roles", [{"sample_weight": "y"}, {"sample_weight": "d", "offset": "d"}, {"features": ["a", "a"]}]
)
def test_a_column_has_one_role(tmp_path, roles):
    folder = write(tmp_path / "d", numbers(300))
    refused("got '.' twice; drop one", lambda: model().fit_stream(folder, "y", **roles))


@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        (pa.array(R.astype(np.int32)), pa.array(R), pa.int64()),
        (pa.nulls(N), pa.array(R), pa.int64()),
        (TEXT, TEXT.dictionary_encode(), pa.string()),
    ],
)
def test_columns_kept_are_one_type(tmp_path, one, two, kind):
    folder = two_files(tmp_path / "d", one, two)
    fitted = model().fit_stream(folder, "y", features=["a", "b"])
    assert fitted.predict_stream(folder, tmp_path / "p.parquet", keep=["c"]) == 2 * N
    kept = pq.read_table(tmp_path / "p.parquet")["c"]
    assert kept.type == kind
    assert kept.to_pylist() == [*one.to_pylist(), *two.to_pylist()]


@pytest.mark.parametrize("pair", [(pa.array(R % 2 == 0), pa.array(R)), (pa.array(R + 2**60), pa.array(R / 7))])
def test_columns_kept_change_no_value(tmp_path, pair):
    folder = two_files(tmp_path / "d", *pair)
    fitted = model().fit_stream(folder, "y", features=["a", "b"])
    refused(
        "a column that is kept has one type in all files; 'c'",
        lambda: fitted.predict_stream(folder, tmp_path / "p.parquet", keep=["c"]),
    )
    assert os.listdir(tmp_path) == ["d"]


@pytest.mark.parametrize("pattern", ["", "*.parquet", "**/*.parquet", "*"])
def test_predictions_are_not_read_the_next_time(tmp_path, pattern):
    folder = write(tmp_path / "d", numbers(300))
    fitted = model().fit_stream(folder, "y", features=["a", "b"])
    for name in ("p.parquet", "sub/p.parquet") if pattern in ("", "**/*.parquet") else ("p.parquet",):
        refused(
            "would read them the next time", lambda name=name: fitted.predict_stream(folder / pattern, folder / name)
        )
    assert fitted.predict_stream(folder / "*.parquet", tmp_path / "p.parquet") == 300
