"""Tables as people have them: every kind of Arrow column becomes a plain one, or is refused in words."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from monolip.cli._data import read_data
from monolip.cli.predict import write_table
from monolip.errors import InputError

from ..estimators.streams import rot

pa = pytest.importorskip("pyarrow")


def test_views_and_runs_are_unpacked(tmp_path: Path) -> None:
    compute = pytest.importorskip("pyarrow.compute")
    table = pa.table(
        {
            "number": compute.run_end_encode(pa.array([1.0, 1.0, 2.0, None])),
            "word": compute.run_end_encode(pa.array(["u", "u", "v", "v"])),
            "view": pa.array(["x", "y", "x", "z"], pa.string_view()),
        }
    )
    path = tmp_path / "table.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    read = read_data(path)
    assert read.schema.types == [pa.float64(), pa.string(), pa.string()]
    assert read.column("number").to_pylist() == [1.0, 1.0, 2.0, None]
    assert read.column("word").to_pylist() == ["u", "u", "v", "v"]


def test_a_page_that_differs_from_its_checksum_is_refused(tmp_path: Path) -> None:
    path, parquet = tmp_path / "t.parquet", pytest.importorskip("pyarrow.parquet")
    table, plain = pa.table({"a": [float(k) for k in range(50)]}), {"compression": "none", "use_dictionary": False}
    parquet.write_table(table, path, write_page_checksum=True, **plain)
    assert read_data(path).equals(table)
    rot(path)
    assert not parquet.read_table(path).equals(table)
    with pytest.raises(InputError, match=r"t.parquet could not be read as one: .*CRC .*; replace it by a whole copy\."):
        read_data(path)


def test_a_foreign_model_that_repeats_a_name_is_refused() -> None:
    from monolip.cli._audit_inputs import audited_rows

    table = pa.table({"a": [1.0], "b": [2.0]})
    with pytest.raises(InputError, match="features have distinct names"):
        audited_rows(SimpleNamespace(model=None, names=["a", "a"]), table, (), Path("t.csv"))


def test_a_name_in_capitals_is_the_same_ending(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0, 2.0]})
    for name, magic in {"o.PARQUET": b"PAR1", "o.pq": b"PAR1", "o.Arrow": b"ARROW1", "o.csv": b'"a"\n'}.items():
        write_table(table, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic), name
