"""What a training is for, in few words: for a progress bar, and for the lines of `verbose`."""

from __future__ import annotations

from monolip.estimators._race import RUNGS
from monolip.estimators._training import Job

__all__ = ["Course"]


class Course:
    """Follows the trainings of one fit, told one after the other; everything is read from the jobs themselves."""

    def __init__(self) -> None:
        self.first_bins: int | None = None
        self.judges = False

    def hear(self, job: Job) -> None:
        """A training goes on."""
        if self.first_bins is None:
            self.first_bins = job.problem.layout.most_bins
        self.judges |= job.holdout is not None

    def is_trial(self, job: Job) -> bool:
        """Whether it is part of a path of more bins or fewer features, before the rows held out have chosen one."""
        judged = job.holdout is not None and job.rung < RUNGS
        other = job.n_features is not None or job.problem.layout.most_bins != self.first_bins
        return judged and not self.is_later(job) and other

    def is_finish(self, job: Job) -> bool:
        """Whether a member that was judged trains once more with all rows."""
        return self.judges and job.holdout is None and not self.is_later(job)

    @staticmethod
    def is_later(job: Job) -> bool:
        """Whether its member came after those that began: to join them where it is judged too, else to follow."""
        return bool(job.together) and job.together[0] > 0

    def words(self, job: Job) -> str:
        """Of all trainings that are done together with this one."""
        count = len(job.together)
        if self.is_later(job):
            verb = "follow" if job.holdout is None else "join"
            return f"{count} more members {verb}" if count > 1 else f"1 more member {verb}s"
        if self.is_trial(job):
            return f"trying {_bins_or_features(job)}"
        return "finishing" if self.is_finish(job) else "training"

    def words_of_one(self, job: Job) -> str:
        """Of this training alone."""
        came = ("" if job.holdout is None else " joins") if self.is_later(job) else ""
        bins = f"{job.problem.layout.most_bins} bins"
        if self.is_trial(job):
            bins = f"trying {_bins_or_features(job)}"
        elif job.n_features is not None:
            bins += f", {_bins_or_features(job)}"
        rows = ", all rows" if job.holdout is None else ""
        return f"member {job.member}{came}, {bins}, {job.options.n_steps} steps{rows}"


def _bins_or_features(job: Job) -> str:
    """What a path that is tried has more or less of."""
    if job.n_features is None:
        return f"{job.problem.layout.most_bins} bins"
    return f"{job.n_features} feature{'s' if job.n_features > 1 else ''}"
