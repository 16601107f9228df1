"""A strict stand-in for `tensorflow.python.ipu` of Graphcore's TensorFlow: tests only.

It has the names, types and orders of calls that are documented for TensorFlow 2.6 with SDK 2.6 and
that IPUlse uses, and refuses everything else. XLA compiles every program, custom ops and queues
apart; custom ops run on the emulator. `install()` puts it where TensorFlow would have it.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any, Dict

import pytest

from . import config, custom_ops, ipu_infeed_queue, ipu_outfeed_queue, ipu_strategy
from .state import STATE, State, reset

_DOCUMENTED: Dict[Any, str] = {
    config: "IPUConfig DeviceConnectionType SelectionOrder SchedulingAlgorithm "
    "StochasticRoundingBehaviour MergeRemoteBuffersBehaviour configure_ipu_system "
    "reset_ipu_configuration",
    custom_ops: "precompiled_user_op",
    ipu_infeed_queue: "IPUInfeedQueue",
    ipu_outfeed_queue: "IPUOutfeedQueue IPUOutfeedMode",
    ipu_strategy: "IPUStrategy IPUStrategyV1",
}


def install(patch: pytest.MonkeyPatch) -> State:
    """Makes `from tensorflow.python import ipu` find it, as a new process would."""
    parent = importlib.import_module("tensorflow.python")
    reset()
    module = types.ModuleType("tensorflow.python.ipu")
    for part, names in _DOCUMENTED.items():
        name = part.__name__.rpartition(".")[2]
        documented = types.ModuleType(f"tensorflow.python.ipu.{name}")
        documented.__dict__.update({known: getattr(part, known) for known in names.split()})
        setattr(module, name, documented)
    patch.setitem(sys.modules, "tensorflow.python.ipu", module)
    patch.setattr(parent, "ipu", module, raising=False)
    return STATE
