"""The spec of a job of any kind: a training, a Poplar program, or a script."""

from typing import Annotated, Any

from pydantic import BaseModel

from ipulse.models import ByKind, adapter_of, validate
from ipulse_core.errors import InvalidSpec
from ipulse_core.registry.versions import raise_to_2
from ipulse_core.spec.upgrade import chosen

from .experiment import ExperimentSpec
from .program import PoplarProgramSpec
from .script import ScriptSpec

AnySpec = ExperimentSpec | PoplarProgramSpec | ScriptSpec
# The order in which people write the parts of a spec; others follow.
_WRITTEN_FIRST = ("version", "kind", "name", "seed", "data", "network", "training", "device")


def _version_2() -> type[BaseModel]:
    from .version_2 import experiment

    return experiment()


JobSpec = Annotated[AnySpec, ByKind(default="training", is_named=False, read_also=_version_2)]


def parse_job_spec(value: Any) -> AnySpec:
    """Returns the spec in parsed JSON or YAML, of the class that its `kind` names.

    Raises:
        InvalidSpec: With every problem and the JSON pointer of each.
    """
    union: Any = JobSpec
    found: AnySpec = validate(union, value, InvalidSpec)
    return found


def brief_json(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a resolved spec as people write it: in the newest version, without its defaults."""
    found: dict[str, Any] = _tags_first(raise_to_2(chosen(document)))
    if found["kind"] == "training":
        del found["kind"]
    names = (*_WRITTEN_FIRST, *(name for name in found if name not in _WRITTEN_FIRST))
    return {name: found[name] for name in names if name in found}


def _tags_first(value: Any) -> Any:
    """Returns a value with the kind of each object before its other fields."""
    if isinstance(value, list):
        return [_tags_first(each) for each in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value, key=lambda name: name != "kind")
    return {name: _tags_first(value[name]) for name in names}


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema of what may be submitted: both versions, programs and scripts."""
    schema: dict[str, Any] = adapter_of(JobSpec).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
