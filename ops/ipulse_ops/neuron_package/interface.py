"""The interface of a package with neurons: a reference in float64, and a kernel in float32."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Dict, Mapping, Sequence, Tuple

import numpy as np

from ipulse_core.spec.neuron_packages import PackageParameter

Values = Mapping[str, np.ndarray]  # a parameter's values by its name, each [neurons]
Gradients = Dict[str, np.ndarray]


class NeuronPackage(ABC):
    """The neurons of a layer: they may have any states, and pass values to each other.

    The arrays have the shape `[time, batch, neurons]`: `currents`, what each neuron receives in
    each step; `spikes`, 1 where a neuron spikes in a step, else 0; `by_spikes`, the gradient of a
    loss for each spike. `parameters` has one array `[neurons]` for each declared parameter, within
    its bounds; every state has its initial value before the first step of a sample.

    The methods must not change their arguments or keep them, must return the same bits for the
    same arguments, and must compute every sample as if it were alone in the batch. Each raises
    ValueError if an argument is not finite, instead of returning spikes of a NaN.

    A class without arguments for its constructor, named in an entry point of the group
    `ipulse.neurons`, is a package.
    """

    parameters: Sequence[PackageParameter] = ()

    @abstractmethod
    def reference_forward(self, currents: np.ndarray, parameters: Values) -> np.ndarray:
        """Return the spikes, float64, of currents and parameters in float64."""

    @abstractmethod
    def reference_relaxed(
        self, currents: np.ndarray, parameters: Values, spikes: np.ndarray
    ) -> np.ndarray:
        """Return the smooth function of which the gradient is the derivative, float64.

        It is above 0.5 exactly where `spikes`, those of reference_forward, are 1. What the gradient
        does not pass through, such as a reset, takes `spikes` as constants.
        """

    @abstractmethod
    def reference_adjoint(
        self,
        currents: np.ndarray,
        parameters: Values,
        spikes: np.ndarray,
        by_spikes: np.ndarray,
    ) -> Tuple[np.ndarray, Gradients]:
        """Return the gradients of the currents and of each trainable parameter, float64.

        These are those of sum(by_spikes * reference_relaxed(currents, parameters, spikes)) with
        constant spikes. The gradient of a parameter is `[neurons]`, summed over steps and samples.
        """

    @abstractmethod
    def forward(self, currents: np.ndarray, parameters: Values) -> Tuple[np.ndarray, np.ndarray]:
        """Return the spikes, and what `backward` needs, as one array of any shape, all float32.

        This and `backward` are the kernel, which trains: they may call native code.
        """

    @abstractmethod
    def backward(
        self,
        currents: np.ndarray,
        parameters: Values,
        spikes: np.ndarray,
        saved: np.ndarray,
        by_spikes: np.ndarray,
    ) -> Tuple[np.ndarray, Gradients]:
        """Return what reference_adjoint returns, in float32.

        spikes, saved: those of `forward`.
        """
