"""A job to submit together with others."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

from ipulse.client.loaded import is_instance
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.limits import MAX_KEPT_TEXT_BYTES

if TYPE_CHECKING:
    from ipulse.spec import CodeSpec, ExperimentSpec
    from ipulse.spec.document.file import SpecFile

Spec: TypeAlias = "ExperimentSpec | CodeSpec | Mapping[str, Any] | str | os.PathLike[str]"

# The place of a problem in a request with several jobs.
_PLACE = re.compile(r"/jobs/([0-9]+)(/spec(?=/|$))?(.*)", re.DOTALL)


@dataclass(frozen=True)
class SpecSource:
    """The text of a spec as its author wrote it, which the service stores with the job."""

    text: str
    form: Literal["yaml", "json"] = "yaml"

    @classmethod
    def of_file(cls, file: SpecFile) -> SpecSource | None:
        """Return the text of a file, or None if it is too long to be stored."""
        is_kept = 0 < len(file.text.encode()) <= MAX_KEPT_TEXT_BYTES
        return cls(file.text, file.form) if is_kept else None


@dataclass(frozen=True)
class JobRequest:
    """A job to submit: a spec, a dict or the path of a file, and the arguments of Client.submit.

    Attributes:
        spec: The spec.
        source: The text that the spec was read from; of a path that of its file.
        after: As in Client.submit; `/jobs/0` is the first job of the same call.
    """

    spec: Spec
    priority: int | None = None
    queue_seconds: int | None = None
    run_seconds: int | None = None
    total_seconds: int | None = None
    tags: Sequence[str] = ()
    group: str | None = None
    notes: str = ""
    after: Sequence[str] = ()
    start_from: str | None = None
    start_mode: Literal["continue", "weights"] | None = None
    source: SpecSource | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON. Raises InvalidSpec, and InvalidInput for an unreadable file.

        A wrong file is reported with its lines. Values that JSON cannot express are as they were.
        """
        if is_path(self.spec):
            from ipulse.spec.document.file import read_spec_file

            file = read_spec_file(Path(self.spec))
            source = self.source or SpecSource.of_file(file)
            return replace(self, spec=_checked(file), source=source).to_json()
        value: dict[str, Any] = {"spec": _given(self.spec)}
        if self.source is not None:
            value["submitted"] = {"form": self.source.form, "text": self.source.text}
        for name in (one.name for one in fields(self)[1:-1]):
            given = getattr(self, name)
            if given not in (None, "", (), []):
                value[name] = list(given) if name in ("tags", "after") else given
        return value


def is_path(spec: Spec) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether a spec is the path of a file."""
    return isinstance(spec, (str, os.PathLike))


def document(spec: Spec) -> bytes:
    """Return the JSON text of a spec as it was given: the service fills in its own defaults.

    Raises InvalidSpec for values that JSON cannot express.
    """
    try:
        return strict_json.dumps(_given(spec)).encode()
    except (TypeError, ValueError):
        return strict_json.dumps(_as_json(spec)).encode()


def document_of_all(jobs: Sequence[JobRequest]) -> bytes:
    """Return the JSON text of several requests. Raises what `JobRequest.to_json` raises."""
    try:
        return strict_json.dumps({"jobs": [job.to_json() for job in jobs]}).encode()
    except (TypeError, ValueError):
        read = [job if is_path(job.spec) else replace(job, spec=_as_json(job.spec)) for job in jobs]
        return strict_json.dumps({"jobs": [job.to_json() for job in read]}).encode()


def _given(spec: Spec) -> Any:
    """Return a spec as it was given, for JSON."""
    if _is_model(spec):
        from ipulse.models.partial_json import given_json

        return given_json(spec)
    if is_path(spec):
        from ipulse.spec.document.file import read_spec_file

        return _checked(read_spec_file(Path(spec)))
    return spec


def _is_model(spec: Spec) -> TypeGuard[ExperimentSpec | CodeSpec]:
    return is_instance(spec, "ipulse.spec", "ExperimentSpec", "CodeSpec")


def _as_json(spec: Spec) -> dict[str, Any]:
    """Return a spec of which a value may not be JSON, such as NaN or an array.

    Raises InvalidSpec with the place of that value.
    """
    from ipulse.models.partial_json import given_json
    from ipulse.spec import parse_job_spec

    return given_json(parse_job_spec(_given(spec)))


def _checked(file: SpecFile) -> dict[str, Any]:
    """Return the value of a file. Raises InvalidSpec with its lines."""
    file.job_spec()
    value: dict[str, Any] = file.value
    return value


def each_placed(error: InvalidInput, place: Callable[[int, Problem], Problem]) -> InvalidInput:
    """Return the error of a request with several jobs, with other places of its problems.

    Args:
        error: The error.
        place: returns a problem with its place, from the number of its job and the problem with the
            pointer into that job's spec.
    """
    problems: list[Problem] = []
    for problem in error.problems:
        found = _PLACE.fullmatch(problem.pointer)
        if found is not None:
            number, in_spec, pointer = found.groups()
            problem = Problem(pointer, problem.code, problem.detail)
            if in_spec or not pointer:  # else it is about an option of the job
                problem = place(int(number), problem)
        if problem not in problems:  # an option is that of every job
            problems.append(problem)
    return type(error)(problems, error.message)
