"""The devices that an experiment can run on: the CPU, emulated IPUs, or real IPUs."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from ipulse.models import Field, LabelSelector, ListOf, StrictModel, Text, TextByKey, unit
from ipulse_core.errors import Problem
from ipulse_core.ipu import MK2_TILES
from ipulse_core.limits import DEFAULT_POOL, MAX_WHERE, POOL
from ipulse_core.registry.absent import ABSENT
from ipulse_core.registry.features import DEVICE, FEATURES

from . import poplar_options

Architecture = Literal["ipu1", "ipu2", "ipu21"]
ConnectionType = Literal["ON_DEMAND", "ALWAYS", "PRE_COMPILE", "NEVER"]


CONNECTION = (
    "When the device is attached. ON_DEMAND: once the program is ready to run, waiting for a free "
    "device; ALWAYS: before the program is compiled; PRE_COMPILE: never, the compiled program is "
    "kept in the executable cache for a later run; NEVER: never, the job reports whether the "
    "program compiles and fits."
)


Where = Annotated[
    LabelSelector,
    Field(
        max_length=MAX_WHERE,
        description="Labels that the worker's agent must have, all of them: {site: b}. The value * "
        "stands for any. An agent has the labels of the token with which it joined.",
        examples=[{"site": "b", "ssd": "*"}],
    ),
]


PoolName = Annotated[
    str,
    Field(
        pattern=POOL,
        description="The pool of workers that runs the job; `ipulse pool list` shows all.",
        examples=["lab"],
    ),
]


# It is left out of resolved specs that do not ask for a pool: earlier releases do not know it.
POOL_FIELD: Any = Field(default=DEFAULT_POOL, exclude_if=lambda value: bool(value == DEFAULT_POOL))


class _Device(StrictModel):
    """A device that says why it lacks what others have."""

    @classmethod
    def absent_field(cls, name: str, value: Any) -> str | None:
        """Returns the reason and the fix of the capability table."""
        kind = cls.model_fields["kind"].default
        found = [
            each
            for each in FEATURES.values()
            if each.place == DEVICE and each.field == name and (each.name, kind) in ABSENT
        ]
        if not found:
            return None
        asked = next((each for each in found if each.value == value), found[-1])
        absence = ABSENT[asked.name, kind]
        return f"{absence.reason}: {absence.fix}"


class CPUDevice(_Device):
    """The C++ LIF kernels in TensorFlow."""

    kind: Literal["cpu"] = Field(default="cpu", description="Device.")
    connection_type: ConnectionType = Field(default="ON_DEMAND", description=CONNECTION)
    threads: int = Field(
        default=0,
        ge=0,
        le=1024,
        description="Threads of the kernels; 0 uses every core that the worker may use.",
    )
    weights_dtype: Literal["float32", "bfloat16"] = Field(
        default="float32",
        description="bfloat16: each run first rounds the weight matrices to bfloat16, to measure "
        "what that precision costs; they are stored, summed and trained in float32.",
    )
    memory: Literal["slots", "recompute"] = Field(
        default="slots",
        description="What is stored for the backward pass. slots: the membranes that carry "
        "gradient; recompute: only the spikes, from which the layers are computed again.",
    )
    where: Where = Field(default={})
    pool: PoolName = POOL_FIELD


class IPUs(_Device):
    """Fields of emulated and real IPUs."""

    ipus: int = Field(
        default=1,
        ge=1,
        le=64,
        description="IPUs that the network is spread over: a power of two, as Poplar requires.",
    )
    split: Literal["layers", "neurons"] | None = Field(
        default=None,
        description="How several IPUs share the network. layers: each layer is on one IPU; "
        "neurons: each IPU has some neurons of every layer; null: layers if there is at least one "
        "for every IPU, else neurons.",
    )
    mapping: Literal["capacity", "neurons", "linear"] = Field(
        default="capacity",
        description="How neurons are placed on tiles. capacity: the same work for every tile, "
        "measured by the slots that enter its neurons; neurons: the same number on every tile; "
        "linear: every layer over all tiles.",
    )
    memory: Literal["slots", "recompute"] = Field(
        default="slots",
        description="What is stored for the backward pass. slots: all that it reads; recompute: "
        "spikes, and states at some steps, from which the steps are run again: fewer bytes per "
        "tile for more cycles, and the same results.",
    )
    states_dtype: Literal["float32", "float16"] = Field(
        default="float32",
        description="float16: membranes and synapses have two bytes a neuron and sample between "
        "time steps, and in the checkpoints of `memory: recompute`; sums, gradients and outputs "
        "are float32.",
    )
    stochastic_rounding: bool = Field(
        default=False,
        description="Whether states in float16, and matrices in float16 when they are updated, are "
        "rounded at random to one of two neighbours, so that small changes count on average; else "
        "to the nearest number.",
    )
    connection_type: ConnectionType = Field(default="ON_DEMAND", description=CONNECTION)
    acquire_poll_seconds: float = Field(
        default=1.0,
        ge=0.1,
        le=3600.0,
        description="While all devices are busy, check at least this often whether one is free.",
        json_schema_extra=unit("s"),
    )
    acquire_timeout_seconds: float = Field(
        default=3600.0,
        ge=0.0,
        le=1e7,
        description="Fail if no device was free for this long.",
        json_schema_extra=unit("s"),
    )
    steps_per_execution: int = Field(
        default=1,
        ge=1,
        le=100_000,
        description="Training steps between two decisions of the host: changes of capacities and "
        "second thresholds, checkpoints and cancellation wait for the last of them. On an IPU they "
        "are one program. It must divide the steps of an epoch.",
    )
    engine_options: TextByKey = Field(
        default={},
        max_length=64,
        description="Options of the Poplar engine by name, as in POPLAR_ENGINE_OPTIONS: "
        '{"autoReport.all": "true"}, {"debug.allowOutOfMemory": "true"}. The worker decides where '
        "reports are stored. The emulator always writes its profile; of autoReport it uses only "
        "the number of runs.",
    )
    where: Where = Field(default={})
    pool: PoolName = POOL_FIELD

    def problems(self) -> Iterator[Problem]:
        """Yields a wrong number of IPUs, options that are not allowed, and rounding of float32."""
        yield from problems_of_ipus(self.ipus)
        yield from _at("/engine_options", poplar_options.problems_of_engine(self.engine_options))
        types = [name for name in ("weights_dtype", "states_dtype") if hasattr(self, name)]
        if self.stochastic_rounding and all(getattr(self, name) == "float32" for name in types):
            detail = f"float32 is not rounded: set {' or '.join(types)} to float16"
            yield Problem("/stochastic_rounding", "inconsistent", detail)


def problems_of_ipus(ipus: int) -> Iterator[Problem]:
    """Yields a number of IPUs that no device has."""
    if ipus & (ipus - 1):
        detail = f"devices have 1, 2, 4, 8, ... IPUs; got {ipus}"
        yield Problem("/ipus", "not_a_power_of_two", detail)


class EmulatorDevice(IPUs):
    """The Poplar op on emulated IPUs, on this machine's processor.

    Cycles and memory are those of the emulated tiles.
    """

    kind: Literal["emulator"] = Field(default="emulator", description="Device.")
    tiles: int = Field(default=MK2_TILES, ge=1, le=MK2_TILES, description="Tiles of an IPU.")
    training: Literal["host", "device"] = Field(
        default="host",
        description="Where a training step computes loss and update. host: TensorFlow on this "
        "machine, between two programs of the device; device: one program a step, as on an IPU, "
        "with sums in another order.",
    )
    weights_dtype: Literal["float32", "float16"] = Field(
        default="float32",
        description="float16: matrices have two bytes a weight on the device, also between steps, "
        "with `training: device`; sums, states, moments and gradients are float32. IPUs have no "
        "bfloat16, which the device cpu has.",
    )
    host_link: Literal["pcie", "fabric"] = Field(
        default="pcie",
        description="Connection to the host that stream copies are modelled for. pcie: a card, "
        "32 GB/s and 10 µs for each copy; fabric: an IPU-M2000 over IPU over Fabric, 12.5 GB/s "
        "and 15 µs.",
    )
    host_bytes_per_second: float | None = Field(
        default=None,
        ge=1e3,
        le=1e15,
        description="Rate of a stream copy; null: that of `host_link`.",
        json_schema_extra=unit("B/s"),
    )
    host_latency_seconds: float | None = Field(
        default=None,
        ge=1e-9,
        le=10.0,
        description="Time of a stream copy besides its bytes; null: that of `host_link`.",
        json_schema_extra=unit("s"),
    )

    def problems(self) -> Iterator[Problem]:
        """Yields what is wrong with the IPUs, and types of weights that nothing trains."""
        yield from super().problems()
        if self.weights_dtype != "float32" and self.training == "host":
            detail = "weights of float16 are updated on the device: set training to device"
            yield Problem("/weights_dtype", "inconsistent", detail)


class IPUDevice(IPUs):
    """The Poplar op on IPUs, through Graphcore's TensorFlow."""

    kind: Literal["ipu"] = Field(default="ipu", description="Device.")
    architecture: Architecture = Field(
        default="ipu2",
        description="Architecture that PRE_COMPILE and NEVER compile for; otherwise the attached "
        "IPU's is used.",
    )
    device_id: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000,
        description="Number of the device in `gc-info -l`, which must have as many IPUs as `ipus`; "
        "null: any free device.",
    )
    poplar_flags: ListOf[Text] = Field(
        default=(),
        max_length=32,
        description='Flags of TF_POPLAR_FLAGS: ["--max_compilation_threads=4"].',
    )
    pvti_options: TextByKey = Field(
        default={},
        max_length=8,
        description='A trace for the System Analyser, as in PVTI_OPTIONS: {"enable": "true"}.',
    )

    def problems(self) -> Iterator[Problem]:
        """Yields what is wrong with the IPUs, the flags and the trace options."""
        yield from super().problems()
        yield from _at("/poplar_flags", poplar_options.problems_of_flags(self.poplar_flags))
        yield from _at("/pvti_options", poplar_options.problems_of_pvti(self.pvti_options))


def _at(pointer: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    for problem in problems:
        yield replace(problem, pointer=pointer + problem.pointer)


Device = CPUDevice | EmulatorDevice | IPUDevice
