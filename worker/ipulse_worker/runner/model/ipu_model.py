"""The network of a spec as programs for IPUs, which run several training steps and use queues.

An IPU does not support float64. Programs return float32 or int32, and the host computes sums that
need float64.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.errors import IPUlseError
from ipulse_ops.keras import LIFOutputs
from ipulse_ops.philox import key_of
from ipulse_worker.runner.model.batches import BatchEvaluation, BatchOf, Execution, StepResult
from ipulse_worker.runner.model.device_optimizer import DeviceOptimizer, device_optimizer_of
from ipulse_worker.runner.model.infeed import FedBatch, Infeed
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import LayerLimits
from ipulse_worker.runner.model.objective import Objective
from ipulse_worker.runner.model.step_metrics import sums_of
from ipulse_worker.runner.randomness import step_seed
from ipulse_worker.runner.user_code.ops.ops import CustomOps

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

NEVER_EXECUTES = (
    "configured for compilation only"  # TensorFlow's message with connection type NEVER
)


class LostBatches(IPUlseError):
    """A program ran other training steps than expected."""

    code = "lost_batches"


class IPUModel(Model):
    """A Model with variables on IPUs and a fixed batch size."""

    optimizer: DeviceOptimizer
    _infeed: Optional[Infeed] = None

    def __init__(
        self,
        spec: ExperimentSpec,
        slots: int,
        ipu: Any,
        strategy: Any,
        executes: bool,
        ops: Optional[CustomOps] = None,
    ) -> None:
        """Build the network on the IPUs.

        Args:
            spec: of the training.
            slots: last dimension of the input ids.
            ipu: the module `tensorflow.python.ipu`.
            strategy: its IPUStrategy.
            executes: whether the connection type attaches a device.
            ops: the custom ops of the network, if it has any.
        """
        self._ipu, self._strategy, self._executes = ipu, strategy, executes
        self._size = spec.training.batch_size
        super().__init__(spec, slots, threads=0, batch=self._size, ops=ops)
        self._objective = _CheckedObjective(spec, lambda: self.net)

    def trace(self) -> None:
        """Compile all programs, except with ON_DEMAND, which would also wait for the device."""
        if self.spec.device.connection_type != "ON_DEMAND":
            self.warm_up()

    def warm_up(self) -> None:
        """Run every program on blank batches, so that TensorFlow compiles it; restore the state."""
        state = self.state()
        step = self._next_step
        self._infeed = Infeed(self._ipu, self._fed, step, blanks=self.steps_per_execution)
        blank = self._fed(step).blank()
        inputs = [blank.ids, blank.counts]
        programs = [
            (self._training_program, [self._infeed.iterator]),
            (self._evaluation_program, [*inputs, blank.labels, blank.mask]),
            (self._forward_program, inputs),
        ]
        for program, arguments in programs:
            try:
                self._run(program, arguments)
            except tf.errors.InvalidArgumentError as error:
                if self._executes or NEVER_EXECUTES not in str(error):
                    raise
        if self._executes:
            self._outfeed.dequeue(wait_for_completion=True)
            self.restore(state)

    def feed(self, batch_of: BatchOf, step: int) -> None:
        """Set the source of the training batches; `step` is the next training step."""
        super().feed(batch_of, step)
        self._next_step = step

    def execute(self, step: int, now: Callable[[], float]) -> Execution:
        """Run one program of `steps_per_execution` training steps; may raise LostBatches."""
        if self._infeed is None:
            self._infeed = Infeed(self._ipu, self._fed, step)
        self._run(self._training_program, [self._infeed.iterator])
        rows = self._outfeed.dequeue(wait_for_completion=True)
        *sums, max_spikes, steps = [np.asarray(tensor) for tensor in rows]
        self._next_step = step + self.steps_per_execution
        if steps.tolist() != list(range(step, self._next_step)):
            due = f"{self.steps_per_execution:,} steps from {step:,}"
            raise LostBatches(
                f"the program ran the training steps {steps.tolist()}; expected were {due}"
            )
        results = [
            StepResult([], sums_of(*(array[at] for array in sums)), max_spikes[at])
            for at in range(len(steps))
        ]
        return Execution(results, batching_seconds=0.0, optimizer_seconds=0.0)

    def evaluate(self, ids: np.ndarray, counts: np.ndarray, labels: np.ndarray) -> BatchEvaluation:
        """Return metrics and predictions for a batch, without training."""
        outputs = self._run(self._evaluation_program, self._filled(ids, counts, labels))
        predicted, *sums = [np.asarray(tensor) for tensor in outputs]
        _, spikes, _, dropped = (array.astype(np.float64) for array in sums)
        return BatchEvaluation(sums_of(*sums), predicted[: len(labels)], spikes, dropped)

    def _run(self, program: Any, arguments: List[Any]) -> Any:
        tensors = [tf.constant(a) if isinstance(a, np.ndarray) else a for a in arguments]
        return self._strategy.run(program, args=tensors)

    def _make_network(self, limits: LayerLimits) -> None:
        with self._strategy.scope():
            super()._make_network(limits)

    def _make_optimizer(self) -> DeviceOptimizer:
        return device_optimizer_of(self.spec.training.optimizer, self._learned)

    def _make_functions(self) -> None:
        # A queue belongs to the program that was compiled with it.
        self._infeed = None
        self._outfeed = self._ipu.ipu_outfeed_queue.IPUOutfeedQueue()
        self._training_program = on_device(self._steps)
        self._evaluation_program = on_device(self._evaluate_on_device)
        self._forward_program = on_device(self._forward_on_device)

    def _fed(self, step: int) -> FedBatch:
        """Return the inputs of a training step, also after the last one: the device reads ahead."""
        batch = self._batch_of(step)
        ids, counts, labels, mask = self._filled(batch.ids, batch.counts, batch.labels)
        seed = np.array(key_of(step_seed(self.spec.seed, step)), np.uint32).view(np.int32)
        rates = self.optimizer.rates(step, batch.learning_rate)
        return FedBatch(ids, counts, labels, mask, seed, rates, np.int32(step))

    def _steps(self, iterator: Any) -> None:
        """Run training steps in a loop on the device."""
        for _ in tf.range(self.steps_per_execution):
            self._step(next(iterator))

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # TensorFlow's
    def _step(self, batch: FedBatch) -> None:
        gradients, metrics = self._backward(
            batch.ids, batch.counts, batch.labels, batch.mask, batch.seed
        )
        self._applied(gradients, batch.step, batch.rates)
        self._outfeed.enqueue((*metrics.single_sums(), metrics.max_spikes(), batch.step))

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # TensorFlow's
    def _evaluate_on_device(self, ids: Any, counts: Any, labels: Any, mask: Any) -> List[Any]:
        metrics = self._forward(ids, counts, labels, mask)
        return [metrics.predicted, *metrics.single_sums()]

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # TensorFlow's
    def _forward_on_device(self, ids: Any, counts: Any) -> LIFOutputs:
        out: LIFOutputs = self.net(ids, counts, training=False)
        return out

    def _traced_forward(self, ids: np.ndarray, counts: np.ndarray) -> LIFOutputs:
        out: LIFOutputs = self._run(self._forward_program, [ids, counts])
        return out


class _CheckedObjective(Objective):
    """An Objective with losses of NaN if a custom op made no spikes: this ends the training."""

    def __init__(self, spec: ExperimentSpec, net: Callable[[], Any]) -> None:
        super().__init__(spec)
        self._net = net

    def evaluate(self, out: LIFOutputs, labels: Any) -> Tuple[Any, Any]:
        """Return the loss of each sample and the predictions."""
        losses, predicted = super().evaluate(out, labels)
        for wrong in getattr(self._net(), "not_spikes", ()):
            losses += wrong
        return losses, predicted


def on_device(function: Callable[..., Any]) -> Any:
    """Return a function that XLA compiles as a whole, which devices require."""
    known = inspect.signature(tf.function).parameters
    compiled = (
        "jit_compile" if "jit_compile" in known else "experimental_compile"
    )  # TensorFlow up to 2.4
    return tf.function(function, **{compiled: True})
