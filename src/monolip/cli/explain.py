"""monolip explain: why a row got its score, and what would have to change."""

from __future__ import annotations

from dataclasses import asdict
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import click

from monolip.cli._exits import Exit
from monolip.cli._options import (
    FILE,
    column_option,
    json_option,
    model_argument,
    reading_of,
    reading_options,
    seed_option,
)
from monolip.cli._screen import Answer, number, show
from monolip.rounding import score_text

__all__ = ["command"]


@click.command("explain")
@model_argument
@click.argument("row", type=click.IntRange(0))
@click.option("--data", required=True, type=FILE, help="The table; rows count from 0.")
@click.option("--reference", metavar="ROW|typical", default="typical", show_default=True, help="What to compare with.")
@click.option("--label", metavar="LABEL", help="The class to explain.  [default: the one promises name, else the last]")
@click.option("--reach", type=float, help="A prediction, or probability, to reach.  [default for classes: 0.5]")
@column_option("--immutable", text="What cannot change: age, for example.", many=True)
@click.option("--set", "changes", multiple=True, metavar="FEATURE=VALUE", help="Change the row before explaining it.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Reasons to show.")
@seed_option
@reading_options
@json_option
def command(**options: Any) -> int:
    """Rank the reasons for the score of one row, and say what would have to change to reach another decision.

    Reasons are Shapley values against a reference row; they add up to the difference of the scores. "At least" is
    proved from certified slopes (of categories no distance is); "found" is a change that was searched for and scored.

    \b
      monolip explain model.safetensors 17 --data loans.csv --immutable age
    """
    from monolip.cli._data import pick_features, read_data
    from monolip.cli._explain_rows import chosen_row, reference_row, scales, set_values, whole_columns
    from monolip.cli._folders import with_folders
    from monolip.cli._models import load_estimator
    from monolip.cli._names import require_columns, split_names
    from monolip.report.explaining import explain

    model = load_estimator(options["model"])
    names = list(model.frozen_.inputs.names)
    table = with_folders(read_data(options["data"], **reading_of(options)), options["data"], model)
    X = pick_features(table, model, options["model"])
    model._evaluate(X)  # text among numbers, and whatever else cannot be scored
    immutable = split_names(options["immutable"], names)
    require_columns(immutable, names, "--immutable")
    whole = whole_columns(X)
    row = set_values(chosen_row(X, options["row"], "ROW"), options["changes"], model)
    reference, words = reference_row(X, options["reference"], model)
    classes = model.frozen_.link.labels is not None
    goal = options["reach"] if options["reach"] is not None else 0.5 if classes else None
    why = explain(
        model, row, reference, label=options["label"], goal=goal, immutable=immutable, whole=whole,
        scale=scales(X, names), seed=options["seed"],
    )  # fmt: skip
    show(_answer(options, why, words), options["as_json"])
    return Exit.OK


def _answer(options: dict[str, Any], why: Any, reference: str) -> Answer:
    data = {**asdict(why), "model": str(options["model"]), "row": options["row"], "reference": reference}
    endless = float("inf")
    data["changes"] = [
        {**asdict(change), "found": change.found, "proved_useless": change.at_least == endless}
        for change in why.changes
    ]
    answer = Answer(data)
    what = why.probability or "prediction"
    scores = f"{number(why.score)} against {number(why.reference_score)} {why.unit}"
    predictions = score_text(why.prediction), score_text(why.reference_prediction)
    answer.line(f"Row {options['row']}: {what} {predictions[0]}; {reference}: {predictions[1]}")
    answer.line(f"Score {scores}; the difference of {number(why.score - why.reference_score)} comes from").line()
    shown = why.reasons[: options["top"]]
    promised = "promised" if why.label is None else f"promised of {what}"
    cells = [["", "feature", "row", "reference", "effect", promised]]
    for place, reason in enumerate(shown, 1):
        error = f" ±{number(reason.error, 2)}" if reason.error else ""
        cells.append(
            [
                str(place),
                reason.feature,
                _value(reason.value),
                _value(reason.reference),
                f"{reason.effect:+.4g}{error}",
                reason.promise,
            ]
        )
    rest = sum(reason.effect for reason in why.reasons[options["top"] :])
    if why.reasons[options["top"] :]:
        cells.append(["", f"{len(why.reasons) - len(shown)} more", "", "", f"{rest:+.4g}", ""])
    answer.table(f"Reasons ({why.how}; they add up to the difference)", cells)
    if why.goal is not None:
        _say_changes(answer, why, what)
    else:
        answer.line("What would have to change: pass --reach with a prediction to reach.")
    return answer


def _say_changes(answer: Answer, why: Any, what: str) -> None:
    way = "at or below" if why.score > why.goal else "above"
    useful = [change for change in why.changes if change.at_least is None or change.at_least != float("inf")]
    never = sorted(
        {f"{change.feature} {change.side}" for change in why.changes} - {f"{c.feature} {c.side}" for c in useful}
    )
    cells = [["feature", "row", "side", "must move by at least (proved)", "enough (found)"]]
    for change in useful:
        bound = "-" if change.at_least is None else _rounded_down(change.at_least)
        cells.append(
            [
                change.feature,
                _value(change.value),
                change.side,
                bound,
                "no value seen" if change.to is None else f"to {_value(change.to, 12)}",
            ]
        )
    goal = f"{what} {way} {score_text(why.goal_prediction)}"
    if useful:
        answer.table(f"One change that leads to {goal}", cells)
    if never:
        answer.line(f"Proved useless at any value: {', '.join(never)}")
    if why.together is None:
        return
    both = why.together
    if both.at_least == float("inf"):
        answer.line(f"Proved: no change of {', '.join(both.scale)} leads to {goal}.")
        return
    found = "no combination was found"
    if both.changes is not None:
        moves = ", ".join(f"{name} {_value(x)} to {_value(to, 12)}" for name, (x, to) in both.changes.items())
        found = f"found: {moves}, {number(both.size)} deviations"
    answer.line(
        f"All together: proved to need at least {_rounded_down(both.at_least)} standard deviations in sum; {found}."
    )


def _value(value: Any, digits: int = 7) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _rounded_down(value: float) -> str:
    """A bound from below stays one in print."""
    if not value:
        return "0"
    exact = Decimal(value)
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 4), rounding=ROUND_FLOOR)):g}"
