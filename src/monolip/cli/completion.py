"""monolip completion: the script that teaches a shell the verbs and options."""

from __future__ import annotations

import os
from pathlib import Path

import click

from monolip.cli._exits import Exit

__all__ = ["command"]

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", required=False, type=click.Choice(_SHELLS))
def command(shell: str | None) -> int:
    """Print the completion script of a shell (found from $SHELL by default).

    \b
      bash:  monolip completion bash > ~/.local/share/bash-completion/completions/monolip
      zsh:   monolip completion zsh > ~/.zfunc/_monolip          (with fpath+=~/.zfunc before compinit)
      fish:  monolip completion fish > ~/.config/fish/completions/monolip.fish
    """
    from click.shell_completion import get_completion_class

    from monolip.cli._app import program

    name = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(name) if name in _SHELLS else None
    if kind is None:
        raise click.UsageError(f"completion is for {', '.join(_SHELLS)}; got {name or 'no shell'}; name one")
    click.echo(kind(program, {}, "monolip", "_MONOLIP_COMPLETE").source())
    return Exit.OK
