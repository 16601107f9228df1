"""The network of a spec with loss and optimizer on emulated IPUs: one program a training step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.spec.derived_values import loss_name
from ipulse_core.spec.device_training import DEVICE_LOSSES
from ipulse_core.spec.kind_fields import field_of
from ipulse_ops.direct_call import traced
from ipulse_ops.lif.poplar.build import build, build_with
from ipulse_ops.lif.poplar.sources import BuiltOp
from ipulse_ops.lif.poplar.train_op import DeviceTraining, run_training_step
from ipulse_ops.training.regularisers import mean_over
from ipulse_worker.runner.model.batches import Execution, StepResult
from ipulse_worker.runner.model.equations import loss_vertex_of
from ipulse_worker.runner.model.keras_network import has_half_states, placement_of
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.model.step_metrics import StepMetrics
from ipulse_worker.runner.randomness import step_seed
from poplar_emulator.user_op import EmulatedIPUs

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class EmulatedModel(Model):
    """A Model with training steps that run on emulated IPUs as a whole.

    Weights and optimizer state stay in TensorFlow's variables, from which each step writes them to
    the device; on an IPU they stay there.
    """

    def __init__(
        self, spec: ExperimentSpec, slots: int, threads: int, emulated: EmulatedIPUs, built: BuiltOp
    ) -> None:
        """Build the network. emulated: the IPUs that the steps run on. built: the Poplar op."""
        self._emulated, self._built = emulated, built
        super().__init__(spec, slots, threads, batch=spec.training.batch_size)

    def execute(self, step: int, now: Callable[[], float]) -> Execution:
        """Run `steps_per_execution` training steps; the first one is `step`, from 1."""
        results, batching = [], 0.0
        for number in range(step, step + self.steps_per_execution):
            begun = now()
            batch = self._batch_of(number)
            batching += now() - begun
            sums, max_spikes = self._training_function(
                np.array(step_seed(self.spec.seed, number), np.int64),
                *self._filled(batch.ids, batch.counts, batch.labels),
                np.array(number, np.int64),
                np.array(batch.learning_rate, np.float32),
            )
            results.append(StepResult([], sums.numpy(), max_spikes.numpy()))
        return Execution(results, batching, optimizer_seconds=0.0)

    def trace(self) -> None:
        """Compile the programs of training and evaluation."""
        for function in (self._training_function, self._evaluation_function):
            function.trace()

    def _make_functions(self) -> None:
        super()._make_functions()
        time, size = self.spec.data.steps, self._batch
        self._training_function = traced(
            self._traced_step,
            [
                tf.TensorSpec([], tf.int64),
                tf.TensorSpec([time, size, self._slots], tf.int32),
                tf.TensorSpec([time, size], tf.int32),
                self._objective.label_signature(size),
                tf.TensorSpec([size], tf.float32),
                tf.TensorSpec([], tf.int64),
                tf.TensorSpec([], tf.float32),
            ],
        )

    def _traced_step(
        self, seed: Any, ids: Any, counts: Any, labels: Any, mask: Any, step: Any, rate: Any
    ) -> Tuple[Any, Any]:
        device = self.spec.device
        if device.kind != "emulator":
            raise TypeError(f"the spec asks for the device {device.kind}")
        slots = self.optimizer.slots
        state: Dict[str, List[Optional[tf.Variable]]] = {
            "weights": list(self._kernels),
            "means": self._by_kernel(slots.get("means", slots.get("momenta", []))),
            "squares": self._by_kernel(slots.get("squares", [])),
        }
        found = run_training_step(
            network_of(self.spec, self.limits),
            device_training(self.spec),
            **{name: [_tensor_of(v) for v in of] for name, of in state.items()},
            ids=ids,
            counts=counts,
            labels=labels,
            mask=mask,
            rate=rate,
            update=step,
            precompiled_user_op=self._emulated.precompiled_user_op,
            built=self._built,
            constants=self.net.constants_in_use(),
            seed=seed,
            placement=placement_of(device),
            memory=device.memory,
        )
        for name, of in state.items():
            for variable, value in zip(of, getattr(found, name)):
                if variable is not None:
                    variable.assign(value)
        _, predicted = self._objective.evaluate(found.out, labels)
        scores = self._objective.scores(predicted, labels)
        penalty = mean_over(found.penalties, mask) if self.spec.training.regularisers else None
        metrics = StepMetrics(found.out, found.losses, predicted, scores, penalty, mask)
        return metrics.sums(), metrics.max_spikes()

    def _by_kernel(self, slots: Sequence[tf.Variable]) -> List[Optional[tf.Variable]]:
        """Return a slot of the optimizer for each weight, None for frozen ones."""
        found = {id(weight): slot for weight, slot in zip(self._learned, slots)}
        return [found.get(id(weight)) for weight in self._kernels] if slots else []


def _tensor_of(variable: Optional[tf.Variable]) -> Any:
    return None if variable is None else tf.convert_to_tensor(variable)


def training_op(spec: ExperimentSpec, progress: ProgressCallback = print_progress) -> BuiltOp:
    """Return the op for training steps; its codelets include the vertex of a loss with equations.

    Raises MissingCompiler, BuildFailed.
    """
    vertex = loss_vertex_of(spec)
    return build(progress=progress) if vertex is None else build_with(vertex.codelet, progress)


def device_training(spec: ExperimentSpec) -> DeviceTraining:
    """Return the loss and the optimizer of a spec, which ExperimentSpec has checked."""
    optimizer, device = spec.training.optimizer, spec.device
    clipping, layers = spec.training.gradient_clipping, [*spec.network.layers, spec.network.readout]
    vertex = loss_vertex_of(spec)
    found = DeviceTraining(
        loss=DEVICE_LOSSES[loss_name(spec.training)] if vertex is None else "own_loss",
        half=field_of(device, "weights_dtype") == "float16",
        half_states=has_half_states(device),
        stochastic_rounding=field_of(device, "stochastic_rounding"),
        key=spec.seed & 0xFFFFFFFF,
        clip_value=clipping.value or 0.0,
        clip_norm=clipping.global_norm or 0.0,
        frozen=tuple(number for number, layer in enumerate(layers) if not layer.trainable),
    )
    if vertex is not None:
        found = replace(
            found,
            class_rows=vertex.class_rows,
            step_rows=vertex.step_rows,
            neuron_values=vertex.neuron_values,
            right=vertex.right,
            reads=vertex.reads,
        )
    if optimizer.kind == "sgd":
        return replace(
            found, optimizer="sgd", momentum=optimizer.momentum, nesterov=optimizer.nesterov
        )
    return replace(
        found,
        optimizer="adam",
        beta_1=optimizer.beta_1,
        beta_2=optimizer.beta_2,
        epsilon=optimizer.epsilon,
        weight_decay=optimizer.weight_decay if optimizer.kind == "adamw" else 0.0,
    )
