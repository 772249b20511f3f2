"""Options that several verbs share, in one spelling."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from monolip.cli._complete import complete_columns

__all__ = [
    "FILE",
    "Seconds",
    "column_option",
    "constraint_options",
    "data_argument",
    "json_option",
    "learning_options",
    "model_argument",
    "output_option",
    "promises_of",
    "reading_of",
    "reading_options",
    "seed_option",
    "the_data",
]


class _File(click.Path):
    """~ is the home also where the shell does not say so: in a quoted pattern, and in --output=~/model."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(os.path.expanduser(value), param, ctx)


FILE = _File(path_type=Path, readable=False)  # whether it can be read is found out, and told, by who reads it
NO_TREES = (
    "a model is an average of networks and has no trees; got --trees; leave it out, and to average a network with "
    "trees, use scikit-learn's VotingRegressor in Python"
)
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
Verb = TypeVar("Verb", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="All randomness comes from it."
)
model_argument = click.argument("model", type=FILE)


def column_option(*names: str, text: str, many: bool = False, required: bool = False) -> Callable[[Verb], Verb]:
    """An option whose value is a column of the table, or several; the shell completes it."""
    given = {"multiple": many, "required": required, "shell_complete": complete_columns}
    return click.option(*names, metavar="COLUMN", help=text, **given)  # type: ignore[arg-type]


def output_option(text: str, **more: Any) -> Callable[[Verb], Verb]:
    """--output, with what it means to the verb."""
    return click.option("--output", "-o", type=FILE, help=text, **more)


def data_argument(function: Verb) -> Verb:
    """The table, as an argument or by --data; `the_data` picks it."""
    argument = click.argument("table", required=False, metavar="[DATA]", type=FILE)
    option = click.option("--data", type=FILE, help="The table, if not given as an argument.")
    return argument(option(function))


def reading_options(function: Verb) -> Verb:
    encoding = click.option("--encoding", default="utf-8", show_default=True, help="Of a CSV file.")
    separator = click.option("--separator", help="Of a CSV file; found in its first line by default.")
    decimal = click.option("--decimal", type=click.Choice([".", ","]), default=".", help="Of a CSV file: 3.14 or 3,14.")
    return encoding(separator(decimal(function)))


def reading_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """What `reading_options` said, as `read_data` takes it."""
    return {name: options[name] for name in ("encoding", "separator", "decimal")}


def the_data(table: Path | None, data: Path | None) -> Path:
    """Exactly one of the two ways to name a table."""
    if (table is None) == (data is None):
        got = "none" if table is None else "two"
        raise click.UsageError(f"one table is needed, as an argument or by --data; got {got}")
    found = table if table is not None else data
    assert found is not None
    return found


def constraint_options(function: Verb) -> Verb:
    """What is promised, by options or from a TOML file."""
    names: dict[str, Any] = {"multiple": True, "metavar": "FEATURE", "shell_complete": complete_columns}
    for option in reversed(
        (
            click.option(
                "--increasing", "-i", **names, help="The score never falls in it; repeat, or separate by commas."
            ),
            click.option("--decreasing", "-d", **names, help="The score never rises in it."),
            click.option("--slope", multiple=True, metavar="FEATURE=LOW:HIGH", help="An interval, in your units."),
            click.option(
                "--max-slope",
                multiple=True,
                metavar="[FEATURE=]CAP",
                help="No steeper than CAP, in your units; one CAP for all: per standard deviation of each feature.",
            ),
            click.option("--constraints", type=FILE, help="All of these from a TOML file."),
            click.option("--positive", metavar="LABEL", help="The class whose probability promises are about."),
        )
    ):
        function = option(function)
    return function


def _refuse_trees(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(NO_TREES)


_no_trees = click.option("--trees", hidden=True, expose_value=False, callback=_refuse_trees)


def learning_options(function: Verb) -> Verb:
    """Which columns are learned from, and as what."""
    task = click.Choice(["auto", "regression", "classification"])
    for option in reversed(
        (
            column_option("--features", text="Use these only.  [default: all but the target]", many=True),
            column_option("--drop", text="Leave these out: identifiers, for example.", many=True),
            column_option("--categorical", text="Numbers that are codes; text is anyway.", many=True),
            column_option("--weight", text="How much a row counts."),
            _no_trees,
            click.option("--task", type=task, default="auto", show_default=True),
        )
    ):
        function = option(function)
    return function


def promises_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """What `constraint_options` said, and which numbers are codes, as `read_constraints` takes it."""
    names = ("increasing", "decreasing", "slope", "max_slope", "constraints", "categorical")
    return {name: options[name] for name in names}


class Seconds(click.ParamType[float]):
    """30, 90s, 5m, 1.5h: a time in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", str(value).strip())
        if found is None or float(found[1]) <= 0:
            self.fail(f"a time is a number above 0 of s, m or h, like 90s or 5m; got {value!r}", param, ctx)
        return float(found[1]) * _UNITS[found[2]]
