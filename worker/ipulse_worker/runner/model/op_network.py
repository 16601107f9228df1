"""Layers of neurons with custom ops or equations between them, as one Keras layer."""

from __future__ import annotations

from typing import Any, List, Union

from ipulse_ops.keras import LIFReadout, MultiLIF
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.keras.equations_layer import EquationsConvolution, EquationsLayer
from ipulse_ops.keras.part_network import PartNetwork
from ipulse_worker.runner.model.ipu_op_layer import IPUOpLayer
from ipulse_worker.runner.model.op_layer import OpLayer

Part = Union[MultiLIF, LIFReadout, OpLayer, EquationsLayer, EquationsConvolution, Convolution]


class OpNetwork(PartNetwork):
    """A PartNetwork that may have custom ops."""

    @property
    def not_spikes(self) -> List[Any]:
        """A tensor of the last call for each custom op on an IPU: NaN if it made no spikes."""
        return [part.not_spikes for part in self.parts if isinstance(part, IPUOpLayer)]
