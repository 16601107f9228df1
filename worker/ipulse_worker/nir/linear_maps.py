"""What lies between neurons, as one matrix: NIR's nodes without a state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional, Tuple

import numpy as np

from ipulse_worker.nir.errors import at_node
from ipulse_worker.nir.hdf5_file import MAX_VALUES, NirNode

Shape = Tuple[int, ...]
LINEAR = (
    "Linear",
    "Affine",
    "Scale",
    "Conv1d",
    "Conv2d",
    "SumPool2d",
    "AvgPool2d",
    "Flatten",
    "Delay",
    "Identity",
    "Input",
    "Output",
)


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

    def then(self, node: NirNode) -> LinearMap:
        """Return this map with a node behind it.

        Raises:
            NirInvalid: the node does not take this shape.
        """
        kind = node.type
        if kind in ("Identity", "Input", "Output"):
            return self
        if kind == "Delay":
            return self._delayed(node)
        if kind == "Flatten":
            return self._flattened(node)
        if kind == "Scale":
            scale = self._broadcast(node, "scale")
            return self._mapped(node, lambda rows: rows * scale)
        if kind in ("Linear", "Affine"):
            return self._weighted(node)
        if kind in ("SumPool2d", "AvgPool2d"):
            return self._pooled(node)
        return self._convolved(node)

    def _mapped(self, node: NirNode, function: Any) -> LinearMap:
        """Apply a linear function of `[rows, *shape]`."""
        rows = self.matrix
        if rows is None:
            if self.inputs * self.inputs > MAX_VALUES:
                raise at_node(node.name, f"its matrix of {self.inputs:,} inputs is too large")
            rows = np.eye(self.inputs).reshape((self.inputs, *self.shape))
        result = function(np.asarray(rows, np.float64))
        if result.size > MAX_VALUES:
            raise at_node(node.name, f"its matrix has {result.size:,} numbers, which is too many")
        bias = None if self.bias is None else function(self.bias[np.newaxis])[0]
        return LinearMap(self.inputs, result.shape[1:], result, bias, self.delay_s, self.unrolled)

    def _biased(self, bias: np.ndarray, unrolled: bool = False) -> LinearMap:
        whole = np.broadcast_to(bias, self.shape) + (0.0 if self.bias is None else self.bias)
        return LinearMap(
            self.inputs, self.shape, self.matrix, whole, self.delay_s, self.unrolled or unrolled
        )

    def _weighted(self, node: NirNode) -> LinearMap:
        weight = numbers(node, "weight")
        if weight.ndim != 2 or not self.shape or weight.shape[1] != self.shape[-1]:
            raise at_node(
                node.name,
                f"its weight {_by(weight.shape)} does not take values of shape {_by(self.shape)}",
            )
        if self.matrix is None and len(self.shape) == 1:
            # As they are in the file: no rounding.
            mapped = LinearMap(
                self.inputs,
                (weight.shape[0],),
                weight.T,
                None if self.bias is None else weight @ self.bias,
                self.delay_s,
                self.unrolled,
            )
        else:
            wide = weight.astype(np.float64)
            mapped = self._mapped(node, lambda rows: rows @ wide.T)
        if node.type == "Linear":
            return mapped
        bias = numbers(node, "bias")
        if bias.shape != (weight.shape[0],):
            raise at_node(
                node.name, f"its bias is {_by(bias.shape)}; {weight.shape[0]:,} values are needed"
            )
        return mapped._biased(bias.astype(np.float64))

    def _broadcast(self, node: NirNode, field: str) -> np.ndarray:
        value = numbers(node, field).astype(np.float64)
        size = math.prod(self.shape)
        if value.size not in (1, size):
            raise at_node(
                node.name, f"{field} has {value.size:,} values for a shape of {_by(self.shape)}"
            )
        return value.reshape(self.shape) if value.size == size else value.reshape(())

    def _delayed(self, node: NirNode) -> LinearMap:
        delay = np.unique(numbers(node, "delay").astype(np.float64))
        if delay.size != 1 or delay[0] < 0:
            raise at_node(node.name, "delays differ by neuron or are below 0: one is supported")
        total = self.delay_s + float(delay[0])
        return LinearMap(self.inputs, self.shape, self.matrix, self.bias, total, self.unrolled)

    def _flattened(self, node: NirNode) -> LinearMap:
        sizes = len(self.shape)
        start = int(numbers(node, "start_dim")) if "start_dim" in node.fields else 0
        end = int(numbers(node, "end_dim")) if "end_dim" in node.fields else -1
        first, last = start % sizes if start < 0 else start, end % sizes if end < 0 else end
        if first >= sizes or sizes == 1:
            return self
        if not first <= last < sizes:
            raise at_node(node.name, f"dimensions {start} to {end} of {_by(self.shape)}")
        merged = math.prod(self.shape[first : last + 1])
        shape = (*self.shape[:first], merged, *self.shape[last + 1 :])
        return LinearMap(
            self.inputs,
            shape,
            None if self.matrix is None else self.matrix.reshape((self.inputs, *shape)),
            None if self.bias is None else self.bias.reshape(shape),
            self.delay_s,
            self.unrolled,
        )

    def _pooled(self, node: NirNode) -> LinearMap:
        if len(self.shape) != 3:
            raise at_node(node.name, f"it pools images [channels, y, x]; got {_by(self.shape)}")
        kernel, stride = _pair(node, "kernel_size"), _pair(node, "stride")
        padding = _pair(node, "padding")
        high, wide = _output(node, self.shape[1:], kernel, stride, padding, (1, 1))
        average = kernel[0] * kernel[1] if node.type == "AvgPool2d" else 1

        def pool(rows: np.ndarray) -> np.ndarray:
            padded = _padded(rows, padding)
            total = np.zeros((*rows.shape[:2], high, wide))
            for y in range(kernel[0]):
                for x in range(kernel[1]):
                    total += _window(padded, y, x, stride, high, wide)
            return total / average

        return self._mapped(node, pool)

    def _convolved(self, node: NirNode) -> LinearMap:
        weight, bias = numbers(node, "weight").astype(np.float64), numbers(node, "bias")
        is_flat = node.type == "Conv1d"
        if weight.ndim != (3 if is_flat else 4) or len(self.shape) != weight.ndim - 1:
            raise at_node(
                node.name,
                f"its weight {_by(weight.shape)} does not take values of shape {_by(self.shape)}",
            )
        image = self
        if is_flat:  # an image of height 1
            weight = weight[:, :, np.newaxis]
            shape = (self.shape[0], 1, self.shape[1])
            image = LinearMap(
                self.inputs,
                shape,
                None if self.matrix is None else self.matrix.reshape((self.inputs, *shape)),
                None if self.bias is None else self.bias.reshape(shape),
                self.delay_s,
                self.unrolled,
            )
        stride, dilation = _pair(node, "stride", is_flat), _pair(node, "dilation", is_flat)
        groups = int(numbers(node, "groups"))
        kernel = (weight.shape[2], weight.shape[3])
        padding = _conv_padding(node, kernel, stride, dilation, is_flat)
        outs, ins = weight.shape[0], weight.shape[1]
        if groups < 1 or outs % groups or ins * groups != image.shape[0]:
            raise at_node(
                node.name,
                f"{image.shape[0]:,} channels, and the weight has {ins:,} in {groups:,} groups",
            )
        high, wide = _output(node, image.shape[1:], kernel, stride, padding, dilation)

        def convolve(rows: np.ndarray) -> np.ndarray:
            padded = _padded(rows, padding)
            total = np.zeros((len(rows), outs, high, wide))
            each = outs // groups
            for group in range(groups):
                channels = slice(group * ins, (group + 1) * ins)
                of_group = slice(group * each, (group + 1) * each)
                for y in range(kernel[0]):
                    for x in range(kernel[1]):
                        window = _window(
                            padded[:, channels],
                            y * dilation[0],
                            x * dilation[1],
                            stride,
                            high,
                            wide,
                        )
                        total[:, of_group] += np.einsum(
                            "rcyx,oc->royx", window, weight[of_group, :, y, x]
                        )
            return total

        if image.inputs * outs * high * wide > MAX_VALUES:
            raise at_node(node.name, "as a dense matrix it has too many numbers")
        mapped = image._mapped(node, convolve)
        if bias.shape != (outs,):
            raise at_node(node.name, f"its bias is {_by(bias.shape)}; {outs:,} values are needed")
        mapped = mapped._biased(bias.astype(np.float64)[:, np.newaxis, np.newaxis], unrolled=True)
        if not bias.any() and image.bias is None:
            mapped = LinearMap(
                mapped.inputs, mapped.shape, mapped.matrix, None, mapped.delay_s, True
            )
        if not is_flat:
            return mapped
        flat = (outs, wide)
        return LinearMap(
            mapped.inputs,
            flat,
            None if mapped.matrix is None else mapped.matrix.reshape((mapped.inputs, *flat)),
            None if mapped.bias is None else mapped.bias.reshape(flat),
            mapped.delay_s,
            True,
        )


def numbers(node: NirNode, field: str) -> np.ndarray:
    """Return a field's numbers.

    Raises:
        NirInvalid: the node has no such field, or text in it.
    """
    value = node.fields.get(field)
    if not isinstance(value, np.ndarray):
        raise at_node(node.name, f"a {node.type} needs numbers in {field}")
    return value


def _pair(node: NirNode, field: str, is_flat: bool = False) -> Tuple[int, int]:
    values = [int(value) for value in np.ravel(numbers(node, field))]
    if is_flat:
        values = [0 if field == "padding" else 1, values[0]] if len(values) == 1 else []
    elif len(values) == 1:
        values = values * 2
    least = 0 if field == "padding" else 1
    if len(values) != 2 or min(values) < least:
        raise at_node(node.name, f"{field} must be whole numbers from {least}")
    return values[0], values[1]


def _conv_padding(
    node: NirNode,
    kernel: Tuple[int, int],
    stride: Tuple[int, int],
    dilation: Tuple[int, int],
    is_flat: bool,
) -> Tuple[int, int]:
    padding = node.fields.get("padding")
    if isinstance(padding, str) and padding == "valid":
        return 0, 0
    if isinstance(padding, str) and padding == "same":
        spans = [d * (k - 1) for d, k in zip(dilation, kernel)]
        if stride != (1, 1) or any(span % 2 for span in spans):
            raise at_node(node.name, "padding same needs a stride of 1 and odd kernels")
        return spans[0] // 2, spans[1] // 2
    return _pair(node, "padding", is_flat)


def _output(
    node: NirNode,
    image: Shape,
    kernel: Tuple[int, int],
    stride: Tuple[int, int],
    padding: Tuple[int, int],
    dilation: Tuple[int, int],
) -> Tuple[int, int]:
    sizes = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, p, d in zip(image, kernel, stride, padding, dilation)
    ]
    if min(sizes) < 1:
        raise at_node(node.name, f"its output is empty: a kernel {_by(kernel)} on {_by(image)}")
    return sizes[0], sizes[1]


def _padded(rows: np.ndarray, padding: Tuple[int, int]) -> np.ndarray:
    y, x = padding
    return np.pad(rows, [(0, 0), (0, 0), (y, y), (x, x)], "constant")


def _window(
    padded: np.ndarray, y: int, x: int, stride: Tuple[int, int], high: int, wide: int
) -> np.ndarray:
    down, right = stride
    window: np.ndarray = padded[
        :, :, y : y + down * (high - 1) + 1 : down, x : x + right * (wide - 1) + 1 : right
    ]
    return window


def _by(shape: Tuple[int, ...]) -> str:
    return " x ".join(f"{size:,}" for size in shape) or "one number"
