"""A Poplar program as a job: a host program in C++ with its codelets, run in a sandbox."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from pydantic import ConfigDict
from pydantic.config import JsonDict

from ipulse.models import Field, ListOf, TextByKey
from ipulse_core.errors import Problem

from . import poplar_options
from .code import CodeDevice, CodeSpec, Flags, SourcePath
from .device import Architecture

_EXAMPLE: JsonDict = {
    "version": 1,
    "kind": "poplar_program",
    "name": "leaky neurons",
    "package": "sha256:" + "0123456789abcdef" * 4,
    "sources": ["leaky_neurons.cpp"],
}


class ProgramDevice(CodeDevice):
    """The IPUs that a program finds, emulated or real."""

    kind: Literal["emulator", "ipu"] = Field(
        default="emulator",
        description="emulator: IPUs that this machine's processor emulates; ipu: IPUs, with the "
        "worker's Poplar SDK. The program attaches them itself.",
    )
    architecture: Architecture = Field(
        default="ipu2",
        description="Architecture of emulated IPUs. On IPUs, that of the devices is used.",
    )
    engine_options: TextByKey = Field(
        default={},
        max_length=64,
        description="Options of the Poplar engine on IPUs, as in POPLAR_ENGINE_OPTIONS: "
        '{"autoReport.all": "true"} for a profile. The worker decides where reports are stored.',
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a wrong number of IPUs, and options that are not allowed."""
        yield from super().problems()
        if self.kind == "emulator" and self.engine_options:
            detail = "the emulator always writes its profile: remove it, or set kind to ipu"
            yield Problem("/engine_options", "inconsistent", detail)
        for problem in poplar_options.problems_of_engine(self.engine_options):
            yield replace(problem, pointer=f"/engine_options{problem.pointer}")


class PoplarProgramSpec(CodeSpec):
    """A Poplar host program with its codelets, which a worker builds and runs in a sandbox."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    kind: Literal["poplar_program"] = Field(description="A Poplar program.")
    sources: ListOf[SourcePath] = Field(
        min_length=1, max_length=64, description="C++ files of the host program."
    )
    codelets: ListOf[SourcePath] = Field(
        default=(),
        max_length=64,
        description="Codelets to compile to .gp files, which the program loads by their names. "
        "Those that it loads as .cpp need not be listed.",
    )
    flags: Flags = ()
    sanitize: bool = Field(
        default=False,
        description="Check the accesses of vertices to memory for bounds, alignment and races, and "
        "fill outputs with NaN first, on the emulator. The program runs slower; its cycles mean "
        "nothing.",
    )
    device: ProgramDevice = Field(
        default=ProgramDevice(), description="The device that the program finds."
    )

    @property
    def main_files(self) -> tuple[str, ...]:
        """The sources of the host program."""
        return tuple(self.sources)

    def problems(self) -> Iterator[Problem]:
        """Yields files of one name among the codelets, and checks that IPUs do not have."""
        if self.sanitize and self.device.kind == "ipu":
            detail = "only the emulator checks what vertices write: set device.kind to emulator"
            yield Problem("/sanitize", "inconsistent", detail)
        stems: dict[str, Any] = {}
        for index, path in enumerate(self.codelets):
            stem = path.rpartition("/")[2].rpartition(".")[0]
            if stem in stems:
                detail = f"{stem}.gp would be written twice, by {stems[stem]} and {path}"
                yield Problem(f"/codelets/{index}", "duplicate", detail)
            stems[stem] = path
