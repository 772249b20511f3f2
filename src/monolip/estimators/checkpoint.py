"""Checkpoint: the trainings of a fit that are done, on disk, so that a killed fit goes on with the same result."""

from __future__ import annotations

import hashlib
import json
import os
import re
import reprlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from monolip.errors import CheckpointError
from monolip.estimators._checkpoint_jobs import JobDigests, pack_result, unpack_result
from monolip.estimators._watching import watched_by
from monolip.sealed_file import named_path, ordinary_size, read_first, write_whole

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from monolip.engine.training import Progress, TrainingResult
    from monolip.estimators._training import Job

__all__ = ["Checkpoint"]

FORMAT, VERSION = "monolip.checkpoint", 2
_HEAD = "fit.json"
_OWN = re.compile("pass|stretch|[0-9a-f]{64}")  # the last: digests of trainings
_MAX_BYTES = 2**28


class Checkpoint:
    """A folder with one file for every training done; `with checkpoint.watching(): model.fit(X, y)`.

    A training depends on its rows, options, seed and the network it starts from, and on nothing else. Each file is
    named by a digest of all of these, so a fit that is run again finds exactly the trainings that it would repeat:

        file = digest(rows, slope intervals, options, start)        result(killed, then resumed) = result(uninterrupted)

    Args:
        folder: made where it does not exist.
        facts: what the fit is about, by name (data, target, constraints, seed, versions), as JSON values. A folder with
            other facts is refused, and the error names them.

    Files are safetensors and JSON (never pickle), appear whole or not at all, and are checked when read. A training
    that was ended by time or by Ctrl-C is not kept: its result is not the one an uninterrupted fit has.

    Examples:
        >>> import numpy as np, tempfile
        >>> from monolip import MonotonicRegressor
        >>> x = np.linspace(0, 1, 40)[:, None]
        >>> checkpoint = Checkpoint(tempfile.mkdtemp(), {"data": "a line", "seed": 0})
        >>> with checkpoint.watching():
        ...     first = MonotonicRegressor(monotonic_cst=[1], random_state=0).fit(x, x[:, 0])
        >>> with checkpoint.watching():
        ...     again = MonotonicRegressor(monotonic_cst=[1], random_state=0).fit(x, x[:, 0])
        >>> first.frozen_.digest == again.frozen_.digest, checkpoint.found == checkpoint.kept > 0
        (True, True)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        facts: Mapping[str, Any],
        *,
        on_progress: Callable[[Job, Progress], None] | None = None,
    ) -> None:
        self.folder, self.facts = named_path(folder), dict(facts)
        self.on_progress = on_progress
        self.found = self.kept = 0
        self.interrupted = False
        self._digests = JobDigests()
        self.made = not self.folder.exists()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(
                f"a checkpoint is a folder, made where there is none; {self.folder} is none and cannot be made: "
                f"{error.strerror or error}; name another, or remove what is there."
            ) from error
        self.fresh = not self.exists(self.folder)  # a head without a training is nothing to go on from
        if (self.folder / _HEAD).exists():
            before = _read_facts(self.folder / _HEAD)  # refused if it is not one of ours
            if not self.fresh:
                self._require_same(before)
        if self.fresh:
            head = {"format": FORMAT, "version": VERSION, "facts": self.facts}
            _keep(self.folder / _HEAD, json.dumps(head, indent=1, sort_keys=True).encode())

    @property
    def identity(self) -> str:
        """sha256 of the facts: what else is kept here is bound to them by it."""
        return hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode()).hexdigest()

    @staticmethod
    def exists(folder: str | os.PathLike[str]) -> bool:
        """Whether a fit was begun there, not finished, and has trainings to go on from."""
        place = named_path(folder)
        return (place / _HEAD).exists() and bool(_own_files(place))

    def watching(self) -> AbstractContextManager[None]:
        """Fits of this thread look here first, and keep what they have done."""
        return watched_by(self)

    def discard(self) -> Self:
        """Remove the files of this checkpoint, and the folder if nothing else lies in it."""
        remove_checkpoint(self.folder)
        return self

    def withdraw(self, *, empty: bool = False) -> None:
        """After an error: remove a checkpoint that this fit began, as no other fit could go on from it.

        empty: only where nothing is kept in it. One that was there before stays.
        """
        if self.fresh and not (empty and self.exists(self.folder)):
            remove_checkpoint(self.folder, with_folder=self.made)

    def find(self, job: Job) -> TrainingResult | None:
        path = self._path(job)
        if not path.exists():
            return None
        result = unpack_result(_read(path), path.stem, job.problem.n_features, path)
        self.found += 1
        if self.on_progress is not None:
            from monolip.engine.training import Progress

            steps, loss = job.options.n_steps, result.snapshots[-1].holdout_loss
            self.on_progress(job, Progress(steps, steps, result.seconds, loss, loss))
        return result

    def keep(self, job: Job, result: TrainingResult) -> None:
        if result.stopped in ("finished", "patience"):
            path = self._path(job)
            _keep(path, pack_result(result, path.stem))
            self.kept += 1
        self.interrupted |= result.stopped == "interrupted"

    def progress(self, job: Job, standing: Progress) -> None:
        if self.on_progress is not None:
            self.on_progress(job, standing)

    def _path(self, job: Job) -> Path:
        return self.folder / f"{self._digests.of(job)}.safetensors"

    def _require_same(self, before: Mapping[str, Any]) -> None:
        plain = json.loads(json.dumps(self.facts))
        then, now = _flat(before), _flat(plain)
        other = sorted(name for name in {*then, *now} if then.get(name) != now.get(name))
        if other:
            name, more = other[0][-1], ", ".join(key[-1] for key in other[1:4])
            pair = "{} then, {} now".format(*_apart(then.get(other[0]), now.get(other[0])))
            more = f" (and another {more})" if more else ""
            raise CheckpointError(
                f"a checkpoint continues the same fit; {self.folder} is of another {name}: {pair}{more}; repeat the "
                "arguments and files it was begun with, or remove the folder to start afresh."
            )


def remove_checkpoint(folder: Path, *, with_folder: bool = True) -> None:
    """Only what a checkpoint writes is removed, models of the user that lie beside it are not; what is no folder is
    none. with_folder: the folder too, if it can be and nothing else lies in it."""
    if not folder.is_dir():
        return
    for path in [*_own_files(folder), *folder.glob(".monolip-*.part"), folder / _HEAD]:
        path.unlink(missing_ok=True)
    if with_folder:
        with suppress(OSError):  # it holds something else, or is a link, or a place that cannot be removed
            folder.rmdir()


def _own_files(folder: Path) -> list[Path]:
    """Trainings, and the states of a stream."""
    return [path for path in folder.glob("*.safetensors") if _OWN.fullmatch(path.stem)]


def _read(path: Path) -> bytes:
    size = ordinary_size(path)
    if size is None:
        raise CheckpointError(
            f"a checkpoint's file is an ordinary file; {path} is not one; remove the folder to start afresh."
        )
    if size > _MAX_BYTES:
        raise CheckpointError(
            f"a checkpoint's file has at most {_MAX_BYTES} bytes; {path} has more; remove the folder to start afresh."
        )
    return read_first(path, size)


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        head = json.loads(_read(path))
        if (head["format"], head["version"]) != (FORMAT, VERSION) or not isinstance(head["facts"], dict):
            raise ValueError("of another format")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(
            f"a checkpoint begins with {_HEAD} as monolip writes it; {path} is damaged or of another version "
            f"({reprlib.repr(error)}); remove the folder to start afresh."
        ) from None
    return dict(head["facts"])


def _keep(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise CheckpointError(
            f"a checkpoint is written whole; {path} could not be: {error.strerror or error}; free some space (or make "
            "its folder) and run the fit again with the same arguments: it goes on from what was kept."
        ) from error


def _flat(facts: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Facts with names inside, such as the arguments of an estimator, one by one."""
    found: dict[tuple[str, ...], Any] = {}
    for name, value in facts.items():
        inner = value if isinstance(value, dict) and value else None
        found |= {(name,): value} if inner is None else {(name, key): part for key, part in inner.items()}
    return found


def _apart(one: Any, two: Any) -> tuple[str, str]:
    """Two values as text; of lists of names those that one of them has, of other long values the part that differs."""
    if all(isinstance(value, list) and all(isinstance(name, str) for name in value) for value in (one, two)):
        own = [name for name in one if name not in two], [name for name in two if name not in one]
        if any(own):
            return _few(own[0]), _few(own[1])
    texts = json.dumps(one), json.dumps(two)
    pairs = enumerate(zip(*texts, strict=False))
    start = next((k for k, (a, b) in pairs if a != b), 0) - 20 if max(map(len, texts)) > 57 else 0
    return _part(texts[0], max(0, start)), _part(texts[1], max(0, start))


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"with {', '.join(map(repr, names[:3]))}{more}" if names else "without"


def _part(text: str, start: int) -> str:
    return "..." * (start > 0) + text[start : start + 57] + "..." * (len(text) > start + 57)
