"""`ipu.config`: IPUConfig, which checks its attributes as they are assigned."""

from __future__ import annotations

import difflib
from enum import Enum
from typing import Any, Dict, Iterator, List

import tensorflow as tf

from ipu_tensorflow_emulator import settings
from ipu_tensorflow_emulator.process import STATE, flags, has_no_effect


class DeviceConnectionType(Enum):
    """When the system attaches to devices."""

    ALWAYS = 0
    ON_DEMAND = 1
    PRE_COMPILE = 2
    NEVER = 3


class SelectionOrder(Enum):
    """The order in which IPUs are numbered; without effect."""

    AUTO = 0
    ZIGZAG = 1
    SNAKE = 2
    HOOF = 3


class SchedulingAlgorithm(Enum):
    """How operations are ordered; without effect."""

    CHOOSE_BEST = 0
    CLUSTERING = 1
    POST_ORDER = 2
    LOOK_AHEAD = 3
    SHORTEST_PATH = 4


class MergeRemoteBuffersBehaviour(Enum):
    """Merging of remote buffers; without effect."""

    NO_MERGING = 0
    MERGE = 1
    IF_BENEFICIAL = 2


class StochasticRoundingBehaviour(Enum):
    """Stochastic rounding; without effect, because the host rounds to nearest."""

    OFF = 0
    ON = 1
    REPLICA_IDENTICAL_ONLY = 2

    @classmethod
    def from_bool(cls, value: bool) -> StochasticRoundingBehaviour:
        """Return ON or OFF."""
        return cls.ON if value else cls.OFF


class ExecutionProfileType(Enum):
    """The profiles of SDK 2.3 and older; without effect."""

    NO_PROFILE = 0
    DEVICE_PROFILE = 1
    IPU_PROFILE = 2
    TILE_PROFILE = 3


_OPTIMIZATIONS: Dict[str, Any] = {
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
    **{f"optimizations.{name}": default for name, default in _OPTIMIZATIONS.items()},
    "scheduling.algorithm": SchedulingAlgorithm.CHOOSE_BEST,
    "scheduling.maximum_scheduler_lookahead_depth": 5,
    "scheduling.maximum_scheduler_search_space_size": 64,
}
_NUMBERS = ("auto_select_ipus", "select_ipus")  # one, or a list or tuple of them
_WITH_EFFECT = (
    *_NUMBERS,
    *("device_connection.type", "device_connection.version", "ipu_model.tiles_per_ipu"),
)


class _Category:
    """The attributes whose names begin with a prefix."""

    def __init__(self, prefix: str = "") -> None:
        below: Dict[str, Any] = {}
        for path, default in DEFAULTS.items():
            if path.startswith(prefix):
                name, _, deeper = path[len(prefix) :].partition(".")
                if deeper:
                    below.setdefault(name, _Category(f"{prefix}{name}."))
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
        if path not in _WITH_EFFECT:
            has_no_effect(f"IPUConfig.{path}")
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:  # only for names that do not exist
        if name.startswith("__"):  # of the protocols of copy and pickle
            raise AttributeError(name)
        raise AttributeError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        names = [known for known in self.__dict__ if not known.startswith("_")]
        near = difflib.get_close_matches(name, names, 1)
        also = f" Did you mean '{near[0]}'?" if near else ""
        prefix = self.__dict__.get("_prefix", "")
        return f"'{prefix}{name}' is not an attribute of IPUConfig.{also}"


class IPUConfig(_Category):
    """The configuration of a process's IPUs."""

    def __init__(self) -> None:
        """Set every attribute to its default."""
        super().__init__()

    def configure_ipu_system(self, device: str = "cpu") -> None:
        """Configure the IPUs of this process."""
        configure_ipu_system(self, device)

    def number_of_ipus(self) -> int:
        """Return the number of IPUs of the first TensorFlow device; one by default."""
        chosen = self.auto_select_ipus or self.select_ipus
        if isinstance(chosen, int):
            return chosen if self.auto_select_ipus else 1
        if not chosen:
            return 1
        return int(chosen[0]) if self.auto_select_ipus else len(chosen)


def configure_ipu_system(
    config: Any, device: str = "cpu", reset_configuration: bool = True
) -> None:
    """Configure the IPUs of this process.

    Raises TypeError for another class, ValueError for a configuration that cannot be, and
    tf.errors.InvalidArgumentError if there are too few IPUs.
    """
    if not isinstance(config, IPUConfig):
        raise TypeError(f"config must be an IPUConfig; it is a {type(config).__name__}")
    if config.auto_select_ipus and config.select_ipus:
        raise ValueError("auto_select_ipus and select_ipus are both set: remove one of them")
    connection = config.device_connection
    ahead = (DeviceConnectionType.NEVER, DeviceConnectionType.PRE_COMPILE)
    if connection.type in ahead and connection.version not in ("ipu1", "ipu2", "ipu21"):
        raise ValueError(
            "without a device the architecture is unknown: set device_connection.version to "
            "ipu1, ipu2 or ipu21"
        )
    flags()
    if STATE.configured is not None and not reset_configuration:
        raise RuntimeError("IPUs are configured already; call reset_ipu_configuration() first")
    ipus, attached = config.number_of_ipus(), settings.attached_ipus()
    if ipus > attached:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"Requested {ipus} IPUs and {attached} emulated ones are attached. Set "
            f"{settings.IPUS}={ipus}, or `--ipus {ipus}` of the command (at most 64)",
        )
    if ipus & (ipus - 1):
        raise tf.errors.InvalidArgumentError(
            None, None, f"Requested {ipus} IPUs; a device has 1, 2, 4, 8, ... of them"
        )
    reset_ipu_configuration()
    STATE.configured = config


def reset_ipu_configuration() -> None:
    """Remove the configuration, so that another may follow."""
    STATE.configured = None
    STATE.generation += 1
    STATE.shards = 1


def get_ipu_config(session: Any = None) -> List[IPUConfig]:
    """Return the configuration in use."""
    if STATE.configured is None:
        raise RuntimeError("no IPUs are configured: call configure_ipu_system() first")
    return [STATE.configured]


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
        raise TypeError(
            f"Trying to set '{path}' to {value!r}; it must be of type {expected.__name__}"
        )


def _texts(options: Dict[Any, Any]) -> Iterator[Any]:
    for pair in options.items():
        yield from pair
