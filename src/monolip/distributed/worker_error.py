"""WorkerError: a cluster could not finish; what it did finish is kept."""

from __future__ import annotations

from monolip.errors import MonolipError

__all__ = ["WorkerError"]


class WorkerError(MonolipError, RuntimeError):
    """Workers failed more often than allowed; the message names them and the last checkpoint."""
