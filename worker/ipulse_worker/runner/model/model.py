"""The network of a spec as traced TensorFlow functions for training and evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.spec.derived_values import input_channels
from ipulse_core.spec.kind_fields import field_of
from ipulse_ops.direct_call import traced
from ipulse_ops.keras import LIFOutputs
from ipulse_ops.keras.part_network import OnPart
from ipulse_ops.training.regularisers import mean_over
from ipulse_worker.runner.data.spike_trains import index_type
from ipulse_worker.runner.model.batches import (
    BatchEvaluation,
    BatchOf,
    Execution,
    StepResult,
    padded,
)
from ipulse_worker.runner.model.keras_network import keras_network
from ipulse_worker.runner.model.network import LayerLimits, initial_limits
from ipulse_worker.runner.model.objective import Objective
from ipulse_worker.runner.model.optimizer import Optimizer, clipped, optimizer_of
from ipulse_worker.runner.model.step_metrics import StepMetrics
from ipulse_worker.runner.model.trained_state import TrainedState, variable_of
from ipulse_worker.runner.model.weight_names import is_frozen, rate_factor, trained_names
from ipulse_worker.runner.randomness import step_seed
from ipulse_worker.runner.user_code.ops.ops import CustomOps

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class Model(TrainedState):
    """The network with its weights and its optimizer.

    A batch is ids `[time, batch, slots]` of index_type(inputs), counts int32 `[time, batch]`,
    labels as Objective describes them.
    """

    def __init__(
        self,
        spec: ExperimentSpec,
        slots: int,
        threads: int,
        batch: Optional[int] = None,
        ops: Optional[CustomOps] = None,
        on_part: OnPart = lambda number: None,
    ) -> None:
        """Build the network.

        Args:
            spec: of the training.
            slots: last dimension of the input ids.
            threads: of the kernels.
            batch: None for batches of any size. Otherwise the graphs have this batch size, and
                smaller batches are padded.
            ops: runs the custom ops of the network, if it has any.
            on_part: as of keras_network.
        """
        self.ops, self._on_part = ops, on_part
        self.spec = spec
        self._slots, self._batch = slots, batch
        self._threads = threads
        self._objective = Objective(spec)
        self._build(initial_limits(spec))

    @property
    def steps_per_execution(self) -> int:
        """Training steps of one execution, between which the host does not intervene."""
        steps: int = field_of(self.spec.device, "steps_per_execution")
        return steps

    def _build(self, limits: LayerLimits) -> None:
        self._make_network(limits)
        self._make_functions()

    def _make_network(self, limits: LayerLimits) -> None:
        self.limits = limits
        self.net = keras_network(self.spec, limits, self._threads, self.ops, self._on_part)
        self._kernels = [variable_of(kernel) for kernel in self.net.kernels]
        constants = [variable_of(weight) for weight in self.net.trainable_weights]
        known = {id(kernel) for kernel in self._kernels}
        self._variables = [*self._kernels, *(v for v in constants if id(v) not in known)]
        learned = [
            (name, variable)
            for name, variable in zip(trained_names(self.spec, self.ops), self._variables)
            if not is_frozen(self.spec, name, self.ops)
        ]
        self._learned = [variable for _, variable in learned]
        self.learned_names = tuple(name for name, _ in learned)
        self._factors = [rate_factor(self.spec, name) for name, _ in learned]
        self.optimizer = self._make_optimizer()

    def _make_optimizer(self) -> Optimizer:
        settings = self.spec.training.optimizer
        return optimizer_of(settings, self._learned, self._threads, self._factors)

    def _make_functions(self) -> None:
        time, size = self.spec.data.steps, self._batch
        ids = tf.as_dtype(index_type(input_channels(self.spec.data))) if size is None else tf.int32
        batch = [
            tf.TensorSpec([time, size, self._slots], ids),
            tf.TensorSpec([time, size], tf.int32),
            self._objective.label_signature(size),
        ]
        mask = [] if size is None else [tf.TensorSpec([size], tf.float32)]
        self._gradient_function = traced(
            self._traced_gradients, [tf.TensorSpec([], tf.int64), *batch, *mask]
        )
        self._evaluation_function = traced(self._traced_evaluation, [*batch, *mask])
        shapes = [tf.TensorSpec(variable.shape, tf.float32) for variable in self._learned]
        step_and_rate = [tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.float32)]
        self._apply = traced(self._applied, [shapes, *step_and_rate])

    def trace(self) -> None:
        """Build all graphs now; on a device this compiles their programs."""
        for function in (self._gradient_function, self._evaluation_function, self._apply):
            function.trace()

    def adapt(self, limits: LayerLimits) -> None:
        """Apply new limits and keep the weights and the optimizer's state.

        Second thresholds are variables. Capacities are part of the graph, which is built again when
        they change.
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
        """Set the source of the training batches; `step` is the next training step."""
        self._batch_of = batch_of

    def execute(self, step: int, now: Callable[[], float]) -> Execution:
        """Run `steps_per_execution` training steps; the first one is `step`, from 1."""
        results, batching, updating = [], 0.0, 0.0
        for number in range(step, step + self.steps_per_execution):
            begun = now()
            batch = self._batch_of(number)
            batched = now()
            results.append(self.compute_gradients(batch.ids, batch.counts, batch.labels, number))
            derived = now()
            self.apply(results[-1].gradients, number, batch.learning_rate)
            batching += batched - begun
            updating += now() - derived
        return Execution(results, batching, updating)

    def compute_gradients(
        self, ids: np.ndarray, counts: np.ndarray, labels: np.ndarray, step: int
    ) -> StepResult:
        """Return gradients and metrics of training step `step`, from 1."""
        # Arrays instead of Python numbers, which TensorFlow would cache as constants forever.
        seed = np.array(step_seed(self.spec.seed, step), np.int64)
        *gradients, sums, max_spikes = self._gradient_function(
            seed, *self._filled(ids, counts, labels)
        )
        return StepResult(gradients, sums.numpy(), max_spikes.numpy())

    def apply(self, gradients: Sequence[tf.Tensor], step: int, rate: float) -> None:
        """Update the weights; `step` counts updates from 1."""
        self._apply(list(gradients), np.array(step, np.int64), np.array(rate, np.float32))

    def evaluate(self, ids: np.ndarray, counts: np.ndarray, labels: np.ndarray) -> BatchEvaluation:
        """Return metrics and predictions for a batch, without training."""
        batch = self._filled(ids, counts, labels)
        *tensors, ids, filled = self._evaluation_function(*batch)
        result = BatchEvaluation(*(tensor.numpy() for tensor in tensors))
        samples = len(labels)
        lists = [(i.numpy()[:, :samples], c.numpy()[:, :samples, 0]) for i, c in zip(ids, filled)]
        return result._replace(predicted=result.predicted[:samples], lists=lists)

    def forward(self, ids: np.ndarray, counts: np.ndarray) -> LIFOutputs:
        """Return all outputs of the network for a batch, as arrays."""
        samples = counts.shape[1]
        filled = self._filled(ids, counts, np.zeros(samples, np.int32))[:2]
        out = self._traced_forward(*filled)
        arrays: LIFOutputs = tf.nest.map_structure(lambda t: t.numpy()[:, :samples], out)
        return arrays

    def _filled(self, ids: np.ndarray, counts: np.ndarray, labels: np.ndarray) -> List[np.ndarray]:
        """Return the batch; with a fixed batch size, padded, with int32 ids and a mask."""
        if self._batch is None:
            return [ids, counts, labels]
        return padded(ids, counts, labels, self._batch)

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
        """Return the clipped gradients of a batch, and the network's outputs."""
        with tf.GradientTape() as tape:
            out = self.net(ids, counts, training=True, seed=seed)
            losses, predicted = self._objective.evaluate(out, labels)
            loss = mean_over(losses, mask)
            penalty = self._objective.penalty(out, labels, mask)
            if penalty is not None:
                loss += penalty
        gradients = clipped(
            tape.gradient(loss, self._learned), self.spec.training.gradient_clipping
        )
        scores = self._objective.scores(predicted, labels)
        return gradients, StepMetrics(out, losses, predicted, scores, penalty, mask)

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
            metrics.out.spike_ids,
            metrics.out.spike_counts,
        )

    def _forward(
        self, ids: tf.Tensor, counts: tf.Tensor, labels: tf.Tensor, mask: Any
    ) -> StepMetrics:
        out = self.net(ids, counts, training=False)
        losses, predicted = self._objective.evaluate(out, labels)
        scores = self._objective.scores(predicted, labels)
        return StepMetrics(out, losses, predicted, scores, mask=mask)

    def _traced_forward(self, ids: np.ndarray, counts: np.ndarray) -> LIFOutputs:
        out: LIFOutputs = self.net(ids, counts, training=False)
        return out

    def _applied(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        self.optimizer.apply(gradients, step, rate)
        for weight in self.net.trainable_weights:
            if weight.constraint is not None:  # a decay stays below 1
                variable_of(weight).assign(weight.constraint(tf.convert_to_tensor(weight)))
