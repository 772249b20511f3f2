"""monolip compare: cross-validation beside boosted trees under the same constraints."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from monolip.cli._exits import Exit
from monolip.cli._files import require_place
from monolip.cli._notes import in_our_words, is_a_note
from monolip.cli._options import (
    column_option,
    constraint_options,
    data_argument,
    json_option,
    learning_options,
    output_option,
    promises_of,
    reading_of,
    reading_options,
    seed_option,
    the_data,
)
from monolip.cli._screen import Answer, show, tell
from monolip.errors import PromiseWarning

__all__ = ["command"]

FEW = 4  # folds: of fewer a standard error says little
_MODELS = ("LightGBM", "XGBoost", "HistGradientBoosting", "CatBoost")


def _named(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> list[str]:
    """Names with commas, or the option again for each; letters of any size."""
    one = click.Choice(_MODELS, case_sensitive=False)
    asked = [name.strip() for names in given for name in names.split(",") if name.strip()]
    return list(dict.fromkeys(one.convert(name, parameter, context) for name in asked))


@click.command("compare")
@data_argument
@column_option("--target", "-t", text="The column to predict.", required=True)
@constraint_options
@column_option("--groups", text="Rows of one value belong together (a customer): in one fold, held out together.")
@click.option(
    "--with",
    "models",
    multiple=True,
    callback=_named,
    metavar="MODEL,...",
    help=f"Any of {', '.join(_MODELS)}.  [default: all but CatBoost]",
)
@click.option("--folds", type=click.IntRange(2, 50), default=5, show_default=True)
@click.option("--members", type=click.IntRange(1, 64), help="Networks that monolip averages.")
@learning_options
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@output_option("Save the scores of every fold: .csv, .parquet or .arrow.")
@seed_option
@reading_options
@json_option
def command(**options: Any) -> int:
    """Cross-validate monolip, LightGBM, XGBoost, HistGradientBoosting and CatBoost on the same folds and constraints.

    Every model learns from the same rows, decides when to stop on a part of them, and is judged on the rest. Trees have
    a learning rate of 0.05 and stop early; nothing is tuned on what is judged. Packages that are missing are named.

    \b
      monolip compare data.csv --target default --increasing dti --decreasing income
    """
    from monolip.cli._fit_work import FitPlan, prepare
    from monolip.estimators._targets import with_name
    from monolip.estimators._watching import Silence, watched_by
    from monolip.report.comparing import compare

    path = the_data(options["table"], options["data"])
    plan = FitPlan(
        data=path, output=path, certificate=path, promises=promises_of(options), split=0.0,
        reading=reading_of(options), seed=options["seed"],
        **{name: options[name] for name in ("target", "positive", "features", "drop", "weight", "groups", "task")},
    )  # fmt: skip
    require_place(options["output"], reads=[path, options["constraints"]], streams=True)
    prepared = prepare(plan)
    constraints, rows = prepared.constraints, prepared.train
    parameters = {
        "slopes": prepared.slopes,
        "max_slope": constraints.max_slope,
        "missing": constraints.missing or "state",
        "categorical_features": constraints.categorical_features(),
    }
    if options["members"] is not None:
        parameters["n_estimators"] = options["members"]
    quiet = options["as_json"] or not sys.stderr.isatty()
    with watched_by(Silence()), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        named = rows.y if prepared.labels is None else with_name(rows.y, plan.target)
        found = compare(
            rows.X, named, prepared.monotonic_cst, classification=prepared.labels is not None,
            n_folds=options["folds"], seed=options["seed"], models=options["models"] or None, parameters=parameters,
            categorical=[*constraints.categorical, *constraints.ordered], weight=rows.weight, groups=rows.groups,
            n_threads=options["threads"], on_progress=None if quiet else _progress,
        )  # fmt: skip
    if not quiet:
        sys.stderr.write("\r\033[K")
    contradicted = [str(warning.message) for warning in caught if warning.category is PromiseWarning]
    if contradicted:  # once: of all folds the one that lists most
        tell(f"note: {max(contradicted, key=len)}")
    notes = [str(warning.message) for warning in caught if is_a_note(str(warning.message))]
    for sentence in {note.split(" ")[0]: note for note in notes[::-1]}.values():  # the first of each kind
        tell(f"note: in a fold: {in_our_words(sentence)}")
    if options["output"] is not None:
        _save(found, options["output"])
    show(_answer(options, prepared, found), options["as_json"])
    return Exit.OK


def _progress(done: int, total: int, what: str) -> None:
    sys.stderr.write(f"\r\033[K{done} of {total} fits done; {what}")
    sys.stderr.flush()


def _whole(options: dict[str, Any]) -> str:
    return "" if options["groups"] is None else f" that keep rows of one {options['groups']!r} together"


def _answer(options: dict[str, Any], prepared: Any, found: Any) -> Answer:
    table = {
        name: {
            metric: dict(zip(("mean", "standard_error"), found.mean(name, metric), strict=True)) for metric in scores
        }
        for name, scores in found.scores.items()
    }
    data = {"rows": found.n_rows, "folds": options["folds"], "models": table, "missing": found.missing}
    data["groups"] = options["groups"]
    data["fit_seconds"] = {name: float(times.mean()) for name, times in found.seconds.items()}
    answer = Answer(data | {"same_constraints": found.constrained, "monotonic_cst": str(prepared.monotonic_cst)})
    folds = f"{options['folds']} folds{_whole(options)}, seed {options['seed']}"
    answer.line(f"{options['target']!r}, {found.n_rows:,} rows, {folds}").line()
    answer.table("Means over folds ± standard error, on rows that were held out", found.cells)
    metric = "RMSE" if prepared.labels is None else "log loss"
    for name in list(found.scores)[1:]:
        mean, error = found.against(name, metric)
        better = "monolip" if mean < 0 else name
        words = "no clear difference" if abs(mean) <= 2 * error else f"{better} is better"
        sure = f"too few folds to tell: pass --folds {FEW} or more" if options["folds"] < FEW else words
        answer.line(f"{metric} of monolip minus {name}: {mean:+.3g} ±{error:.2g} ({sure})")
    if prepared.monotonic_cst and not found.constrained:
        answer.line("Trees had no constraints: with more than two classes they cannot promise anything of one class.")
    if prepared.constraints.slopes or prepared.constraints.max_slope:
        answer.line("Slope intervals and caps bind monolip only: trees have none.")
    for name, line in found.missing.items():
        answer.line(f"missing: {name} was left out; install it: {line}")
        tell(f"note: {name} is not installed; run: {line}") if options["as_json"] else None
    return answer


def _save(found: Any, path: Any) -> None:
    from monolip.cli._data import require_pyarrow
    from monolip.cli.predict import write_table

    rows = [
        {"model": name, "fold": fold, "metric": metric, "value": float(value)}
        for name, scores in found.scores.items()
        for metric, values in scores.items()
        for fold, value in enumerate(values)
    ]
    write_table(require_pyarrow().Table.from_pylist(rows), path)
