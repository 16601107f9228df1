"""What all jobs have that run a source package of a user, in a sandbox and with limits."""

from collections.abc import Iterator
from typing import Annotated

from ipulse.models import Field, ListOf, StrictModel, Text, TextByKey, unit
from ipulse_core.errors import Problem
from ipulse_core.ipu import EMULATED_IPUS
from ipulse_core.limits import TRIMMED
from ipulse_core.source_package import MAX_NAME, PATH, REFERENCE

from .device import POOL_FIELD, PoolName, Where, problems_of_ipus
from .versioned import Version, VersionedSpec

SourcePath = Annotated[str, Field(pattern=PATH, max_length=MAX_NAME)]
Flags = Annotated[
    ListOf[Text], Field(max_length=64, description='Flags of the C++ compiler, as ["-DN=3"].')
]

Name = Annotated[str, Field(max_length=128, pattern=TRIMMED, description="A name for people.")]


class CodeDevice(StrictModel):
    """The IPUs that code of a user finds."""

    kind: str
    ipus: int = Field(
        default=EMULATED_IPUS, ge=1, le=64, description="IPUs that the program finds."
    )
    where: Where = Field(default={})
    pool: PoolName = POOL_FIELD

    def problems(self) -> Iterator[Problem]:
        """Yields a wrong number of IPUs."""
        yield from problems_of_ipus(self.ipus)


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


class CodeSpec(VersionedSpec):
    """A job that runs the source package of a user."""

    version: Version
    kind: str
    package: str = Field(
        pattern=REFERENCE,
        description="The pushed source package, by its digest. In a file for `ipulse submit` it "
        "may be a folder, which is pushed first.",
        examples=["sha256:" + "0123456789abcdef" * 4],
    )
    arguments: ListOf[Text] = Field(
        default=(), max_length=64, description="Arguments of the program."
    )
    name: Name = "program"
    limits: ProgramLimits = Field(default=ProgramLimits(), description="What the program may use.")
    metadata: TextByKey = Field(
        default={},
        max_length=16,
        description="Up to 16 key-value pairs of your own, stored with the job.",
    )
    device: CodeDevice

    @property
    def main_files(self) -> tuple[str, ...]:
        """The files of the package that make the program."""
        raise NotImplementedError
