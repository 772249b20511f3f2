"""LoanDefaulter's split, and the twins of CIFAR-100."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paper.appendix_a.images import read_images
from paper.what_was_wrong.finding import Finding

__all__ = ["cifar100_twins", "loan_split", "must_be_wrong", "twins"]

PRINTED = {"train": 418_697, "test": 70_212}  # sizes the published loader gives


def loan_split(fast: bool) -> Finding:
    """The training size is computed before rows with missing values are dropped, and all of them go from the end."""
    total = PRINTED["train"] + PRINTED["test"]
    before = int(np.ceil(PRINTED["train"] / 0.8))
    assert int(before * 0.8) == PRINTED["train"]
    assert total == 488_909
    share = PRINTED["test"] / total
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10_000, 2))
    rows[rng.random(10_000) < 1 - total / before, 1] = np.nan
    n_train = int(0.8 * len(rows))  # their order of operations, on generated rows
    kept = rows[~np.isnan(rows).any(axis=1)]
    theirs, right = len(kept[n_train:]) / len(kept), len(kept[int(0.8 * len(kept)) :]) / len(kept)
    assert abs(theirs - share) < 0.02
    assert abs(right - 0.2) < 1e-3
    return Finding(
        "loan_loader.py",
        "the training size is 80 % of the rows *before* those with missing values are dropped",
        f"{PRINTED['train']:,} + {PRINTED['test']:,} = {total:,} rows: {before:,} before dropping, and a test set of "
        f"{100 * share:.1f} %, not 20 %; the same on generated rows ({100 * theirs:.1f} %)",
        "drop first: 391,127 + 97,782 rows (the file is private: the effect on accuracy cannot be measured here)",
        {"share": share, "before": before},
    )


def twins(images: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
    """Row numbers of each group of bit-identical images."""
    groups: dict[bytes, list[int]] = {}
    for row, image in enumerate(images):
        groups.setdefault(image.tobytes(), []).append(row)
    return [np.array(rows) for rows in groups.values() if len(rows) > 1]


def must_be_wrong(groups: list[NDArray[np.int64]], labels: NDArray[np.int64]) -> int:
    """Rows that no function of the image can label right: all but the most frequent label of each group."""
    return sum(len(rows) - int(np.bincount(labels[rows]).max()) for rows in groups)


def cifar100_twins(fast: bool) -> Finding:
    found = read_images("cifar100")
    count = 10_000 if fast else len(found.labels)
    images, labels = found.pixels[:count], found.labels[:count]
    groups = twins(images)
    pairs, wrong = len(groups), must_be_wrong(groups, labels)
    conflicts = sum(len(set(labels[rows].tolist())) > 1 for rows in groups)
    assert fast or (pairs, conflicts, wrong) == (14, 9, 9)
    most = 100 * (1 - wrong / len(images))
    draws = np.random.default_rng(0).integers(0, 100, (1000, len(labels)), dtype=np.int8)
    lost = float(np.mean([must_be_wrong(groups, draw) for draw in draws[: 10 if fast else None]]))
    return Finding(
        "text, Appendix A",
        "100 % training accuracy is claimed on CIFAR-100",
        f"its {len(images):,} training images hold {pairs} pairs of bit-identical ones, {conflicts} with different "
        "labels",
        f"at most {most:.3f} % can be right with true labels, {100 * (1 - lost / len(images)):.3f} % on average with "
        "independent random ones (the maximum is the aim of the appendix of this report)",
        {"pairs": pairs, "conflicts": conflicts, "most": most, "random_lost": lost},
    )
