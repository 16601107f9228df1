"""A layer of the example of a package, with all its parameters trained, and its reference."""

from __future__ import annotations

import importlib.util
from typing import Any, Dict, Tuple

import numpy as np

from ipulse_core.equations.neuron import NeuronParameter
from ipulse_ops.neuron_package.calls import PackageCalls
from ipulse_ops.neuron_package.keras_layer import PackageLayer
from ipulse_ops.neuron_package.layer_neurons import LayerNeurons, PackageNeuron
from ipulse_ops.reference.spike_matmul import spike_matmul, spike_matmul_gradients
from tests.ops.neuron_package.wheels import EXAMPLE

STEPS, BATCH, SENDERS, NEURONS = 12, 5, 10, 8
VALUES = {"decay": 0.7, "coupling": 0.1, "gain": 0.4}


def example() -> Any:
    """The neurons of the example."""
    spec = importlib.util.spec_from_file_location("coupled_dendrites_of_tests", str(EXAMPLE))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CoupledDendrites()


def package_layer(**options: Any) -> PackageLayer:
    """A layer with drawn weights, whose neurons spike in a third of the steps."""
    trained, recurrent = options.pop("trained", tuple(VALUES)), options.pop("recurrent", False)
    parameters = tuple(
        NeuronParameter(name, value, 0.0, 2.0, name != "coupling", name in trained)
        for name, value in VALUES.items()
    )
    calls = PackageCalls(example())
    neurons = LayerNeurons(PackageNeuron("example", parameters), NEURONS, calls, recurrent)
    made = PackageLayer(SENDERS, neurons, **options)
    rng = np.random.default_rng(3)
    shapes = [kernel.shape for kernel in made.kernels]
    made.set_kernels([rng.normal(0.2, 0.6, shape).astype(np.float32) for shape in shapes])
    return made


def batch() -> Tuple[np.ndarray, np.ndarray]:
    """Ids, of which a step may list one twice, and counts."""
    rng = np.random.default_rng(4)
    ids = rng.integers(0, SENDERS, (STEPS, BATCH, 4)).astype(np.int32)
    return ids, rng.integers(0, 5, (STEPS, BATCH)).astype(np.int32)


class Reference:
    """The layer in float64."""

    def __init__(self, layer: PackageLayer) -> None:
        self._kernel = layer.kernels[0].numpy().astype(np.float64)
        self._parameters = {name: np.full(NEURONS, value) for name, value in VALUES.items()}
        self._neurons = example()
        self.current = spike_matmul(self._kernel, *batch())
        self.spikes = self.spikes_of(self.current)

    def spikes_of(self, current: np.ndarray) -> np.ndarray:
        """The spikes at a current."""
        found: np.ndarray = self._neurons.reference_forward(current, self._parameters)
        return found

    def gradients(self, by_spikes: np.ndarray) -> Tuple[np.ndarray, Dict[str, np.ndarray]]:
        """The gradients of the current and the parameters."""
        found: Tuple[np.ndarray, Dict[str, np.ndarray]] = self._neurons.reference_adjoint(
            self.current, self._parameters, self.spikes, by_spikes
        )
        return found

    def by_kernel(self, by_current: np.ndarray) -> np.ndarray:
        """The gradient of the weights."""
        return spike_matmul_gradients(self._kernel, *batch(), by_current)[0]
