"""A Poplar program as a job: a host program in C++ with its codelets, run in a sandbox."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict
from pydantic.config import JsonDict

from ipulse.models import (
    ExactInteger,
    Field,
    ListOf,
    StrictModel,
    Text,
    TextByKey,
    unit,
)
from ipulse_core.errors import Problem
from ipulse_core.ipu import EMULATED_IPUS
from ipulse_core.limits import TRIMMED
from ipulse_core.source_package import MAX_NAME, PATH, REFERENCE

from . import poplar_options
from .device import Architecture, Where, problems_of_ipus

SourcePath = Annotated[str, Field(pattern=PATH, max_length=MAX_NAME)]

_EXAMPLE: JsonDict = {
    "version": 1,
    "kind": "poplar_program",
    "name": "leaky neurons",
    "package": "sha256:" + "0123456789abcdef" * 4,
    "sources": ["leaky_neurons.cpp"],
}


class ProgramDevice(StrictModel):
    """The IPUs that a program finds, emulated or real."""

    kind: Literal["emulator", "ipu"] = Field(
        default="emulator",
        description="emulator: IPUs that this machine's processor emulates; ipu: IPUs, with the "
        "worker's Poplar SDK. The program attaches them itself.",
    )
    ipus: int = Field(
        default=EMULATED_IPUS, ge=1, le=64, description="IPUs that the program finds."
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
    where: Where = Field(default={})

    def problems(self) -> Iterator[Problem]:
        """Yields a wrong number of IPUs, and options that are not allowed."""
        yield from problems_of_ipus(self.ipus)
        if self.kind == "emulator" and self.engine_options:
            detail = "the emulator always writes its profile: remove it, or set kind to ipu"
            yield Problem("/engine_options", "inconsistent", detail)
        for problem in poplar_options.problems_of_engine(self.engine_options):
            yield replace(problem, pointer=f"/engine_options{problem.pointer}")


class ProgramLimits(StrictModel):
    """The limits of a program; a job that needs more fails."""

    seconds: int = Field(
        default=600,
        ge=1,
        le=86_400,
        description="Time from the program's start to its end; on IPUs, with the wait for them.",
        json_schema_extra=unit("s"),
    )
    memory_mib: int = Field(
        default=4096,
        ge=64,
        le=1_048_576,
        description="Memory of all its processes, without the files that it writes.",
        json_schema_extra=unit("MiB"),
    )
    disk_mib: int = Field(
        default=256,
        ge=1,
        le=65_536,
        description="Files that it writes; they are in memory until it has ended.",
        json_schema_extra=unit("MiB"),
    )
    processes: int = Field(
        default=64, ge=8, le=4096, description="Processes and threads at one time."
    )


class PoplarProgramSpec(StrictModel):
    """A Poplar host program with its codelets, which a worker builds and runs in a sandbox."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    version: Annotated[Literal[1], ExactInteger] = Field(description="Version of this schema.")
    kind: Literal["poplar_program"] = Field(description="A Poplar program.")
    package: str = Field(
        pattern=REFERENCE,
        description="The pushed source package, by its digest. In a file for `ipulse submit` it "
        "may be a folder, which is pushed first.",
        examples=["sha256:" + "0123456789abcdef" * 4],
    )
    sources: ListOf[SourcePath] = Field(
        min_length=1, max_length=64, description="C++ files of the host program."
    )
    codelets: ListOf[SourcePath] = Field(
        default=(),
        max_length=64,
        description="Codelets to compile to .gp files, which the program loads by their names. "
        "Those that it loads as .cpp need not be listed.",
    )
    flags: ListOf[Text] = Field(
        default=(), max_length=64, description='Flags of the C++ compiler, as ["-DN=3"].'
    )
    arguments: ListOf[Text] = Field(
        default=(), max_length=64, description="Arguments of the program."
    )
    sanitize: bool = Field(
        default=False,
        description="Check that no vertex writes outside of its fields, and fill outputs with NaN "
        "first, on the emulator. The program runs slower; its cycles are the same.",
    )
    name: str = Field(
        default="program", max_length=128, pattern=TRIMMED, description="A name for people."
    )
    device: ProgramDevice = Field(
        default=ProgramDevice(), description="The device that the program finds."
    )
    limits: ProgramLimits = Field(default=ProgramLimits(), description="What the program may use.")
    metadata: TextByKey = Field(
        default={},
        max_length=16,
        description="Up to 16 key-value pairs of your own, stored with the job.",
    )

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
