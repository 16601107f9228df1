"""Answers a shell's question from the index of commands, without loading the application."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import VARIABLE
from .completion_index import read_index

_TAB = "\t"


class Offer(NamedTuple):
    """A word that a shell may put at the cursor."""

    word: str
    help: str = ""


class _Unclear(Exception):
    """Only the whole application can answer."""


def answer(environment: Mapping[str, str] = os.environ) -> int | None:
    """Print the answer to a shell and return the exit code; None if that takes the application."""
    shell = environment.get(VARIABLE, "").removeprefix("complete_")
    index = read_index() if shell in ("bash", "zsh", "fish") else None
    if index is None:
        return None
    try:
        offers = offered(index, *_words(shell, environment))
    except _Unclear:
        return None
    if shell == "fish" and environment.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return 0 if offers else 1
    sys.stdout.write(written(shell, offers) + "\n")
    return 0


def _words(shell: str, environment: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the words before the cursor, and the begin of the one that is typed."""
    try:
        if shell == "bash":
            words = shlex.split(environment["COMP_WORDS"])
            at = int(environment["COMP_CWORD"])
            return words[1:at], words[at] if at < len(words) else ""
        line = environment["_TYPER_COMPLETE_ARGS"]
        words = shlex.split(line)[1:]
    except (KeyError, ValueError):  # such as a quote that is still open
        raise _Unclear from None
    return (words, "") if not words or line.endswith(" ") else (words[:-1], words[-1])


def offered(index: dict[str, Any], words: list[str], begun: str) -> list[Offer]:
    """Return what may follow the words and begins so. Raises _Unclear."""
    command, place, waiting = index, 0, None
    given: dict[str, str] = {}
    for word in words:
        if waiting is not None:
            given[waiting["id"]], waiting = word, None
        elif word.startswith("-"):
            option = command["options"].get(word)
            if option is None or option["nargs"] != 1:
                raise _Unclear
            given[option["id"]] = ""
            waiting = None if option["is_flag"] else option
        elif command["commands"]:
            command, place = _child(command, word)
            given = {}
        else:
            place += 1
    if "=" in begun or (waiting is not None and begun.startswith("-")):
        raise _Unclear
    if waiting is not None:
        return _values(waiting, begun, given)
    if begun.startswith("-"):
        return [
            Offer(name, option["help"])
            for name, option in command["options"].items()
            if name.startswith(begun)
            and not option["is_hidden"]
            and (option["is_repeated"] or option["id"] not in given)
        ]
    if command["commands"]:
        return [
            Offer(name, child["help"])
            for name, child in command["commands"].items()
            if name.startswith(begun) and not child["is_hidden"]
        ]
    for argument in command["arguments"]:
        if argument["nargs"] == -1 or place < argument["nargs"]:
            return _values(argument, begun, given)
        place -= argument["nargs"]
    if begun and not begun[0].isalnum():
        raise _Unclear
    return []


def _child(command: dict[str, Any], word: str) -> tuple[dict[str, Any], int]:
    """Return the command that a word of a group names, and how many arguments it is of that."""
    if word in command["commands"]:
        return command["commands"][word], 0
    if command["default"]:
        return command["commands"][command["default"]], 1
    raise _Unclear


def _values(parameter: dict[str, Any], begun: str, given: Mapping[str, str]) -> list[Offer]:
    if parameter["is_job"]:
        from .newest_jobs import offered_jobs  # it takes longer to import than the rest

        return [Offer(*job) for job in offered_jobs(given, begun)]
    if parameter["is_file"]:
        return [Offer(begun)]
    return [Offer(choice) for choice in parameter["choices"] if choice.startswith(begun)]


def written(shell: str, offers: list[Offer]) -> str:
    """Return the offers as the script of a shell expects them."""
    if shell == "bash":
        return "\n".join(offer.word for offer in offers)
    if shell == "fish":
        lines = [word + (_TAB + re.sub(r"\s", " ", text) if text else "") for word, text in offers]
        return "\n".join(lines)
    if not offers:
        return "_files"
    quoted = (
        f'"{_escaped(word)}":"{_escaped(text)}"' if text else f'"{_escaped(word)}"'
        for word, text in offers
    )
    return "_arguments '*: :((" + "\n".join(quoted) + "))'"


def _escaped(text: str) -> str:
    for character, escape in (('"', '""'), ("'", "''"), ("$", r"\$"), ("`", r"\`"), (":", r"\\:")):
        text = text.replace(character, escape)
    return text
