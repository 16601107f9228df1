"""op.json: the files of a custom op, its tensors, attributes and back ends."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from ipulse_core.op_manifest.attributes import (
    OpAttribute,
    attributes_text,
    resolve_attributes,
)
from ipulse_core.op_manifest.expressions import Size, size_of
from ipulse_core.op_manifest.weights import OpWeight

FILE = "op.json"
NAME = r"[A-Za-z_][A-Za-z0-9_]{0,63}"


class OpTensor(NamedTuple):
    """An input or output of an op."""

    name: str
    dtype: str
    shape: Tuple[Size, ...]


class OpManifest(NamedTuple):
    """The content of op.json. Files are paths in its folder."""

    name: str
    sources: List[str]  # C++ of the Poplar host part
    codelets: List[str]
    kernel: List[str]  # C++ for CPUs
    reference: str  # a Python file with `forward(inputs, attributes)`
    inputs: List[OpTensor]
    outputs: List[OpTensor]
    weights: List[OpWeight]  # of the op's own: it gets them behind its inputs
    gradients: List[int]  # indices of the inputs and weights that have one
    sizes: Dict[str, int]  # of the test
    tiles: int
    tolerance: float  # relative to the largest value of each array
    attributes: Union[str, Dict[str, OpAttribute]]  # a text, or declarations
    gradient_attributes: str
    op_name: str  # name of the C function

    @property
    def backends(self) -> List[str]:
        """Return the implementations of the op: reference, kernel (both on a CPU), poplar."""
        found = ["reference", *(["kernel"] if self.kernel else [])]
        return [*found, *(["poplar"] if self.sources else [])]

    @property
    def entering(self) -> List[OpTensor]:
        """The tensors that the op receives: its inputs, then its weights."""
        weights = [OpTensor(each.name, "float32", each.shape) for each in self.weights]
        return [*self.inputs, *weights]

    @property
    def default_attributes(self) -> str:
        """The text that the op receives in its test."""
        return self.attributes_with({})

    def attributes_with(self, given: Mapping[str, Any]) -> str:
        """Returns the text that the op receives where a layer gives these attributes."""
        if isinstance(self.attributes, str):
            return self.attributes
        return attributes_text(resolve_attributes(self.attributes, given, []))

    @property
    def fixed_gradient_attributes(self) -> Optional[str]:
        """The text that every gradient receives; None if it receives that of its op.

        Attributes that are declared are given to the gradient as well.
        """
        if self.gradient_attributes or isinstance(self.attributes, str):
            return self.gradient_attributes
        return None

    @property
    def test_sizes(self) -> Dict[str, int]:
        """The values of the names in shapes, in the op's test."""
        found = dict(self.sizes)
        if not isinstance(self.attributes, str):
            found.update(integers(resolve_attributes(self.attributes, {}, [])))
        return found


def integers(values: Dict[str, Any]) -> Dict[str, int]:
    """Returns the attributes that shapes may name."""
    return {name: value for name, value in values.items() if type(value) is int}


def shape_of(tensor: Union[OpTensor, OpWeight], sizes: Dict[str, int]) -> Tuple[int, ...]:
    """Returns the shape of a tensor. Raises WrongSize."""
    return tuple(size_of(size, sizes) for size in tensor.shape)
