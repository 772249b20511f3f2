"""A property that is computed once: the same for every Python there is, and without a lock.

Before 3.12 functools holds a lock while it computes, one for all instances of a class. Fits in several threads wait for
each other then, and a process that is forked meanwhile inherits the lock held, and waits for ever.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 (it stands for that of functools)
        """Two threads may both compute it; all see the same one of the two.

        >>> class Square:
        ...     side = 3
        ...
        ...     @cached_property
        ...     def area(self):
        ...         return self.side**2
        >>> square = Square()
        >>> square.area, square.__dict__
        (9, {'area': 9})
        """

        def __init__(self, function):
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.function(instance))
