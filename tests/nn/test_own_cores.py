"""Workers are held to cores that no other worker of the machine has, for as long as they fit."""

from __future__ import annotations

import os
from threading import Thread

import pytest

from monolip.nn.own_cores import own_cores

linux = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux holds threads to cores")


@linux
def test_workers_of_a_machine_have_different_cores_and_give_them_back():
    allowed, found = os.sched_getaffinity(0), []
    for place in range(len(allowed)):
        with own_cores(place) as cores:
            assert os.sched_getaffinity(0) == set(cores)
            found += cores
        assert os.sched_getaffinity(0) == allowed
    assert sorted(found) == sorted(allowed)


@linux
def test_threads_that_a_worker_starts_share_its_cores():
    seen = []
    with own_cores(0) as cores:
        thread = Thread(target=lambda: seen.append(os.sched_getaffinity(0)))
        thread.start()
        thread.join()
    assert seen == [set(cores)]


@linux
@pytest.mark.parametrize(("place", "count"), [(10**6, 1), (0, 10**6), (0, 0)])
def test_where_there_are_too_few_nothing_is_held(place, count):
    allowed = os.sched_getaffinity(0)
    with own_cores(place, count) as cores:
        assert cores == ()
        assert os.sched_getaffinity(0) == allowed


@linux
def test_what_fails_gives_its_cores_back():
    allowed = os.sched_getaffinity(0)
    with pytest.raises(ZeroDivisionError), own_cores(0):
        _ = 1 / 0
    assert os.sched_getaffinity(0) == allowed
