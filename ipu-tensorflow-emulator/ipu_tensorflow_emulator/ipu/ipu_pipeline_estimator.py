"""`ipu.ipu_pipeline_estimator`: estimators of pipelines, where TensorFlow has them (up to 2.15)."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import tensorflow as tf

from ipu_tensorflow_emulator.gradient_accumulation import GradientAccumulationReductionMethod
from ipu_tensorflow_emulator.ipu import ipu_compiler, loops
from ipu_tensorflow_emulator.ipu.ipu_estimator import LoopEstimator, counted
from ipu_tensorflow_emulator.ipu.ipu_infeed_queue import IPUInfeedQueue
from ipu_tensorflow_emulator.ipu.ipu_outfeed_queue import IPUOutfeedQueue
from ipu_tensorflow_emulator.ipu.ipu_run_config import IPURunConfig
from ipu_tensorflow_emulator.ipu.ops import pipelining_ops
from ipu_tensorflow_emulator.ipu.scopes import ipu_scope

_Hook: Any = tf.compat.v1.train.SessionRunHook
_Spec: Any = tf.compat.v1.estimator.EstimatorSpec
_TRAIN, _EVALUATE, _PREDICT = "train", "eval", "infer"
_LOSS = "loss"


class IPUPipelineEstimatorSpec:
    """The stages of a model function, and what trains or measures their outputs."""

    def __init__(
        self,
        mode: str,
        computational_stages: List[Callable[..., Any]],
        gradient_accumulation_count: Optional[int] = None,
        eval_metrics_fn: Any = None,
        optimizer_function: Any = None,
        device_mapping: Optional[List[int]] = None,
        loss_accumulator_dtype: Any = None,
        training_hooks: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
        reduction_method: Any = GradientAccumulationReductionMethod.MEAN,
        pipeline_depth: Optional[int] = None,
        **pipeline_op_kwargs: Any,
    ) -> None:
        """Store them. Raises ValueError if the mode needs something that is missing.

        pipeline_depth: the micro-batches of an update in SDK 1.x, where iterations_per_loop are
        updates and gradients are added up.
        """
        if mode == _TRAIN and not optimizer_function:
            raise ValueError("`IPUPipelineEstimatorSpec` needs an `optimizer_function` to train")
        if mode == _EVALUATE and not eval_metrics_fn:
            raise ValueError("`IPUPipelineEstimatorSpec` needs an `eval_metrics_fn` to evaluate")
        if not gradient_accumulation_count and not pipeline_depth:
            raise ValueError("`IPUPipelineEstimatorSpec` needs a `gradient_accumulation_count`")
        if "accumulate_outfeed" in pipeline_op_kwargs:
            raise ValueError(
                "`IPUPipelineEstimatorSpec` takes no `accumulate_outfeed`: the estimator adds up "
                "the loss itself"
            )
        self.is_older = not gradient_accumulation_count
        if self.is_older:
            reduction_method = GradientAccumulationReductionMethod.SUM
        self.mode, self.computational_stages = mode, computational_stages
        self.gradient_accumulation_count = int(gradient_accumulation_count or pipeline_depth or 0)
        self.eval_metrics_fn, self.optimizer_function = eval_metrics_fn, optimizer_function
        self.device_mapping, self.reduction_method = device_mapping, reduction_method
        self.loss_accumulator_dtype = loss_accumulator_dtype
        self.training_hooks, self.evaluation_hooks = training_hooks, evaluation_hooks
        self.prediction_hooks, self.pipeline_op_kwargs = prediction_hooks, pipeline_op_kwargs

    @property
    def hooks(self) -> List[Any]:
        """Return the hooks of the mode."""
        by_mode = {
            _TRAIN: self.training_hooks,
            _EVALUATE: self.evaluation_hooks,
            _PREDICT: self.prediction_hooks,
        }
        return list(by_mode.get(self.mode) or [])

    def updates(self, iterations: int) -> int:
        """Return how often a loop of micro-batches fills the pipeline.

        Raises ValueError unless the micro-batches of an update divide the loop.
        """
        count = self.gradient_accumulation_count
        if self.is_older:
            return iterations
        if iterations < count:
            raise ValueError(
                f"`IPURunConfig.iterations_per_loop` ({iterations}) cannot be less than "
                f"`gradient_accumulation_count` ({count})"
            )
        if iterations % count:
            raise ValueError(
                f"`IPURunConfig.iterations_per_loop` ({iterations}) must be divisible by "
                f"`gradient_accumulation_count` ({count})"
            )
        return iterations // count


class IPUPipelineEstimator(LoopEstimator):
    """Trains and evaluates a model function of stages. Each run of the session is a loop."""

    def predict(self, *arguments: Any, **named: Any) -> Iterator[Any]:
        """Yield the predictions of one example after the other.

        With yield_single_examples=False, yield those of one batch after the other.
        """
        for rows in super().predict(*arguments, **named):
            if isinstance(rows, dict):
                for number in range(len(next(iter(rows.values())))):
                    yield {name: values[number] for name, values in rows.items()}
            else:
                yield from rows

    def _runs(self, steps: Optional[int]) -> Optional[int]:
        return steps if steps is None else steps // self._iterations

    def _convert_train_steps_to_hooks(self, steps: Any, max_steps: Any) -> List[Any]:
        return [] if steps is None and max_steps is None else [_Stop(steps, max_steps)]

    def _features(self, dataset: Any) -> Any:
        if not isinstance(dataset, (tf.data.Dataset, tf.compat.v1.data.Dataset)):
            raise ValueError(
                f"input_fn must return a Dataset; it returned a {type(dataset).__name__}"
            )
        return IPUInfeedQueue(dataset)

    def _on_device(self, model_fn: Callable[..., Any]) -> Callable[..., Any]:
        def on_device(features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
            run = getattr(config, "ipu_run_config", None) or IPURunConfig()
            spec, program, out = _built(model_fn, features, mode, params, config, run)
            results = _results(spec, program, out, run.iterations_per_loop)
            hooks = [_Start(features.initializer), *spec.hooks]
            return _Spec(
                mode,
                training_hooks=hooks,
                evaluation_hooks=hooks,
                prediction_hooks=hooks,
                **results,
            )

        return on_device


class _Outputs(IPUOutfeedQueue):
    """A queue of sums and of batches, which are no metrics of a script."""

    def _show(self, rows: Any) -> None:
        pass


class _Start(_Hook):  # type: ignore[misc] # TensorFlow has no types
    """Starts the queue of a data set."""

    def __init__(self, initializer: Any) -> None:
        self._initializer = initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


class _Stop(_Hook):  # type: ignore[misc] # TensorFlow has no types
    """Ends training after steps, of which a run makes several: TensorFlow's hook expects one."""

    def __init__(self, steps: Optional[int], last: Optional[int]) -> None:
        self._steps, self._last = steps, last

    def begin(self) -> None:
        self._step = tf.compat.v1.train.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last is None:
            self._last = session.run(self._step) + self._steps

    def after_run(self, context: Any, values: Any) -> None:
        if context.session.run(self._step) >= self._last:
            context.request_stop()


def _built(
    model_fn: Any, feed: Any, mode: str, params: Any, config: Any, run: IPURunConfig
) -> Tuple[IPUPipelineEstimatorSpec, Any, IPUOutfeedQueue]:
    """Return the spec of a model function, its program and the queue of its outputs."""
    out = _Outputs()
    specs: List[IPUPipelineEstimatorSpec] = []

    def estimator_pipeline() -> Any:
        spec = _called(model_fn, mode, params, config)
        _check_devices(spec, run.num_shards)
        specs.append(spec)
        is_training = mode == _TRAIN
        return pipelining_ops.pipeline(
            spec.computational_stages,
            spec.gradient_accumulation_count,
            repeat_count=spec.updates(run.iterations_per_loop),
            infeed_queue=feed,
            outfeed_queue=out,
            optimizer_function=spec.optimizer_function if is_training else None,
            device_mapping=spec.device_mapping,
            outfeed_loss=is_training,
            accumulate_outfeed=is_training,
            accumulate_outfeed_dtype=spec.loss_accumulator_dtype,
            reduction_method=spec.reduction_method,
            **spec.pipeline_op_kwargs,
        )

    with ipu_scope():
        program = ipu_compiler.compile(estimator_pipeline)
    return specs[0], program, out


def _called(model_fn: Any, mode: str, params: Any, config: Any) -> IPUPipelineEstimatorSpec:
    names = inspect.signature(model_fn).parameters
    if "features" in names or "labels" in names:
        raise ValueError(
            "The `model_fn` of an `IPUPipelineEstimator` must not have the arguments `features` or "
            "`labels`: the first stage gets them"
        )
    possible = {"mode": mode, "params": params, "config": config}
    spec = model_fn(**{name: value for name, value in possible.items() if name in names})
    if not isinstance(spec, IPUPipelineEstimatorSpec):
        raise TypeError(
            "The `model_fn` of an `IPUPipelineEstimator` must return an "
            f"`IPUPipelineEstimatorSpec`; it returned a {type(spec).__name__}"
        )
    return spec


def _check_devices(spec: IPUPipelineEstimatorSpec, shards: int) -> None:
    devices = len(set(spec.device_mapping or range(len(spec.computational_stages))))
    if not shards // 2 < devices <= shards:
        raise ValueError(
            f"This pipeline requires {devices} devices and `IPURunConfig.num_shards` is {shards}: "
            "it must be at least as many, and less than twice as many"
        )


def _results(
    spec: IPUPipelineEstimatorSpec, program: Any, out: IPUOutfeedQueue, iterations: int
) -> Dict[str, Any]:
    """Return what the base class needs of a mode, from the outputs of the last stage."""
    with tf.control_dependencies([program]):
        outputs = out.dequeue()
    if spec.mode == _TRAIN:
        mean = tf.reduce_mean(tf.cast(outputs, tf.float32))
        loss = mean / float(spec.gradient_accumulation_count)
        return {"loss": loss, "train_op": counted(program, iterations)}
    if spec.mode == _PREDICT:
        return {"predictions": _one_prediction(outputs)}
    by_name = outputs if isinstance(outputs, dict) else {}
    metrics = spec.eval_metrics_fn(*([] if by_name else loops.listed(outputs)), **by_name)
    if not isinstance(metrics, dict):
        raise TypeError(
            f"The `eval_metrics_fn` must return a dict; it returned a {type(metrics).__name__}"
        )
    if _LOSS not in metrics:
        raise KeyError(f"The dict that `eval_metrics_fn` returns must contain {_LOSS!r}")
    others = {name: value for name, value in metrics.items() if name != _LOSS}
    loss = tf.reduce_mean(tf.cast(metrics[_LOSS], tf.float32))
    return {"loss": loss, "eval_metric_ops": others}


def _one_prediction(outputs: Any) -> Any:
    if isinstance(outputs, dict):
        return outputs
    tensors = loops.listed(outputs)
    if len(tensors) != 1:
        raise ValueError(
            "The last stage must return exactly one prediction tensor, or a dict; it returned "
            f"{len(tensors)}"
        )
    return tensors[0]
