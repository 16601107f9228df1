"""A layer with neurons of a package as a Keras layer."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ipulse_ops.equations.kernel import aligned
from ipulse_ops.equations.layer_equations import spread
from ipulse_ops.keras.equations_layer import EquationsLayer
from ipulse_ops.keras.equations_neurons import NotFinite, by_neurons
from ipulse_ops.neuron_package.calls import BrokenPackage, PackageCalls
from ipulse_ops.neuron_package.interface import Gradients, Values
from ipulse_ops.neuron_package.layer_neurons import LayerNeurons
from ipulse_ops.neuron_package.sequences import (
    recurrent_backward,
    recurrent_forward,
    window_gradients,
)
from ipulse_ops.validation import choice


class PackageLayer(EquationsLayer):
    """Neurons of a package behind trained weights: takes spikes and returns Spikes.

    inputs: number of senders.
    neurons: the neurons.
    bias: True adds a trained current per neuron at every step.
    input_scale: factor of the input weights, as after an average pool.
    truncate: steps of a window, from which no gradient passes to the one before; None: it passes
        through all steps. The parameters are not trained then.

    The other arguments are those of EquationsNeurons; the policy is "index" or "cyclic", because
    packages return spikes and no membranes. The package's kernel runs on the CPU. What it raises or
    returns against its interface ends the call with an error, which `failure` keeps.

    Raises ValueError for trained parameters of a layer with `truncate`, and for a capacity of a
    recurrent layer.
    """

    def __init__(
        self,
        inputs: int,
        neurons: LayerNeurons,
        bias: bool = False,
        input_scale: float = 1.0,
        truncate: Optional[int] = None,
        **kwargs: Any,
    ) -> None:
        if truncate is not None and neurons.neuron.trained:
            raise ValueError(
                "packages return the gradients of parameters as sums over all steps: train none "
                "where gradients are truncated"
            )
        if neurons.recurrent and kwargs.get("capacity") is not None:
            raise ValueError("a recurrent layer with a package has one slot per neuron")
        self.truncate = truncate
        self._calls, self._seconds = neurons.calls, {"forward": 0.0, "backward": 0.0}
        layer: Any = neurons  # it has what the layer reads of equations
        super().__init__(inputs, layer, bias, input_scale=input_scale, **kwargs)
        choice("policy", self.policy, ("index", "cyclic"))
        self._more_kept = 0 if self.capacity is None else 1  # the spikes, some without a slot

    def _make_kernel(self, tiles: Optional[int]) -> None:
        self._kernel = None  # the package is loaded

    @property
    def kernel_seconds(self) -> Dict[str, float]:
        """The seconds that the package took, by pass."""
        return dict(self._seconds)

    def _forward(
        self, keep: bool, parameters: np.ndarray, current: np.ndarray, *recurrent: np.ndarray
    ) -> List[np.ndarray]:
        spikes, saved, total = self._run_kernel(parameters, current, *recurrent)
        return [*_listed(spikes), saved, *total]

    def _values(
        self,
        keep: bool,
        seed: int,
        parameters: np.ndarray,
        current: np.ndarray,
        *recurrent: np.ndarray,
    ) -> List[np.ndarray]:
        spikes, saved, _ = self._run_kernel(parameters, current)
        return [spikes - np.float32(0.5), saved, spikes]

    def _run_kernel(
        self, parameters: np.ndarray, current: np.ndarray, *recurrent: np.ndarray
    ) -> Tuple[np.ndarray, np.ndarray, List[np.ndarray]]:
        """Return the spikes of the package, what its backward pass needs, and the currents.

        The latter are those of a recurrent layer, with its own spikes.
        """
        self._require_finite("the current", current)
        arguments = self._calls, current, self._by_name(parameters)
        start = time.perf_counter()
        try:
            spikes, saved, *total = run_package(*arguments, *recurrent)
        except BrokenPackage as error:
            raise self._failed(error) from error
        self._seconds["forward"] += time.perf_counter() - start
        self._require_finite("a state", saved)
        return spikes, saved, total

    def _backward(
        self,
        parameters: np.ndarray,
        current: np.ndarray,
        states: np.ndarray,
        by_slots: np.ndarray,
        ids: np.ndarray,
        counts: np.ndarray,
        *rest: np.ndarray,
    ) -> List[np.ndarray]:
        self._require_finite("the gradient of a spike", by_slots)
        by_spikes = by_neurons(by_slots, ids, counts, self.layer.neurons)
        by_parameter = self._by_name(parameters)
        has_slots = self.capacity is not None  # ids and counts lack spikes then
        spikes = rest[0] if has_slots else _dense(ids, counts)

        def backward(by_spikes: np.ndarray) -> Tuple[np.ndarray, Gradients]:
            if not self.layer.recurrent:
                return self._calls.backward(current, by_parameter, spikes, states, by_spikes)
            weights, total = rest
            return recurrent_backward(
                self._calls, total, by_parameter, spikes, states, by_spikes, weights
            )

        start = time.perf_counter()
        try:
            if self.truncate is None:
                by_current, by_name = backward(by_spikes)
            else:
                by_current, by_name = window_gradients(backward, by_spikes, self.truncate), {}
        except BrokenPackage as error:
            raise self._failed(error) from error
        self._seconds["backward"] += time.perf_counter() - start
        self._require_finite("the gradient of the current", by_current)
        found = [by_current]
        for parameter in self.layer.neuron.trained:
            size = self.layer.neurons if parameter.is_per_neuron else 1
            rows = by_name[parameter.name].astype(np.float64).reshape(-1, size)
            total = np.add.accumulate(rows)[-1].astype(np.float32)
            self._require_finite(f"the gradient of {parameter.name}", total)
            found.append(total)
        return found

    def _by_name(self, parameters: np.ndarray) -> Dict[str, np.ndarray]:
        return {each.name: row for each, row in zip(self.layer.neuron.parameters, parameters)}

    def _failed(self, error: BrokenPackage) -> BrokenPackage:
        where = f"{self.name.replace('_', ' ')} ({self.layer.neuron.name})"
        self.failure = failure = BrokenPackage(f"the package of {where} failed: {error}")
        return failure

    def _require_finite(self, what: str, values: np.ndarray) -> None:
        if not np.isfinite(values).all():
            where = f"{self.name.replace('_', ' ')} ({self.layer.neuron.name})"
            self.failure = failure = NotFinite(f"{what} of {where} is no finite number")
            raise failure


def run_package(
    calls: PackageCalls, currents: np.ndarray, parameters: Values, *recurrent: np.ndarray
) -> Tuple[np.ndarray, ...]:
    """Return spikes and what the backward pass needs; of a recurrent layer the currents, too."""
    if recurrent:
        return recurrent_forward(calls, currents, parameters, *recurrent)
    return calls.forward(currents, parameters)


def package_spikes(
    neurons: LayerNeurons, currents: np.ndarray, *recurrent: np.ndarray
) -> np.ndarray:
    """Return the spikes of the package's kernel, float32, with the initial parameters.

    recurrent: the weights `[neurons, neurons]` of a recurrent layer, by sender.
    """
    parameters = {
        name: spread(values, neurons.neurons).astype(np.float32)
        for name, values in neurons.values().items()
    }
    return run_package(neurons.calls, currents.astype(np.float32), parameters, *recurrent)[0]


def _listed(spikes: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return ids, first those that spike, then the others, and counts of spikes and slots."""
    ids = aligned(spikes.shape)
    ids[...] = np.argsort(spikes == 0, axis=-1, kind="stable")
    counts = aligned((*spikes.shape[:2], 2))
    counts[..., 0], counts[..., 1] = spikes.sum(axis=-1), spikes.shape[-1]
    return ids, counts


def _dense(ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the spikes that `_listed` lists."""
    spikes = np.zeros_like(ids)
    sends = np.arange(ids.shape[-1]) < counts[..., :1]
    np.put_along_axis(spikes, ids.astype(np.int64), sends.astype(np.float32), axis=-1)
    return spikes
