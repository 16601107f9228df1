"""The registration of an agent: what its machine has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import field_validator

from ipulse.models import Field, Integer, ListOf, StrictModel, Text, few
from ipulse_core.capabilities import AMOUNTS, SANDBOX, Capability
from ipulse_core.manifest import SHA256
from ipulse_core.messages import (
    MAX_DATA_SETS,
)
from ipulse_core.spec.neuron_packages import MAX_PACKAGES
from ipulse_core.states import Reason
from ipulse_core.worker_faults import MAX_MESSAGE, WorkerFault
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.http.schemas.agents.neuron_packages import (
    PACKAGE_EXAMPLE,
    NeuronPackageInfo,
)
from ipulse_service.http.schemas.agents.worker_requests import AgentName, DeviceKind, DeviceKinds
from ipulse_service.http.schemas.base import TROUBLE, example

MAX_IPUS = 1_000_000
DataSet = Annotated[Text, Field(max_length=160)]
_Cached = Annotated[Text, Field(pattern=SHA256)]
CapabilityName = Annotated[Text, Field(max_length=64)]
CapabilityValue = bool | Annotated[Integer, Field(ge=0, le=2**62)] | CapabilityName
_DataSets = Annotated[ListOf[DataSet], Field(max_length=MAX_DATA_SETS), few(MAX_DATA_SETS)]


class AgentTrouble(StrictModel):
    """Why an agent's machine can run no job."""

    model_config = example(**TROUBLE)

    reason: Literal["worker_disk_full", "worker_disk_failed", "worker_limit"] = Field(
        description="The reason with which an attempt there would end."
    )
    message: Annotated[Text, Field(max_length=MAX_MESSAGE)] = Field(
        description="What is wrong, with the path."
    )

    def fault(self) -> WorkerFault:
        """Returns the fault."""
        return WorkerFault(Reason(self.reason), self.message)


class AgentSandbox(StrictModel):
    """The sandbox of an agent's machine for code of users."""

    model_config = example(state="missing", message="bubblewrap is not installed")

    state: Literal["bubblewrap", "off", "missing"] = Field(
        description="bubblewrap: there is one; off: its operator runs code of users without one; "
        "missing: it runs no code of users."
    )
    message: Annotated[Text, Field(max_length=MAX_MESSAGE)] = Field(
        default="", description="Why it is missing."
    )


class AgentRegistration(StrictModel):
    """An agent, its devices and its data sets."""

    model_config = example(
        agent="worker-1-4711",
        device_kinds=["cpu", "ipu"],
        quarantined=["ipu"],
        quarantine_reasons={"ipu": "This worker does not use its ipu for 300 s: partition_reset."},
        capabilities={"compiler": True, "sandbox": False, "cores": 8},
        remarks={"sandbox": "bubblewrap is not installed"},
        sandbox={"state": "missing", "message": "bubblewrap is not installed"},
        trouble=TROUBLE,
        host="worker-1",
        ipus={"ipu": 4},
        data_sets=["npz/mine", "shd/shd"],
        cached=["0f" * 32],
        neuron_packages=[PACKAGE_EXAMPLE],
    )

    agent: AgentName
    device_kinds: DeviceKinds = Field(description="Kinds of devices that the agent can use.")
    quarantined: Annotated[ListOf[DeviceKind], Field(max_length=16), few(16)] = Field(
        default=(),
        description="Kinds that the agent does not use at present, after an error of the device.",
    )
    quarantine_reasons: dict[DeviceKind, Annotated[Text, Field(max_length=MAX_MESSAGE)]] = Field(
        default={}, max_length=16, description="Why, by kind."
    )
    trouble: AgentTrouble | None = Field(
        default=None, description="Why the agent can run no job at present; null if it can."
    )
    host: Annotated[Text, Field(max_length=255)] = Field(
        default="", description="Name of the agent's machine."
    )
    ipus: dict[DeviceKind, Annotated[Integer, Field(ge=0, le=MAX_IPUS)]] = Field(
        default={}, max_length=16, description="Number of IPUs by kind, where it is known."
    )
    data_sets: _DataSets | None = Field(
        default=None,
        description="Data sets in the agent's data directory, as KIND/NAME; null: not known.",
    )
    cached: Annotated[ListOf[_Cached], Field(max_length=1000), few(1000)] = Field(
        default=(), description="SHA-256 of the uploaded data sets that the agent keeps."
    )
    capabilities: dict[CapabilityName, CapabilityValue] = Field(
        default={},
        max_length=64,
        description="What the machine has for jobs, where it is known: `compiler`, `kernels`, "
        "`sandbox` (the name of its driver, `off`, or false), `nir`, `h5py`, `scikit-learn`; "
        "`cores`, `memory_bytes`, `disk_bytes` and `inodes` that are free while no job runs, and "
        "the totals of that disk.",
    )

    @field_validator("capabilities")
    @classmethod
    def _amounts_are_numbers(cls, value: dict[str, Capability]) -> dict[str, Capability]:
        wrong = [name for name in AMOUNTS if isinstance(value.get(name, 0), (bool, str))]
        if wrong:
            raise ValueError(f"{wrong[0]} must be an integer")
        return value

    remarks: dict[CapabilityName, Annotated[Text, Field(max_length=MAX_MESSAGE)]] = Field(
        default={},
        max_length=64,
        description="Why it lacks capabilities, or how they are limited, by name.",
    )
    sandbox: AgentSandbox | None = Field(
        default=None,
        description="The sandbox for code of users, of agents before protocol 8.",
    )
    neuron_packages: Annotated[
        ListOf[NeuronPackageInfo], Field(max_length=MAX_PACKAGES), few(MAX_PACKAGES)
    ] = Field(
        default=(),
        description="Packages of neurons that its administrator signed off; those that the service "
        "does not sign off are ignored.",
    )

    def known_agent(self, version: str) -> KnownAgent:
        """Returns the agent, with its packages of neurons that the service may not sign off."""
        capabilities, remarks = dict(self.capabilities), dict(self.remarks)
        if self.sandbox is not None and SANDBOX not in capabilities:
            is_missing = self.sandbox.state == "missing"
            capabilities[SANDBOX] = False if is_missing else self.sandbox.state
            remarks[SANDBOX] = self.sandbox.message
        return KnownAgent(
            name=self.agent,
            device_kinds=tuple(self.device_kinds),
            quarantined=tuple(self.quarantined),
            quarantine_reasons=self.quarantine_reasons,
            capabilities=capabilities,
            remarks=remarks,
            neuron_packages=tuple(each.description() for each in self.neuron_packages),
            version=version,
            host=self.host,
            ipus=self.ipus,
            data_sets=None if self.data_sets is None else frozenset(self.data_sets),
            cached=frozenset(self.cached),
            fault=self.trouble.fault() if self.trouble else None,
        )
