"""`ipu.config`: IPUConfig with the attributes of TensorFlow 2.6 for SDK 2.6, checked as they are
assigned."""

from __future__ import annotations

import difflib
from enum import Enum
from typing import Any, Dict, Iterator, List, Tuple

import tensorflow as tf

from .state import STATE

DeviceConnectionType = Enum("DeviceConnectionType", ["ALWAYS", "ON_DEMAND", "PRE_COMPILE", "NEVER"])
SelectionOrder = Enum("SelectionOrder", ["AUTO", "ZIGZAG", "SNAKE", "HOOF"])
SchedulingAlgorithm = Enum(
    "SchedulingAlgorithm",
    ["CHOOSE_BEST", "CLUSTERING", "POST_ORDER", "LOOK_AHEAD", "SHORTEST_PATH"],
)
StochasticRoundingBehaviour = Enum(
    "StochasticRoundingBehaviour", ["OFF", "ON", "REPLICA_IDENTICAL_ONLY"]
)
MergeRemoteBuffersBehaviour = Enum(
    "MergeRemoteBuffersBehaviour", ["NO_MERGING", "MERGE", "IF_BENEFICIAL"]
)

_OF_OPTIMIZATIONS = {
    **dict.fromkeys(
        (
            *("prefetch_data_streams", "enable_graph_outlining", "enable_gather_simplifier"),
            *("enable_dynamic_slice_replacement", "merge_infeed_io_copies"),
        ),
        True,
    ),
    **dict.fromkeys(("combine_embedding_lookups", "combine_matmuls", "enable_fast_math"), False),
    **dict.fromkeys(
        (
            "maximum_cross_replica_sum_buffer_size",
            "maximum_reduce_scatter_buffer_size",
            "maximum_inter_ipu_copies_buffer_size",
            "maximum_send_recv_cluster_size",
            "maximum_reduce_many_buffer_size",
            "maximum_all_gather_buffer_size",
            "triangular_solve_expander_block_size",
            "cholesky_block_size",
        ),
        0,
    ),
    "minimum_remote_tensor_size": 128,
    "merge_remote_buffers": MergeRemoteBuffersBehaviour.IF_BENEFICIAL,
    "math.fast": False,
    "math.dot_strength": True,
}
# The default of each attribute, which determines its type.
DEFAULTS: Dict[str, Any] = {
    "auto_select_ipus": [],
    "select_ipus": [],
    "allow_recompute": False,
    "selection_order": SelectionOrder.AUTO,
    "serialization_output_folder": "",
    "compilation_poplar_options": {},
    "gcl_poplar_options": {},
    "convolutions.poplar_options": {},
    "matmuls.clear_pass_type": False,
    "matmuls.poplar_options": {},
    "pooling.poplar_options": {},
    "slices.poplar_options": {},
    "norms.use_stable_statistics": False,
    "norms.experimental.distributed_batch_norm_replica_group_size": 1,
    "device_connection.type": DeviceConnectionType.ALWAYS,
    "device_connection.version": "",
    "device_connection.enable_remote_buffers": False,
    "experimental.always_rearrange_copies_on_the_host": False,
    "experimental.enable_remote_buffer_embedding": False,
    "experimental.enable_prng_stability": False,
    "experimental.multi_replica_distribution.process_index": 0,
    "experimental.multi_replica_distribution.process_count": 0,
    "floating_point_behaviour.inv": False,
    "floating_point_behaviour.div0": False,
    "floating_point_behaviour.oflo": False,
    "floating_point_behaviour.nanoo": False,
    "floating_point_behaviour.set_all": False,
    "floating_point_behaviour.esr": StochasticRoundingBehaviour.OFF,
    "io_tiles.num_io_tiles": 0,
    "io_tiles.place_ops_on_io_tiles": False,
    "io_tiles.available_memory_proportion": 0.9,
    "ipu_model.compile_ipu_code": True,
    "ipu_model.tiles_per_ipu": 0,
    "ipu_model.version": "ipu2",
    **{f"optimizations.{name}": default for name, default in _OF_OPTIMIZATIONS.items()},
    "scheduling.algorithm": SchedulingAlgorithm.CHOOSE_BEST,
    "scheduling.maximum_scheduler_lookahead_depth": 5,
    "scheduling.maximum_scheduler_search_space_size": 64,
}
_NUMBERS = ("auto_select_ipus", "select_ipus")  # one, or a list or tuple of them


class _Section:
    """The attributes below a prefix."""

    def __init__(self, prefix: str = "") -> None:
        below: Dict[str, Any] = {}
        for path, default in DEFAULTS.items():
            if path.startswith(prefix):
                name, _, deeper = path[len(prefix) :].partition(".")
                if deeper:
                    below.setdefault(name, _Section(f"{prefix}{name}."))
                else:
                    below[name] = type(default)(default)
        self.__dict__.update(below)
        self.__dict__["_prefix"] = prefix

    def __setattr__(self, name: str, value: Any) -> None:
        path = self._prefix + name
        if path not in DEFAULTS:
            if name in self.__dict__:
                raise ValueError(f"{path} is a category and cannot be assigned to")
            raise AttributeError(self._unknown(name))
        _check_type(path, value)
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:  # only of what there is not
        raise AttributeError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        names = [known for known in self.__dict__ if not known.startswith("_")]
        near = difflib.get_close_matches(name, names, 1)
        also = f" Did you mean '{near[0]}'?" if near else ""
        return f"'{self._prefix}{name}' is no attribute of an IPUConfig.{also}"


class IPUConfig(_Section):
    def __init__(self) -> None:
        super().__init__()

    def configure_ipu_system(self, device: str = "cpu") -> None:
        configure_ipu_system(self, device)


def ipus_of(config: IPUConfig) -> int:
    """That are asked for."""
    chosen = config.auto_select_ipus or config.select_ipus
    if isinstance(chosen, int):
        return chosen if config.auto_select_ipus else 1
    return sum(chosen) if config.auto_select_ipus else len(chosen)


def configure_ipu_system(
    config: IPUConfig, device: str = "cpu", reset_configuration: bool = True
) -> None:
    if not isinstance(config, IPUConfig):
        raise TypeError(f"configure_ipu_system takes an IPUConfig; got {type(config).__name__}")
    if config.auto_select_ipus and config.select_ipus:
        raise Exception("Only one of `auto_select_ipus` and `select_ipus` can be set.")
    connection = config.device_connection
    never = (DeviceConnectionType.NEVER, DeviceConnectionType.PRE_COMPILE)
    if connection.type in never and connection.version not in ("ipu1", "ipu2", "ipu21"):
        raise ValueError(
            "`device_connection.version` must be set when `device_connection.type` is "
            "DeviceConnectionType.NEVER or DeviceConnectionType.PRE_COMPILE"
        )
    STATE.flags()
    if STATE.configured is not None and not reset_configuration:
        raise RuntimeError("IPUs are configured already")
    reset_ipu_configuration()
    STATE.configured = config
    if connection.type is DeviceConnectionType.ALWAYS:
        STATE.attach(
            ipus_of(config),
            tf.errors.InvalidArgumentError(
                None,
                None,
                "Target configuration failed: model disabled and no hardware IPU found. (Are you "
                "sure you enabled the Poplar driver ?)",
            ),
        )


def reset_ipu_configuration() -> None:
    if STATE.is_running:
        raise RuntimeError("a program runs on the device")
    STATE.configured, STATE.is_attached = None, False
    STATE.generation += 1


def _check_type(path: str, value: Any) -> None:
    expected = type(DEFAULTS[path])
    if path in _NUMBERS:
        numbers: List[Any] = list(value) if type(value) in (list, tuple) else [value]
        fine = all(type(number) is int for number in numbers)
    elif expected is dict:
        fine = type(value) is dict and all(type(text) is str for text in _texts(value))
    else:
        fine = type(value) is expected
    if not fine:
        raise TypeError(f"'{path}' must be of type {expected.__name__}; got {value!r}")


def _texts(options: Dict[Any, Any]) -> Iterator[Any]:
    pairs: List[Tuple[Any, Any]] = list(options.items())
    for pair in pairs:
        yield from pair
