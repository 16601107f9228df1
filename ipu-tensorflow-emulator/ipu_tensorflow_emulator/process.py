"""The state of the emulation: configuration, programs, and options that had no effect."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional
from typing import Counter as CounterType

import tensorflow as tf

from ipu_tensorflow_emulator import settings
from poplar_emulator.custom_op import MK2_TILES
from poplar_emulator.user_op import EmulatedIPUs

# Of TF_POPLAR_FLAGS. Those with an effect here are use_ipu_model and ipu_model_tiles.
KNOWN_FLAGS = (
    *("help", "use_synthetic_data", "synthetic_data_categories", "synthetic_data_initializer"),
    *("use_ipu_model", "log_cycle_count", "while_loop_brute_force_max_trip_count"),
    *("max_compilation_threads", "max_infeed_threads", "executable_cache_path"),
    *("dump_schedule_as_dot", "tensor_map_file_path", "fallback_scheduler", "allow_nans"),
    *("null_data_feed", "show_progress_bar", "on_demand_device_poll_time"),
    *("on_demand_device_timeout", "ipu_model_tiles", "sync_replica_start"),
    *("enable_hlo_verifier", "disable_poplar_version_check", "save_interval_report"),
    *("save_vertex_graph", "dump_text_reports_to_stdio", "add_all_reported_ops"),
)
# Nodes of a graph that compute nothing.
_STRUCTURE = frozenset(
    (
        *("Arg", "Const", "Placeholder", "PlaceholderWithDefault", "Identity", "IdentityN", "NoOp"),
        *("PartitionedCall", "StatefulPartitionedCall", "_Arg", "_Retval"),
        *("Enter", "Exit", "Merge", "Switch", "NextIteration", "LoopCond"),
    )
)
# Calls of the host: custom ops, which have a profile, and queues.
_HOST_CALLS = frozenset(["PyFunc", "PyFuncStateless", "EagerPyFunc"])


@dataclass
class Program:
    """A traced program and the number of its runs; None if that is not counted.

    host_ops: the nodes of its graph by type, those of a loop's body once.
    """

    name: str
    host_ops: CounterType[str]
    runs: Optional[int] = 0


@dataclass
class State:
    """The state of this process's IPUs, which determines the calls that are allowed next."""

    configured: Optional[Any] = None  # the IPUConfig in use
    generation: int = 0  # of configurations
    depth: int = 0  # contexts whose operations are placed on the device
    strategy: Optional[Any] = None  # whose scope is entered
    shards: int = 1  # that ipu_shard or a pipeline named
    programs: List[Program] = field(default_factory=list)
    without_effect: Dict[str, None] = field(default_factory=dict)  # an ordered set
    devices: Dict[int, EmulatedIPUs] = field(default_factory=dict)  # by their tiles
    flags: Optional[Dict[str, str]] = None
    free_metrics: Optional[List[str]] = None  # names for tensors of outfeeds that have none
    shown_metrics: Dict[str, None] = field(default_factory=dict)  # names that had a value


STATE = State()
_recorded: weakref.WeakKeyDictionary[Any, Program] = weakref.WeakKeyDictionary()


def reset() -> None:
    """Return to the state of a new process, for tests that run several scripts in one."""
    for device in STATE.devices.values():
        device.close()
    STATE.__init__()  # type: ignore[misc] # every field at its default
    _recorded.clear()


@contextmanager
def on_device() -> Iterator[None]:
    """Allow custom ops and queues, which exist on the device only."""
    STATE.depth += 1
    try:
        yield
    finally:
        STATE.depth -= 1


def has_no_effect(name: str) -> None:
    """Note something that was accepted and changes nothing here."""
    STATE.without_effect.setdefault(name)


def flags() -> Dict[str, str]:
    """Return TF_POPLAR_FLAGS, which is read once. Raises SystemExit for an unknown one."""
    if STATE.flags is None:
        words = os.environ.get("TF_POPLAR_FLAGS", "").split()
        pairs = [word.lstrip("-").partition("=") for word in words]
        found = {name: value for name, _, value in pairs}
        for name in found:
            if name not in KNOWN_FLAGS:
                raise SystemExit(
                    f"Unknown flag passed in TF_POPLAR_FLAGS: {name}. Remove it or correct it; "
                    f"known are {', '.join(sorted(KNOWN_FLAGS))}"
                )
            if name not in ("use_ipu_model", "ipu_model_tiles", "help"):
                has_no_effect(f"TF_POPLAR_FLAGS=--{name}")
        STATE.flags = found
    return STATE.flags


def ipus_in_use() -> int:
    """Return the number of IPUs of the configured device; one if none is configured."""
    return 1 if STATE.configured is None else STATE.configured.number_of_ipus()


def device() -> EmulatedIPUs:
    """Return the emulated IPU that custom ops run on.

    Each op gets the graph of its shard, or of its replica, and sees one IPU.
    """
    tiles = settings.tiles_per_ipu(MK2_TILES)
    wanted = 0 if STATE.configured is None else STATE.configured.ipu_model.tiles_per_ipu
    flagged = flags().get("ipu_model_tiles", "")
    if wanted or flagged.isdigit():
        tiles = min(tiles, wanted or int(flagged))
    if tiles not in STATE.devices:
        STATE.devices[tiles] = EmulatedIPUs(1, tiles)
    return STATE.devices[tiles]


def host_ops(graph: Any) -> CounterType[str]:
    """Count the nodes of a graph and of the functions that it calls, by type."""
    definition = graph.as_graph_def()
    nodes = [node.op for node in definition.node]
    nodes += [node.op for function in definition.library.function for node in function.node_def]
    skipped = _STRUCTURE | _HOST_CALLS
    return Counter(node for node in nodes if node not in skipped)


def record_run(name: str, concrete: Any, runs: int = 1) -> None:
    """Count runs of a concrete function."""
    if concrete not in _recorded:
        _recorded[concrete] = Program(name, host_ops(concrete.graph))
        STATE.programs.append(_recorded[concrete])
    program = _recorded[concrete]
    program.runs = (program.runs or 0) + runs
    _note_replicas()


def record_session_program(name: str, ops: CounterType[str]) -> None:
    """Record a program of a session, whose runs are not counted."""
    STATE.programs.append(Program(name, ops, runs=None))
    _note_replicas()


def _note_replicas() -> None:
    """Note that IPUs are idle which would run further replicas of a program."""
    if ipus_in_use() > STATE.shards:
        has_no_effect("further IPUs: strategy.run() and sessions have one replica here")


def unsupported_dtype(tensors: Any) -> None:
    """Raise TypeError for float64, which no program on IPUs takes or returns."""
    for tensor in tf.nest.flatten(tensors):
        dtype = getattr(tensor, "dtype", None)
        if dtype is not None and tf.as_dtype(dtype) == tf.float64:  # of an array of NumPy, too
            raise TypeError(
                "Unsupported data type for input/output: float64. Cast it to float32 before it "
                "enters or leaves the program"
            )
