"""The constants and structs of lif.h for ctypes."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

import numpy as np

from ipulse_core.neurons.constants import IN_KERNELS
from ipulse_ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Surrogate, Table

# The numbers of lif.h by the names of ipulse_ops.lif.network. A test compares them with lif.h.
VERSION = 8  # LIF_ABI_VERSION
OUT_OF_MEMORY = 2  # LIF_OUT_OF_MEMORY
PHASE_LAYERS = 16  # LIF_PHASE_LAYERS
RESET = {"zero": 0, "subtract": 1, "none": 2}
RESET_ON = {"state": 0, "emission": 1}
RESET_GRADIENT = {"mask": 0, "term": 1, "none": 2}
POLICY = {"index": 0, "cyclic": 1, "top": 2}
SURROGATE = {SuperSpike: 0, ArcTan: 1, Boxcar: 2, Exponential: 3, Table: 4}
WEIGHTS = {"float32": 0, "bfloat16": 1}
STORE = {"nothing": 0, "membranes": 1, "spikes": 2}

float_p = ctypes.POINTER(ctypes.c_float)
int32_p = ctypes.POINTER(ctypes.c_int32)
uint32_p = ctypes.POINTER(ctypes.c_uint32)


class LifSurrogate(ctypes.Structure):
    """LifSurrogate of lif.h."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("slope", ctypes.c_float),
        ("width", ctypes.c_float),
        ("size", ctypes.c_int32),
        ("values", float_p),
    )


class LifLayer(ctypes.Structure):
    """LifLayer of lif.h."""

    _fields_ = (
        ("neurons", ctypes.c_int32),
        ("slots", ctypes.c_int32),
        ("policy", ctypes.c_int32),
        ("detach_adaptation", ctypes.c_int32),
        ("delay", ctypes.c_int32),
        *((row.array, float_p) for row in IN_KERNELS),
        ("weights", float_p),
        ("recurrent", float_p),
        ("bias", float_p),
    )


class LifNetwork(ctypes.Structure):
    """LifNetwork of lif.h."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("steps", ctypes.c_int32),
        ("batch", ctypes.c_int32),
        ("inputs", ctypes.c_int32),
        ("input_slots", ctypes.c_int32),
        ("layers", ctypes.c_int32),
        ("leaky_readout", ctypes.c_int32),
        ("reset", ctypes.c_int32),
        ("reset_on", ctypes.c_int32),
        ("reset_gradient", ctypes.c_int32),
        ("truncate", ctypes.c_int32),
        ("weights", ctypes.c_int32),
        ("store", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("arch", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("surrogate", LifSurrogate),
        ("id_bytes", ctypes.c_int32),
        ("whole_batch", ctypes.c_int32),
        ("ids", ctypes.c_void_p),
        ("counts", int32_p),
        ("filled", int32_p),
        ("layer", ctypes.POINTER(LifLayer)),
    )


class LifRecord(ctypes.Structure):
    """LifRecord of lif.h."""

    _fields_ = (
        ("bits", uint32_p),
        ("membranes", float_p),
        ("membranes_size", ctypes.c_size_t),
        ("last_use", ctypes.c_int32),
    )


LifAllocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_size_t)


class LifForward(ctypes.Structure):
    """LifForward of lif.h."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("membrane", float_p),
        ("bits", ctypes.POINTER(uint32_p)),
        ("counts", ctypes.POINTER(float_p)),
        ("dropped", ctypes.POINTER(float_p)),
        ("u", ctypes.POINTER(float_p)),
        ("context", ctypes.c_void_p),
        ("allocate", LifAllocate),
    )


class LifGradient(ctypes.Structure):
    """LifGradient of lif.h."""

    _fields_ = (
        ("weights", float_p),
        ("recurrent", float_p),
        ("bias", float_p),
        *((row.array, float_p) for row in IN_KERNELS if row.has_gradient),
    )


class LifBackward(ctypes.Structure):
    """LifBackward of lif.h."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("record", ctypes.POINTER(LifRecord)),
        ("grad_membrane", float_p),
        ("grad_spikes", ctypes.POINTER(float_p)),
        ("grad_slots", int32_p),
        ("grad_u", ctypes.POINTER(float_p)),
        ("gradient", ctypes.POINTER(LifGradient)),
        ("grad_inputs", float_p),
    )


def surrogate(of: Surrogate) -> LifSurrogate:
    """Convert a surrogate; the struct keeps a table's values alive."""
    found = LifSurrogate(kind=SURROGATE[type(of)])
    if isinstance(of, Table):
        found.size, found.width = len(of.values), of.width
        found.values = (ctypes.c_float * len(of.values))(*of.values)
    elif isinstance(of, Boxcar):
        found.width = of.half_width
    else:
        found.slope = of.slope
    return found


def floats(array: Optional[np.ndarray]) -> Any:
    """Return a pointer to the float32 data of an array, which must outlive it."""
    return None if array is None else array.ctypes.data_as(float_p)


def uint32s(array: np.ndarray) -> Any:
    """Return a pointer to the uint32 data of an array, which must outlive it."""
    return array.ctypes.data_as(uint32_p)


def float_pointers(arrays: Sequence[Optional[np.ndarray]]) -> Any:
    """Return an array of pointers to float32 data, NULL for None."""
    return (float_p * len(arrays))(*map(floats, arrays))
