"""Bins of proper lifetime in ps: of the efficiency curves, and the two that the claim on large lifetimes compares."""

from __future__ import annotations

__all__ = ["BINS", "EARLY", "LATE"]

BINS = (0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 11.0, 13.0, 15.0, 17.5, 20.0)
EARLY, LATE = (2.0, 4.0), (13.0, 20.0)
