"""Calls the methods of a package, and checks what they return."""

from __future__ import annotations

from typing import Any, Iterable, Sequence, Tuple

import numpy as np

from ipulse_core.errors import IPUlseError
from ipulse_ops.neuron_package.interface import Gradients, NeuronPackage, Values


class BrokenPackage(IPUlseError):
    """A package returned what its interface does not allow, or raised an error."""

    code = "broken_package"


class PackageCalls:
    """Calls a package of neurons; every result has the shape and the type of the interface.

    Arguments cannot be written to. Each method raises BrokenPackage with the name of the method.
    """

    def __init__(self, neurons: NeuronPackage) -> None:
        self._neurons = neurons
        self.trainable = tuple(each.name for each in neurons.parameters if each.trainable)

    def reference_forward(self, currents: np.ndarray, parameters: Values) -> np.ndarray:
        """Return the spikes of the reference, float64."""
        found = self._call("reference_forward", currents, parameters)
        return _spikes("reference_forward", found, currents.shape, np.float64)

    def reference_relaxed(
        self, currents: np.ndarray, parameters: Values, spikes: np.ndarray
    ) -> np.ndarray:
        """Return the smooth function, float64."""
        name = "reference_relaxed"
        return _array(
            name, self._call(name, currents, parameters, spikes), currents.shape, np.float64
        )

    def reference_adjoint(
        self, currents: np.ndarray, parameters: Values, spikes: np.ndarray, by_spikes: np.ndarray
    ) -> Tuple[np.ndarray, Gradients]:
        """Return the gradients of the reference, float64."""
        found = self._call("reference_adjoint", currents, parameters, spikes, by_spikes)
        return self._gradients("reference_adjoint", found, currents.shape, np.float64)

    def forward(self, currents: np.ndarray, parameters: Values) -> Tuple[np.ndarray, np.ndarray]:
        """Return the spikes of the kernel and what its backward pass needs, float32."""
        spikes, saved = _pair("forward", self._call("forward", currents, parameters))
        if not isinstance(saved, np.ndarray) or saved.dtype != np.float32:
            raise BrokenPackage("forward: its second result is no float32 array")
        return _spikes("forward", spikes, currents.shape, np.float32), saved

    def backward(
        self,
        currents: np.ndarray,
        parameters: Values,
        spikes: np.ndarray,
        saved: np.ndarray,
        by_spikes: np.ndarray,
    ) -> Tuple[np.ndarray, Gradients]:
        """Return the gradients of the kernel, float32."""
        found = self._call("backward", currents, parameters, spikes, saved, by_spikes)
        return self._gradients("backward", found, currents.shape, np.float32)

    def _call(self, name: str, currents: np.ndarray, parameters: Values, *rest: np.ndarray) -> Any:
        values = {key: _read_only(value) for key, value in parameters.items()}
        try:
            method = getattr(self._neurons, name)
            return method(_read_only(currents), values, *map(_read_only, rest))
        except Exception as error:  # the code of the package may raise anything
            raise BrokenPackage(f"{name} raised {type(error).__name__}: {error}") from error

    def _gradients(
        self, name: str, found: Any, shape: Sequence[int], dtype: Any
    ) -> Tuple[np.ndarray, Gradients]:
        by_currents, by_parameters = _pair(name, found)
        _array(name, by_currents, shape, dtype)
        if not isinstance(by_parameters, dict) or set(by_parameters) != set(self.trainable):
            names = ", ".join(self.trainable) or "none"
            raise BrokenPackage(f"{name}: the second result must have the gradients of: {names}")
        for key in self.trainable:
            _array(f"{name}, gradient of {key}", by_parameters[key], shape[2:], dtype)
        return by_currents, by_parameters


def _pair(name: str, found: Any) -> Tuple[Any, Any]:
    if not isinstance(found, tuple) or len(found) != 2:
        raise BrokenPackage(f"{name} must return two values")
    return found


def _spikes(name: str, found: Any, shape: Sequence[int], dtype: Any) -> np.ndarray:
    spikes = _array(name, found, shape, dtype)
    if not ((spikes == 0) | (spikes == 1)).all():
        raise BrokenPackage(f"{name}: spikes are 0 or 1, and some are not")
    return spikes


def _array(name: str, found: Any, shape: Iterable[int], dtype: Any) -> np.ndarray:
    wanted = tuple(shape)
    if not isinstance(found, np.ndarray) or (found.shape, found.dtype) != (wanted, dtype):
        got = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found)
        raise BrokenPackage(f"{name}: wanted {np.dtype(dtype)} {wanted}; got {got}")
    return found


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
