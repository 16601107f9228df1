"""`ipu.ipu_strategy`: IPUStrategy. Its programs run on the host, except custom ops."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

import tensorflow as tf

from ipu_tensorflow_emulator.activation import say
from ipu_tensorflow_emulator.ipu.config import DeviceConnectionType
from ipu_tensorflow_emulator.process import (
    STATE,
    flags,
    has_no_effect,
    on_device,
    record_run,
    unsupported_dtype,
)

_MARK = "_is_on_emulated_ipu"


class IPUStrategyV1:
    """Places variables and programs on the IPUs of the process."""

    def __init__(
        self,
        ipu_device: str = "/device:IPU:0",
        cpu_device: str = "/device:CPU:0",
        enable_dataset_iterators: bool = True,
        enable_keras_extensions: bool = True,
    ) -> None:
        """Use the configured IPUs; without a configuration, one IPU."""
        if STATE.configured is None and not tf.config.get_visible_devices("IPU"):
            say("an IPUStrategy is created before IPUs are configured: it has a single IPU")
        self._generation = STATE.generation
        self._was_configured = STATE.configured is not None
        self._programs: Dict[int, Tuple[Any, Any]] = {}  # the function, kept with its id
        self._checked: Dict[int, Any] = {}
        self._supports_keras_extensions = enable_keras_extensions
        self.extended = _Extended(self)

    @property
    def num_replicas_in_sync(self) -> int:
        """Return 1, whatever the replication."""
        return 1

    @property
    def supports_keras_extensions(self) -> bool:
        """Return whether Keras models of this strategy run as programs on IPUs."""
        return self._supports_keras_extensions

    @contextmanager
    def scope(self) -> Iterator[IPUStrategyV1]:
        """Create variables on the IPU."""

        def on_ipu(create: Any, **arguments: Any) -> Any:
            variable = create(**arguments)
            if variable.dtype == tf.float64:
                raise TypeError(
                    "a program for the IPU takes and returns no float64: cast it to float32"
                )
            setattr(variable, _MARK, True)
            return variable

        outer, STATE.strategy = STATE.strategy, self
        try:
            with on_device(), tf.variable_creator_scope(on_ipu):
                yield self
        finally:
            STATE.strategy = outer

    def run(
        self,
        fn: Any,
        args: Sequence[Any] = (),
        kwargs: Optional[Dict[str, Any]] = None,
        options: Any = None,
    ) -> Any:
        """Run a tf.function as a program.

        Raises ValueError for another callable in eager mode, TypeError for float64, and
        tf.errors.InvalidArgumentError for a variable that was not created in the scope.
        """
        given = kwargs or {}
        if not tf.executing_eagerly():
            with self.scope():
                return fn(*args, **given)
        if not hasattr(fn, "get_concrete_function") and not hasattr(fn, "structured_outputs"):
            raise ValueError(
                "IPUStrategy.run() compiles a program, and "
                f"{getattr(fn, '__name__', type(fn).__name__)} is no tf.function: decorate it with "
                "@tf.function(jit_compile=True)"
            )
        if self._generation != STATE.generation and self._was_configured:
            raise RuntimeError(
                "The IPU system was configured again after this strategy was created. Create the "
                "strategy after configure_ipu_system()"
            )
        unsupported_dtype([list(args), given])
        with self.scope():
            concrete = fn
            if hasattr(fn, "get_concrete_function"):
                concrete = fn.get_concrete_function(*args, **given)
            if id(concrete) not in self._checked:
                unsupported_dtype(concrete.structured_outputs)
                _check_variables(concrete)
                self._checked[id(concrete)] = concrete
            if not attaches():
                return compiled_only(concrete)
            record_run(f"strategy.run({getattr(fn, '__name__', 'function')})", concrete)
            return fn(*args, **given)

    def experimental_run_v2(
        self, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None
    ) -> Any:
        """Run a tf.function as a program: the name of `run` up to SDK 1.4."""
        has_no_effect("experimental_run_v2 (newer SDKs refuse it: call run())")
        return self.run(fn, args, kwargs, options)

    def reduce(self, reduce_op: Any, value: Any, axis: Optional[int] = None) -> Any:
        """Reduce a value over its replicas, of which there is one, and over an axis."""
        operation = str(getattr(reduce_op, "value", reduce_op)).lower()
        if axis is None:
            return value
        reduction = tf.reduce_mean if "mean" in operation else tf.reduce_sum
        return tf.nest.map_structure(lambda one: reduction(one, axis=axis), value)

    def experimental_local_results(self, value: Any) -> Tuple[Any, ...]:
        """Return the values of this process's replicas."""
        return (value,)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return the data set."""
        return dataset

    @property
    def update_ipu_config(self) -> Any:
        """Return a function that changes nothing."""
        return lambda config: None


IPUStrategy = IPUStrategyV1


def attaches() -> bool:
    """Return whether programs run, or are compiled only.

    Raises tf.errors.InvalidArgumentError if they can be neither.
    """
    connection = DeviceConnectionType.ALWAYS
    if STATE.configured is not None:
        connection = STATE.configured.device_connection.type
    if connection is DeviceConnectionType.NEVER:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            "DeviceConnectionType.NEVER is for compilation only: use ALWAYS or ON_DEMAND to run "
            "the program",
        )
    return connection is not DeviceConnectionType.PRE_COMPILE


def compiled_only(concrete: Any) -> Any:
    """Return zeros, as a program that is compiled ahead of time does."""
    if "executable_cache_path" not in flags():
        raise tf.errors.FailedPreconditionError(
            None,
            None,
            "IPUs are configured for pre-compilation and there is no executable cache. Set "
            "TF_POPLAR_FLAGS=--executable_cache_path=FOLDER",
        )
    has_no_effect("DeviceConnectionType.PRE_COMPILE (no executable for IPUs was stored)")
    for variable in concrete.graph.variables:
        variable.assign(tf.zeros_like(variable))
    return tf.nest.map_structure(
        lambda each: None if each is None else tf.zeros(each.shape, each.dtype),
        concrete.structured_outputs,
    )


class _Extended:
    """What Keras and scripts read of a strategy's `extended`."""

    def __init__(self, strategy: IPUStrategyV1) -> None:
        self._strategy = strategy

    def non_slot_devices(self, _: Any) -> str:
        return "/device:IPU:0"


def _check_variables(concrete: Any) -> None:
    for variable in concrete.graph.variables:
        if not getattr(variable, _MARK, False):
            raise tf.errors.InvalidArgumentError(
                None,
                None,
                f"{variable.name} is on the host and is used by a program for the IPU: create it "
                "in strategy.scope()",
            )


def current_strategy() -> Any:
    """Return the strategy of the scope that is entered, or None."""
    return STATE.strategy
