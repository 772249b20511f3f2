"""monolip fit: a table and constraints in, a model and its certificate out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from monolip.cli._exits import Exit
from monolip.cli._files import beside, lock_output, require_place
from monolip.cli._options import (
    FILE,
    Seconds,
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
from monolip.errors import InputError

__all__ = ["command"]

_MISSING = {
    "lowest": "counts as the lowest",
    "highest": "counts as the highest",
    "state": "is a state of its own, of any score",
}


@click.command("fit")
@data_argument
@column_option("--target", "-t", text="The column to predict.", required=True)
@constraint_options
@output_option("The model file.", default="model.safetensors", show_default=True)
@click.option("--certificate", type=FILE, help="[default: beside the model, .certificate.json]")
@learning_options
@column_option("--groups", text="Rows of one value belong together (a customer): held out together, or not at all.")
@click.option("--loss", metavar="NAME", help="Of a regression: absolute_error, quantile, poisson, ...")
@click.option("--loss-parameter", type=float, help="The quantile, Tweedie's power, or Huber's delta.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Give every class the same weight.")
@click.option(
    "--members",
    type=click.IntRange(1, 64),
    help="Networks to average; by default more on small tables than on large ones.",
)
@click.option(
    "--split",
    type=click.FloatRange(0, 0.9),
    default=0.2,
    show_default=True,
    help="Share of rows held out to judge the fit.",
)
@seed_option
@click.option("--time", type=Seconds(), metavar="TIME", help="Stop after 90s, 5m or 1h with the best so far.")
@click.option("--threads", type=click.IntRange(1), help="Changes no bit of the result.  [default: 1]")
@click.option("--resume", is_flag=True, help="Go on with an interrupted fit; the same result as without interruption.")
@click.option("--restart", is_flag=True, help="Discard what an interrupted fit has left.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@reading_options
@json_option
def command(**options: Any) -> int:
    """Fit a model on a table (CSV, Parquet or Arrow) so that it keeps your constraints, and prove that it does.

    \b
      monolip fit data.csv --target default --increasing dti --decreasing income
      monolip fit data.parquet --target price --constraints rules.toml --time 5m -o price.safetensors
      monolip fit loans/ --target default --increasing dti    (a directory or 'glob' of any size, in constant memory)

    Some rows are held out to judge the fit. Ctrl-C saves the best model so far; --resume goes on from there.
    """
    from monolip.cli._fit_work import FitPlan, carry_out

    if options["resume"] and options["restart"]:
        raise click.UsageError("--resume and --restart exclude each other; choose one")
    if options["split"] != options["split"]:
        raise click.UsageError("--split is a share of the rows from 0 to 0.9; got nan; pass a number")
    output: Path = options["output"]
    source = the_data(options["table"], options["data"])
    if output.suffix.lower() in (".pkl", ".pickle", ".joblib", ".pt", ".pth"):  # before an hour of work
        raise InputError(f"a model file is data, no pickle; got {output.name!r}; end its name in .safetensors.")
    require_place(output, reads=[source, options["constraints"]])
    plan = FitPlan(
        data=source,
        output=output,
        certificate=options["certificate"] or beside(output, ".certificate.json"),
        promises=promises_of(options),
        settings={
            "n_estimators": options["members"],
            "loss": options["loss"],
            "loss_parameter": options["loss_parameter"],
            "class_weight": options["class_weight"],
            "n_jobs": options["threads"],
        },
        reading=reading_of(options),
        **{name: options[name] for name in ("target", "positive", "features", "drop", "weight", "groups", "task")},
        **{name: options[name] for name in ("split", "seed", "time", "resume", "restart")},
        quiet=options["quiet"] or options["as_json"],
    )
    require_place(plan.certificate, output, reads=[source, options["constraints"]])
    try:
        with lock_output(output):
            fit = carry_out(plan)
    except KeyboardInterrupt as cut:
        words = str(cut) or f"interrupted before a model was saved; {_kept(plan)}"
        raise KeyboardInterrupt(words) from None
    show(_answer(plan, fit), options["as_json"])
    for remark in fit.remarks:
        tell(f"note: {remark}")
    if fit.interrupted:
        tell(f"monolip fit: interrupted; {output} is the best model so far; {_kept(plan)}")
        return Exit.INTERRUPTED
    return Exit.OK


def _kept(plan: Any) -> str:
    """What an interrupted fit has left to go on from."""
    kept = len(list(plan.checkpoint.glob("*.safetensors")))
    if not kept:
        return "no training was done, so that there is none to go on from: run again"
    return f"trainings that are done are kept in {plan.checkpoint} ({kept} of them): run again with --resume to go on"


def _answer(plan: Any, fit: Any) -> Answer:
    model, prepared = fit.model, fit.prepared
    n_test = 0 if prepared.test is None else len(prepared.test)
    answer = Answer(_data(plan, fit, n_test))
    what = type(model).__name__
    seen = f"{fit.n_train:,} rows, {model.n_features_in_} features"
    again = f", {fit.resumed} trainings from the checkpoint" if fit.resumed else ""
    answer.line(f"{what} of {plan.target!r} fitted on {seen} in {fit.seconds:.1f} s{again}")
    about = _about(plan, fit)
    if about:
        answer.line(about)
    answer.line()
    if fit.metrics is None:
        answer.line("No rows were held out: how well it predicts is not known.").line()
    else:
        from monolip.cli._metrics import metric_cells

        constant = "mean" if prepared.labels is None else "class shares"
        answer.table(
            f"Judged on {n_test:,} rows that were held out", metric_cells(fit.metrics, f"baseline ({constant})")
        )
    answer.table("What was promised, and what is certified, in your units", model.slopes_.cells)
    if prepared.constraints.missing:
        told = [f"{name} {_MISSING.get(rule, rule)}" for name, rule in prepared.constraints.missing.items()]
        answer.line(f"Missing values, proved too: {', '.join(told)}").line()
    answer.line(f"model        {plan.output}{' (replaced: a file of that name was there)' if fit.replaced else ''}")
    answer.line(f"certificate  {plan.certificate}")
    answer.line(f"prove it     monolip check {plan.certificate} --model {plan.output}")
    answer.line(f"network      {model.frozen_.digest}")
    return answer


def _about(plan: Any, fit: Any) -> str:
    """Whose probability the promises are about: of two classes a reader cannot guess it."""
    prepared, probability = fit.prepared, fit.model.slopes_.probability
    if probability is None or not (prepared.monotonic_cst or prepared.slopes):
        return ""
    other = "" if plan.positive is not None else "; --positive names another class"
    return f"Promises are about {probability}{other}."


def _data(plan: Any, fit: Any, n_test: int) -> dict[str, Any]:
    model, labels = fit.model, fit.prepared.labels
    return {
        "model": str(plan.output),
        "certificate": str(plan.certificate),
        "digest": model.frozen_.digest,
        "estimator": type(model).__name__,
        "target": plan.target,
        "classes": labels,
        "features": list(fit.prepared.train.X.column_names),
        "members": model.n_estimators_,
        "rows": {"train": fit.n_train, "test": n_test},
        "metrics": fit.metrics,
        "missing": fit.prepared.constraints.missing,
        "slopes_of": model.slopes_.label,
        "slopes_about": model.slopes_.probability,
        "slopes": [row._asdict() for row in model.slopes_],
        "seed": plan.seed,
        "seconds": round(fit.seconds, 3),
        "trainings_resumed": fit.resumed,
        "interrupted": fit.interrupted,
        "short_of_time": model._stopped == "time",
        "replaced": fit.replaced,
        "remarks": list(fit.remarks),
    }
