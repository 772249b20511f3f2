"""BlogFeedback (UCI, CC BY 4.0): comments a blog post will get within 24 hours, from 280 features.

Read properly: every line of every file, target as it is, the constrained columns by name. `as_published` makes the
table of the published scripts instead (with their errors), to be compared with their numbers.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper.datasets.data_set import DataSet
from paper.datasets.files import check_digest, read

__all__ = ["Blog", "as_published", "load_blog", "read_blog", "stated_task"]

URL = "https://archive.ics.uci.edu/static/public/304/blogfeedback.zip"
DIGEST = "ee4e06eb4c42239cf6b961094f324151a7263c77cbf54afa41bb902f2613f76d"
N_FEATURES, TARGET = 280, 280
CONSTRAINED = [50, 51, 52, 53, 55, 56, 57, 58]  # comments and links so far: total, last 24 h, 24 h before, first 24 h
PERCENT = 90  # the paper keeps the rows with the smallest targets


@dataclass(frozen=True)
class Blog:
    """Raw rows (n, 281) of the training file and of the test files, one file a day."""

    train: NDArray[np.float64]
    days: tuple[NDArray[np.float64], ...]


def load_blog() -> Blog:
    """52,397 training rows and 7,624 test rows on 60 days."""
    return read("blogfeedback/BlogFeedback.zip", f"download {URL} to that name.", _checked, URL)


def _checked(path: Path) -> Blog:
    blog = read_blog(path)
    check_digest("BlogFeedback", np.vstack([blog.train, *blog.days]), DIGEST)
    return blog


def read_blog(path: Path) -> Blog:
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".csv"))
        tables = {}
        for name in names:
            with archive.open(name) as lines:
                tables[name] = pd.read_csv(lines, header=None).to_numpy(np.float64)
    train = [name for name in names if "train" in name]
    if len(train) != 1 or any(table.shape[1] != N_FEATURES + 1 for table in tables.values()):
        raise ValueError(f"{path.name} must hold one training file and test files of 281 columns; get it again.")
    return Blog(tables[train[0]], tuple(tables[name] for name in names if name not in train))


def stated_task(blog: Blog) -> DataSet:
    """The task as the paper states it: 47,287 + 7,027 rows with at most 8 comments, target 0 .. 1; groups: days."""
    rows = np.vstack([blog.train, *blog.days])
    limit = np.percentile(rows[:, TARGET], PERCENT)
    day = np.repeat(np.arange(len(blog.days) + 1), [len(blog.train), *map(len, blog.days)])
    kept = rows[:, TARGET] <= limit
    rows, day = rows[kept], day[kept]
    names = [f"A{i + 1}" for i in range(N_FEATURES)]
    X = pd.DataFrame(rows[:, :N_FEATURES], columns=names)
    X = X.loc[:, (X.max() > X.min()).to_numpy() | np.isin(np.arange(N_FEATURES), CONSTRAINED)]
    cst = {f"A{i + 1}": 1 for i in CONSTRAINED}
    return DataSet("BlogFeedback", X, rows[:, TARGET] / limit, cst, False, np.flatnonzero(day > 0), day)


def as_published(blog: Blog, *, columns: str = "theirs", target: str = "uint8", first_lines: bool = False) -> DataSet:
    """The table of the published loaders: 54,270 rows, 276 columns, constrained columns moved to the front.

    columns: "theirs" flags positions 50-53 and 55-58 *after* the move, "right" the columns that were moved.
    target: "uint8" wraps at 256 before the cut at 90 %, "right" does not. first_lines: False loses each file's first.
    """
    skip = 0 if first_lines else 1
    parts = [part[skip:] for part in (blog.train, *blog.days)]
    rows = np.vstack(parts)
    y = rows[:, TARGET] % 256 if target == "uint8" else rows[:, TARGET]
    kept = y <= np.percentile(y, PERCENT)
    n_train = int(kept[: len(parts[0])].sum())
    rows, y = rows[kept], y[kept]
    varies = rows[:, :N_FEATURES].max(axis=0) > rows[:, :N_FEATURES].min(axis=0)
    order = CONSTRAINED + [i for i in range(N_FEATURES) if i not in CONSTRAINED and varies[i]]
    names = [f"A{i + 1}" for i in order]
    flagged = names[: len(CONSTRAINED)] if columns == "right" else [names[i] for i in CONSTRAINED]
    X = pd.DataFrame(rows[:, order], columns=names)
    y = (y - y.min()) / (y.max() - y.min())
    return DataSet("BlogFeedback, as published", X, y, dict.fromkeys(flagged, 1), False, np.arange(n_train, len(y)))
