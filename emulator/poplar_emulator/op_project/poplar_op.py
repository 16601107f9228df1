"""A custom op on emulated IPUs, compiled for each shape that it is called with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Mapping, Sequence, Tuple

from ipulse_core.errors import InvalidInput, Problem
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
        gradients: Sequence[int] = (0,),
        options: Mapping[str, str] = {},
    ) -> None:
        """Describe the op; the arguments are those of CustomOp.

        tiles: of the one IPU. gradients: indices of the inputs that have one.
        options: of the Poplar engine.
        """
        self._library, self._codelets = library, codelets
        self._attributes, self._gradient_attributes = attributes, gradient_attributes
        self._op_name, self._tiles, self._gradients = op_name, tiles, list(gradients)
        self._options = dict(options)
        self._compiled: Dict[Tuple[Typed, Typed], CustomOp] = {}

    def compile(self, inputs: Typed, outputs: Typed) -> None:
        """Compile the op for inputs and outputs of these types and shapes."""
        self._op_for(tuple(inputs), tuple(outputs))

    def forward(self, inputs: Arrays, outputs: Typed) -> Arrays:
        """Return the outputs, of the given types and shapes."""
        return self._op(inputs, outputs).forward(inputs)

    def backward(
        self, gradients: Arrays, inputs: Arrays, outputs: Arrays, wanted: Sequence[int]
    ) -> Arrays:
        """Return the gradients of the inputs with these indices."""
        typed = [(array.dtype.name, array.shape) for array in outputs]
        found = self._op(inputs, typed).backward(gradients, of=(inputs, outputs))
        return [found[self._gradients.index(index)] for index in wanted]

    def profile(self) -> Dict[str, Any]:
        """Return the profile of the program with most emulated cycles.

        Raises InvalidInput before the first run.
        """
        profiles = [op.profile() for op in self._compiled.values()]
        if not profiles:
            raise InvalidInput([Problem("", "not_run", "the op has not run yet")])
        return max(profiles, key=_cycles)

    def _op(self, inputs: Arrays, outputs: Typed) -> CustomOp:
        taken = tuple((array.dtype.name, array.shape) for array in inputs)
        return self._op_for(taken, tuple(outputs))

    def _op_for(self, taken: Typed, outputs: Typed) -> CustomOp:
        key = taken, outputs
        if key not in self._compiled:
            self._compiled[key] = CustomOp(
                self._library,
                self._codelets,
                taken,
                list(outputs),
                op_name=self._op_name,
                attributes=self._attributes,
                gradient_attributes=self._gradient_attributes,
                inputs_with_gradients=self._gradients,
                tiles_per_ipu=self._tiles,
                options=self._options,
            )
        return self._compiled[key]


def _cycles(profile: Dict[str, Any]) -> float:
    execution = profile.get("execution", {"totalCycles": {"total": 0}})
    return float(execution["totalCycles"]["total"])
