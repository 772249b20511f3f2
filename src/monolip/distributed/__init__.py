"""Fitting and scoring on a Ray cluster. Needs the `ray` extra; `import monolip` does not load it."""

from importlib import import_module as _import

try:
    _import("ray")
except ImportError as error:  # pragma: no cover - exercised by a test that blocks ray in a subprocess
    from monolip.errors import MissingExtraError

    raise MissingExtraError("Ray", "ray") from error

from .ray_fit import RayFit, fit_on_ray
from .ray_score import score_on_ray
from .worker_error import WorkerError

__all__ = ["RayFit", "WorkerError", "fit_on_ray", "score_on_ray"]
