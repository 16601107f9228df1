"""The spec of a job of any kind: a training, or a Poplar program."""

from typing import Annotated, Any

from ipulse.models import ByKind, validate
from ipulse_core.errors import InvalidSpec

from .experiment import ExperimentSpec
from .program import PoplarProgramSpec

AnySpec = ExperimentSpec | PoplarProgramSpec
JobSpec = Annotated[AnySpec, ByKind(default="training", is_named=False)]


def parse_job_spec(value: Any) -> AnySpec:
    """Returns the spec in parsed JSON or YAML, of the class that its `kind` names.

    Raises:
        InvalidSpec: With every problem and the JSON pointer of each.
    """
    union: Any = JobSpec
    found: AnySpec = validate(union, value, InvalidSpec)
    return found
