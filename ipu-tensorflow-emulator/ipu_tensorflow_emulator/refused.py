"""Modules and functions of Graphcore's TensorFlow that the emulation refuses, with the way on."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Dict

_NEEDS_EXECUTABLE = (
    "it needs an executable for IPUs, which only Graphcore's compiler makes. Run the model here "
    "with strategy.run() or a session, and compile ahead of time with Graphcore's TensorFlow"
)
_BETWEEN_REPLICAS = (
    "it exchanges data between replicas, of which one is emulated. Leave it out for one replica"
)
# By package: why each module is refused, and the way on.
_REASONS: Dict[str, Dict[str, str]] = {
    "ipu": {
        "ipu_estimator": "this TensorFlow has no estimators. Use one up to 2.15, Keras, or a "
        "session with loops.repeat and queues",
        "ipu_pipeline_estimator": "this TensorFlow has no estimators. Use one up to 2.15, Keras, "
        "or pipelining_ops.pipeline in a session",
        "dataset_benchmark": "it measures copies for an IPU. Time a loop over the data set",
        "ipu_multi_worker_strategy": "it needs several processes. Use IPUStrategy in one",
        "serving": _NEEDS_EXECUTABLE,
        "vertex_edsl": "codelets in Python need Graphcore's compiler. Write a custom op in C++",
    },
    "ipu.ops": {
        "all_to_all_op": _BETWEEN_REPLICAS,
        "application_compile_op": _NEEDS_EXECUTABLE,
        "embedded_runtime": _NEEDS_EXECUTABLE,
        "f8_ops": "TensorFlow's ops on the host have no 8-bit floats. Use float16 or float32",
        "reduce_scatter_op": _BETWEEN_REPLICAS,
        "within_replica_ops": "it exchanges data between the IPUs of a replica, which TensorFlow's "
        "ops do not have here. Use tf.concat or tf.add_n",
    },
}


def function(name: str, reason: str) -> Callable[..., Any]:
    """Return a function that raises NotImplementedError with the reason."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{name} is not emulated: {reason}")

    return refuse


def modules(package: str) -> Dict[str, ModuleType]:
    """Return the refused modules of a package of ours; every name in them raises when called."""
    root = __name__.rpartition(".")[0]
    reasons = _REASONS[package[len(root) + 1 :]]
    return {name: _module(f"{package}.{name}", reason) for name, reason in reasons.items()}


def _module(place: str, reason: str) -> ModuleType:
    def get(name: str) -> Any:
        if name.startswith("__"):  # of the import system
            raise AttributeError(name)
        return function(f"{place.rpartition('.')[2]}.{name}", reason)

    module = ModuleType(place, "Refused: see `ipu_tensorflow_emulator.refused`.")
    module.__spec__ = ModuleSpec(place, None)
    module.__dict__["__getattr__"] = get
    return sys.modules.setdefault(place, module)
