"""Settings of single fields, such as `epochs=5`, that replace values of a spec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ipulse.spec import ExperimentSpec
from ipulse.spec.document.file import PlacedProblem, SpecFile, parse_spec_file, read_spec_file
from ipulse.spec.paths import exists, find_path, near_names, pointer, with_value
from ipulse_core.errors import InvalidSpec, Problem


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
        problems = [_with_near_name(changed, original, problem) for problem in error.problems]
        raise InvalidSpec(problems) from None


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
            raise InvalidSpec([_placed(problem, place) for problem in error.problems]) from None
        origins |= {pointer(created): place, pointer(tokens): place}
    return SpecFile(file.name, value, file.root, origins)


def _placed(problem: Problem, place: str) -> Problem:
    if isinstance(problem, PlacedProblem):
        return problem
    return PlacedProblem(problem.pointer, problem.code, problem.detail, place)


def _with_near_name(file: SpecFile, original: SpecFile, problem: Problem) -> Problem:
    """Return the problem with the paths of fields elsewhere that a wrong setting may mean."""
    if not isinstance(problem, PlacedProblem) or problem.file == file.name:
        return problem
    if problem.code != "unknown_field" or "did you mean" in problem.detail:
        return problem
    near = near_names(original.value, problem.pointer.rpartition("/")[2])
    # A path that is the same is of another kind of layer or data: its fields are listed.
    if not near or problem.pointer in near:
        return problem
    detail = f"there is no such field; did you mean {' or '.join(near)}?"
    return PlacedProblem(problem.pointer, problem.code, detail, problem.file)


def _yaml(text: str, place: str) -> Any:
    if not text.strip():
        return None
    return parse_spec_file(text.encode("utf-8", "surrogateescape"), place).value
