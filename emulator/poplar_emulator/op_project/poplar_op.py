"""A custom op on emulated IPUs, compiled for each shape that it is called with."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Sequence, Tuple

from poplar_emulator.custom_op import CustomOp
from poplar_emulator.op_project.cpu_op import Arrays

Shape = Tuple[int, ...]
Typed = Sequence[Tuple[str, Shape]]


class PoplarOp:
    """Has the methods of KernelOp and ReferenceOp."""

    def __init__(
        self,
        library: Path,
        codelets: str,
        attributes: str,
        gradient_attributes: str,
        op_name: str,
        tiles: int,
    ) -> None:
        """Describe the op; the arguments are those of CustomOp. tiles: of the one IPU."""
        self._library, self._codelets = library, codelets
        self._attributes, self._gradient_attributes = attributes, gradient_attributes
        self._op_name, self._tiles = op_name, tiles
        self._compiled: Dict[Tuple[Typed, Typed], CustomOp] = {}

    def forward(self, inputs: Arrays, outputs: Typed) -> Arrays:
        """Return the outputs, of the given types and shapes."""
        return self._op(inputs, outputs, (0,)).forward(inputs)

    def backward(
        self, gradients: Arrays, inputs: Arrays, outputs: Arrays, wanted: Sequence[int]
    ) -> Arrays:
        """Return the gradients of the inputs with these indices."""
        typed = [(array.dtype.name, array.shape) for array in outputs]
        return self._op(inputs, typed, wanted).backward(gradients, of=(inputs, outputs))

    def _op(self, inputs: Arrays, outputs: Typed, wanted: Sequence[int]) -> CustomOp:
        taken = tuple((array.dtype.name, array.shape) for array in inputs)
        key = taken, tuple(outputs)
        if key not in self._compiled:
            self._compiled[key] = CustomOp(
                self._library,
                self._codelets,
                taken,
                list(outputs),
                op_name=self._op_name,
                attributes=self._attributes,
                gradient_attributes=self._gradient_attributes,
                inputs_with_gradients=wanted,
                tiles_per_ipu=self._tiles,
            )
        return self._compiled[key]
