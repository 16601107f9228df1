"""Run the smaller Poplar ops on NumPy arrays with the emulator (docs/reference/poplar_op.md)."""

from __future__ import annotations

from typing import List, Sequence, Tuple

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.poplar.attributes import conv_lif_attributes, geometry_word, surrogate_word
from ipulse_ops.lif.poplar.build import build
from ipulse_ops.surrogate import SuperSpike, Surrogate
from poplar_emulator.custom_op import POISON, CustomOp

Shape = Tuple[int, ...]
_FLOAT = "float32"


def sparse_to_dense_op(
    steps: int, batch: int, slots: int, neurons: int, tiles_per_ipu: int = 16
) -> CustomOp:
    """Compile SparseToDense.

    Inputs: ids `[time, batch, slots]`, counts `[time, batch, 2]`. Output: dense spikes
    `[time, batch, neurons]`. Gradient: of the slots. All are float32.
    """
    inputs = [(steps, batch, slots), (steps, batch, 2)]
    words = f"ipulse-sparse-to-dense/1 neurons={neurons}"
    return _op("SparseToDense", words, inputs, [(steps, batch, neurons)], (0,), tiles_per_ipu)


def dense_to_sparse_op(
    steps: int, batch: int, slots: int, neurons: int, tiles_per_ipu: int = 16
) -> CustomOp:
    """Compile DenseToSparse.

    Input: dense spikes `[time, batch, neurons]`. Outputs: ids `[time, batch, slots]`, counts and
    dropped spikes `[time, batch]`. Gradient: of the dense spikes. All are float32.
    """
    outputs = [(steps, batch, slots), (steps, batch), (steps, batch)]
    words = f"ipulse-dense-to-sparse/1 slots={slots}"
    return _op("DenseToSparse", words, [(steps, batch, neurons)], outputs, (0,), tiles_per_ipu)


def select_spikes_op(
    batch: int,
    neurons: int,
    slots: int,
    second_threshold: bool = False,
    surrogate: Surrogate = SuperSpike(),
    policy: str = "index",
    tiles_per_ipu: int = 16,
) -> CustomOp:
    """Compile SelectSpikes.

    Inputs: u `[batch, neurons]`, threshold `[neurons]`, a second threshold if there is one, int32
    offsets `[batch]` for the policy "cyclic". Outputs: ids `[batch, slots]`, counts `[batch, 2]`,
    dropped spikes `[batch]`, surrogates `[batch, slots]`. Gradients: of u and threshold, from that
    of the ids. All but the offsets are float32.
    """
    words = f"ipulse-select-spikes/1 slots={slots} surrogate={surrogate_word(surrogate)}"
    words += " second_threshold" if second_threshold else ""
    words += f" {policy}" if policy != "index" else ""
    inputs: List[Shape] = [(batch, neurons), *[(neurons,)] * (1 + second_threshold)]
    offsets = [("int32", (batch,))] if policy == "cyclic" else []
    outputs = [(batch, slots), (batch, 2), (batch,), (batch, slots)]
    return _op("SelectSpikes", words, inputs, outputs, (0, 1), tiles_per_ipu, offsets)


def spike_matmul_op(
    steps: int, batch: int, slots: int, senders: int, neurons: int, tiles_per_ipu: int = 16
) -> CustomOp:
    """Compile SpikeMatmul.

    Inputs: weights `[senders, neurons]`, ids `[time, batch, slots]`, counts `[time, batch, 2]`.
    Output: `[time, batch, neurons]`. Gradients: of the weights and the slots. All are float32.
    """
    inputs = [(senders, neurons), (steps, batch, slots), (steps, batch, 2)]
    outputs = [(steps, batch, neurons)]
    return _op("SpikeMatmul", "ipulse-spike-matmul/1", inputs, outputs, (0, 1), tiles_per_ipu)


def spike_conv_op(
    geometry: ConvGeometry,
    steps: int,
    batch: int,
    slots: int,
    bias: bool = False,
    ids_type: str = _FLOAT,
    tiles_per_ipu: int = 16,
) -> CustomOp:
    """Compile SpikeConv.

    Inputs: kernel `[height, width, channels / groups, filters]`, ids `[time, batch, slots]`, counts
    `[time, batch, 2]`, bias `[filters]` if there is one. Output: currents `[time, batch, neurons]`.
    Gradients: of the kernel, the slots and the bias; their bits and those of the currents are those
    of ipulse_ops.conv.spike_conv_reference in float32. The geometry's pool has no effect.

    ids_type: "float32", or "int32" for ids and counts without a gradient.
    """
    words = f"ipulse-spike-conv/1 {geometry_word(geometry)}" + (" bias" if bias else "")
    spikes = [(ids_type, (steps, batch, slots)), (ids_type, (steps, batch, 2))]
    more = [*spikes, *([(_FLOAT, (geometry.filters,))] if bias else [])]
    outputs = [(steps, batch, geometry.neurons)]
    with_gradients = (0, 1, 3) if bias else (0, 1)
    return _op(
        "SpikeConv",
        words,
        [geometry.weights],
        outputs,
        with_gradients if ids_type == _FLOAT else (),
        tiles_per_ipu,
        more,
    )


def conv_lif_op(
    layer: ConvLIF,
    steps: int,
    batch: int,
    slots: int,
    ids_type: str = _FLOAT,
    tiles_per_ipu: int = 16,
) -> CustomOp:
    """Compile ConvLIF.

    Inputs: kernel and ids as for SpikeConv, counts, bias if there is one, second threshold `[1]` if
    there is one. Kernel and bias are multiplied by the layer's `scale`, the kernel by its
    `input_scale`, too; delay and pool have no effect. Outputs: ids of neurons
    `[time, batch, neurons]`, counts `[time, batch, 2]`. Gradients: of the kernel, the slots and the
    bias. All have the bits of ipulse_ops.conv.tensorflow_op.

    ids_type: as for spike_conv_op.
    """
    geometry = layer.geometry
    more: List[Tuple[str, Shape]] = [
        (ids_type, (steps, batch, slots)),
        (ids_type, (steps, batch, 2)),
    ]
    more += [(_FLOAT, (geometry.filters,))] if layer.bias else []
    more += [(_FLOAT, (1,))] if layer.second_threshold is not None else []
    with_gradients = (0, 1, 3) if layer.bias else (0, 1)
    return _op(
        "ConvLIF",
        conv_lif_attributes(layer),
        [geometry.weights],
        [(steps, batch, geometry.neurons), (steps, batch, 2)],
        with_gradients if ids_type == _FLOAT else (),
        tiles_per_ipu,
        more,
    )


def pooled_spikes_op(
    geometry: ConvGeometry, steps: int, batch: int, slots: int, tiles_per_ipu: int = 16
) -> CustomOp:
    """Compile PooledSpikes, which lists what ipulse_ops.sparse.pooled_spikes lists.

    Inputs: ids of the geometry's neurons `[time, batch, slots]`, counts `[time, batch, 2]`.
    Outputs: ids of pooled sites, as many slots, 0 behind the filled ones; counts. Gradient: of the
    slots. All are float32.
    """
    shapes = [(steps, batch, slots), (steps, batch, 2)]
    words = f"ipulse-pooled-spikes/1 {geometry_word(geometry)}"
    return _op("PooledSpikes", words, shapes, shapes, (0,), tiles_per_ipu)


def _op(
    name: str,
    attributes: str,
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    with_gradients: Sequence[int],
    tiles_per_ipu: int,
    more: Sequence[Tuple[str, Shape]] = (),
) -> CustomOp:
    op = build()
    return CustomOp(
        op.library,
        str(op.codelets),
        [*((_FLOAT, shape) for shape in inputs), *more],
        [(_FLOAT, shape) for shape in outputs],
        op_name=name,
        attributes=attributes,
        gradient_attributes=attributes,
        inputs_with_gradients=with_gradients,
        tiles_per_ipu=tiles_per_ipu,
        options=POISON,
    )
