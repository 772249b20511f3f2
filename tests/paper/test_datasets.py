"""Loaders of paper/datasets on small generated files of the same schema; finding, downloading, refusing."""

from __future__ import annotations

import http.client
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from paper.datasets import auto_mpg, blogfeedback, chestxray, compas, heart_disease, lending_club, loan
from paper.datasets.data_set import DataSet
from paper.datasets.files import check_digest, digest, find, read
from paper.missing_data import DamagedDataError, MissingDataError


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without data: an empty cache, no MONOLIP_DATA."""
    monkeypatch.delenv("MONOLIP_DATA", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


def test_a_file_is_found_downloaded_once_or_missed_with_advice(nowhere: Path) -> None:
    asked: list[str] = []

    def opener(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(b"1,2\n")

    for _ in range(2):
        path = find("set/file.csv", "get it.", "https://example.org/file.csv", opener)
    assert path.read_bytes() == b"1,2\n"
    assert asked == ["https://example.org/file.csv"]
    with pytest.raises(MissingDataError, match=r"set/other.csv is needed; .*; ask somebody"):
        find("set/other.csv", "ask somebody.")


def test_a_broken_transfer_leaves_nothing(nowhere: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, *given: Any) -> bytes:
            raise OSError("gone")

    with pytest.raises(MissingDataError, match="gave OSError; get it by hand"):
        find("a/b.csv", "get it by hand.", "https://example.org", lambda url, timeout: Broken())
    assert not list((nowhere / ".cache" / "monolip" / "a").iterdir())


def test_offline_means_offline(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONOLIP_OFFLINE", "1")
    for load in (
        compas.load_compas, heart_disease.load_heart_disease, auto_mpg.load_auto_mpg, blogfeedback.load_blog,
        loan.load_loan, lending_club.load_lending_club, chestxray.load_chest_sample, chestxray.load_chest_substitute,
    ):  # fmt: skip
        with pytest.raises(MissingDataError, match="is needed; it is not in"):
            load()


def test_other_numbers_are_refused() -> None:
    check_digest("numbers", [[1.0, 2.0]], digest(np.array([[1, 2]])))
    with pytest.raises(ValueError, match=r"must hold the known numbers; got a table of shape .*; get the file again"):
        check_digest("numbers", [[1.0, np.nextafter(2.0, 3.0)]], digest([[1.0, 2.0]]))


def test_a_data_set_asserts_its_columns() -> None:
    X, y = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), np.array([0.0, 1.0])
    assert DataSet("d", X, y, {"b": -1}, True).signs.tolist() == [0, -1]
    for cst, target, classes in (({"c": 1}, y, True), ({"a": 2}, y, True), ({}, y + 1, True), ({}, y * np.nan, False)):
        with pytest.raises(ValueError, match="must be"):
            DataSet("d", X, target, cst, classes)


def test_compas_reads_no_personal_column(tmp_path: Path) -> None:
    rows = 40
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "name": ["somebody"] * rows, "dob": ["1970-01-01"] * rows, "age": rng.integers(18, 70, rows),
            "race": rng.choice(compas.RACES, rows), "sex": rng.choice(compas.SEXES, rows),
            **{name: rng.integers(0, 5, rows) for name in compas.COUNTS},
            "two_year_recid": rng.integers(0, 2, rows), "days_b_screening_arrest": [-31, "", *[3] * (rows - 2)],
            "is_recid": [0, 0, -1, *[1] * (rows - 3)], "c_charge_degree": [*["F"] * (rows - 1), "O"],
            "score_text": [*["Low"] * (rows - 2), "N/A", "High"],
        }
    )  # fmt: skip
    frame.to_csv(tmp_path / "c.csv", index=False)
    X, y = compas.read_compas(tmp_path / "c.csv")
    assert X.shape == (rows - 4, 13)
    assert len(y) == rows - 4
    assert not {"name", "dob"} & set(X)
    assert (X.filter(like="race=").sum(axis=1) == 1).all()
    frame["race"] = "Martian"
    frame.to_csv(tmp_path / "c.csv", index=False)
    with pytest.raises(ValueError, match=r"race and sex must be .*; got \['Martian'\]; check the file"):
        compas.read_compas(tmp_path / "c.csv")


def test_heart_disease_keeps_the_row_number_out(tmp_path: Path) -> None:
    text = "," + ",".join(heart_disease.COLUMNS) + ",target\n17," + ",".join("1" * 13) + ",0\n"
    (tmp_path / "h.csv").write_text(text)
    assert list(heart_disease.read_heart_disease(tmp_path / "h.csv")) == [*heart_disease.COLUMNS, "target"]
    with_number = heart_disease.read_heart_disease(tmp_path / "h.csv", with_row_number=True)
    assert with_number["row number"].tolist() == [17.0]


def test_auto_mpg_reads_both_formats_alike(tmp_path: Path) -> None:
    rows = [
        [18.0, 8, 307.0, 130.0, 3504.0, 12.0, 70, 1],
        [15.5, 4, 97.0, "?", 1835.0, 20.5, 70, 2],
        [26, 4, 97, 46, 1835, 20.5, 70, 2],
    ]
    head = ",".join([*auto_mpg.COLUMNS, "car name"])
    (tmp_path / "a.csv").write_text("\n".join([head, *[",".join(map(str, [*row, "some car"])) for row in rows]]))
    (tmp_path / "a.data").write_text("\n".join("   ".join(map(str, row)) + '\t"some car"' for row in rows))
    tables = [auto_mpg.read_auto_mpg(tmp_path / name) for name in ("a.csv", "a.data")]
    assert len(tables[0]) == 2
    assert digest(tables[0]) == digest(tables[1])


def _blog(tmp_path: Path) -> blogfeedback.Blog:
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(tmp_path / "blog.zip", "w") as archive:
        for name, rows in (("blogData_train.csv", 60), ("blogData_test-1.csv", 20), ("blogData_test-2.csv", 20)):
            table = rng.integers(0, 50, (rows, 281)).astype(float)
            table[:, [3, 7]] = 0.0  # constant
            table[:, 280] = rng.integers(0, 9, rows)
            table[5, 280] = 260.0
            archive.writestr(name, "\n".join(",".join(map(str, row)) for row in table))
    return blogfeedback.read_blog(tmp_path / "blog.zip")


def test_blogfeedback_as_stated_and_as_published(tmp_path: Path) -> None:
    blog = _blog(tmp_path)
    stated = blogfeedback.stated_task(blog)
    meant = {f"A{i + 1}" for i in blogfeedback.CONSTRAINED}
    assert set(stated.cst) == meant
    assert stated.groups is not None
    assert set(stated.groups[stated.test]) == {1, 2}
    assert len(stated.y) == 97  # 260 comments are many
    theirs = blogfeedback.as_published(blog)
    assert len(theirs.y) == 97  # 260 became 4, and the first line of each file is lost
    assert not meant & set(theirs.cst)
    names = list(theirs.X)
    assert [names.index(name) for name in theirs.cst] == blogfeedback.CONSTRAINED
    right = blogfeedback.as_published(blog, columns="right", target="right", first_lines=True)
    assert set(right.cst) == meant
    assert len(right.y) == len(stated.y)


def _loans(rows: int = 50) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(rows, 23)), columns=[f"f{k}" for k in range(23)])
    frame.insert(0, "pub_rec_bankruptcies", [np.nan, *rng.integers(0, 2, rows - 1)])
    frame.insert(1, "emp_length", ["10+ years", None, "< 1 year", "1 year", *["7 years"] * (rows - 4)])
    frame.insert(2, "annual_inc", rng.uniform(1e4, 1e5, rows))
    frame.insert(3, "dti", rng.uniform(0, 30, rows))
    frame.insert(9, "grade", rng.choice(list("ABCDEFG"), rows))
    return frame.assign(bad=rng.integers(0, 2, rows))


def test_loan_defaulter_is_read_by_name_and_drops_before_it_splits(tmp_path: Path) -> None:
    _loans().to_csv(tmp_path / "preprocessed.csv")
    data = loan.read_loan(tmp_path / "preprocessed.csv")
    assert data.X.shape == (48, 28)
    assert data.cst == {"pub_rec_bankruptcies": 1, "dti": 1, "grade": -1, "emp_length": -1, "annual_inc": -1}
    assert data.test is not None
    assert len(data.test) == 48 - int(0.8 * 48)
    assert data.X["emp_length"].iloc[:2].tolist() == [1.0, 2.0]
    _loans().rename(columns={"dti": "debt"}).to_csv(tmp_path / "wrong.csv")
    with pytest.raises(ValueError, match=r"must hold .*; got 29 columns, without \['dti'\]; check"):
        loan.read_loan(tmp_path / "wrong.csv")
    _loans().assign(grade="H").to_csv(tmp_path / "wrong.csv")
    with pytest.raises(ValueError, match=r"grade must be one of .*; got 'H'; check the file"):
        loan.read_loan(tmp_path / "wrong.csv")


def test_lending_club_reads_nothing_that_leaks(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = 30
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({name: rng.integers(1, 9, rows).astype(float) for name in lending_club.AMOUNTS})
    for name in lending_club.COUNTS:
        frame[name] = rng.integers(0, 4, rows).astype(str)
    frame = frame.assign(
        grade=rng.choice(list("ABC"), rows), emp_length=["n/a", *["2 years"] * (rows - 1)], annual_inc=5e4, dti=10.0,
        pub_rec_bankruptcies="0", home_ownership="RENT", verification_status="Verified", purpose="car",
        issue_d="2010-01-01", earliest_cr_line="2000-01-01", recoveries=np.arange(rows),
        loan_status=["Fully Paid"] * 20 + ["Does not meet the credit policy. Status:Charged Off"] * 10,
    )  # fmt: skip
    frame.to_parquet(tmp_path / "lc.parquet")
    X, y = lending_club.read_lending_club(tmp_path / "lc.parquet")
    assert X.shape == (29, 28)
    assert y.sum() == 10
    assert not {"recoveries", "total_pymnt"} & set(X)
    data = lending_club.balanced(X, y)
    assert (len(data.y), data.y.mean()) == (20, 0.5)
    assert data.substitute


def test_chest_ages_have_units_and_patients_are_groups(tmp_path: Path) -> None:
    text = "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position\n"
    text += "a.png,No Finding,0,1,060Y,M,PA\nb.png,Effusion,1,1,018M,F,AP\nc.png,Mass|Nodule,2,7,073D,M,AP\n"
    (tmp_path / "labels.csv").write_text(text)
    X, y, patients = chestxray.read_labels(tmp_path / "labels.csv")
    assert X["Patient Age"].round(3).tolist() == [60.0, 1.5, 0.2]
    assert (y.tolist(), patients.tolist()) == ([0.0, 1.0, 1.0], [1, 1, 7])
    data = chestxray._joined("chest", X, y, patients, np.zeros((3, 5)), "")
    assert data.X.shape == (3, 9)
    assert data.describe()["patients"] == 2


PAGE = b"<!DOCTYPE html><html><body>404</body></html>"


@pytest.mark.parametrize(
    ("load", "name", "content", "how"),
    [
        (compas.load_compas, "compas/compas_scores_two_years.csv", PAGE, compas.URL),
        (blogfeedback.load_blog, "blogfeedback/BlogFeedback.zip", PAGE, blogfeedback.URL),
        (auto_mpg.load_auto_mpg, "auto_mpg/auto-mpg.csv", PAGE, auto_mpg.URL),
        (heart_disease.load_heart_disease, "heart_disease/heart_train.csv", PAGE, "to that name"),
        (lending_club.load_lending_club, "lending_club/lc_2007_2011.parquet", b"PAR1 no table PAR1", "LendingClubData"),
        (chestxray.load_chest_sample, "chestxray/sample_labels.csv", b"a,b\n1,2\n", "kaggle.com"),
        (loan.load_loan, "loan_defaulter/preprocessed.csv", PAGE, "ask the authors"),
    ],
    ids=lambda value: value if isinstance(value, str) and "/" in value and "http" not in value else "",
)
def test_a_damaged_file_says_which_and_how_to_get_it(
    load: Any, name: str, content: bytes, how: str, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONOLIP_OFFLINE", "1")
    path = nowhere / ".cache" / "monolip" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(DamagedDataError, match=rf"the data file {name} must be .*; reading it gave \w+: .*; ") as found:
        load()
    assert how in str(found.value)
    assert path.exists()  # put there by hand: not ours to remove


def test_a_damaged_download_does_not_stay(nowhere: Path) -> None:
    def parse(path: Path) -> float:
        return float(path.read_text())

    given = iter([b"<html>", b"1.5"])
    options: dict[str, Any] = {"url": "https://example.org", "opener": lambda url, timeout: io.BytesIO(next(given))}
    with pytest.raises(DamagedDataError, match=r"set/x must be .*ValueError: could not convert .*; get it"):
        read("set/x", "get it.", parse, **options)
    assert read("set/x", "get it.", parse, **options) == 1.5


def test_a_short_answer_and_errors_of_the_protocol_are_missing_data(nowhere: Path) -> None:
    class Short(io.BytesIO):
        length = 10

    def refuse(url: str, timeout: float) -> io.BytesIO:
        raise http.client.BadStatusLine("no answer")

    for opener, said in ((lambda url, timeout: Short(b"abc"), "OSError"), (refuse, "BadStatusLine")):
        with pytest.raises(MissingDataError, match=f"gave {said}; get it by hand"):
            find("a/b.csv", "get it by hand.", "https://example.org", opener)
    assert not list((nowhere / ".cache" / "monolip" / "a").iterdir())
