"""Conditions that the profile of a job must meet."""

from collections.abc import Iterator

from ipulse.models import Field, ListOf, StrictModel, Text
from ipulse_core.errors import Problem
from ipulse_core.pva.conditions import parse_condition
from ipulse_core.pva.figures import FIGURES

from .device import CPUDevice, EmulatorDevice, IPUDevice

_RUNS = ("ALWAYS", "ON_DEMAND")  # connection types with which a program runs
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
        """Yields why the gates cannot be checked on the device."""
        if not self.gates:
            return
        if isinstance(device, CPUDevice):
            detail = "cpu has no profile of tiles to compare with: use device.kind emulator or ipu"
            yield Problem("/gates", "unsupported", detail)
        elif device.connection_type not in _RUNS:
            detail = (
                f"nothing runs with device.connection_type {device.connection_type}: use "
                f"{' or '.join(_RUNS)}"
            )
            yield Problem("/gates", "unsupported", detail)
        elif device.kind == "ipu" and not any(
            device.engine_options.get(name) == "true" for name in _REPORTS
        ):
            detail = (
                f'an IPU has a profile only with device.engine_options {{"{_REPORTS[0]}": "true"}}'
            )
            yield Problem("/gates", "inconsistent", detail)
