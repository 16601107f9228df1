"""`ipu.utils`: seeds, initialisation, and the configuration functions of SDK 2.3 and older."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

import tensorflow as tf

from ipu_tensorflow_emulator.ipu import config as configuration
from ipu_tensorflow_emulator.ipu.config import DeviceConnectionType as DeviceConnectionType
from ipu_tensorflow_emulator.ipu.config import ExecutionProfileType as ExecutionProfileType
from ipu_tensorflow_emulator.ipu.config import IPUConfig as IPUConfig
from ipu_tensorflow_emulator.ipu.config import (
    MergeRemoteBuffersBehaviour as MergeRemoteBuffersBehaviour,
)
from ipu_tensorflow_emulator.ipu.config import SchedulingAlgorithm as SchedulingAlgorithm
from ipu_tensorflow_emulator.ipu.config import SelectionOrder as SelectionOrder
from ipu_tensorflow_emulator.ipu.config import (
    StochasticRoundingBehaviour as StochasticRoundingBehaviour,
)
from ipu_tensorflow_emulator.ipu.config import get_ipu_config as get_ipu_config
from ipu_tensorflow_emulator.ipu.config import reset_ipu_configuration as reset_ipu_configuration
from ipu_tensorflow_emulator.process import flags, has_no_effect, ipus_in_use
from ipu_tensorflow_emulator.refused import function


def configure_ipu_system(
    config: Any, device: str = "cpu", reset_configuration: bool = True
) -> None:
    """Configure the IPUs of this process."""
    configuration.configure_ipu_system(config, device, reset_configuration)


def move_variable_initialization_to_cpu(graph: Any = None) -> None:
    """Leave the initialisers where they are: on the host."""
    has_no_effect("move_variable_initialization_to_cpu")


def reset_ipu_seed(
    seed: int,
    device: str = "/device:IPU:0",
    cpu_device: str = "cpu",
    experimental_identical_replicas: bool = False,
) -> None:
    """Seed TensorFlow's generator. The numbers are not those of an IPU's generator."""
    tf.compat.v2.random.set_seed(seed)
    has_no_effect("reset_ipu_seed (it seeds TensorFlow's generator, whose numbers differ)")


def get_num_of_ipus_in_device(ipu_device: str, device: str = "cpu") -> int:
    """Return the number of IPUs of a TensorFlow device."""
    return ipus_in_use()


def running_on_ipu_model() -> bool:
    """Return whether TF_POPLAR_FLAGS asks for the IPU model."""
    return "use_ipu_model" in flags()


def create_ipu_config(**options: Any) -> IPUConfig:
    """Return a configuration; options for profiles have no effect."""
    for name, value in options.items():
        if value not in (None, False):
            has_no_effect(f"create_ipu_config({name}=)")
    return IPUConfig()


def auto_select_ipus(opts: IPUConfig, num_ipus: Any) -> IPUConfig:
    """Select a number of IPUs."""
    opts.auto_select_ipus = num_ipus if isinstance(num_ipus, int) else list(num_ipus)
    return opts


def select_ipus(opts: IPUConfig, indices: Sequence[int]) -> IPUConfig:
    """Select IPUs by their numbers."""
    opts.select_ipus = list(indices)
    return opts


def set_ipu_model_options(
    opts: IPUConfig,
    compile_ipu_code: bool = True,
    tiles_per_ipu: Optional[int] = None,
    ipu_model_version: str = "ipu2",
) -> IPUConfig:
    """Set options of the IPU model; the number of tiles has an effect."""
    opts.ipu_model.compile_ipu_code = compile_ipu_code
    opts.ipu_model.tiles_per_ipu = tiles_per_ipu or 0
    return opts


def set_ipu_connection_type(
    opts: IPUConfig,
    connection_type: Optional[DeviceConnectionType] = None,
    ipu_version: Any = None,
    enable_remote_buffers: bool = False,
) -> IPUConfig:
    """Set when the process attaches to IPUs."""
    opts.device_connection.type = connection_type or DeviceConnectionType.ALWAYS
    if ipu_version is not None:
        text = str(ipu_version)
        opts.device_connection.version = text if text.startswith("ipu") else f"ipu{text}"
    return opts


def _without_effect(name: str) -> Any:
    def accept(opts: IPUConfig, *_: Any, **__: Any) -> IPUConfig:
        has_no_effect(f"utils.{name}")
        return opts

    accept.__name__ = name
    accept.__doc__ = "Return the configuration; without effect."
    return accept


set_compilation_options = _without_effect("set_compilation_options")
set_convolution_options = _without_effect("set_convolution_options")
set_matmul_options = _without_effect("set_matmul_options")
set_pooling_options = _without_effect("set_pooling_options")
set_norm_options = _without_effect("set_norm_options")
set_gcl_options = _without_effect("set_gcl_options")
set_report_options = _without_effect("set_report_options")
set_transfer_options = _without_effect("set_transfer_options")
set_recomputation_options = _without_effect("set_recomputation_options")
set_floating_point_behaviour_options = _without_effect("set_floating_point_behaviour_options")
set_optimization_options = _without_effect("set_optimization_options")
set_serialization_options = _without_effect("set_serialization_options")
set_io_tiles_options = _without_effect("set_io_tiles_options")
set_experimental_multi_replica_distribution_options = _without_effect(
    "set_experimental_multi_replica_distribution_options"
)


def extract_all_strings_from_event_trace(events: Any) -> str:
    """Return the text of the events of `ipu_event_trace`, which has none."""
    return ""


def extract_all_events(events: Any) -> List[Any]:
    """Return the events of `ipu_event_trace`, which has none."""
    return []


extract_compile_reports = extract_execute_reports = extract_graph_reports = extract_all_events
extract_poplar_serialized_graphs = extract_all_events

globals().update(
    {
        name: function(
            f"utils.{name}",
            "it writes files for executables of Graphcore's compiler, which the emulation does not "
            "make",
        )
        for name in ("export_dataset_to_file", "export_inputs_to_file")
    }
)
