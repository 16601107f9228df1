"""`ipu.custom_ops`: precompiled_user_op, on emulated tiles."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Optional

import tensorflow as tf

from ipulse_core.build_cache.executables import ExecutableCache
from poplar_emulator.custom_op import CustomOp
from poplar_emulator.user_op import EmulatedIPUs

from .config import ipus_of
from .state import STATE

TILES = 16  # enough for a test
_NO_TYPES = ("float64", "string", "uint16", "complex64", "variant", "resource")


@lru_cache(maxsize=None)
def emulated(ipus: int) -> EmulatedIPUs:
    directory = Path(tempfile.mkdtemp(prefix="ipu-fake-"))
    cache = ExecutableCache(lambda words: None, directory)
    device = EmulatedIPUs(ipus, TILES)
    device.compiler = lambda **arguments: _compiled(cache, **arguments)
    return device


def _compiled(cache: ExecutableCache, **arguments: Any) -> CustomOp:
    op = CustomOp(cache=cache, **arguments)
    if op.cache_key is None and STATE.trace is not None:
        STATE.trace.unhashable.append(arguments["op_name"])
    return op


def precompiled_user_op(
    inputs: List[Any],
    library_path: str,
    gp_path: str = "",
    outs: Optional[Dict[str, Any]] = None,
    name: str = "UserOp",
    op_name: str = "Build",
    separate_gradients: bool = False,
    inputs_with_gradients: Optional[List[int]] = None,
    attributes: Optional[str] = None,
    gradient_attributes: Optional[str] = None,
) -> List[Any]:
    """Only in a program that a strategy runs."""
    trace = STATE.trace
    if trace is None:
        raise RuntimeError("No OpKernel was registered to support Op 'IpuUserOp': not on an IPU")
    for words in (attributes, gradient_attributes):
        if words is not None and not isinstance(words, str):
            raise ValueError("attributes and gradient_attributes must be strings")
    if not isinstance(separate_gradients, bool):
        raise TypeError(f"separate_gradients is a bool; got {separate_gradients!r}")
    listed = range(len(inputs)) if inputs_with_gradients is None else inputs_with_gradients
    if not all(type(index) is int and 0 <= index < len(inputs) for index in listed):
        raise ValueError(f"inputs_with_gradients lists inputs by number; got {listed!r}")
    for path in (library_path, gp_path):
        if not isinstance(path, str):
            raise TypeError(f"library_path and gp_path are strings; got {path!r}")
    if outs is not None and set(outs) != {"output_types", "output_shapes"}:
        raise ValueError("outs has the keys output_types and output_shapes")
    tensors = [tf.convert_to_tensor(tensor) for tensor in inputs]
    outs = outs or {"output_types": [], "output_shapes": []}
    for dtype in [*(tensor.dtype for tensor in tensors), *outs["output_types"]]:
        if tf.as_dtype(dtype).name in _NO_TYPES:
            raise tf.errors.FailedPreconditionError(
                None, None, f"unsupported primitive type in Poplar: {tf.as_dtype(dtype).name}"
            )
    trace.attributes.append(f"{op_name} {attributes}")
    if trace.checks:
        return _of_that_shape(tensors, outs)
    assert STATE.configured is not None
    return emulated(ipus_of(STATE.configured)).precompiled_user_op(
        tensors,
        library_path,
        gp_path=gp_path,
        outs=outs,
        name=name,
        op_name=op_name,
        separate_gradients=separate_gradients,
        inputs_with_gradients=inputs_with_gradients,
        attributes=attributes,
        gradient_attributes=gradient_attributes,
    )


def _of_that_shape(tensors: List[Any], outs: Dict[str, Any]) -> List[Any]:
    """Outputs and gradients that depend on what they should and are of their shapes."""

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def run(*entering: Any) -> Any:
        one = tf.add_n([tf.reduce_sum(tf.cast(tensor, tf.float32)) for tensor in entering])
        pairs = zip(outs["output_shapes"], outs["output_types"])
        made = [tf.cast(tf.fill(shape, one), dtype) for shape, dtype in pairs]

        def gradient(*grads: Any) -> List[Any]:
            by = tf.add_n([tf.reduce_sum(tf.cast(grad, tf.float32)) for grad in grads])
            return [
                tf.fill(tensor.shape, by) if tensor.dtype == tf.float32 else None
                for tensor in entering
            ]

        return made, gradient

    return list(run(*tensors))
