"""Linear maps between the arrays of two layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Optional, Tuple

import numpy as np

from ipulse_worker.nir.errors import at_node
from ipulse_worker.nir.hdf5_file import MAX_VALUES

Shape = Tuple[int, ...]
RowsFunction = Callable[[np.ndarray], np.ndarray]  # of `[rows, *shape]`


@dataclass(frozen=True)
class LinearMap:
    """A map of arrays of one shape, without the samples, to arrays of another."""

    inputs: int
    shape: Shape  # of the results
    matrix: Optional[np.ndarray] = None  # [inputs, *shape]; None for the identity
    bias: Optional[np.ndarray] = None  # [*shape]
    delay_s: float = 0.0
    unrolled: bool = False  # whether shared weights are repeated

    @property
    def dense(self) -> np.ndarray:
        """The matrix `[inputs, outputs]`."""
        if self.matrix is None:
            return np.eye(self.inputs)
        return self.matrix.reshape(self.inputs, -1)

    def mapped(self, name: str, function: RowsFunction) -> LinearMap:
        """Return this map followed by a linear function, that of the node `name`.

        Raises:
            NirInvalid: the matrix would have too many numbers.
        """
        rows = self.matrix
        if rows is None:
            if self.inputs * self.inputs > MAX_VALUES:
                raise at_node(name, f"its matrix of {self.inputs:,} inputs is too large")
            rows = np.eye(self.inputs).reshape((self.inputs, *self.shape))
        result = function(np.asarray(rows, np.float64))
        if result.size > MAX_VALUES:
            raise at_node(name, f"its matrix has {result.size:,} numbers, which is too many")
        bias = None if self.bias is None else function(self.bias[np.newaxis])[0]
        return replace(self, shape=result.shape[1:], matrix=result, bias=bias)

    def biased(self, bias: np.ndarray) -> LinearMap:
        """Return this map with a bias added, which is broadcast to the shape."""
        whole = np.broadcast_to(bias, self.shape) + (0.0 if self.bias is None else self.bias)
        return replace(self, bias=whole)

    def reshaped(self, shape: Shape) -> LinearMap:
        """Return this map with results of another shape and as many numbers."""
        return replace(
            self,
            shape=shape,
            matrix=None if self.matrix is None else self.matrix.reshape((self.inputs, *shape)),
            bias=None if self.bias is None else self.bias.reshape(shape),
        )

    def plus(self, other: LinearMap) -> LinearMap:
        """Return the sum of two maps with equal inputs, shapes and delays."""
        bias = self.bias
        if other.bias is not None:
            bias = other.bias if bias is None else bias + other.bias
        matrix = self.dense.astype(np.float64) + other.dense
        return replace(
            self,
            matrix=matrix.reshape(-1, *self.shape),
            bias=bias,
            unrolled=self.unrolled or other.unrolled,
        )
