"""Rows that are left out of a stream's fit: nothing of them reaches the model, and all come back to judge it."""

from __future__ import annotations

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from monolip import MonotonicClassifier, MonotonicRegressor  # noqa: E402
from monolip.errors import CheckpointError  # noqa: E402
from monolip.estimators.stream._batch import Layout  # noqa: E402
from monolip.estimators.stream.fitting import fit_stream  # noqa: E402
from monolip.estimators.stream.left_out import LeftOut, judged_rows  # noqa: E402
from monolip.estimators.stream.source import Source  # noqa: E402

from .streams import mixed, numbers, shrink, write  # noqa: E402

LEFT = LeftOut(0.2, seed=3)
QUICK = {"hidden_layer_sizes": (8,), "random_state": 0, "max_iter": 2}


def mask(n: int) -> np.ndarray:
    return LEFT.mask(np.arange(n, dtype=np.uint64))


def test_few_rows_are_fitted_as_the_table_without_them_bit_for_bit(tmp_path):
    columns = mixed(700)
    features = ["a", "b", "c", "city"]
    streamed = fit_stream(
        MonotonicRegressor(monotonic_cst={"a": 1}, **QUICK), write(tmp_path / "d", columns), "y", features=features,
        sample_weight="w", left_out=LEFT,
    )  # fmt: skip
    table = pa.table(columns).filter(pa.array(~mask(700)))
    whole = MonotonicRegressor(monotonic_cst={"a": 1}, **QUICK)
    whole.fit(table.select(features), table["y"].to_numpy(), sample_weight=table["w"].to_numpy())
    assert streamed.frozen_.digest == whole.frozen_.digest


@pytest.mark.parametrize("classes", [False, True])
def test_no_value_of_a_row_left_out_changes_a_bit_of_a_long_fit(classes, monkeypatch, tmp_path):
    """Not even the ends of a column, its categories, whether any value is missing, or how many rows a class has."""
    shrink(monkeypatch)
    columns, out = {**numbers(4000), "city": np.where(np.arange(4000) % 3, "Rome", "Oslo")}, mask(4000)
    columns["y"] = (columns["y"] > 0).astype(float) if classes else columns["y"]
    other = {name: values.copy() for name, values in columns.items()}
    other["a"][out], other["b"][out], other["y"][out] = 1e6, np.nan, 1.0
    other["city"][out] = "Bonn"
    kind = MonotonicClassifier if classes else MonotonicRegressor
    found = [
        fit_stream(kind(monotonic_cst={"a": 1}, **QUICK), write(tmp_path / name, rows), "y", left_out=LEFT)
        for name, rows in (("one", columns), ("two", other))
    ]
    assert found[0].frozen_.digest == found[1].frozen_.digest
    if classes:
        assert found[0].classes_.tolist() == [0, 1]  # 0.0 and 1.0 are classes as well


def test_they_come_back_in_order_with_some_of_the_others(tmp_path):
    columns = {**mixed(900), "id": np.arange(900)}
    source = Source(write(tmp_path, columns, files=4, group_rows=70))
    layout = Layout.of(source, "y", ["id", "city"], "w", None, False, LEFT)
    told = []
    test, seen = judged_rows(source, layout, 300, lambda done, of: told.append((done, of)))
    assert test.X["id"].to_pylist() == np.flatnonzero(mask(900)).tolist()
    assert (test.y == columns["y"][mask(900)]).all()
    assert (test.weight == columns["w"][mask(900)]).all()
    ids = seen.X["id"].to_numpy()
    assert not mask(900)[ids].any()
    assert 150 < len(ids) < 350
    assert (test.of, seen.of) == (mask(900).sum(), 900 - mask(900).sum())
    assert told[-1] == (len(source.groups), len(source.groups))


def test_shares_are_kept_and_seeds_differ():
    positions = np.arange(200_000, dtype=np.uint64)
    masks = [LeftOut(share, seed).mask(positions) for share in (0.001, 0.2, 0.9) for seed in (0, 1)]
    assert [round(m.mean(), 2) for m in masks] == [0.0, 0.0, 0.2, 0.2, 0.9, 0.9]
    assert abs((masks[2] & masks[3]).mean() - 0.04) < 0.003  # as independent draws
    assert LeftOut(1.0, 0).mask(positions).all()


def test_a_checkpoint_knows_which_rows_were_left_out_but_not_how_much_time_there_was(monkeypatch, tmp_path):
    shrink(monkeypatch)
    folder = write(tmp_path / "d", numbers(3000))

    def go(left, **more):
        made = MonotonicRegressor(monotonic_cst={"a": 1}, **QUICK, **more)
        return fit_stream(made, folder, "y", checkpoint=tmp_path / "c", left_out=left)

    first = go(LEFT)
    with pytest.raises(CheckpointError, match="left out"):
        go(LeftOut(0.3, 3))
    assert go(LEFT, max_time=100.0).frozen_.digest == first.frozen_.digest
