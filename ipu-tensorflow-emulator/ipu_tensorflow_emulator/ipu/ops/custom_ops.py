"""`ipu.custom_ops`: user ops, on emulated tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.process import STATE, device
from ipu_tensorflow_emulator.tensorflow_setup import without_autograph
from poplar_emulator.custom_op import CustomOpError

_NO_TYPES = ("float64", "string", "uint16", "complex64", "complex128", "variant", "resource")


@without_autograph
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
    """Return the outputs of a custom op of a shared library.

    Raises the errors of Graphcore's TensorFlow; tf.errors.InternalError if the op cannot be built.
    """
    if not STATE.depth:
        raise RuntimeError(
            "No OpKernel was registered to support Op 'IpuUserOp' on the CPU. Call "
            "precompiled_user_op in the scope of an IPUStrategy, in a function that "
            "strategy.run() runs, or in ipu_scope"
        )
    for argument, text in (
        ("attributes", attributes),
        ("gradient_attributes", gradient_attributes),
    ):
        if text is not None and not isinstance(text, (str, bytes)):
            raise ValueError(f"{argument} must be a string; it is {text!r}")
    listed = range(len(inputs)) if inputs_with_gradients is None else inputs_with_gradients
    if not all(0 <= int(index) < len(inputs) for index in listed):
        raise ValueError(
            f"inputs_with_gradients lists inputs by their number, which is below {len(inputs)}; "
            f"it is {list(listed)!r}"
        )
    if outs is None:
        outs = {"output_types": [], "output_shapes": []}
    if set(outs) != {"output_types", "output_shapes"}:
        raise ValueError("outs must be a dictionary with the keys output_types and output_shapes")
    if len(outs["output_types"]) != len(outs["output_shapes"]):
        raise ValueError("output_types and output_shapes of outs must have the same length")
    if not Path(library_path).is_file():
        raise tf.errors.InternalError(
            None, None, f"Custom op library {library_path}: no such file. Compile it first"
        )
    tensors = [tf.convert_to_tensor(tensor) for tensor in inputs]
    for dtype in [*(tensor.dtype for tensor in tensors), *outs["output_types"]]:
        if tf.as_dtype(dtype).name in _NO_TYPES:
            raise tf.errors.FailedPreconditionError(
                None, None, f"unsupported primitive type in Poplar: {tf.as_dtype(dtype).name}"
            )
    try:
        return device().precompiled_user_op(
            tensors,
            str(library_path),
            gp_path=str(gp_path or ""),
            outs=outs,
            name=name,
            op_name=op_name,
            separate_gradients=bool(separate_gradients),
            inputs_with_gradients=None if inputs_with_gradients is None else list(listed),
            attributes=_text(attributes),
            gradient_attributes=_text(gradient_attributes),
        )
    except CustomOpError as error:
        raise tf.errors.InternalError(None, None, str(error)) from error


def _text(text: Any) -> Optional[str]:
    return text.decode() if isinstance(text, bytes) else text


def cpu_user_operation(*_: Any, **__: Any) -> Any:
    """Raise NotImplementedError."""
    raise NotImplementedError(
        "cpu_user_operation is not emulated. Compute it in the script with TensorFlow's own ops"
    )


def codelet_expression_op(*_: Any, **__: Any) -> Any:
    """Raise NotImplementedError."""
    raise NotImplementedError(
        "codelet_expression_op is not emulated. Write the expression with TensorFlow's own ops, or "
        "a custom op with a codelet"
    )
