"""completion: the script that lets a shell complete commands, job ids and queries."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from ipulse.cli import VARIABLE
from ipulse.cli.called import PROGRAM
from ipulse.cli.exits import Exit
from ipulse.cli.terminal import show


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.", show_default=False)
    ],
) -> Exit:
    """Print a script that completes commands, options, job ids and queries in a shell.

    Load it where the shell starts: `source <(ipulse completion bash)` in ~/.bashrc, the same with
    zsh in ~/.zshrc after compinit, or for fish a file in ~/.config/fish/completions.
    Commands and options are completed from an index, which the first answer of a version writes.
    """
    script = get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell)
    show(script.strip())
    return Exit.OK
