"""Settings of single fields, such as `epochs=5`, that replace values of a spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ipulse.spec import ExperimentSpec
from ipulse.spec.document.file import PlacedProblem, SpecFile, parse_spec_file, read_spec_file
from ipulse.spec.paths import exists, find_path, pointer, with_near_names, with_value
from ipulse_core.errors import InvalidSpec


def read_spec(path: Path, settings: Sequence[str] | None = None) -> ExperimentSpec:
    """Return the spec in a file, with the fields that settings replace. Raises InvalidSpec."""
    return spec_of(read_spec_file(path), settings)


def spec_of(original: SpecFile, settings: Sequence[str] | None = None) -> ExperimentSpec:
    """Return the spec of a file, with the fields that settings replace. Raises InvalidSpec."""
    if not settings:
        return original.spec()
    changed = with_settings(original, settings)
    try:
        return changed.spec()
    except InvalidSpec as error:
        raise InvalidSpec(
            [
                with_near_names(original.value, problem)
                if isinstance(problem, PlacedProblem) and problem.file != changed.name
                else problem  # of the file, not of a setting
                for problem in error.problems
            ]
        ) from None


def with_settings(file: SpecFile, settings: Sequence[str]) -> SpecFile:
    """Return the file with the fields that the settings name; the last of equal names counts.

    A setting is a path (see ipulse.spec.paths), an equals sign and a YAML value. Objects on the
    way are created. Raises InvalidSpec.
    """
    value, origins = file.value, dict(file.origins)
    for setting in settings:
        place = f"--set {setting[:80]}"
        path, equals, text = setting.partition("=")
        try:
            if not equals:
                path = ""
            # The file's own problems are more helpful if the file is no object at all.
            if not isinstance(value, dict):
                find_path({}, path)
                return file
            tokens = find_path(value, path)
            new = _yaml(text, place)
            ends = [tokens[:end] for end in range(1, len(tokens) + 1)]
            created = next(at for at in ends if at == tokens or not exists(value, at))
            value = with_value(value, tokens, new)
        except InvalidSpec as error:
            raise placed_at(place, error) from None
        origins |= {pointer(created): place, pointer(tokens): place}
    lines = "".join(f"# --set {setting}\n" for setting in map(_one_line, settings))
    return replace(file, value=value, origins=origins, text=lines + file.text, form="yaml")


def _one_line(text: str) -> str:
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())


def placed_at(place: str, error: InvalidSpec) -> InvalidSpec:
    """Return an error with the option of a command as the place of problems without one."""
    return InvalidSpec(
        [
            problem
            if isinstance(problem, PlacedProblem)
            else PlacedProblem(problem.pointer, problem.code, problem.detail, place)
            for problem in error.problems
        ]
    )


def _yaml(text: str, place: str) -> Any:
    if not text.strip():
        return None
    return parse_spec_file(text.encode("utf-8", "surrogateescape"), place).value
