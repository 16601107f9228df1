"""A spec's network as traced TensorFlow functions: learn from a batch, judge a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.derived_values import input_channels
from ipulse_ops.direct_call import DirectCall
from ipulse_ops.keras import LIFOutputs
from ipulse_ops.training.regularisers import mean_over
from ipulse_worker.runner.data.spike_trains import index_type
from ipulse_worker.runner.model.network import (
    LayerLimits,
    initial_limits,
    keras_network,
    trained_names,
)
from ipulse_worker.runner.model.objective import Objective
from ipulse_worker.runner.model.optimizer import Optimizer, clipped, optimizer_of
from ipulse_worker.runner.training.batches import BatchEvaluation, BatchOf, Execution, StepResult
from ipulse_worker.runner.training.state import State, in_order, numbered, part, within
from ipulse_worker.runner.training.step_metrics import StepMetrics

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class Model:
    """The network with its weights and its optimizer.

    A batch is ids `[time, batch, slots]` of index_type(inputs), counts int32 `[time, batch]`,
    labels int32 `[batch]`. `threads`: that the kernels use. `batch`: None for batches of any size;
    else its graphs are for that one alone, and a smaller batch is filled up with samples that do
    not count.
    """

    def __init__(
        self, spec: ExperimentSpec, slots: int, threads: int, batch: Optional[int] = None
    ) -> None:
        self.spec = spec
        self._slots = slots
        self._batch = batch
        self._threads = threads
        self._objective = Objective(spec)
        self._build(initial_limits(spec))

    @property
    def steps_per_execution(self) -> int:
        """Training steps between which the host decides nothing."""
        device = self.spec.device
        return 1 if device.kind == "cpu" else device.steps_per_execution

    def _build(self, limits: LayerLimits) -> None:
        self._make_network(limits)
        self._make_functions()

    def _make_network(self, limits: LayerLimits) -> None:
        self.limits = limits
        self.net = keras_network(self.spec, limits, self._threads)
        self._kernels = [_variable(kernel) for kernel in self.net.kernels]
        constants = [_variable(weight) for weight in self.net.trainable_weights]
        known = {id(kernel) for kernel in self._kernels}
        self._variables = [*self._kernels, *(v for v in constants if id(v) not in known)]
        self.optimizer = self._make_optimizer()

    def _make_optimizer(self) -> Optimizer:
        return optimizer_of(self.spec.training.optimizer, self._variables, self._threads)

    def _make_functions(self) -> None:
        time, size = self.spec.data.steps, self._batch
        ids = tf.as_dtype(index_type(input_channels(self.spec.data))) if size is None else tf.int32
        batch = [
            tf.TensorSpec([time, size, self._slots], ids),
            tf.TensorSpec([time, size], tf.int32),
            tf.TensorSpec([size], tf.int32),
        ]
        mask = [] if size is None else [tf.TensorSpec([size], tf.float32)]
        self._gradient_function = _traced(
            self._traced_gradients, [tf.TensorSpec([], tf.int64), *batch, *mask]
        )
        self._evaluation_function = _traced(self._traced_evaluation, [*batch, *mask])
        shapes = [tf.TensorSpec(variable.shape, tf.float32) for variable in self._variables]
        step_and_rate = [tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.float32)]
        self._apply = _traced(self._applied, [shapes, *step_and_rate])

    def trace(self) -> None:
        """Builds graphs now instead of at the first call.

        On a CPU that which judges can wait until an epoch has ended: somebody waits for the first
        step. On a device building a graph compiles its program.
        """
        judge = [] if self._batch is None else [self._evaluation_function]
        for function in (self._gradient_function, *judge, self._apply):
            function.trace()

    def adapt(self, limits: LayerLimits) -> None:
        """The same weights and optimizer in a network with these limits.

        Second thresholds are variables; the number of slots is a part of the graph, which is built
        again for others.
        """
        if limits.capacities != self.limits.capacities:
            state = self.state()
            self._build(limits)
            self.restore(state)
        self.limits = limits
        for variable, second in zip(self.net.second_thresholds, limits.second_thresholds):
            if variable is not None:
                variable.assign(np.broadcast_to(np.asarray(second, np.float32), variable.shape))

    def feed(self, batch_of: BatchOf, step: int) -> None:
        """Where training steps find their batches, the next of which is that of step `step`."""
        self._batch_of = batch_of

    def execute(self, step: int, now: Callable[[], float]) -> Execution:
        """`steps_per_execution` training steps, the first of which is `step`, from 1."""
        learned, batching, applying = [], 0.0, 0.0
        for number in range(step, step + self.steps_per_execution):
            begun = now()
            batch = self._batch_of(number)
            batched = now()
            learned.append(self.compute_gradients(batch.ids, batch.counts, batch.labels, number))
            derived = now()
            self.apply(learned[-1].gradients, number, batch.learning_rate)
            batching += batched - begun
            applying += now() - derived
        return Execution(learned, batching, applying)

    def compute_gradients(
        self, ids: np.ndarray, counts: np.ndarray, labels: np.ndarray, step: int
    ) -> StepResult:
        """What training step `step`, from 1, is to learn from a batch."""
        # No Python numbers here and below: TensorFlow keeps each that it has made a tensor of.
        seed = np.array(step_seed(self.spec.seed, step), np.int64)
        *gradients, sums, max_spikes = self._gradient_function(
            seed, *self._filled(ids, counts, labels)
        )
        return StepResult(gradients, sums.numpy(), max_spikes.numpy())

    def apply(self, gradients: Sequence[tf.Tensor], step: int, rate: float) -> None:
        """Changes the weights; this is the `step`-th time, from 1, at that learning rate."""
        self._apply(list(gradients), np.array(step, np.int64), np.array(rate, np.float32))

    def evaluate(self, ids: np.ndarray, counts: np.ndarray, labels: np.ndarray) -> BatchEvaluation:
        """How the network does on a batch; nothing is learned."""
        batch = self._filled(ids, counts, labels)
        judged = BatchEvaluation(*(tensor.numpy() for tensor in self._evaluation_function(*batch)))
        return judged._replace(predicted=judged.predicted[: len(labels)])

    def forward(self, ids: np.ndarray, counts: np.ndarray) -> LIFOutputs:
        """All that the network does with a batch, as arrays."""
        samples = counts.shape[1]
        filled = self._filled(ids, counts, np.zeros(samples, np.int32))[:2]
        out = self._traced_forward(*filled)
        arrays: LIFOutputs = tf.nest.map_structure(lambda t: t.numpy()[:, :samples], out)
        return arrays

    @property
    def weights(self) -> List[np.ndarray]:
        """Float32, as ipulse_ops.lif.weights.weight_shapes says."""
        return [kernel.numpy() for kernel in self._kernels]

    @weights.setter
    def weights(self, values: Sequence[np.ndarray]) -> None:
        for kernel, value in zip(self._kernels, values):
            kernel.assign(value)

    @property
    def trained(self) -> List[np.ndarray]:
        """All that is trained: the weights, then the constants."""
        return [variable.numpy() for variable in self._variables]

    @trained.setter
    def trained(self, values: Sequence[np.ndarray]) -> None:
        for variable, value in zip(self._variables, values):
            variable.assign(value)

    @property
    def arrays(self) -> Dict[str, np.ndarray]:
        """All that is trained, by name: of a layer its weights and its trained constants."""
        return dict(zip(trained_names(self.spec), self.trained))

    def state(self) -> State:
        state = within("trained", numbered(self.trained))
        for name, variables in self.optimizer.slots.items():
            arrays = [variable.numpy() for variable in variables]
            state.update(within(f"optimizer/{name}", numbered(arrays)))
        return state

    def restore(self, state: State) -> None:
        self.trained = in_order(part("trained", state))
        for name, variables in self.optimizer.slots.items():
            for variable, value in zip(variables, in_order(part(f"optimizer/{name}", state))):
                variable.assign(value)

    def _filled(self, ids: np.ndarray, counts: np.ndarray, labels: np.ndarray) -> List[np.ndarray]:
        """The batch; where batches have one size, up to it, with a mask of what counts, and with
        ids int32, as devices have them."""
        if self._batch is None:
            return [ids, counts, labels]
        missing = self._batch - len(labels)
        mask = np.concatenate([np.ones(len(labels), np.float32), np.zeros(missing, np.float32)])
        return [
            np.pad(ids.astype(np.int32), [(0, 0), (0, missing), (0, 0)], "constant"),
            np.pad(counts, [(0, 0), (0, missing)], "constant"),
            np.pad(labels, [(0, missing)], "constant"),
            mask,
        ]

    def _traced_gradients(
        self,
        seed: tf.Tensor,
        ids: tf.Tensor,
        counts: tf.Tensor,
        labels: tf.Tensor,
        mask: Optional[tf.Tensor] = None,
    ) -> Tuple[Any, ...]:
        gradients, metrics = self._backward(ids, counts, labels, mask, seed)
        return (*gradients, metrics.sums(), metrics.max_spikes())

    def _backward(
        self, ids: tf.Tensor, counts: tf.Tensor, labels: tf.Tensor, mask: Any, seed: Any
    ) -> Tuple[List[tf.Tensor], StepMetrics]:
        """The gradients that a batch gives, and what the network did with it."""
        with tf.GradientTape() as tape:
            out = self.net(ids, counts, seed=seed)
            losses, predicted = self._objective.evaluate(out, labels)
            loss = mean_over(losses, mask)
            penalty = self._objective.penalty(out, mask)
            if penalty is not None:
                loss += penalty
        gradients = clipped(
            tape.gradient(loss, self._variables), self.spec.training.gradient_clipping
        )
        return gradients, StepMetrics(out, losses, predicted, labels, penalty, mask)

    def _traced_evaluation(
        self,
        ids: tf.Tensor,
        counts: tf.Tensor,
        labels: tf.Tensor,
        mask: Optional[tf.Tensor] = None,
    ) -> Tuple[Any, ...]:
        metrics = self._forward(ids, counts, labels, mask)
        return (
            metrics.sums(),
            metrics.predicted,
            metrics.spikes_by_step(),
            metrics.dropped_by_step(),
        )

    def _forward(
        self, ids: tf.Tensor, counts: tf.Tensor, labels: tf.Tensor, mask: Any
    ) -> StepMetrics:
        out = self.net(ids, counts, training=False)
        losses, predicted = self._objective.evaluate(out, labels)
        return StepMetrics(out, losses, predicted, labels, mask=mask)

    def _traced_forward(self, ids: np.ndarray, counts: np.ndarray) -> LIFOutputs:
        out: LIFOutputs = self.net(ids, counts, training=False)
        return out

    def _applied(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        self.optimizer.apply(gradients, step, rate)
        for weight in self.net.trainable_weights:
            if weight.constraint is not None:  # a decay stays below 1, a threshold above 0
                _variable(weight).assign(weight.constraint(tf.convert_to_tensor(weight)))


def step_seed(seed: int, step: int) -> int:
    """Of the policy cyclic: every training step offers the slots to others first."""
    return (seed << 32) + step


def _traced(function: Callable[..., Any], signature: List[Any]) -> DirectCall:
    """Without AutoGraph: there is no Python to translate, and looking for some takes longer than
    the rest of the tracing."""
    return DirectCall(tf.function(function, input_signature=signature, autograph=False))


def _variable(kernel: Any) -> tf.Variable:
    """Keras 3 wraps what Keras 2 hands out: the variable that fused ops can write to."""
    return kernel if isinstance(kernel, tf.Variable) else kernel.value
