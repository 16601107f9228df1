"""Custom ops inside TensorFlow graphs, on emulated IPUs.

`EmulatedIPUs.precompiled_user_op` has the parameters and the rules of
`ipu.custom_ops.precompiled_user_op` of Graphcore's TensorFlow: the op is compiled for its shapes
while the graph is traced, and its gradient op receives, in this order, the gradients of every
output, the outputs and the inputs. docs/explanation/emulator_ops.md lists the differences.
"""

from __future__ import annotations

import threading
import time
from functools import lru_cache
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from poplar_emulator.custom_op import API_LEVEL, MK2_TILES, CustomOp, CustomOpError, Shape

# Makes a CustomOp from its arguments; another function may search a cache first.
Compiler = Callable[..., CustomOp]


class _Op(NamedTuple):
    """The arguments of an op, with the types and shapes it is compiled for."""

    library: str
    codelets: str
    op_name: str
    attributes: str
    gradient_attributes: str
    inputs_with_gradients: Tuple[int, ...]
    separate_gradients: bool
    inputs: Tuple[Tuple[str, Shape], ...]
    outputs: Tuple[Tuple[str, Shape], ...]
    scope: str = ""  # not an argument: ops of different scopes are compiled for themselves


class OpUsage(NamedTuple):
    """What one compiled op did so far.

    calls: "forward" and "backward".
    bytes_in, bytes_out: of arrays that entered and left it, in all calls.
    profile: of the engine.
    """

    op_name: str
    library: str
    inputs: Tuple[Tuple[str, Shape], ...]
    outputs: Tuple[Tuple[str, Shape], ...]
    calls: Dict[str, int]
    bytes_in: int
    bytes_out: int
    profile: Dict[str, Any]


class EmulatedIPUs:
    """Emulated IPUs and the ops that were compiled for them, each once.

    seconds: host time spent in running ops, "forward" and "backward".
    scope: equal ops that are traced in different scopes are compiled for themselves.
    """

    def __init__(
        self,
        ipus: int = 1,
        tiles_per_ipu: int = MK2_TILES,
        api_level: int = API_LEVEL,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        """Describe the IPUs. options: of the Poplar engine."""
        self.ipus, self.tiles_per_ipu, self.api_level = ipus, tiles_per_ipu, api_level
        self.options = dict(options or {})
        self.scope = ""
        self.compiler: Compiler = CustomOp
        self.seconds = {"forward": 0.0, "backward": 0.0}
        # A graph may call ops from several threads, but a device runs one program at a time.
        self._lock = threading.Lock()
        self._compiled: Dict[_Op, CustomOp] = {}
        self._traffic: Dict[_Op, _Traffic] = {}
        self._without_gradient: Dict[_Op, CustomOpError] = {}

    def precompiled_user_op(
        self,
        inputs: Sequence[Any],
        library_path: str,
        gp_path: str = "",
        outs: Optional[Mapping[str, Any]] = None,
        name: str = "UserOp",
        op_name: str = "Build",
        separate_gradients: bool = False,
        inputs_with_gradients: Optional[Sequence[int]] = None,
        attributes: Optional[str] = None,
        gradient_attributes: Optional[str] = None,
    ) -> List[Any]:
        """Return the outputs of the op.

        Raises CustomOpError if it cannot be compiled, or a gradient is taken and the gradient op
        cannot be; ValueError if a shape is unknown while tracing, TypeError for a gradient that is
        None.
        """
        tensors = [tf.convert_to_tensor(tensor) for tensor in inputs]
        outs = {"output_types": [], "output_shapes": []} if outs is None else outs
        listed = range(len(tensors)) if inputs_with_gradients is None else inputs_with_gradients
        types = [tf.as_dtype(dtype) for dtype in outs["output_types"]]
        shapes = [tf.TensorShape(shape) for shape in outs["output_shapes"]]
        key = _Op(
            library=str(library_path),
            codelets=str(gp_path),
            op_name=op_name,
            attributes=attributes or "",
            gradient_attributes=gradient_attributes or "",
            inputs_with_gradients=tuple(listed),
            separate_gradients=separate_gradients,
            inputs=tuple(_spec(name, tensor.dtype, tensor.shape) for tensor in tensors),
            outputs=tuple(_spec(name, dtype, shape) for dtype, shape in zip(types, shapes)),
            scope=self.scope,
        )
        self._op(key)
        call = _Call(self, key)

        @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
        def run(*entering: Any) -> Any:
            made = _shaped(tf.numpy_function(call.forward, entering, types), shapes)

            def gradient(*grads: Any) -> List[Any]:
                packed = [*grads, *made, *entering]
                gradients: List[Any] = [None] * len(entering)
                if key in self._without_gradient:
                    raise self._without_gradient[key]
                if key.inputs_with_gradients:
                    by = [entering[index] for index in key.inputs_with_gradients]
                    if any(tensor is None for tensor in packed):
                        # TensorFlow raises the same error as for the real op.
                        tf.raw_ops.PyFunc(input=packed, token=name, Tout=[t.dtype for t in by])
                    grads_by = tf.numpy_function(call.backward, packed, [t.dtype for t in by])
                    shaped = _shaped(grads_by, [tensor.shape for tensor in by])
                    for index, tensor in zip(key.inputs_with_gradients, shaped):
                        gradients[index] = tensor
                return gradients

            return made, gradient

        return list(run(*tensors))

    def profiles(self) -> List[Dict[str, Any]]:
        """Return the profile of every compiled op, in the order of compilation."""
        return [op.profile() for op in self._compiled.values()]

    def usage(self) -> List[OpUsage]:
        """Return what every compiled op did, in the order of compilation."""
        return [
            OpUsage(
                key.op_name,
                key.library,
                key.inputs,
                key.outputs,
                dict(self._traffic[key].calls),
                self._traffic[key].bytes_in,
                self._traffic[key].bytes_out,
                op.profile(),
            )
            for key, op in self._compiled.items()
        ]

    def close(self) -> None:
        """Release the compiled ops."""
        for op in self._compiled.values():
            op.close()
        self._compiled.clear()
        self._without_gradient.clear()

    def _op(self, key: _Op) -> CustomOp:
        if key not in self._compiled:
            try:
                self._compiled[key] = self._compile(key)
            except CustomOpError as error:
                if not key.inputs_with_gradients:
                    raise
                # A program without gradients runs on IPUs if the op alone can be built.
                self._compiled[key] = self._compile(key._replace(inputs_with_gradients=()))
                self._without_gradient[key] = error
            self._traffic[key] = _Traffic()
        return self._compiled[key]

    def _compile(self, key: _Op) -> CustomOp:
        arguments = key._asdict()
        del arguments["scope"]
        return self.compiler(
            **arguments,
            api_level=self.api_level,
            ipus=self.ipus,
            tiles_per_ipu=self.tiles_per_ipu,
            options=self.options,
        )


class _Traffic:
    """Counts the calls of an op and the bytes that entered and left it."""

    def __init__(self) -> None:
        self.calls = {"forward": 0, "backward": 0}
        self.bytes_in = self.bytes_out = 0


class _Call:
    """The functions of an op for tf.numpy_function, on flat sequences of arrays."""

    def __init__(self, ipus: EmulatedIPUs, key: _Op) -> None:
        self._ipus, self._key = ipus, key

    def forward(self, *inputs: np.ndarray) -> List[np.ndarray]:
        return self._timed("forward", inputs, lambda op: op.forward(inputs))

    def backward(self, *packed: np.ndarray) -> List[np.ndarray]:
        outputs = len(self._key.outputs)
        grads, made, inputs = packed[:outputs], packed[outputs : 2 * outputs], packed[2 * outputs :]
        return self._timed("backward", grads, lambda op: op.backward(grads, of=(inputs, made)))

    def _timed(
        self,
        name: str,
        entering: Sequence[np.ndarray],
        run: Callable[[CustomOp], List[np.ndarray]],
    ) -> List[np.ndarray]:
        with self._ipus._lock:
            op = self._ipus._op(self._key)
            began = time.perf_counter()
            results = run(op)
            self._ipus.seconds[name] += time.perf_counter() - began
            traffic = self._ipus._traffic[self._key]
            traffic.calls[name] += 1
            traffic.bytes_in += sum(array.nbytes for array in entering)
            traffic.bytes_out += sum(array.nbytes for array in results)
        return results


@lru_cache(maxsize=None)
def emulated_ipus(ipus: int, tiles_per_ipu: int) -> EmulatedIPUs:
    """Return this process's emulated IPUs of that number and size."""
    return EmulatedIPUs(ipus, tiles_per_ipu)


def _spec(name: str, dtype: Any, shape: Any) -> Tuple[str, Shape]:
    if not shape.is_fully_defined():
        raise ValueError(f"{name}: the shapes of a custom op must be known while tracing; {shape}")
    return dtype.name, tuple(shape.as_list())


def _shaped(tensors: Any, shapes: Sequence[Any]) -> List[Any]:
    made = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    for tensor, shape in zip(made, shapes):
        tensor.set_shape(shape)
    return made
