"""BlogFeedback: wrong columns, wrapped targets, lost lines, signed ranking, a script that is not the table's."""

from __future__ import annotations

from functools import cache

import numpy as np

from monolip import audit
from paper.datasets import blogfeedback
from paper.datasets.data_set import DataSet
from paper.table1.small_network import Inputs, Small, n_parameters, outputs
from paper.table1.tasks import CALM, mini
from paper.what_was_wrong.finding import Finding
from paper.what_was_wrong.runs import Scored, mean_sd, regress

__all__ = ["lost_lines", "mini_ranks_by_sign", "mini_script_is_larger", "wrapped_target", "wrong_columns"]

SMALL = Small((8,), 1.5, 15, log=True, options=CALM)
STATED = {f"A{i + 1}" for i in blogfeedback.CONSTRAINED}


@cache
def _blog() -> blogfeedback.Blog:
    return blogfeedback.load_blog()


def _fits(data: DataSet, fast: bool) -> list[Scored]:
    """The paper-sized network on the published split; errors of the last epoch are compared."""
    raw, test = data.X.to_numpy(), data.test
    assert test is not None
    Z = Inputs.of(raw[data.train], True)(raw)
    small = Small(SMALL.hidden, SMALL.max_slope, 2 if fast else SMALL.epochs, log=True, options=CALM)
    return [regress(small, Z, data.y, data.signs, data.train, test, seed) for seed in range(1 if fast else 3)]


def wrong_columns(fast: bool) -> Finding:
    """Positions 50-53 and 55-58 are flagged after the eight constrained columns were moved to positions 0-7."""
    theirs, right = (blogfeedback.as_published(_blog(), columns=which) for which in ("theirs", "right"))
    assert theirs.X.shape == (54270, 276)
    assert set(right.cst) == STATED
    assert not STATED & set(theirs.cst)
    errors = {name: _fits(data, fast) for name, data in (("theirs", theirs), ("right", right))}
    network, raw = errors["theirs"][0].network, theirs.X.to_numpy()
    inputs = Inputs.of(raw[theirs.train], True)
    report = audit(
        lambda rows: outputs(network, inputs(rows)), raw[theirs.test], right.signs, seed=0, max_rows=100,
        max_evaluations=20_000 if fast else 60_000, max_seconds=None,
    )  # fmt: skip
    falling = [feature.name for feature in report.features if feature.share_beyond_rounding > 0]
    assert falling
    last = {name: [fit.last for fit in found] for name, found in errors.items()}
    return Finding(
        "blogfeedback*.py (and code that copied its loader)",
        "the constrained columns are moved to the front, then positions 50-53 and 55-58 of the *moved* table are "
        "flagged",
        f"the flagged columns are {', '.join(theirs.cst)}: none of the eight that are meant ({', '.join(right.cst)}); "
        "a "
        f"network trained with their flags falls in {len(falling)} of the 8 features it is said to be monotone in",
        f"test RMSE {mean_sd(last['theirs'], '.4f')} with their columns, {mean_sd(last['right'], '.4f')} with the "
        "stated "
        "ones (same rows, 2225 parameters)",
        {"flagged": list(theirs.cst), "stated": list(right.cst), "falling": len(falling), **last},
    )


def wrapped_target(fast: bool) -> Finding:
    """The target is cast to uint8 before the 90 % cut: counts of 256 and more come back as small ones."""
    blog = _blog()
    counts = np.concatenate([part[1:, blogfeedback.TARGET] for part in (blog.train, *blog.days)])
    wrapped = (counts >= 256) & (counts % 256 <= np.percentile(counts % 256, 90))
    assert int(wrapped.sum()) == 17
    data = {name: blogfeedback.as_published(blog, columns="right", target=name) for name in ("uint8", "right")}
    assert len(data["uint8"].y) - len(data["right"].y) == 17
    errors = {name: [fit.last for fit in _fits(found, fast)] for name, found in data.items()}
    return Finding(
        "blogfeedback*.py",
        "the target is cast to uint8 *before* the rows with the largest targets are cut off",
        f"{int(wrapped.sum())} posts with {int(counts[wrapped].min())} to {int(counts[wrapped].max())} comments come "
        "back "
        "with targets of 0 to 8: 54,270 rows instead of 54,253",
        f"test RMSE {mean_sd(errors['uint8'], '.4f')} with them, {mean_sd(errors['right'], '.4f')} without",
        {"rows": int(wrapped.sum()), "largest": float(counts[wrapped].max()), **errors},
    )


def lost_lines(fast: bool) -> Finding:
    blog = _blog()
    kept, whole = (
        blogfeedback.as_published(blog, columns="right", target="right", first_lines=b) for b in (False, True)
    )
    lost = len(blog.days) + 1
    assert lost == 61
    assert len(whole.y) - len(kept.y) == 61
    return Finding(
        "blogfeedback*.py",
        "files without a header are read as if they had one: the first row of each is lost",
        f"{lost} rows of 61 files; read properly the set has {len(whole.y):,} rows",
        f"{len(whole.y) - len(kept.y)} rows more with at most 8 comments ({100 * 61 / len(whole.y):.2f} %)",
        {"lost": lost, "rows": len(whole.y)},
    )


def mini_ranks_by_sign(fast: bool) -> Finding:
    """The 20 features of the mini network are those with the largest *signed* Ridge coefficients."""
    data = blogfeedback.as_published(_blog(), columns="right")
    signed, absolute = (mini(data, 20, data.train, signed=flag) for flag in (True, False))
    common = len(set(signed.X) & set(absolute.X))
    assert common < 20
    errors = {
        name: [fit.last for fit in _fits(found, fast)] for name, found in (("signed", signed), ("absolute", absolute))
    }
    return Finding(
        "blogfeedback_mini.py",
        "features are ranked by the signed Ridge coefficient: a strong negative one is never taken",
        f"{20 - common} of the 20 features are others when ranked by magnitude",
        f"test RMSE {mean_sd(errors['signed'], '.4f')} ranked by sign, {mean_sd(errors['absolute'], '.4f')} by "
        "magnitude "
        "(177 parameters, stated columns)",
        {"common": common, **errors},
    )


def mini_script_is_larger(fast: bool) -> Finding:
    built, printed = n_parameters(20, (8, 8)), n_parameters(20, (8,))
    assert (built, printed) == (249, 177)
    return Finding(
        "blogfeedback_mini.py, as it stands in the public repository",
        "the script is not that of the table: it asks for depth 3",
        f"20 features, width 8, depth 3 have {built} parameters; the table's {printed} are those of depth 2",
        "our entry uses depth 2",
        {"built": built, "printed": printed},
    )
