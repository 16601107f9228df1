"""Types of fields that several parts of a spec have."""

from typing import Annotated

from ipulse.models import Field, unit
from ipulse_core.limits import MAX_STEPS

Classes = Annotated[int, Field(ge=2, le=1000)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Steps = Annotated[int, Field(ge=1, le=MAX_STEPS)]
StepMs = Annotated[
    float,
    Field(gt=0.0, le=1000.0, description="Width of one time step.", json_schema_extra=unit("ms")),
]
TestFraction = Annotated[float, Field(ge=0.05, le=0.5)]
ValidationFraction = Annotated[
    float,
    Field(
        ge=0.0,
        le=0.5,
        description="Fraction of the training samples to choose with: they are not trained on, but "
        "measured after every epoch as validation_accuracy and validation_loss. Classes are "
        "represented in proportion. 0: none.",
    ),
]
