"""`ipu.ipu_strategy`: IPUStrategy; its programs run on the host, except custom ops."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import tensorflow as tf

from .config import DeviceConnectionType, ipus_of
from .state import STATE, Trace


class IPUStrategyV1:
    def __init__(
        self,
        ipu_device: str = "/device:IPU:0",
        cpu_device: str = "/device:CPU:0",
        enable_dataset_iterators: bool = True,
        enable_keras_extensions: bool = True,
    ) -> None:
        if STATE.configured is None:
            # The real one attaches any IPU then, whatever is configured later.
            raise RuntimeError(
                "No IPU device was configured for /device:IPU:0, creating a device with a single "
                "IPU."
            )
        self._generation = STATE.generation
        self._variables: Set[int] = set()
        self._programs: Dict[int, Tuple[Any, Any]] = {}  # the function is kept, and its id with it
        self._compiled: Set[int] = set()

    @contextmanager
    def scope(self) -> Iterator[None]:
        def on_device(create: Any, **arguments: Any) -> Any:
            variable = create(**arguments)
            if variable.dtype == tf.float64:
                raise TypeError("Unsupported data type for input/output: float64")
            self._variables.add(id(variable))
            self._programs.setdefault(id(variable), (variable, None))
            return variable

        with tf.variable_creator_scope(on_device):
            yield

    def run(
        self,
        fn: Any,
        args: Sequence[Any] = (),
        kwargs: Optional[Dict[str, Any]] = None,
        options: Any = None,
    ) -> Any:
        if not hasattr(fn, "get_concrete_function"):
            raise ValueError("IPUStrategy.run() must be passed a tf.function or ConcreteFunction")
        if not fn._jit_compile:
            raise ValueError("not one program: the function lacks jit_compile=True")
        if self._generation != STATE.generation:
            raise RuntimeError("IPUs were configured anew; the strategy is of the time before")
        _check_types(tf.nest.flatten([list(args), kwargs or {}]))
        if id(fn) not in self._programs:
            # Stock XLA has no emulated ops: the same function, traced for the host.
            self._programs[id(fn)] = (fn, tf.function(fn.python_function))
        _, program = self._programs[id(fn)]
        if STATE.error:
            raise tf.errors.InternalError(None, None, STATE.error)
        STATE.is_running = True
        try:
            return self._run(fn, program, args, kwargs or {})
        finally:
            STATE.is_running, STATE.trace = False, None

    def _run(self, fn: Any, program: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        STATE.trace = trace = Trace(checks=False)
        concrete = program.get_concrete_function(*args, **kwargs)
        _check_types(tf.nest.flatten(concrete.structured_outputs))
        if id(concrete) not in self._compiled:
            self._compiled.add(id(concrete))
            self._programs[id(concrete)] = (concrete, None)
            self._check_variables(concrete)
            _check_with_xla(fn, args, kwargs)
            self._compile(fn, concrete, trace)
        config = STATE.configured
        assert config is not None  # see run
        connection = config.device_connection.type
        if connection is DeviceConnectionType.NEVER:
            raise tf.errors.InvalidArgumentError(
                None,
                None,
                "Trying to run an executable on a device that was configured for compilation only.",
            )
        if connection is DeviceConnectionType.PRE_COMPILE:
            for variable in concrete.graph.variables:
                variable.assign(tf.zeros_like(variable))
            return tf.nest.map_structure(
                lambda t: None if t is None else tf.zeros(t.shape, t.dtype),
                concrete.structured_outputs,
            )
        if not STATE.is_attached:
            words = "Could not find an available device for /device:IPU:0"
            STATE.attach(ipus_of(config), tf.errors.InternalError(None, None, words))
        STATE.trace = None
        return program(*args, **kwargs)

    def _check_variables(self, concrete: Any) -> None:
        for variable in concrete.graph.variables:
            if id(variable) not in self._variables:
                raise tf.errors.InvalidArgumentError(
                    None,
                    None,
                    f"Trying to access resource {variable.name} located in device CPU:0 from "
                    "device IPU:0",
                )

    def _compile(self, fn: Any, concrete: Any, trace: Trace) -> None:
        config = STATE.configured
        assert config is not None
        ahead = config.device_connection.type is DeviceConnectionType.PRE_COMPILE
        named = STATE.flags().get("executable_cache_path")
        if ahead and not named:
            raise tf.errors.FailedPreconditionError(
                None, None, "configured for pre-compilation, and there is no executable cache path"
            )
        if ahead and trace.unhashable:
            raise tf.errors.FailedPreconditionError(
                None,
                None,
                "IPU devices have been configured for pre-compilation, however the program "
                f"contains custom user operation {trace.unhashable[0]}; set 'is_hashable'",
            )
        _report(config, fn)
        path = None
        if named and not trace.unhashable:
            what = (fn.python_function.__qualname__, trace.attributes, _inputs_of(concrete))
            name = hashlib.sha256(repr(what).encode()).hexdigest()[:16]
            path = Path(named) / f"{name}.poplar_exec"
            if path.exists():
                return
        if config.device_connection.type is not DeviceConnectionType.PRE_COMPILE:
            STATE.log.append("Compiled cluster using XLA!")
        if path is not None and config.device_connection.type is not DeviceConnectionType.NEVER:
            path.write_bytes(b"fake")
            if ahead:
                STATE.log.append(f"A pre-compiled Poplar program has been saved to {path}")


IPUStrategy = IPUStrategyV1


def _inputs_of(concrete: Any) -> List[str]:
    return [f"{t.dtype.name} {t.shape}" for t in tf.nest.flatten(concrete.inputs)]


def _check_types(values: List[Any]) -> None:
    for value in values:
        if getattr(value, "dtype", None) == tf.float64:
            raise TypeError("Unsupported data type for input/output: float64")


def _check_with_xla(fn: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
    """Whether XLA compiles the program, custom ops and queues apart. Raises what XLA raises."""
    tensors = [value for value in args if isinstance(value, tf.Tensor)]

    def program(*given: Any) -> Any:
        left = iter(given)
        filled = [next(left) if isinstance(value, tf.Tensor) else value for value in args]
        return fn.python_function(*filled, **kwargs)

    if not STATE.checks_with_xla:
        return
    STATE.trace = Trace(checks=True)
    compiled = tf.function(program, jit_compile=True)
    try:
        text = compiled.experimental_get_compiler_ir(*tensors)(stage="hlo")
    except ValueError as error:  # newer TensorFlow's class for what XLA refuses
        if "unsupported operations" not in str(error):
            raise
        raise tf.errors.InvalidArgumentError(None, None, str(error)) from error
    unknown = sorted(set(re.findall(r"\b(f64|u16|c64|c128)\[", text)))
    if unknown:
        words = f"unsupported primitive type in Poplar: {', '.join(unknown)}"
        raise tf.errors.FailedPreconditionError(None, None, words)
    STATE.trace = None


def _report(config: Any, fn: Any) -> None:
    """A report of the program, where the options ask for one."""
    given = json.loads(os.environ.get("POPLAR_ENGINE_OPTIONS", "{}"))
    options = {**config.compilation_poplar_options, **given}
    if options.get("autoReport.all") != "true":
        return
    reports = Path(options.get("autoReport.directory", "."))
    number = len(list(reports.glob("tf_report_*")))
    report = reports / f"tf_report__2026-01-01T00-00-{number:02}__1"
    report.mkdir(parents=True)
    (report / "profile.pop").write_bytes(fn.python_function.__qualname__.encode())
    (reports / "debug.cbor").write_bytes(b"fake")
