"""The verbs, loaded when they are called for, and the one place where errors become lines and exit codes."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import sys
import traceback
import warnings
from importlib import import_module
from typing import Any

import click

from monolip._version import __version__
from monolip.cli._exits import Exit, explain_error, one_line

__all__ = ["program", "run_line"]

# `monolip --help` shows these lines without loading any verb.
VERBS = {
    "fit": "Fit a model on a table, under your constraints.",
    "predict": "Predict the rows of a table.",
    "certify": "Write what is proved of a model, for anybody to check.",
    "check": "Prove a certificate again by the independent checker.",
    "audit": "Search any model file for rows scored the wrong way round.",
    "export": "Write a model as C, ONNX, JSON, ReLU layers or a torch program.",
    "report": "Write the model report, one HTML page.",
    "explain": "Say why a row got its score, and what would change it.",
    "compare": "Cross-validate monolip beside boosted trees under the same constraints.",
    "doctor": "Show versions, threads, accelerator and cache.",
    "completion": "Print the completion script of a shell.",
}


class Verbs(click.Group):
    """Commands by name, from the module of the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"monolip.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], VERBS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; the verbs are {', '.join(VERBS)}"
            raise click.UsageError(f"there is no verb {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        from click.shell_completion import CompletionItem

        verbs = [CompletionItem(verb, help=text) for verb, text in VERBS.items() if verb.startswith(incomplete)]
        return verbs if not incomplete.startswith("-") else click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start: monolip fit data.csv --target y --increasing a --decreasing b. Every verb has --help.",
)
@click.version_option(__version__, message="monolip %(version)s")
def program() -> None:
    """Models whose slopes provably stay inside intervals you choose: fit, prove, check, audit, ship."""


def run_line(arguments: list[str]) -> int:
    """One command line; the exit code."""
    arguments = _with_help(arguments)
    verb = next((word for word in arguments if word in VERBS), None)
    streams = sys.stdout, sys.stderr
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            try:
                code = program.main(arguments, prog_name="monolip", standalone_mode=False, obj=tuple(arguments))
            finally:
                for text in dict.fromkeys(one_line(warning.message) for warning in caught):
                    _say(f"note: {text}")
        sys.stdout.flush()
        return int(code or 0)
    except BrokenPipeError:
        return _end_pipe(streams)
    except SystemExit as end:
        if sys.stdout is not streams[0]:  # click met a broken pipe, wrapped the streams and left
            return _end_pipe(streams)
        return _end(end, verb, "--json" in arguments)
    except click.exceptions.Exit as end:
        return int(end.exit_code)
    except BaseException as error:
        return _end(error, verb, "--json" in arguments)


def _with_help(arguments: list[str]) -> list[str]:
    """`monolip`, `monolip help`, `monolip help fit` and `monolip fit help` are asked by people who want --help."""
    words = [word for word in arguments if word != "help"]
    asked = len(words) < len(arguments) and (arguments[0] == "help" or arguments[1:] == ["help"])
    if not arguments or (asked and len(words) <= 1 and set(words) <= set(VERBS) and not os.path.exists("help")):
        return [*words, "--help"]
    return arguments


def _end_pipe(streams: tuple[Any, Any]) -> int:
    """The reader of a pipe has seen enough (`| head`): that is no error, and no answer of ours."""
    sys.stdout, sys.stderr = streams
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(Exit.OK)


def _end(error: BaseException, verb: str | None, as_json: bool) -> int:
    if isinstance(error, SystemExit):
        return int(error.code) if isinstance(error.code, int) else int(Exit.BUG)
    if isinstance(error, click.Abort):
        told = error.__cause__  # click's word for Ctrl-C; what the verb said about it is its cause
        error = told if isinstance(told, KeyboardInterrupt) else KeyboardInterrupt()
    if os.environ.get("MONOLIP_TRACEBACK"):
        traceback.print_exception(error)
    code, line = explain_error(error, verb)
    if as_json:
        _say(json.dumps({"error": line, "exit_code": int(code)}))
    else:
        _say(f"monolip{'' if verb is None else ' ' + verb}: {line}")
    return int(code)


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # a closed stderr must not hide the exit code
        print(text, file=sys.stderr, flush=True)
