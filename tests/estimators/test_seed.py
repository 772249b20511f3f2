"""The number a fit is drawn from: scikit-learn's meaning of random_state, whoever asks in whatever order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.utils import check_random_state

from monolip.errors import InputError
from monolip.estimators._seed import first_number


def slow(random_state):
    return int(check_random_state(random_state).randint(2**31 - 1))


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31, 2**32 - 1, np.int64(7), np.uint8(3)])
def test_an_int_gives_what_a_generator_made_for_it_gives(seed):
    assert first_number(seed) == first_number(seed) == slow(seed) == first_number(np.random.RandomState(seed))


def test_a_generator_goes_on():
    one, two = np.random.RandomState(3), np.random.RandomState(3)
    assert [first_number(one) for _ in range(3)] == [slow(two) for _ in range(3)]
    assert len({first_number(None) for _ in range(3)}) > 1


def test_threads_do_not_disturb_each_other():
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(first_number, [k % 5 for k in range(200)])) == [slow(k % 5) for k in range(200)]


@pytest.mark.parametrize("wrong", [-1, 2**32, "seed", 0.5])
def test_what_is_no_random_state_is_refused(wrong):
    with pytest.raises(InputError, match=r"random_state is None, a whole number from 0 to 2\^32 - 1 or .*; got"):
        first_number(wrong)
