"""Linear maps between the arrays of two layers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Callable, Optional, Tuple

import numpy as np

from ipulse_core.nir.errors import at_node
from ipulse_core.nir.hdf5_file import MAX_VALUES
from ipulse_core.spec.start_weights import size_text

Shape = Tuple[int, ...]
RowsFunction = Callable[[np.ndarray], np.ndarray]  # of `[rows, *shape]`


@dataclass(frozen=True)
class LinearMap:
    """A map of arrays of one shape, without the samples, to arrays of another."""

    inputs: int
    shape: Shape  # of the results
    matrix: Optional[np.ndarray] = None  # [inputs, *shape]; None for the identity
    bias: Optional[np.ndarray] = None  # [*shape]
    # Seconds of each connection, [inputs, outputs], with one row or column where all are alike.
    delay_s: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
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
            NirInvalid: the matrix would have too many numbers, or values that arrive at different
                times would be added.
        """
        self.check_delays(name)
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

    def delayed(self, name: str, delay_s: np.ndarray) -> LinearMap:
        """Return this map with results that the node `name` delays.

        delay_s: one value, or one for each of the results.

        Raises:
            NirInvalid: the node delays a bias, or has values for another shape.
        """
        if delay_s.size == 1:
            return replace(self, delay_s=self.delay_s + delay_s.reshape(1, 1))
        if delay_s.size != math.prod(self.shape):
            raise at_node(
                name,
                f"delay has {delay_s.size:,} values for a shape of {size_text(self.shape)}",
            )
        if self.bias is not None:
            raise at_node(
                name, "it delays a bias by different times: delay values in front of their bias"
            )
        # Without weights in front of it, it delays the inputs.
        values = delay_s.reshape((-1, 1) if self.matrix is None else (1, -1))
        return replace(self, delay_s=self.delay_s + values)

    def check_delays(self, name: str) -> None:
        """Raise NirInvalid if the node `name` would add values of one input at different times."""
        if self.delay_s.shape[1] > 1:
            raise at_node(
                name,
                "it adds values that a node before it delays by different times: only one matrix "
                "may be between such a Delay and the neurons before it",
            )

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

    def plus(self, other: LinearMap, name: str) -> LinearMap:
        """Return the sum of two maps with equal inputs and shapes, in front of the node `name`.

        Raises:
            NirInvalid: one connection has weights with different delays.
        """
        bias = self.bias
        if other.bias is not None:
            bias = other.bias if bias is None else bias + other.bias
        ours, theirs = self.dense, other.dense
        delay_s = self.delay_s
        if delay_s.shape != other.delay_s.shape or (delay_s != other.delay_s).any():
            apart = (ours != 0) & (theirs != 0) & (delay_s != other.delay_s)
            if apart.any():
                sender, receiver = np.argwhere(apart)[0]
                raise at_node(
                    name,
                    f"its input {receiver:,} receives value {sender:,} twice, with different "
                    "delays: each connection has one",
                )
            delay_s = np.where(theirs != 0, other.delay_s, np.where(ours != 0, delay_s, 0.0))
        matrix = ours.astype(np.float64) + theirs
        return replace(
            self,
            matrix=matrix.reshape(-1, *self.shape),
            bias=bias,
            delay_s=delay_s,
            unrolled=self.unrolled or other.unrolled,
        )
