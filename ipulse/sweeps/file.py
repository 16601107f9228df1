"""Sweeps from files and from the options of a command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ipulse.spec.document.file import SpecFile, parse_spec_file, read_spec_file
from ipulse.spec.document.settings import placed_at, with_settings
from ipulse.spec.paths import find_path, pointer
from ipulse_core.errors import InvalidInput, InvalidSpec, Problem

from .config import InvalidSweep, SweepConfig, parse_sweep
from .parameters import KINDS
from .space import replica_seeds

_DRAWN = re.compile(rf"({'|'.join(KINDS[1:])}):(.*)", re.DOTALL)


def read_sweep(
    path: Path, settings: Sequence[str], vary: Sequence[str], seeds: int | None, **fields: Any
) -> SweepConfig:
    """Return the sweep of a file and of options.

    The file is a sweep, or a spec that `vary` makes one. A sweep may name its spec as `file`,
    relative to itself. `fields` replace those of the sweep unless they are None. Raises
    InvalidSweep and InvalidSpec with the places of problems, and InvalidInput for a file that
    cannot be read.
    """
    file = read_spec_file(path)
    document = dict(file.value) if isinstance(file.value, dict) else {}
    is_sweep = "parameters" in document or "sweep" in document
    spec_file = file
    if is_sweep:
        if "file" in document:
            spec_file = read_spec_file(path.parent / str(document.pop("file")))
        else:
            spec_file = SpecFile(file.name, document.get("spec"), None)
    else:
        document = {}
    spec = with_settings(spec_file, settings).value if settings else spec_file.value
    if not isinstance(spec, dict):
        spec_file.spec()  # raises its problems with their lines
        spec = {}
    document["spec"] = spec
    document.setdefault("sweep", spec.get("name") or path.stem)
    parameters = dict(document.get("parameters") or {})
    for text in vary:
        name, parameter = varied(spec, text)
        parameters[name] = parameter
    document["parameters"] = parameters
    if seeds is not None:
        document["seeds"] = [*replica_seeds(spec, seeds)]
    for name, value in fields.items():
        if value is not None:
            document[name] = _merged(document.get(name), value)
    try:
        return parse_sweep(document)
    except InvalidSweep as error:
        if not is_sweep:
            raise
        raise InvalidSweep([file.placed(problem) for problem in error.problems]) from None


def _merged(former: Any, value: Any) -> Any:
    return {**former, **value} if isinstance(former, dict) and isinstance(value, dict) else value


def varied(spec: dict[str, Any], text: str) -> tuple[str, dict[str, Any]]:
    """Return the pointer and the parameter of `PATH=V1,V2` or `PATH=log_uniform:LOW,HIGH`."""
    place = f"--vary {text[:80]}"
    path, equals, values = text.partition("=")
    try:
        tokens = find_path(spec, path if equals else "")
        drawn = _DRAWN.fullmatch(values)
        listed = parse_spec_file(
            f"[{drawn[2] if drawn else values}]".encode("utf-8", "surrogateescape"), place
        ).value
    except InvalidSpec as error:
        raise placed_at(place, error) from None
    if not listed:
        detail = "must look like learning_rate=0.01,0.003 or learning_rate=log_uniform:1e-4,0.1"
        raise InvalidInput([Problem("/vary", "wrong_form", f"{detail}; got {text[:80]!r}")])
    return pointer(tokens), {drawn[1]: listed} if drawn else {"values": listed}
