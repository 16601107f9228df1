"""Answers a shell's question from the index of commands, without loading the application."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from . import VARIABLE
from .completion_index import read_index
from .setting_names import offered_settings

_TAB = "\t"
_TERMS = ("term", "column")  # words that go on after what is offered
_BREAKS = ":=@"  # bash breaks words there
_SPECIAL = re.compile(r"[^\w./:=@%+,-]")  # a shell may evaluate these characters
# Characters that a shell does not take literally between these quotation marks.
_IN_QUOTES = {"'": frozenset("'"), '"': frozenset('"$`\\!')}


class Offer(NamedTuple):
    """A word that a shell may put at the cursor."""

    word: str
    help: str = ""
    is_term: bool = False  # of a query: it may have signs that a shell would evaluate


class Typed(NamedTuple):
    """A command line up to the cursor."""

    words: list[str]  # before the one at the cursor
    begun: str  # the begin of that one
    kept: str = ""  # the begin of `begun` that the shell does not replace
    quote: str = ""  # the mark that begins the word and is still open


class _Unclear(Exception):
    """Only the whole application can answer."""


def answer(environment: Mapping[str, str] = os.environ) -> int | None:
    """Print the answer to a shell and return the exit code; None if that takes the application."""
    shell = environment.get(VARIABLE, "").removeprefix("complete_")
    index = read_index() if shell in ("bash", "zsh", "fish") else None
    if index is None:
        return None
    try:
        typed = _typed(shell, environment)
        offers = offered(index, typed.words, typed.begun)
    except _Unclear:
        return None
    if shell == "fish" and environment.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return 0 if offers else 1
    sys.stdout.write(written(shell, offers, typed) + "\n")
    return 0


def _typed(shell: str, environment: Mapping[str, str]) -> Typed:
    """Return the words before the cursor, and the begin of the one that is typed."""
    try:
        if shell == "bash":
            return _typed_in_bash(environment["COMP_WORDS"], int(environment["COMP_CWORD"]))
        line = environment["_TYPER_COMPLETE_ARGS"]
        words, quote = _unquoted(line)
    except (KeyError, ValueError):
        raise _Unclear from None
    words = words[1:]
    if not words or (line.endswith(" ") and not quote):
        return Typed(words, "")
    return Typed(words[:-1], words[-1], quote=quote)


def _typed_in_bash(text: str, at: int) -> Typed:
    """Return what is typed in bash, which breaks words also at colons and the like."""
    parts = text.split("\n") if "\n" in text else shlex.split(text)
    words: list[str] = []
    kept, is_joined = "", False
    for number, part in enumerate(parts[: at + 1]):
        is_break = part != "" and not part.strip(_BREAKS)
        if part and number > 1 and (is_joined or is_break):
            kept = words[-1] + (part if is_break else "")
            words[-1] += part
        else:
            kept = ""
            words.append(part)
        is_joined = is_break
    if at >= len(parts):
        words.append("")
        kept = ""
    whole = [_unquoted(word) for word in words[1:]]
    if any(len(found) > 1 for found, _ in whole) or any(quote for _, quote in whole[:-1]):
        raise ValueError(text)
    plain = [found[0] if found else "" for found, _ in whole]
    begin, _ = _unquoted(kept)
    return Typed(plain[:-1], plain[-1], begin[0] if begin else "", whole[-1][1])


def _unquoted(line: str) -> tuple[list[str], str]:
    """Return the words of a line and the quotation mark that is still open, if there is one."""
    for quote in ("", "'", '"'):
        try:
            return shlex.split(line + quote), quote
        except ValueError:
            continue
    raise ValueError(line)


def offered(index: dict[str, Any], words: list[str], begun: str) -> list[Offer]:
    """Return what may follow the words and begins so. Raises _Unclear."""
    command, place, waiting = index, 0, None
    given: dict[str, str] = {}
    for word in words:
        if waiting is not None:
            given[waiting["id"]], waiting = word, None
        elif word.startswith("-"):
            word, equals, value = word.partition("=")
            option = command["options"].get(word)
            if option is None or option["nargs"] != 1:
                raise _Unclear
            given[option["id"]] = value
            waiting = None if option["is_flag"] or equals else option
        elif command["commands"]:
            command, place = _child(command, word)
            given = {}
        else:
            place += 1
    if waiting is not None and waiting["offers"] in _TERMS:
        return _values(index, waiting, begun, given)
    argument = _argument(command, place)
    if argument is not None and argument["offers"] == "term" and not begun.startswith("-"):
        return _values(index, argument, begun, given)
    if waiting is None and begun.startswith("--") and "=" in begun:
        name, _, value = begun.partition("=")
        option = command["options"].get(name)
        if option is None or option["is_flag"]:
            return []
        found = _values(index, option, value, given)
        return [Offer(f"{name}={offer.word}", offer.help, is_term=True) for offer in found]
    if "=" in begun or (waiting is not None and begun.startswith("-")):
        raise _Unclear
    if waiting is not None:
        return _values(index, waiting, begun, given)
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
    if argument is not None:
        return _values(index, argument, begun, given)
    if begun and not begun[0].isalnum():
        raise _Unclear
    return []


def _argument(command: dict[str, Any], place: int) -> dict[str, Any] | None:
    """Return the argument of a command at a place, None if it takes no more."""
    for argument in command["arguments"]:
        if argument["nargs"] == -1 or place < argument["nargs"]:
            found: dict[str, Any] = argument
            return found
        place -= argument["nargs"]
    return None


def _child(command: dict[str, Any], word: str) -> tuple[dict[str, Any], int]:
    """Return the command that a word of a group names, and how many arguments it is of that."""
    if word in command["commands"]:
        return command["commands"][word], 0
    if command["default"]:
        return command["commands"][command["default"]], 1
    raise _Unclear


def _values(
    index: dict[str, Any], parameter: dict[str, Any], begun: str, given: Mapping[str, str]
) -> list[Offer]:
    kind = parameter["offers"]
    if kind == "setting":
        return [Offer(text) for text in offered_settings(index["settings"], begun)]
    if kind:
        from .service_offers import OFFERS  # it takes longer to import than the rest

        found = OFFERS[kind](given, begun)
        return [Offer(word, text, is_term=kind in _TERMS) for word, text in found]
    if parameter["is_file"]:
        return [Offer(begun)]
    return [Offer(choice) for choice in parameter["choices"] if choice.startswith(begun)]


def written(shell: str, offers: list[Offer], typed: Typed) -> str:
    """Return the offers as the script of a shell expects them."""
    if shell == "bash":
        return "\n".join(_in_bash(offers, typed))
    if shell == "fish":  # it quotes what it inserts
        lines = [
            word + (_TAB + re.sub(r"\s", " ", text) if text else "") for word, text, _ in offers
        ]
        return "\n".join(lines)
    if not offers:
        return "_files"
    if offers[0].is_term:
        # The script evaluates this after it has joined words by single spaces.
        terms = [shlex.quote(offer.word) for offer in offers if "  " not in offer.word]
        return " ".join(["compadd -U -S '' --", *terms])
    quoted = (
        f'"{_escaped(word)}":"{_escaped(text)}"' if text else f'"{_escaped(word)}"'
        for word, text, _ in offers
    )
    return "_arguments '*: :((" + "\n".join(quoted) + "))'"


def _in_bash(offers: list[Offer], typed: Typed) -> Iterator[str]:
    """Yield what takes the place of the text that bash replaces."""
    for offer in offers:
        if not offer.is_term:
            yield offer.word
        elif offer.word.startswith(typed.kept):
            rest = offer.word[len(typed.kept) :]
            if not typed.quote:
                yield _SPECIAL.sub(r"\\\g<0>", rest)
            elif not _IN_QUOTES[typed.quote] & set(rest):
                yield rest


def _escaped(text: str) -> str:
    for character, escape in (('"', '""'), ("'", "''"), ("$", r"\$"), ("`", r"\`"), (":", r"\\:")):
        text = text.replace(character, escape)
    return text
