"""A group of commands with a first word that may be left out: `ipulse profile JOB`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

DEFAULT = "show"


class GroupWithDefault(TyperGroup):
    """A group that runs `show` if the first word is not the name of a command."""

    default_command = DEFAULT

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Insert the default command where no other is named."""
        if args and args[0] not in self.commands and args[0] not in context.help_option_names:
            args = [DEFAULT, *args]
        return super().parse_args(context, args)
