"""A convolution of LIF neurons in which connections and neurons are ops of their own."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.equations.lif_neurons import PARAMETERS, lif_equations
from ipulse_ops.keras.constraints import clipped
from ipulse_ops.keras.equations_layer import EquationsConvolution
from ipulse_ops.keras.trained_constants import BOUNDS
from ipulse_ops.lif.constant_tensors import scale_of
from ipulse_ops.lif.network import LIF
from ipulse_ops.surrogate import SuperSpike, Surrogate


class ComposedConvolution(EquationsConvolution):
    """A convolution of LIF neurons whose constants may differ by filter, and may be trained.

    It also has synapses, adaptive thresholds, recurrent connections, truncated gradients and
    membranes that a loss reads, which Convolution has not. It computes what Convolution does, with
    sums in another order.

    geometry: sizes of the input, the kernel, the neurons and the pool.
    neurons: those of a pixel, one for each filter.
    reset, reset_gradient, surrogate, truncate: as of ipulse_ops.lif.network.Network.
    trainable: names of the constants that are trained, one number for each filter.
    shows_membranes: whether runs return the membranes of all steps.
    recurrent: whether neurons receive their own spikes through a second kernel.

    The other arguments are those of EquationsConvolution.
    """

    def __init__(
        self,
        geometry: ConvGeometry,
        neurons: LIF,
        reset: str = "zero",
        reset_gradient: str = "mask",
        surrogate: Surrogate = SuperSpike(),
        truncate: Optional[int] = None,
        trainable: Sequence[str] = (),
        shows_membranes: bool = False,
        recurrent: bool = False,
        **kwargs: Any,
    ) -> None:
        self._lif, self._names = neurons, tuple(trainable)
        equations = lif_equations(
            *(neurons, geometry.neurons, reset, reset_gradient, surrogate, truncate, trainable),
            shows_membranes=shows_membranes,
            own=geometry.recurrent if recurrent else None,
        )
        super().__init__(geometry, equations, neurons.bias, **kwargs)

    @property
    def constants(self) -> Dict[str, Any]:
        """The trained constants, Keras variables `[filters]` by name."""
        return dict(self._constants)

    def set_constants(self, values: Mapping[str, np.ndarray]) -> None:
        """Set the trained constants, by name."""
        for name, variable in self._constants.items():
            variable.assign(values[name])

    def _add_constants(self) -> Dict[str, Any]:
        return {name: self._constant(name) for name in self._names}

    def _constant(self, name: str) -> Any:
        value = np.broadcast_to(np.float32(getattr(self._lif, name)), (self._lif.neurons,))
        options: Dict[str, Any] = {}
        if name in BOUNDS:
            low, high = BOUNDS[name]
            options["constraint"] = partial(
                tf.clip_by_value, clip_value_min=low, clip_value_max=high
            )
        return self._variable(name, value.shape, tf.keras.initializers.Constant(value), **options)

    def _add_parameters(self) -> Any:
        return ()  # the constants take their place

    def _trained_values(self) -> List[Any]:
        found = {name: tf.convert_to_tensor(each) for name, each in self._constants.items()}
        for name in found:
            if name in BOUNDS:
                found[name] = clipped(found[name], *BOUNDS[name])
        if "decay" in found:
            found["scale"] = scale_of(self._lif, found["decay"])
        by_parameter = {PARAMETERS[name]: value for name, value in found.items()}
        return [by_parameter[each.name] for each in self.layer.neuron.trained]
