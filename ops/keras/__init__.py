"""LIF networks as Keras layers, on Keras 2 (TensorFlow 2.6) and Keras 3 (TensorFlow 2.21).

They need nothing of the service: `from ops.keras import LIF, LeakyReadout, MultiLIF`.
"""

from __future__ import annotations

from ops.keras.dense_cell import DenseLIFCell, DenseOutputs
from ops.keras.multi_lif import MultiLIF
from ops.keras.op_libraries import load_ops
from ops.keras.packing import pack_spikes
from ops.keras.single_layer import LIFLayer, LIFReadout, Spikes
from ops.keras.sparse_cell import SparseLIFCell
from ops.lif.network import LIF, LeakyReadout
from ops.lif.tensorflow_op import LIFOutputs
from ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Table

__all__ = [
    "LIF",
    "ArcTan",
    "Boxcar",
    "DenseLIFCell",
    "DenseOutputs",
    "Exponential",
    "LIFLayer",
    "LIFOutputs",
    "LIFReadout",
    "LeakyReadout",
    "MultiLIF",
    "SparseLIFCell",
    "Spikes",
    "SuperSpike",
    "Table",
    "load_ops",
    "pack_spikes",
]
