"""Fits that something happens to: Ctrl-C or the end of time in a training."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monolip.estimators import _training, stages

__all__ = ["fit_with_ctrl_c", "fit_without_time", "n_trainings"]


def fit_with_ctrl_c(model, X, y, number, **more):
    """The model, fitted with Ctrl-C in the training of a number: 0 is the first one."""
    return _with_each(model, X, y, more, lambda at: _interrupt() if at == number else None)


def n_trainings(model, X, y, **more):
    """How many trainings a fit has."""
    seen = []
    _with_each(model, X, y, more, seen.append)
    return len(seen)


def fit_without_time(model, X, y, ends, **more):
    """The model, fitted with trainings cut short by time where ends(job)."""
    original = stages.run_jobs

    def cut(jobs, *rest):
        results = original(jobs, *rest)
        return [replace(r, stopped="time") if ends(job) else r for job, r in zip(jobs, results, strict=True)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "run_jobs", cut)
        return model.fit(X, y, **more)


def _with_each(model, X, y, more, look):
    original, count = _training.train, []

    def watched(*given, **named):
        count.append(1)
        look(len(count) - 1)
        return original(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_training, "train", watched)
        return model.fit(X, y, **more)


def _interrupt():
    raise KeyboardInterrupt
