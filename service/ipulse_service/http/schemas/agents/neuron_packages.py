"""The packages of neurons of an agent, as it sends them and as the API returns them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ipulse.models import Field, ListOf, StrictModel, Text
from ipulse_core.errors import Problem
from ipulse_core.spec.neuron_packages import (
    MAX_PARAMETERS,
    PACKAGE,
    PARAMETER_NAME,
    PackageDescription,
)
from ipulse_service.http.schemas.base import example

PACKAGE_EXAMPLE = {
    "package": f"coupled_dendrites@sha256:{'0f' * 32}",
    "version": "coupled-dendrites 1.0",
    "parameters": [
        {
            "name": "decay",
            "default": 0.7,
            "minimum": 0.0,
            "maximum": 0.95,
            "per_neuron": True,
            "trainable": True,
        }
    ],
}


class PackageParameterInfo(StrictModel):
    """A parameter of a package of neurons."""

    name: Annotated[Text, Field(pattern=PARAMETER_NAME)] = Field(description="Name.")
    default: float = Field(description="Value where a spec gives none.")
    minimum: float = Field(description="Lowest value.")
    maximum: float = Field(description="Highest value.")
    per_neuron: bool = Field(description="Whether neurons may have different values.")
    trainable: bool = Field(description="Whether a spec may have it trained.")


class NeuronPackageInfo(StrictModel):
    """A package of neurons on an agent's machine, which its administrator signed off."""

    model_config = example(**PACKAGE_EXAMPLE)

    package: Annotated[Text, Field(pattern=PACKAGE)] = Field(
        description="Its name and the digest of its installed files."
    )
    version: Annotated[Text, Field(max_length=200)] = Field(
        description="Name and version of the distribution."
    )
    parameters: Annotated[ListOf[PackageParameterInfo], Field(max_length=MAX_PARAMETERS)] = Field(
        description="Its parameters."
    )

    def description(self) -> PackageDescription:
        """Returns the description of the package."""
        return PackageDescription.from_json(self.model_dump())

    def problems(self) -> Iterator[Problem]:
        """Yields parameters whose bounds do not contain their default."""
        try:
            self.description()
        except ValueError as error:
            yield Problem("/parameters", "inconsistent", str(error))
