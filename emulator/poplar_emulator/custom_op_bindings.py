"""ctypes bindings of custom_op/custom_op.h, which has a library of its own."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, Dict, Sequence, Tuple

import numpy as np

from poplar_emulator.build import CUSTOM_OP_LIBRARY, build

# Poplar's name of each type that TensorFlow passes to a custom op.
TYPES: Dict[str, str] = {
    "float32": "float",
    "float16": "half",
    "int32": "int",
    "uint32": "unsigned int",
    "int16": "short",
    "uint16": "unsigned short",
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
}
MESSAGE_BYTES = 4096
Shape = Tuple[int, ...]
PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int)


class CustomOpError(RuntimeError):
    """The op, Poplar or the emulator raised an error; the message begins with Poplar's class."""

    code = "custom_op"


class Tensor(ctypes.Structure):
    """The structure CustomOpTensor of custom_op.h."""

    _fields_ = (
        ("type", ctypes.c_char_p),
        ("rank", ctypes.c_uint32),
        ("shape", ctypes.POINTER(ctypes.c_uint64)),
    )


class EngineCall(ctypes.Structure):
    """The structure CustomOpCall of custom_op.h."""

    _fields_ = (
        ("library", ctypes.c_char_p),
        ("codelets", ctypes.c_char_p),
        ("op_name", ctypes.c_char_p),
        ("attributes", ctypes.c_char_p),
        ("gradient_attributes", ctypes.c_char_p),
        ("api_level", ctypes.c_uint32),
        ("ipus", ctypes.c_uint32),
        ("tiles_per_ipu", ctypes.c_uint32),
        ("options", ctypes.c_char_p),
        ("inputs", ctypes.c_uint32),
        ("outputs", ctypes.c_uint32),
        ("gradients", ctypes.c_uint32),
        ("input", ctypes.POINTER(Tensor)),
        ("output", ctypes.POINTER(Tensor)),
        ("inputs_with_gradients", ctypes.POINTER(ctypes.c_int64)),
        ("separate_gradients", ctypes.c_uint32),
        ("progress", PROGRESS),
        ("streamed", ctypes.c_uint32),
        ("streamed_inputs", ctypes.POINTER(ctypes.c_uint32)),
        ("streamed_back", ctypes.c_uint32),
        ("streamed_outputs", ctypes.POINTER(ctypes.c_uint32)),
    )


def new_op(function_name: str, call: EngineCall, *more: Any) -> Any:
    """Return a new op by `compile` or `deserialize`. Raises CustomOpError."""
    message = ctypes.create_string_buffer(MESSAGE_BYTES)
    function = getattr(library(), f"ipulse_custom_op_{function_name}")
    op = function(ctypes.byref(call), *more, message, MESSAGE_BYTES)
    if not op:
        raise CustomOpError(message.value.decode())
    return op


def run_function(name: str, op: Any, *pointers_to_data: Any) -> None:
    """Call `load`, `forward`, `restore` or `backward` of an op. Raises CustomOpError."""
    message = ctypes.create_string_buffer(MESSAGE_BYTES)
    function = getattr(library(), f"ipulse_custom_op_{name}")
    if function(op, *pointers_to_data, message, MESSAGE_BYTES):
        raise CustomOpError(message.value.decode())


def serialize(op: Any) -> bytes:
    """Return the executable of an op that is not on a device yet. Raises CustomOpError."""
    message = ctypes.create_string_buffer(MESSAGE_BYTES)
    size = ctypes.c_size_t()
    text = library().ipulse_custom_op_serialize(op, ctypes.byref(size), message, MESSAGE_BYTES)
    if not text:
        raise CustomOpError(message.value.decode())
    try:
        return ctypes.string_at(text, size.value)
    finally:
        library().ipulse_custom_op_free_text(text)


def is_hashable(call: EngineCall) -> bool:
    """Return whether the op's metadata allows to cache its executable. Raises CustomOpError."""
    message = ctypes.create_string_buffer(MESSAGE_BYTES)
    answer: int = library().ipulse_custom_op_hashable(ctypes.byref(call), message, MESSAGE_BYTES)
    if answer < 0:
        raise CustomOpError(message.value.decode())
    return answer > 0


def tensors(specs: Sequence[Tuple[str, Shape]]) -> Any:
    """Return an array of Tensor for types and shapes. Raises ValueError for other types."""
    listed = (Tensor * len(specs))()
    for number, (dtype, shape) in enumerate(specs):
        if dtype not in TYPES:
            raise ValueError(f"{dtype} is not a type of custom ops, which are {', '.join(TYPES)}")
        listed[number] = Tensor(
            TYPES[dtype].encode(), len(shape), (ctypes.c_uint64 * len(shape))(*shape)
        )
    return listed


def pointers(arrays: Sequence[np.ndarray]) -> Any:
    """Return an array of pointers to the data of NumPy arrays."""
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


@lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Load the emulator's library with typed functions. Raises MissingCompiler, BuildFailed."""
    # Global, so that an op's library finds the symbols of Poplar and PopLibs, as in TensorFlow.
    loaded = ctypes.CDLL(str(build() / CUSTOM_OP_LIBRARY), mode=ctypes.RTLD_GLOBAL)
    size = ctypes.c_size_t
    loaded.ipulse_custom_op_compile.restype = ctypes.c_void_p
    loaded.ipulse_custom_op_compile.argtypes = [ctypes.POINTER(EngineCall), ctypes.c_char_p, size]
    pointers = ctypes.POINTER(ctypes.c_void_p)
    loaded.ipulse_custom_op_hashable.argtypes = [ctypes.POINTER(EngineCall), ctypes.c_char_p, size]
    loaded.ipulse_custom_op_serialize.restype = ctypes.c_void_p
    loaded.ipulse_custom_op_serialize.argtypes = [
        *(ctypes.c_void_p, ctypes.POINTER(size), ctypes.c_char_p, size)
    ]
    loaded.ipulse_custom_op_deserialize.restype = ctypes.c_void_p
    loaded.ipulse_custom_op_deserialize.argtypes = [
        *(ctypes.POINTER(EngineCall), ctypes.c_char_p, size, ctypes.c_char_p, size)
    ]
    loaded.ipulse_custom_op_load.argtypes = [ctypes.c_void_p, ctypes.c_char_p, size]
    for name in ("forward", "backward"):
        function = getattr(loaded, f"ipulse_custom_op_{name}")
        function.argtypes = [ctypes.c_void_p, pointers, pointers, ctypes.c_char_p, size]
    loaded.ipulse_custom_op_restore.argtypes = [
        *(ctypes.c_void_p, pointers, pointers, ctypes.c_char_p, size)
    ]
    loaded.ipulse_custom_op_profile.restype = ctypes.c_void_p
    loaded.ipulse_custom_op_profile.argtypes = [ctypes.c_void_p]
    loaded.ipulse_custom_op_free_text.argtypes = [ctypes.c_void_p]
    loaded.ipulse_custom_op_free.argtypes = [ctypes.c_void_p]
    return loaded
