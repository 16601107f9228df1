"""The arrays that a training changes: weights, trained constants and the optimizer's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence

import numpy as np
import tensorflow as tf

from ipulse_worker.runner.model.arrays_in_use import arrays_in_use
from ipulse_worker.runner.model.optimizer import Optimizer
from ipulse_worker.runner.model.state import State, in_order, numbered, part, within
from ipulse_worker.runner.model.weight_names import trained_names
from ipulse_worker.runner.user_code.ops.ops import CustomOps

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class TrainedState:
    """Reads and sets the variables of a network and its optimizer."""

    spec: ExperimentSpec
    ops: Optional[CustomOps]
    net: Any  # MultiLIF or ConvNetwork
    optimizer: Optimizer
    _kernels: List[tf.Variable]
    _variables: List[tf.Variable]  # the kernels, then the trained constants

    @property
    def weights(self) -> List[np.ndarray]:
        """The weights, float32 with the shapes of ipulse_ops.lif.weights.weight_shapes."""
        return [kernel.numpy() for kernel in self._kernels]

    @weights.setter
    def weights(self, values: Sequence[np.ndarray]) -> None:
        for kernel, value in zip(self._kernels, values):
            kernel.assign(value)
        self.net.match_deviations()

    @property
    def trained(self) -> List[np.ndarray]:
        """All trained arrays: the weights, then the trained constants."""
        return [variable.numpy() for variable in self._variables]

    @trained.setter
    def trained(self, values: Sequence[np.ndarray]) -> None:
        for variable, value in zip(self._variables, values):
            variable.assign(value)

    def assign(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set some trained arrays by name."""
        for name, variable in zip(trained_names(self.spec, self.ops), self._variables):
            if name in arrays:
                variable.assign(arrays[name])
        self.net.match_deviations()

    @property
    def arrays(self) -> Dict[str, np.ndarray]:
        """All trained arrays by name, with weights as runs read them."""
        return arrays_in_use(self.spec, dict(zip(trained_names(self.spec, self.ops), self.trained)))

    def state(self) -> State:
        """Return the trained arrays and the optimizer's state for a checkpoint."""
        state = within("trained", numbered(self.trained))
        for name, variables in self.optimizer.slots.items():
            arrays = [variable.numpy() for variable in variables]
            state.update(within(f"optimizer/{name}", numbered(arrays)))
        return state

    def restore(self, state: State) -> None:
        """Set the state from a checkpoint."""
        self.trained = in_order(part("trained", state))
        for name, variables in self.optimizer.slots.items():
            for variable, value in zip(variables, in_order(part(f"optimizer/{name}", state))):
                variable.assign(value)


def variable_of(kernel: Any) -> tf.Variable:
    """Return the TensorFlow variable, which Keras 3 wraps; fused ops write to it."""
    return kernel if isinstance(kernel, tf.Variable) else kernel.value
