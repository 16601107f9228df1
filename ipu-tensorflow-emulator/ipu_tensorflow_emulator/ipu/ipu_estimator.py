"""`ipu.ipu_estimator`: estimators, where TensorFlow has them (up to 2.15)."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.ipu.config import configure_ipu_system
from ipu_tensorflow_emulator.ipu.ipu_infeed_queue import check_elements
from ipu_tensorflow_emulator.ipu.ipu_run_config import IPURunConfig
from ipu_tensorflow_emulator.ipu.scopes import ipu_scope
from ipu_tensorflow_emulator.process import has_no_effect, host_ops, record_session_program

_Estimator: Any = tf.compat.v1.estimator.Estimator
_COUNTS = ("AssignAdd", "AssignAddVariableOp")
IPUEstimatorSpec = tf.compat.v1.estimator.EstimatorSpec


class LoopEstimator(_Estimator):  # type: ignore[misc] # TensorFlow has no types
    """What both kinds of estimators share: their configuration, and checks of data and steps."""

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Optional[str] = None,
        config: Any = None,
        params: Optional[Dict[str, Any]] = None,
        warm_start_from: Any = None,
        train_batch_size: Optional[int] = None,
        eval_batch_size: Optional[int] = None,
        predict_batch_size: Optional[int] = None,
    ) -> None:
        """Configure the IPUs as the configuration says."""
        run: IPURunConfig = getattr(config, "ipu_run_config", None) or IPURunConfig()
        if run.ipu_options is not None:
            configure_ipu_system(run.ipu_options)
        if run.num_replicas > 1:
            has_no_effect("IPURunConfig(num_replicas=): estimators have one replica here")
        self._iterations = run.iterations_per_loop
        self._sizes = {"train": train_batch_size, "eval": eval_batch_size}
        self._sizes["predict"] = predict_batch_size
        super().__init__(
            model_fn=self._on_device(model_fn),
            model_dir=model_dir,
            config=config,
            params=params,
            warm_start_from=warm_start_from,
        )

    def train(
        self, input_fn: Any, hooks: Any = None, steps: Any = None, *more: Any, **other: Any
    ) -> Any:
        """Train for a number of steps. Raises ValueError if no whole loops make them."""
        _check_steps(steps, self._iterations)
        _check_steps(other.get("max_steps"), self._iterations)
        return super().train(self._checked(input_fn, "train"), hooks, steps, *more, **other)

    def evaluate(self, input_fn: Any, steps: Any = None, *more: Any, **other: Any) -> Any:
        """Evaluate a number of steps. Raises ValueError if no whole loops make them."""
        _check_steps(steps, self._iterations)
        checked = self._checked(input_fn, "eval")
        return super().evaluate(checked, self._runs(steps), *more, **other)

    def predict(self, input_fn: Any, *more: Any, **other: Any) -> Any:
        """Yield predictions."""
        return super().predict(self._checked(input_fn, "predict"), *more, **other)

    @staticmethod
    def _assert_members_are_not_overridden(estimator: Any) -> None:
        """Allow this class to override methods: the base class asks here."""

    def _on_device(self, model_fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return the model function of the base class."""
        raise NotImplementedError

    def _runs(self, steps: Optional[int]) -> Optional[int]:
        """Return the number of runs of the session for a number of steps."""
        return steps

    def _features(self, dataset: Any) -> Any:
        """Return what the base class gives the model function of a data set."""
        return dataset

    def _checked(self, input_fn: Any, purpose: str) -> Any:
        """Return an input function that checks the data set and gives it the batch size."""

        def checked(**given: Any) -> Any:
            params = dict(given.get("params") or self.params)
            if self._sizes[purpose] is not None:
                params["batch_size"] = self._sizes[purpose]
            possible = {"params": params, "config": self.config, "mode": given.get("mode")}
            names = inspect.signature(input_fn).parameters
            dataset = input_fn(**{name: possible[name] for name in names if name in possible})
            if isinstance(dataset, (tf.data.Dataset, tf.compat.v1.data.Dataset)):
                check_elements(dataset)
            return self._features(dataset)

        return lambda: checked()


class IPUEstimator(LoopEstimator):
    """Trains and evaluates a model function on the IPU, one step of the host at a time."""

    def _on_device(self, model_fn: Callable[..., Any]) -> Callable[..., Any]:
        names = inspect.signature(model_fn).parameters

        def on_device(features: Any, labels: Any, mode: Any, params: Any, config: Any) -> Any:
            possible = {"labels": labels, "mode": mode, "params": params, "config": config}
            graph = tf.compat.v1.get_default_graph()
            before = host_ops(graph)
            with ipu_scope():
                spec = model_fn(
                    features, **{name: value for name, value in possible.items() if name in names}
                )
            record_session_program(f"estimator, {mode}", host_ops(graph) - before)
            return _counting(spec) if mode == "train" else spec

        return on_device


def _counting(spec: Any) -> Any:
    """Return a spec whose training counts its steps.

    Raises ValueError if the model function counts them itself.
    """
    step = tf.compat.v1.train.get_or_create_global_step()
    for operation in step.graph.get_operations():
        if operation.type in _COUNTS and operation.inputs[0].op.name == step.op.name:
            raise ValueError(
                "The model_fn increments global_step, which an IPUEstimator does by itself: do not "
                "pass global_step to minimize() or apply_gradients()"
            )
    return spec._replace(train_op=counted(spec.train_op, 1))


def counted(train_op: Any, steps: int) -> Any:
    """Return an operation that adds steps to the global step after the training operation."""
    with tf.control_dependencies([train_op]):
        step = tf.compat.v1.train.get_or_create_global_step()
        return tf.compat.v1.assign_add(step, steps).op


def _check_steps(steps: Optional[int], iterations: int) -> None:
    if steps is not None and steps % iterations:
        raise ValueError(
            f"The number of steps ({steps}) must be a multiple of iterations_per_loop "
            f"({iterations})"
        )
