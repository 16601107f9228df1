"""Delays as nodes of a NIR graph.

A Delay in front of a layer's weights holds back each of their inputs for its own time. Synapses
with delays of their own take several ways to the neurons: a Delay, and the weights of the synapses
with that delay.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, List, Mapping, Tuple

import numpy as np

from ipulse_core.spec.conv_layers import conv_geometries
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.nir_targets import delays_left_out
from ipulse_core.spec.start_weights import DELAYS, layer_names
from ipulse_worker.runner.results.nir_file import GraphChain, NamedNodes
from ipulse_worker.runner.results.nir_planes import by_channels

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class DelayNodes:
    """The delays of a network, for a graph that is built from the input to the readout."""

    def __init__(
        self, spec: ExperimentSpec, arrays: Mapping[str, np.ndarray], target: str, step_s: float
    ) -> None:
        """Prepare; only the target generic has delays."""
        network, self._step_s = spec.network, step_s
        self._steps: List[Any] = [0] * (len(network.layers) + 1)
        if target != "generic":
            return
        left_out = delays_left_out(network) is not None
        geometries = conv_geometries(spec)
        for number, name in enumerate(layer_names(network)):
            own = arrays.get(f"{name}{DELAYS}")
            if own is None:
                self._steps[number] = input_delays(network)[number]
            elif own.ndim == 1 or not left_out:
                steps = own.astype(np.float64)
                if geometries and number == len(geometries):
                    steps = by_channels(steps, geometries[-1].pooled)
                self._steps[number] = steps

    def append(self, graph: GraphChain, number: int, shape: Tuple[int, ...]) -> None:
        """Append the delay of the values of a shape that lead to a layer, from 0, if there is one.

        Those of synapses are part of `ways`.
        """
        import nir

        steps = self._steps[number]
        if np.ndim(steps) < 2 and np.any(steps):
            delay = np.broadcast_to(np.asarray(steps, np.float64) * self._step_s, math.prod(shape))
            delay = np.array(delay.reshape(shape))
            graph.append(f"delay_{number}", nir.Delay(delay=delay))

    def ways(self, number: int, suffix: str, weights: Any) -> List[NamedNodes]:
        """Return the nodes of each way to a layer, from 0; of most layers the weights alone.

        Args:
            number: of the layer.
            suffix: of its nodes' names.
            weights: a Linear or Affine; the bias is on the first way.
        """
        import nir

        steps = self._steps[number]
        if np.ndim(steps) < 2:
            return [[(f"weights_{suffix}", weights)]]
        ways: List[NamedNodes] = []
        bias = getattr(weights, "bias", None)
        for count in np.unique(steps):
            matrix = np.where((steps == count).T, weights.weight, np.float32(0))
            node = nir.Linear(weight=matrix)
            if bias is not None and not ways:
                node = nir.Affine(weight=matrix, bias=bias)
            way = [(f"weights_{suffix}_{count:.0f}", node)]
            if count:
                delay = nir.Delay(delay=np.full(len(steps), count * self._step_s))
                way.insert(0, (f"delay_{suffix}_{count:.0f}", delay))
            ways.append(way)
        return ways
