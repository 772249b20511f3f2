"""write_report: everything there is to say about a model, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from monolip.errors import InputError
from monolip.report.html_groups import Groups, groups_section, read_groups, without_groups
from monolip.report.html_heatmaps import heatmaps
from monolip.report.html_judging import Plan, judge
from monolip.report.html_page import page_of, summary_of
from monolip.report.html_promises import checker_verdict, promises_section
from monolip.report.html_quality import quality_section
from monolip.report.html_robustness import robustness_section
from monolip.report.html_shapes import importance_of, shapes_section
from monolip.report.html_subject import Subject, network_of, subject_of
from monolip.report.html_whatif import page_data, whatif_section
from monolip.sealed_file import named_path, require_folder, write_whole, writing_to

__all__ = ["write_report"]


def write_report(
    model: Any, path: str | PathLike[str], *, X: Any = None, y: Any = None, groups: Any = None,
    baselines: Sequence[str] | str | None = ("unconstrained", "boosted"), title: str | None = None,
    target: str | None = None, units: Mapping[str, str] | None = None, train: tuple[Any, Any] | None = None,
    held_out: bool = False, folds: int = 5, max_rows: int = 20_000, radius_rows: int = 100, check: bool = True,
    seed: int = 0, positive: Any = None,
) -> Path:  # fmt: skip
    """Write one self-contained HTML file about a fitted model: promises, accuracy, shapes, robustness, groups, what-if.

    The page works offline and makes no request. Its live panel scores with the network of the certificate it carries,
    with the bits of `predict`. No row of X is written into it.

    Args:
        model: a fitted MonotonicRegressor or MonotonicClassifier, or a FrozenNetwork with raw columns and a link.
        path: of the file, which appears whole or not at all.
        X, y: rows and targets. Without y nothing is said about accuracy, without X curves are those of a typical row.
        groups: metrics by a column, a feature or another: a name (or names) of columns in X, a named column, a dict or
            a data frame of columns, one entry per row.
        baselines: "unconstrained" (the same estimator without promises), "boosted" (LightGBM where it is installed,
            else HistGradientBoosting); () for none.
        title, target: headline, and the name of what is predicted. units: {feature: unit}, shown beside its slopes.
        train: (X_train, y_train): baselines learn from these, and X, y count as held out.
        held_out: whether X, y were held out from fitting. If not (and no train), models are fitted again in
            cross-validation: whether this model has seen the rows cannot be known.
        folds, max_rows: of the cross-validation; radius_rows: rows whose certified radii are computed.
        check: run the independent checker on the certificate, and say what it said.
        seed: of the folds. positive: of two classes the one that the page is about; the default is the class that all
            promises were asked about (monotonic_cst, slopes), else the second.

    Returns: the path written.

    Example:
        >>> import numpy as np, tempfile
        >>> from monolip import MonotonicRegressor
        >>> x = np.linspace(0, 1, 100)[:, None]
        >>> model = MonotonicRegressor(monotonic_cst=[1], max_iter=2, random_state=0).fit(x, x[:, 0])
        >>> page = write_report(model, tempfile.mkdtemp() + "/report.html", check=False)
        >>> "Raising x0 never lowers the prediction." in page.read_text(encoding="utf-8")
        True
    """
    place = named_path(path)
    require_folder(place)  # before minutes of work
    plan = Plan.of(baselines, train, held_out, folds, max_rows, radius_rows, seed)
    subject, columns = _read(model, X, y, groups, target, units, positive)
    judgement, verdict, importance = judge(subject, plan), checker_verdict(subject, check), importance_of(subject)
    sections = [
        promises_section(subject, verdict),
        whatif_section(subject, importance),
        quality_section(subject, judgement),
        shapes_section(subject, importance, heatmaps(subject, importance)),
        robustness_section(subject, plan.radius_rows, held_out or train is not None),
        groups_section(subject, judgement, columns),
    ]
    headline = title if title is not None else f"Model report: {target or type(model).__name__}"
    summary = summary_of(subject, headline, judgement, verdict)
    text = page_of(subject, headline, page_data(subject, importance), [summary, *sections])
    with writing_to(place):
        write_whole(place, text.encode())
    return place


def _read(
    model: Any, X: Any, y: Any, groups: Any, target: str | None, units: Mapping[str, str] | None, positive: Any
) -> tuple[Subject, Groups]:
    inputs = network_of(model).inputs
    assert inputs is not None
    if X is None and groups is not None:
        raise InputError("groups belong to rows; got groups without X; pass X=.")
    if X is not None:
        X, groups = without_groups(X, groups, inputs.names)
    subject = subject_of(model, X, y, target, units, positive)
    return subject, read_groups(groups, 0 if subject.table is None else subject.table.n_rows)
