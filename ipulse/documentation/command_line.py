"""Generates docs/reference/cli.md from the command line."""

from __future__ import annotations

from typing import Any

from ipulse.cli.app import whole_command
from ipulse.cli.command_list import COMMANDS, GROUPS
from ipulse.cli.exits import MEANINGS

_HEAD = """\
# The command line

Written by `make docs` from `ipulse/cli`; to change this page, change the commands there.

Commands find the service by `--url`, then `IPULSE_URL`, then the home of `ipulse up`. They find
the token by `--token-file`, then `IPULSE_TOKEN` or `IPULSE_TOKEN_FILE`, then that home.
Results go to standard output, remarks to standard error. With `--json`, standard output contains
only JSON: one value, or one value a line for commands that follow a job. An error is an object
with the field `error`.
"""


def command_line_page() -> str:
    """Return the page as Markdown."""
    group: Any = whole_command()
    parent = group.make_context("ipulse", [], resilient_parsing=True)
    rows = ["| command | what it does |", "| --- | --- |"]
    sections = []
    for name in COMMANDS:
        command = group.commands[name]
        rows.append(_row(command, name))
        sections.append(_section(command, name, parent))
    for below, commands in GROUPS.items():
        context = group.commands[below].make_context(below, [], parent, resilient_parsing=True)
        for name in commands:
            command = group.commands[below].commands[name]
            rows.append(_row(command, f"{below} {name}"))
            sections.append(_section(command, name, context, f"{below} {name}"))
    return "\n".join([_HEAD, *rows, "", *_exit_codes(), "", "\n".join(sections)])


def _row(command: Any, name: str) -> str:
    place = f"ipulse-{name}".replace(" ", "-")
    return f"| [`ipulse {name}`](#{place}) | {command.get_short_help_str(200)} |"


def _exit_codes() -> list[str]:
    rows = [f"| {code.value} | {meaning} |" for code, meaning in MEANINGS.items()]
    return ["## Exit codes", "", "| code | meaning |", "| --- | --- |", *rows]


def _section(command: Any, name: str, parent: Any, shown: str = "") -> str:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    # Help is laid out for a page of fixed width, so that the terminal does not change it.
    context.terminal_width = context.max_content_width = 88
    formatter = context.make_formatter()
    command.format_help(context, formatter)
    return f"## ipulse {shown or name}\n\n```text\n{formatter.getvalue().rstrip()}\n```\n"
