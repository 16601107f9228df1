"""LIF networks as Keras layers, on Keras 2 (TensorFlow 2.6) and Keras 3 (TensorFlow 2.21).

For instance: `from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF`.
"""

from __future__ import annotations

from ipulse_ops.keras.convolutions.conv import LIFConv2D
from ipulse_ops.keras.dense_cell import DenseLIFCell, DenseOutputs
from ipulse_ops.keras.multi_lif import MultiLIF
from ipulse_ops.keras.op_libraries import load_ops
from ipulse_ops.keras.packing import pack_spikes
from ipulse_ops.keras.single_layer import LIFLayer, LIFReadout, Spikes
from ipulse_ops.keras.sparse_cell import SparseLIFCell
from ipulse_ops.lif.connection_delays import ConnectionDelays
from ipulse_ops.lif.network import LIF, LeakyReadout
from ipulse_ops.lif.run_options import LIFOutputs
from ipulse_ops.quantisation import Quantisation
from ipulse_ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Table

__all__ = [
    "LIF",
    "ArcTan",
    "Boxcar",
    "ConnectionDelays",
    "DenseLIFCell",
    "DenseOutputs",
    "Exponential",
    "LIFConv2D",
    "LIFLayer",
    "LIFOutputs",
    "LIFReadout",
    "LeakyReadout",
    "MultiLIF",
    "Quantisation",
    "SparseLIFCell",
    "Spikes",
    "SuperSpike",
    "Table",
    "load_ops",
    "pack_spikes",
]
