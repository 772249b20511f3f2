"""side_by_side: answers in the order of their parts, errors in the place of theirs, and nothing is left running."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.estimators.stream._side_by_side import side_by_side

THREADS = st.integers(1, 5)


def names() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("monolip")}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=8), THREADS, THREADS, THREADS)
def test_every_part_of_every_group_once_and_in_order(sizes, n_readers, n_workers, n_ahead):
    groups = [[(number, part) for part in range(size)] for number, size in enumerate(sizes)]
    found = list(side_by_side(groups, iter, lambda part: part, n_readers, n_workers, n_ahead))
    assert found == [part for group in groups for part in group]
    assert not names()


@pytest.mark.parametrize("n_readers", [1, 3])
def test_an_error_arrives_in_its_place_and_stops_the_others(n_readers):
    def answer(part):
        if part == 13:
            raise ZeroDivisionError("thirteen")
        return part

    def read(group):
        yield from range(10 * group, 10 * group + 10)
        if group == 3:
            raise FileNotFoundError("the third group")

    for asked, error, last in ((answer, ZeroDivisionError, 12), (lambda part: part, FileNotFoundError, 39)):
        answers = side_by_side(range(100), read, asked, n_readers, 2, 4)
        assert [next(answers) for _ in range(last + 1)] == list(range(last + 1))
        with pytest.raises(error):
            next(answers)
    assert not names()


def test_who_stops_listening_ends_it():
    read_to = []

    def read(group):
        for part in range(1000):
            read_to.append(group)
            yield part

    answers = side_by_side(range(1000), read, lambda part: part, 2, 2, 3)
    assert next(answers) == 0
    answers.close()
    assert not names()
    assert set(read_to) <= {0, 1, 2}


def test_parts_and_answers_in_memory_are_few():
    """Readers wait for room, and groups beyond n_ahead for the consumer."""
    lying, highest, lock, begun = 0, 0, threading.Lock(), []

    def read(group):
        nonlocal lying, highest
        begun.append(group)
        for part in range(20):
            with lock:
                lying += 1
                highest = max(highest, lying)
            yield part

    def answer(part):
        nonlocal lying
        time.sleep(0.001)
        with lock:
            lying -= 1
        return part

    answers = side_by_side(range(10), read, answer, 3, 2, 3)
    next(answers)
    time.sleep(0.2)
    assert set(begun) <= {0, 1, 2}  # the fourth waits until the first is taken
    assert len(list(answers)) == 199
    assert highest <= 2 * 2 + 3  # twice the workers, and one that each reader holds
