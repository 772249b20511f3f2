"""The number that a fit is drawn from, given what scikit-learn calls random_state."""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from monolip.errors import InputError

__all__ = ["first_number"]

_MOST = 2**31 - 1
_threads = local()


def first_number(random_state: Any) -> int:
    """The first whole number below 2^31 - 1 that the random state gives: an int, a generator or None.

    An int always gives the same one. A generator made for it would first be seeded by the system, which takes as long
    as a hundred numbers: each thread seeds one of its own again instead.

    >>> first_number(7) == first_number(np.random.RandomState(7))
    True
    """
    if type(random_state) is not int or not 0 <= random_state < 2**32:
        try:
            return int(check_random_state(random_state).randint(_MOST))
        except (ValueError, TypeError):
            raise InputError(
                "random_state is None, a whole number from 0 to 2^32 - 1 or a numpy.random.RandomState; got "
                f"{random_state!r}; pass one of them."
            ) from None
    if not hasattr(_threads, "generator"):
        _threads.generator = np.random.RandomState(0)
    _threads.generator.seed(random_state)
    return int(_threads.generator.randint(_MOST))
