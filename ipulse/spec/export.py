"""Additional exports of the trained network, for other simulators."""

from collections.abc import Iterator
from typing import Literal

from ipulse.models import Field, ListOf, StrictModel
from ipulse_core.errors import Problem


class NirExportSpec(StrictModel):
    """One NIR file, written as its reader needs it."""

    target: Literal["generic", "norse", "snntorch", "spikingjelly", "sinabs", "rockpool"] = Field(
        description="The simulator that will read network.TARGET.nir. generic: any that solves "
        "NIR's equations exactly.",
    )
    on_loss: Literal["refuse", "warn"] = Field(
        default="refuse",
        description="What happens if the target cannot express the network. refuse: the spec is "
        "invalid; warn: the file is written without it, and log, report and manifest say so.",
    )


class ExportSpec(StrictModel):
    """Files that are written besides the usual ones."""

    nir: ListOf[NirExportSpec] = Field(
        default=(), max_length=6, description="NIR files for other simulators."
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem for every target that is named twice."""
        targets = [export.target for export in self.nir]
        for index, target in enumerate(targets):
            if target in targets[:index]:
                yield Problem(
                    f"/nir/{index}/target", "inconsistent", f"{target} is in the list already"
                )
