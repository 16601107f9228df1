"""Conditions that the profile of a job must meet."""

from collections.abc import Iterator

from ipulse.models import Field, ListOf, StrictModel, Text
from ipulse_core.errors import Problem
from ipulse_core.pva.conditions import parse_condition
from ipulse_core.pva.figures import FIGURES

from .device import CPUDevice, EmulatorDevice, IPUDevice

_REPORTS = ("autoReport.all", "autoReport.outputExecutionProfile")


class ProfileSpec(StrictModel):
    """The requirements of the profile of the Poplar program."""

    gates: ListOf[Text] = Field(
        default=(),
        max_length=16,
        description="Conditions on the profile of the tiles, such as cycles<=5e6 or "
        "max_tile_memory<600KiB. If one does not hold, the job fails with the reason gate_failed "
        "after its results are stored. On emulator and ipu only. Figures: "
        f"{', '.join(FIGURES)}.",
        examples=[["cycles<=5e6", "max_tile_memory<600KiB"]],
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem for every gate that is not a condition."""
        for index, gate in enumerate(self.gates):
            try:
                parse_condition(gate)
            except ValueError as error:
                yield Problem(f"/gates/{index}", "invalid_condition", str(error))

    def problems_on(self, device: CPUDevice | EmulatorDevice | IPUDevice) -> Iterator[Problem]:
        """Yields a missing report of the IPUs that the gates are compared with."""
        if not self.gates or not isinstance(device, IPUDevice):
            return
        if not any(device.engine_options.get(name) == "true" for name in _REPORTS):
            detail = (
                f'an IPU has a profile only with device.engine_options {{"{_REPORTS[0]}": "true"}}'
            )
            yield Problem("/gates", "inconsistent", detail)
