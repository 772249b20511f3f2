"""What one pass learns: the same for any order, mergeable, with ranks within the error it states."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

from monolip.estimators._tables import RawColumn, RawTable
from monolip.estimators.stream._batch import Batch
from monolip.estimators.stream._bottom import Bottom, keys_of, rank_error
from monolip.estimators.stream._refining import stretches
from monolip.estimators.stream._schedule import buffers, in_order, prefetched, shuffled
from monolip.estimators.stream._state import pack_sample, read_state, unpack_sample, write_state
from monolip.estimators.stream._stream_target import sampled_cells
from monolip.estimators.stream.sample import Sample
from monolip.estimators.stream.source import Group

rng = np.random.default_rng(0)
N, SIZE = 3000, 100
NUMBERS = np.where(rng.random(N) < 0.05, np.nan, rng.standard_normal(N))
LABELS = rng.choice(np.array(["u", "v", "w", None], object), N)
CLASSES = rng.choice(["no", "yes", "rarely"], N, p=[0.7, 0.29, 0.01])


def positions(k: int) -> np.ndarray:
    return np.arange(k * SIZE, (k + 1) * SIZE, dtype=np.uint64)


def batch(k: int) -> Batch:
    rows = slice(k * SIZE, (k + 1) * SIZE)
    table = RawTable((RawColumn("x", NUMBERS[rows]), RawColumn("l", LABELS[rows])), True, SIZE)
    weight = np.where(np.arange(rows.start, rows.stop) % 17 == 0, 0.0, 1.0)
    return Batch(positions(k), table, CLASSES[rows].astype(object), weight, np.zeros(SIZE))


def passed(order, capacity: int = 500) -> Sample:
    sample = Sample((False, True), capacity, 0.1, 3, True)
    for k in order:
        sample.add(batch(k))
    return sample


def told(sample: Sample) -> dict:
    """By label and class rather than by their numbers, which are those of first sight."""
    labels, classes = [*sample.labels[1], None], list(sample.classes)
    rows = sampled_cells(sample)[0]
    held = sample.held_out_rows()
    return {
        "labels": set(sample.labels[1]),
        "classes": dict(zip(classes, sample.class_rows, strict=True)),
        "ends": (sample.least[0], sample.largest[0], sample.missing.tolist(), sample.n_rows),
        "rows": [(int(r[-1]), labels[int(r[1])], classes[int(r[-4])]) for r in rows],
        "held": held[:, -1].tolist(),
    }


def test_the_order_of_batches_does_not_matter_and_parts_merge_without_loss(tmp_path: Path):
    whole = told(passed(range(30)))
    assert told(passed(rng.permutation(30))) == whole
    one, two = passed(range(7)), passed(range(29, 6, -1))
    two.merge(one)
    assert told(two) == whole
    part = passed(range(11))
    write_state(tmp_path / "s", *pack_sample(part, 11))
    again = Sample((False, True), 500, 0.1, 3, True)
    assert unpack_sample(again, read_state(tmp_path / "s")) == 11
    for k in range(11, 30):
        again.add(batch(k))
    assert told(again) == whole


def test_many_kinds_stay_within_four_samples_whatever_the_order():
    samples = []
    for order in (range(30), range(29, -1, -1)):
        sample = Sample((False,), 40, 0.0, 0, True)
        for k in order:
            labels = np.arange(k * SIZE, (k + 1) * SIZE) % 23
            table = RawTable((RawColumn("x", NUMBERS[:SIZE]),), True, SIZE)
            sample.add(Batch(positions(k), table, labels, np.ones(SIZE), np.zeros(SIZE)))
        assert sum(len(bottom.taken()[0]) for bottom in sample.strata.values()) <= 4 * 40
        cells, weight = sampled_cells(sample)
        assert abs(weight.sum() - N) < 1e-9
        samples.append(sorted(cells[:, -1]))
    assert samples[0] == samples[1]


def test_what_is_said_to_be_exact_is_exact():
    found, counts = told(passed(range(30))), np.arange(N) % 17 != 0
    assert found["labels"] == {"u", "v", "w"}
    assert found["classes"] == {label: int((label == CLASSES).sum()) for label in ("no", "yes", "rarely")}
    x = NUMBERS[counts]
    assert found["ends"][:2] == (np.nanmin(x), np.nanmax(x))
    assert found["ends"][2][0] == np.isnan(x).sum()
    assert found["ends"][3] == counts.sum()
    positions = [row[0] for row in found["rows"]]
    assert not set(positions) & set(found["held"])
    rare = set(np.flatnonzero((CLASSES == "rarely") & counts).tolist())
    assert rare - set(found["held"]) <= set(positions)  # a rare class is kept whole
    assert 480 <= len(positions) <= 500


@pytest.mark.parametrize("order", ["sorted", "sawtooth"])
@pytest.mark.parametrize("k", [256, 4096])
def test_ranks_are_within_the_stated_error_whatever_the_order(order, k):
    n = 200_000
    values = np.arange(n, dtype=np.float64) if order == "sorted" else np.arange(n) % 977 + np.arange(n) / n
    ranks = np.argsort(np.argsort(values)) / n
    for salt in range(10):
        bottom = Bottom(k, 1)
        for start in range(0, n, 4096):
            positions = np.arange(start, min(start + 4096, n), dtype=np.uint64)
            keys = keys_of(positions, salt)
            use = bottom.wanted(keys)
            bottom.add(keys[use], ranks[positions[use].astype(np.int64), None])
        keys, rows = bottom.taken()
        assert len(keys) == k
        assert keys[-1] == np.sort(keys_of(np.arange(n, dtype=np.uint64), salt))[k - 1]
        away = np.abs(np.sort(rows[:, 0]) - (np.arange(k) + 0.5) / k).max() - 0.5 / k
        assert away <= rank_error(k)
    assert rank_error(2**18) < 0.0053


def test_hashes_of_positions_are_as_good_as_random():
    keys = keys_of(np.arange(2**16, dtype=np.uint64), 5)
    assert len(np.unique(keys)) == 2**16
    for shift in (0, 20, 56):
        counts = np.bincount((keys >> np.uint64(shift)).astype(np.int64) & 255, minlength=256)
        assert ((counts - 256) ** 2 / 256).sum() < 360  # chi-squared, 255 degrees of freedom: p about 1e-5
    assert abs(np.corrcoef(keys[:-1].astype(float), keys[1:].astype(float))[0, 1]) < 0.02
    other = keys_of(np.arange(2**16, dtype=np.uint64), 6)
    assert abs(np.corrcoef(keys.astype(float), other.astype(float))[0, 1]) < 0.02


class Groups:
    def __init__(self, sizes: list[int]) -> None:
        firsts = np.cumsum([0, *sizes])
        self.groups = [Group(0, k, n, int(first)) for k, (n, first) in enumerate(zip(sizes, firsts, strict=False))]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 16), st.integers(0, 2**20))
def test_every_row_is_read_once_and_each_group_forwards(sizes, batch_rows, seed):
    source = Groups(sizes)
    for pieces in (
        in_order(source, batch_rows),
        shuffled(source, np.random.default_rng(seed), batch_rows),
    ):
        rows = [(p.group, r) for p in pieces for r in range(p.start, p.stop)]
        assert sorted(rows) == [(k, r) for k, n in enumerate(sizes) for r in range(n)]
        for k in range(len(sizes)):
            own = [p.start for p in pieces if p.group == k]
            assert own == sorted(own)
        assert [p for part in buffers(pieces, 3) for p in part] == pieces


@given(st.integers(1, 5000))
def test_stretches_cover_all_buffers(n):
    spans = stretches(n)
    assert spans[0][0] == 0
    assert spans[-1][1] == n
    assert all(a[1] == b[0] for a, b in pairwise(spans))


def test_a_prefetched_error_arrives_in_its_place_and_no_thread_is_left():
    def items():
        yield from range(5)
        raise OSError("the disk is gone")

    seen, count = [], []
    with pytest.raises(OSError, match="the disk is gone"):
        seen.extend(map(count.append, prefetched(items())))
    assert count == list(range(5))
    some = prefetched(range(1000))
    assert next(some) == 0
    some.close()
    assert not [t for t in threading.enumerate() if t.name == "monolip-prefetch"]
