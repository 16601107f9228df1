"""Modules of a former release that can be imported for one more, with a warning.

`ipulse.deprecated` has the names of the other packages; the ops run on Python 3.8 and do not import
it. Public names that are still in their module need no entry.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Optional, Sequence

# Former modules, and the modules that have their names now.
FORMER_MODULES = {
    "ipulse_ops.conv.geometry_attribute": "ipulse_ops.lif.conv_geometry",
    "ipulse_ops.conv.layer": "ipulse_ops.lif.conv_layer",
    "ipulse_ops.equations.keras_layer": "ipulse_ops.keras.equations_layer",
    "ipulse_ops.equations.neurons": "ipulse_ops.keras.equations_neurons",
    "ipulse_ops.keras.conv": "ipulse_ops.keras.convolutions.conv",
    "ipulse_ops.keras.conv_network": "ipulse_ops.keras.convolutions.conv_network",
    "ipulse_ops.keras.convolution": "ipulse_ops.keras.convolutions.convolution",
    "ipulse_ops.keras.trained_convolutions": "ipulse_ops.keras.convolutions.trained_convolutions",
    "ipulse_ops.lif.cpu.constants": "ipulse_ops.lif.layer_constants",
    "ipulse_ops.lif.cpu.tensorflow_op": "ipulse_ops.lif.cpu_op",
    "ipulse_ops.training.delayed_weights": "ipulse_ops.lif.delayed_weights",
    "ipulse_ops.training.weight_types": "ipulse_ops.lif.weight_types",
}
# Names that left a module that is still there, and the modules that have them now.
FORMER_NAMES = {
    "ipulse_ops.lif.network": {
        "PerNeuron": "ipulse_ops.lif.neuron_constants",
        "current_scale": "ipulse_ops.lif.neuron_constants",
        "per_neuron": "ipulse_ops.lif.neuron_constants",
        "scale_by_decay": "ipulse_ops.lif.neuron_constants",
    },
    "ipulse_ops.lif.poplar.attributes": {
        "MAPPINGS": "ipulse_ops.lif.placement",
        "SPLITS": "ipulse_ops.lif.placement",
    },
}


def former_name(module: str, name: str) -> Any:
    """Return what a module had under a name. Raises AttributeError if it never had the name."""
    place = FORMER_NAMES[module].get(name)
    if place is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    _warn(f"{module}.{name}", f"{place}.{name}", 4)
    return getattr(import_module(place), name)


class FormerModules(MetaPathFinder, Loader):
    """Finds former modules, after all other finders: each is the module that has its names now."""

    def find_spec(
        self,
        fullname: str,
        path: Optional[Sequence[Any]] = None,
        target: Optional[ModuleType] = None,
    ) -> Optional[ModuleSpec]:
        """Return how a former module is loaded, or None."""
        return ModuleSpec(fullname, self) if fullname in FORMER_MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        """Give a former module the names of the one that took its place."""
        place = FORMER_MODULES[module.__name__]
        _warn(module.__name__, place, 3)
        names = vars(import_module(place))
        vars(module).update((name, names[name]) for name in names if not name.startswith("__"))


def find_former_modules() -> None:
    """Let Python find former modules."""
    if not any(isinstance(finder, FormerModules) for finder in sys.meta_path):
        sys.meta_path.append(FormerModules())


def _warn(name: str, instead: str, level: int) -> None:
    message = f"{name} is deprecated and goes with the next release: use {instead}"
    warnings.warn(message, DeprecationWarning, stacklevel=level)
