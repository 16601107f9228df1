"""Custom ops on a CPU: a C++ kernel behind C functions, or the NumPy reference."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.errors import InvalidInput, IPUlseError, Problem

Arrays = Sequence[np.ndarray]


class OpFailed(IPUlseError):
    """The op refused its inputs, or returned something wrong."""

    code = "op_failed"


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int64),
    )


class _CPUOp:
    def profile(self) -> Dict[str, Any]:
        """Raise InvalidInput: only programs on tiles have one."""
        raise InvalidInput([Problem("", "unsupported", "an op on a CPU has no profile")])


class KernelOp(_CPUOp):
    """The functions `forward` and `backward` of a library.

    `forward(inputs, outputs, attributes)` and `backward(gradients, inputs, outputs, results,
    attributes)` take arrays of struct {void *data; const int64_t *shape; int64_t rank;}, and
    return nullptr or the message of an error.
    """

    def __init__(self, library: Path, attributes: str) -> None:
        """Load the library. Raises OSError, and InvalidInput if it has no such functions."""
        loaded = ctypes.CDLL(str(library))
        self._attributes = attributes.encode()
        self._functions = []
        for name in ("forward", "backward"):
            function: Any = getattr(loaded, name, None)
            if function is None:
                detail = f'the kernel does not define extern "C" {name}'
                raise InvalidInput([Problem("/kernel", "invalid", detail)])
            function.restype = ctypes.c_char_p
            self._functions.append(function)

    def forward(self, inputs: Arrays, outputs: Sequence[Tuple[str, Tuple[int, ...]]]) -> Arrays:
        """Return the outputs, of the given types and shapes."""
        made = [np.zeros(shape, dtype) for dtype, shape in outputs]
        self._call(0, inputs, made)
        return made

    def backward(
        self, gradients: Arrays, inputs: Arrays, outputs: Arrays, wanted: Sequence[int]
    ) -> Arrays:
        """Return the gradients of the inputs with these indices."""
        made = [np.zeros_like(inputs[index]) for index in wanted]
        self._call(1, gradients, inputs, outputs, made)
        return made

    def _call(self, number: int, *groups: Arrays) -> None:
        kept = [[np.ascontiguousarray(array) for array in group] for group in groups[:-1]]
        kept.append(list(groups[-1]))
        message = self._functions[number](*map(_tensors, kept), self._attributes)
        if message is not None:
            raise OpFailed(message.decode("utf-8", "replace")[:1000])


class ReferenceOp(_CPUOp):
    """The functions `forward`, `backward` and `relaxed` of a Python file.

    `relaxed(inputs, outputs, attributes)` is optional. It is a differentiable function whose
    gradient `backward` returns as a surrogate. `outputs` are those of `forward`, as constants.
    """

    def __init__(self, path: Path, attributes: str) -> None:
        """Run the file. Raises InvalidInput without `forward`, and what the file raises."""
        spec = importlib.util.spec_from_file_location(f"{path.stem}_of_op", path)
        if spec is None or spec.loader is None:
            raise InvalidInput([Problem("/reference", "invalid", "not a Python file")])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self._attributes = attributes
        function: Any = getattr(module, "forward", None)
        self.gradient: Optional[Callable[..., Any]] = getattr(module, "backward", None)
        self.relaxed: Optional[Callable[..., Any]] = getattr(module, "relaxed", None)
        if not callable(function):
            detail = f"{path.name} does not define forward(inputs, attributes)"
            raise InvalidInput([Problem("/reference", "invalid", detail)])
        self.function: Callable[..., Any] = function

    def require_gradient(self) -> None:
        """Raise InvalidInput unless the file defines `backward`."""
        if not callable(self.gradient):
            detail = (
                "it does not define backward(gradients, inputs, outputs, attributes), with which "
                "an op without a kernel is trained"
            )
            raise InvalidInput([Problem("/reference", "invalid", detail)])

    def forward(self, inputs: Arrays, outputs: Sequence[Tuple[str, Tuple[int, ...]]]) -> Arrays:
        """Return the outputs, of the given types and shapes."""
        return _checked("forward", self.function(list(inputs), self._attributes), outputs)

    def backward(
        self, gradients: Arrays, inputs: Arrays, outputs: Arrays, wanted: Sequence[int]
    ) -> Arrays:
        """Return the gradients of the inputs with these indices."""
        self.require_gradient()
        assert self.gradient is not None  # noqa: S101 - required above
        made = self.gradient(list(gradients), list(inputs), list(outputs), self._attributes)
        expected = [(inputs[index].dtype.name, inputs[index].shape) for index in wanted]
        return _checked("backward", made, expected)


def _tensors(arrays: Arrays) -> Any:
    made = (_Tensor * max(1, len(arrays)))()
    for tensor, array in zip(made, arrays):
        tensor.data = array.ctypes.data
        tensor.shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        tensor.rank = array.ndim
    return made


def _checked(
    what: str, made: Any, expected: Sequence[Tuple[str, Tuple[int, ...]]]
) -> List[np.ndarray]:
    if not isinstance(made, (list, tuple)):
        raise OpFailed(f"{what} of the reference returns {type(made).__name__} and not a list")
    arrays = [np.asarray(array) for array in made]
    shapes, wanted = [array.shape for array in arrays], [shape for _, shape in expected]
    if shapes != wanted:
        raise OpFailed(
            f"{what} of the reference returns arrays of the shapes {shapes}; {wanted} are declared"
        )
    return [np.ascontiguousarray(array, dtype=dtype) for array, (dtype, _) in zip(arrays, expected)]
