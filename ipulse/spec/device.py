"""What an experiment runs on: the CPU's kernels, or IPUs, emulated or real."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, Iterable, Iterator, Literal, Optional, Tuple, Union

from ipulse_core.errors import Problem
from ipulse_core.schema import described

from . import poplar_options

MK2_TILES = 1472  # of one IPU of the second generation
ConnectionType = Literal["ON_DEMAND", "ALWAYS", "PRE_COMPILE", "NEVER"]


CONNECTION = (
    "When the device is attached. ON_DEMAND: once the program is ready to run, waiting for a free "
    "one; ALWAYS: before it is compiled; PRE_COMPILE: never, what is compiled is kept in the "
    "executable cache for a later run; NEVER: never, the job says whether it compiles and fits."
)


@dataclass(frozen=True)
class CPUDevice:
    """The C++ LIF kernels inside stock TensorFlow."""

    kind: Literal["cpu"] = described("Which kind of device.", default="cpu")
    connection_type: ConnectionType = described(CONNECTION, default="ON_DEMAND")
    threads: int = described(
        "Threads the kernels use; 0 uses every core the worker may use.", default=0, ge=0, le=1024
    )
    weights_dtype: Literal["float32", "bfloat16"] = described(
        "bfloat16: each run rounds the weight matrices to it first, to see what that precision "
        "costs; they are kept, summed and trained in float32.",
        default="float32",
    )
    memory: Literal["slots", "recompute"] = described(
        "What waits for the backward pass. slots: the membranes that carry gradient; recompute: "
        "the spikes alone, from which the layers are run again.",
        default="slots",
    )


@dataclass(frozen=True)
class IPUs:
    """What emulated IPUs and real ones have in common."""

    ipus: int = described(
        "IPUs that the network is spread over: a power of two, as Poplar has them.",
        default=1,
        ge=1,
        le=64,
    )
    split: Optional[Literal["layers", "neurons"]] = described(
        "How several IPUs share the network. layers: each layer lies on one of them; neurons: each "
        "of them has some neurons of every layer; null: layers as long as there is one for every "
        "IPU, else neurons.",
        default=None,
    )
    mapping: Literal["capacity", "neurons", "linear"] = described(
        "How neurons are placed on tiles. capacity: the same work for every tile, by the slots "
        "that enter its neurons; neurons: as many for each; linear: every layer over all tiles.",
        default="capacity",
    )
    connection_type: ConnectionType = described(CONNECTION, default="ON_DEMAND")
    acquire_poll_seconds: float = described(
        "While all devices are taken, look at least so often whether one is free.",
        default=1.0,
        ge=0.1,
        le=3600.0,
        unit="s",
    )
    acquire_timeout_seconds: float = described(
        "Give up when none was free for so long.", default=3600.0, ge=0.0, le=1e7, unit="s"
    )
    steps_per_execution: int = described(
        "Training steps that are done before the host decides anything: capacities, second "
        "thresholds, checkpoints and a cancel wait for the last of them. On an IPU they are one "
        "program. It must divide the steps of an epoch.",
        default=1,
        ge=1,
        le=100_000,
    )
    engine_options: Dict[str, str] = described(
        "Options of the Poplar engine by name, as in POPLAR_ENGINE_OPTIONS: "
        '{"autoReport.all": "true"}, {"debug.allowOutOfMemory": "true"}. Where reports lie is for '
        "the worker to say. The emulator always keeps its profile; of autoReport it heeds the "
        "number of runs.",
        factory=dict,
        max_items=64,
    )

    def problems(self) -> Iterator[Problem]:
        if self.ipus & (self.ipus - 1):
            detail = f"devices have 1, 2, 4, 8, ... IPUs; got {self.ipus}"
            yield Problem("/ipus", "not_a_power_of_two", detail)
        yield from _at("/engine_options", poplar_options.problems_of_engine(self.engine_options))

    def splits_neurons(self, layers: int) -> bool:
        """Whether a layer of several neurons lies on several IPUs, of so many with the readout."""
        if self.split is None:
            return self.ipus > layers
        return self.split == "neurons" and self.ipus > 1


@dataclass(frozen=True)
class EmulatorDevice(IPUs):
    """The Poplar op on emulated IPUs: what a tile would do, on this machine's processor. Cycles
    and memory are emulated."""

    kind: Literal["emulator"] = described("Which kind of device.", default="emulator")
    tiles: int = described("Tiles of an IPU.", default=MK2_TILES, ge=1, le=MK2_TILES)


@dataclass(frozen=True)
class IPUDevice(IPUs):
    """The Poplar op on IPUs, through Graphcore's TensorFlow."""

    kind: Literal["ipu"] = described("Which kind of device.", default="ipu")
    architecture: Literal["ipu1", "ipu2", "ipu21"] = described(
        "Of the IPUs that PRE_COMPILE and NEVER compile for; an IPU that is attached says it.",
        default="ipu2",
    )
    device_id: Optional[int] = described(
        "The device to attach, by its number in `gc-info -l`, which has as many IPUs as `ipus`; "
        "null: any that is free.",
        default=None,
        ge=0,
        le=1_000_000,
    )
    poplar_flags: Tuple[str, ...] = described(
        'Flags of TF_POPLAR_FLAGS: ["--max_compilation_threads=4"].',
        factory=tuple,
        max_items=32,
    )
    pvti_options: Dict[str, str] = described(
        'A trace for the System Analyser, as in PVTI_OPTIONS: {"enable": "true"}.',
        factory=dict,
        max_items=8,
    )

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        yield from _at("/poplar_flags", poplar_options.problems_of_flags(self.poplar_flags))
        yield from _at("/pvti_options", poplar_options.problems_of_pvti(self.pvti_options))

    def environment(self, work_dir: str) -> Dict[str, str]:
        """What the process of an attempt must have been started with."""
        return poplar_options.environment(
            self.engine_options, self.poplar_flags, self.pvti_options, work_dir
        )


def _at(pointer: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    for problem in problems:
        yield replace(problem, pointer=pointer + problem.pointer)


Device = Union[CPUDevice, EmulatorDevice, IPUDevice]
