"""Everything a person can get wrong: one line, three parts, no traceback, nothing left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monolip.cli._exits import Exit

from .conftest import Line

FILES = {
    "empty.csv": b"",
    "header.csv": b"a,b,y\n",
    "twice.csv": b"a,a,y\n1,2,0\n3,4,1\n",
    "latin.csv": "a,naïve,y\n1,é,0\n2,x,1\n".encode("latin-1"),
    "latin_cell.csv": "a,b,y\n1,é,0\n2,x,1\n".encode("latin-1"),
    "ragged.csv": b"a,y\n1,2,3\n2\n",
    "bytes.csv": b"PK\x00\x01" + bytes(range(256)),
    "cut.parquet": b"PAR1" + b"\x00" * 50,
    "cut.arrow": b"ARROW1\x00\x00" + b"\x01" * 50,
    "gaps.csv": b"a,y\n1,0\n2,\n3,1\n",
    "same.csv": b"a,y\n1,5\n2,5\n3,5\n",
    "only.csv": b"y\n1\n2\n3\n",
    "inf.csv": b"a,y\n1,0.5\n2,inf\n3,1.5\n",
    "dates.csv": b"when,y\n2020-01-01,1\n2020-01-02,2\n2020-01-03,4\n",
    "dirty.csv": b"a,y\n" + b"".join(b"%d,%d\n" % (i, i % 7) for i in range(40)) + b"n.a.x,3\n",
    "vast.csv": b"a,y\n1,1e300\n2,-1e300\n3,1e300\n",
    "good.csv": b"amount,colour,y\n"
    + b"".join(b"%d,%s,%d\n" % (i, [b"red", b"blue"][i % 2], i * 3) for i in range(40)),
    "book.xlsx": b"PK\x03\x04" + bytes(60),
    "odd.csv": b"a,y\n" + b"".join(b"%s,%d\n" % (b"$5" if i == 30 else b"%d.25" % i, i) for i in range(300)),
    "word.csv": b"a,y\n" + b"".join(b"%s,%d\n" % (b"n.k." if i == 599 else b"%d.5" % i, i) for i in range(600)),
    "positive.toml": b'positive = "yes"',
    "foreign.toml": b"zzzz = 1",
    "comma.csv": b"a;y\n" + b"".join(b"%d,5;%d\n" % (i, i) for i in range(40)),
    "money.csv": b"a,y\n" + b"".join(b'"$%d,039.11",%d\n' % (i, i) for i in range(40)),
    "share.csv": b"a,y\n" + b"".join(b"%d%%,%d\n" % (i, i) for i in range(40)),
    "rules.toml": b'increasing = ["amont"]\n',
    "broken.toml": b"increasing = [",
    "key.toml": b'incresing = ["amount"]\n',
    "kind.toml": b'increasing = "amount"\n',
    "slopes.toml": b"[slopes]\namount = [1]\n",
    "order.toml": b"[ordered]\ncolour = 5\n",
    "orders.toml": b"[ordered]\ncolour = [[1], [2]]\n",
    "days.toml": b"[ordered]\ncolour = [2020-01-01]\n",
    "long.toml": b"[slopes]\namount = [0, 1" + b"0" * 400 + b"]\n",
    "longer.toml": b"max_slope = 1" + b"0" * 5000 + b"\n",
    "cap.toml": b"max_slope = 1" + b"0" * 400 + b"\n",
    "deep.toml": b"increasing = " + b"[" * 3000 + b"]" * 3000 + b"\n",
    "pickle.pkl": b"\x80\x04N.",
    "list.json": b"[1, 2]",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


GOOD = ["fit", "good.csv", "-t", "y"]
WRONG = [  # words, exit code, what the line says
    (["fit", "absent.csv", "-t", "y"], 3, "'absent.csv', which does not"),
    (["fit", ".", "-t", "y"], 3, "bytes.csv, whose rows would be left out"),
    (["fit", "header.csv", "twice.csv", "-t", "y"], 2, "one quoted pattern ('data/*.parquet') or their folder"),
    (["export", "c", "model.safetensors"], 2, "a format is an option: monolip export MODEL --format c"),
    (["fit", "empty.csv", "-t", "y"], 3, "is empty"),
    (["fit", "header.csv", "-t", "y"], 3, "a header with 3 columns only"),
    (["fit", "twice.csv", "-t", "y"], 3, "has 'a' 2 times"),
    (["fit", "latin.csv", "-t", "y"], 3, "--encoding latin-1"),
    (["fit", "latin_cell.csv", "-t", "y"], 3, "column 'b'; pass --encoding"),
    (["fit", "latin.csv", "-t", "y", "--encoding", "klingon"], 3, "one Python knows"),
    (["fit", "ragged.csv", "-t", "y"], 3, "Expected 2 columns, got 3"),
    (["fit", "bytes.csv", "-t", "y"], 3, "a CSV file is text"),
    (["fit", "book.xlsx", "-t", "y"], 3, "Excel file or archive; save the sheet as CSV"),
    (["fit", "comma.csv", "-t", "y", "-i", "a"], 3, "because of '0,5' in row 0 (counted from 0); pass --decimal"),
    (["fit", "money.csv", "-t", "y"], 3, "remove '$' and ',' from the column"),
    (["fit", "odd.csv", "-t", "y"], 3, "because of '$5' in row 30 (counted from 0); remove '$' from the column"),
    (["fit", "word.csv", "-t", "y"], 3, "is text because of 'n.k.' in row 599 (counted from 0); correct such cells"),
    (["fit", "share.csv", "-t", "y"], 3, "remove '%' from the column"),
    (["fit", "good.csv", "-t", "y", "-o", "m.pkl"], 3, "no pickle"),
    (["fit", "cut.parquet", "-t", "y"], 3, "could not be read"),
    (["fit", "cut.arrow", "-t", "y"], 3, "could not be read"),
    (["fit", "gaps.csv", "-t", "y"], 3, "1 missing values, the first in row 1"),
    (["fit", "same.csv", "-t", "y"], 3, "is 5 in every row"),
    (["fit", "only.csv", "-t", "y"], 3, "a model needs a feature"),
    (["fit", "vast.csv", "-t", "y"], 3, "small whole numbers"),
    (["fit", "inf.csv", "-t", "y"], 3, "infinite in row 1"),
    (["fit", "dates.csv", "-t", "y"], 3, "days since a day) or to strings, or pass --drop "),
    (["fit", "dirty.csv", "-t", "y"], 3, "name it by --categorical"),
    (["fit", "good.csv", "-t", "Y"], 3, "did you mean 'y'?"),
    (["fit", "good.csv"], 2, "Missing option '--target'"),
    (["fit", "-t", "y"], 2, "one table is needed"),
    ([*GOOD, "-i", "amout"], 3, "did you mean 'amount'?"),
    ([*GOOD, "-i", "amout"], 3, "--increasing names a column"),
    ([*GOOD, "-d", "amout"], 3, "--decreasing names a column"),
    ([*GOOD, "-i", "tuna"], 3, "there are 'amount', 'colour'"),
    ([*GOOD, "-i", "amount,color"], 3, "did you mean 'colour'?"),
    ([*GOOD, "-i", "amount", "-d", "amount"], 3, "one direction"),
    ([*GOOD, "-i", "colour"], 3, "in a constraints file: a line [ordered], then colour = [\"blue\", \"red\"]"),
    ([*GOOD, "--drop", "colr"], 3, "did you mean 'colour'?"),
    ([*GOOD, "--features", "y"], 3, "the target is no feature"),
    ([*GOOD, "--weight", "colour"], 3, "weights are numbers"),
    ([*GOOD, "--slope", "amount"], 3, "FEATURE=LOW:HIGH"),
    ([*GOOD, "--slope", "amount=2:1"], 3, "empty"),
    ([*GOOD, "--max-slope", "amount=-3"], 3, "above 0"),
    ([*GOOD, "--constraints", "rules.toml"], 3, "rules.toml names a column of the table; got 'amont'"),
    ([*GOOD, "--constraints", "broken.toml"], 3, "is none"),
    ([*GOOD, "--constraints", "key.toml"], 3, "did you mean 'increasing'?"),
    ([*GOOD, "--constraints", "positive.toml"], 3, "got 'positive'; pass --positive LABEL on the command line"),
    ([*GOOD, "--constraints", "foreign.toml"], 3, "got 'zzzz'; remove it"),
    ([*GOOD, "--constraints", "kind.toml"], 3, "a list of column names"),
    ([*GOOD, "--constraints", "slopes.toml"], 3, "two numbers"),
    ([*GOOD, "--constraints", "order.toml"], 3, "a list of categories"),
    ([*GOOD, "--constraints", "orders.toml"], 3, "a list of categories"),
    ([*GOOD, "--constraints", "days.toml"], 3, "a list of categories"),
    ([*GOOD, "--constraints", "long.toml"], 3, "two numbers"),
    ([*GOOD, "--constraints", "longer.toml"], 3, "is none"),
    ([*GOOD, "--constraints", "cap.toml"], 3, "above 0"),
    ([*GOOD, "--constraints", "deep.toml"], 3, "is none"),
    ([*GOOD, "--separator", "§"], 3, "one ASCII character"),
    ([*GOOD, "--split", "nan"], 2, "got nan"),
    ([*GOOD, "--positive", "yes", "-i", "amount"], 3, "leave --positive out"),
    ([*GOOD, "--positive", "yes"], 3, "leave --positive out"),
    (["fit", "good.csv", "-t", "colour", "--positive", "1"], 3, "--positive names a class of the target; got '1'"),
    ([*GOOD, "--class-weight", "balanced"], 3, "--class-weight is for classification"),
    ([*GOOD, "--loss", "nonsense"], 3, "nonsense"),
    ([*GOOD, "--time", "soon"], 2, "like 90s or 5m"),
    ([*GOOD, "--split", "2"], 2, "not in the range"),
    ([*GOOD, "--sed", "2"], 2, "--seed"),
    ([*GOOD, "--resume", "--restart"], 2, "exclude each other"),
    ([*GOOD, "-o", "absent/model"], 3, "a folder that exists"),
    ([*GOOD, "-o", "."], 3, "which is a folder"),
    ([*GOOD, "-o", "good.csv"], 3, "not written over"),
    ([*GOOD, "--certificate", "good.csv"], 3, "not written over"),
    (["predict", "pickle.pkl", "good.csv", "-o", "good.csv"], 3, "not written over"),
    (["predict", "good.csv", "good.csv"], 3, "no model file of monolip"),
    (["predict", "pickle.pkl", "good.csv"], 3, "a pickle"),
    (["certify", "pickle.pkl"], 3, "a pickle"),
    (["certify", "empty.csv"], 3, "an empty file"),
    (["audit", "pickle.pkl", "good.csv", "-i", "amount"], 3, "data, never code"),
    (["audit", "good.csv", "good.csv", "-i", "amount"], 3, "none of them"),
    (["check", "list.json"], 1, "REJECTED"),
    (["check", "absent.json"], 3, "which does not"),
    (["completion", "tcsh"], 2, "tcsh"),
    (["compare", "gaps.csv", "-t", "y"], 3, "missing values"),
    (["compare", "only.csv", "-t", "y"], 3, "a model needs a feature"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "text"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_an_error_is_one_line_that_says_what_to_do(words, code, text, folder: Path, line: Line):
    before = sorted(os.listdir(folder))
    done = line(*words)
    assert done.code == code, done.err
    assert text in done.err
    assert done.err.startswith("monolip ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    assert done.out == ""
    assert done.err.count(";") >= 1  # rule; what was got; what to do
    assert sorted(os.listdir(folder)) == before  # nothing half-made stays


def test_a_decimal_comma_is_read(folder: Path, line: Line):
    done = line("fit", "comma.csv", "-t", "y", "-i", "a", "--decimal", ",", "--json")
    assert done.code == 0, done.err
    assert done.data["metrics"]["model"]["R2"] > 0.9
    line("fit", "comma.csv", "-t", "y", "--categorical", "a", "--json")  # codes, if a person says so


def test_another_encoding_is_read(folder: Path, line: Line):
    done = line("fit", "latin.csv", "-t", "y", "--encoding", "latin-1", "--json")
    assert done.code == 0
    assert done.data["features"] == ["a", "naïve"]


def test_a_byte_order_mark_a_nameless_column_and_windows_lines_are_read(folder: Path, line: Line):
    (folder / "bom.csv").write_bytes(
        b"\xef\xbb\xbfa,,y\r\n" + b"".join(b"%d,%d,%d\r\n" % (i, i % 3, 2 * i) for i in range(30))
    )
    done = line("fit", "bom.csv", "-t", "y", "-i", "a", "--json")
    assert done.code == 0
    assert done.data["features"] == ["a", ""]


def test_huge_whole_numbers_are_ordered_and_kept_apart_as_categories(folder: Path, line: Line):
    rows = "".join(f"{2**53 + k % 2},{k},{k % 2 * 5 + k / 100}\n" for k in range(60))
    (folder / "huge.csv").write_text("code,a,y\n" + rows)
    done = line("fit", "huge.csv", "-t", "y", "--categorical", "code", "--json")
    assert done.code == 0
    assert done.data["metrics"]["model"]["R2"] > 0.9  # as floats the two codes would be one
    (folder / "larger.csv").write_text("a,y\n" + "".join(f"{10**30 + k * 10**28},{k}\n" for k in range(60)))
    assert line("fit", "larger.csv", "-t", "y", "-i", "a", "--json").code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_told_before_any_work(folder: Path, line: Line):
    (folder / "locked").mkdir(mode=0o555)
    done = line(*GOOD, "-o", "locked/model")
    assert done.code == Exit.SYSTEM
    assert "permission denied" in done.err


def test_a_folder_that_cannot_be_written_is_told_before_any_work(folder: Path, line: Line, monkeypatch):
    monkeypatch.setattr("monolip.cli._files.os.access", lambda *_: False)  # as root sees no read-only folder
    done = line(*GOOD, "-o", "model")
    assert done.code == Exit.SYSTEM
    assert "permission denied" in done.err
    assert done.err.count("\n") == 1


def test_a_full_disk_is_told_and_leaves_nothing(folder: Path, line: Line, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("monolip.estimators.checkpoint.os.fsync", full)
    done = line(*GOOD, "-o", "model")
    assert done.code == Exit.SYSTEM
    assert "free some space" in done.err
    assert not [name for name in os.listdir(folder) if "part" in name]


def test_positive_beside_a_file_that_names_another_class(tmp_path):
    from monolip.cli import run

    rows = "\n".join(f"{k % 7},{'bad' if k % 3 else 'good'}" for k in range(60))
    (tmp_path / "d.csv").write_text(f"debt,risk\n{rows}\n")
    (tmp_path / "c.toml").write_text('[classes.bad]\nincreasing = ["debt"]\n')
    base = ["fit", str(tmp_path / "d.csv"), "-t", "risk", "--constraints", str(tmp_path / "c.toml"), "-o"]
    assert run([*base, str(tmp_path / "m.safetensors"), "--positive", "good"]) == 3
    assert run([*base, str(tmp_path / "m.safetensors"), "--positive", "bad"]) == 0


def test_a_boolean_class_is_named_as_the_file_spells_it(tmp_path):
    from monolip.cli import run

    rows = "\n".join(f"{k % 7},{'true' if k % 3 else 'false'}" for k in range(60))
    (tmp_path / "d.csv").write_text(f"debt,default\n{rows}\n")
    base = ["fit", str(tmp_path / "d.csv"), "-t", "default", "-i", "debt", "-o", str(tmp_path / "m.safetensors")]
    assert run([*base, "--positive", "false"]) == 0
