"""The rules between convolutions, the data that enter them, the bounds and the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.device import CPUDevice
from ipulse_core.errors import Problem
from ipulse_core.ipu import MOST_POOLED, MOST_SENDERS
from ipulse_core.spec.conv_geometry import EmptyOutput
from ipulse_core.spec.conv_layers import conv_layers, geometry_of, planes_of
from ipulse_core.spec.part_layers import has_equations

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec

MAX_CONV_NEURONS = 2**20  # of a convolution


def convolution_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields convolutions that do not fit what enters them, or the device."""
    layers = conv_layers(spec.network)
    if not layers:
        return
    if isinstance(spec.device, CPUDevice) and spec.device.weights_dtype != "float32":
        detail = "the weights of convolutions are float32: remove it"
        yield Problem("/device/weights_dtype", "unsupported", detail)
    for number, bound in enumerate(spec.training.regularisers):
        if bound.kind == "membrane":
            detail = "membranes cannot be bounded in a network with convolutions: remove it"
            yield Problem(f"/training/regularisers/{number}/kind", "unsupported", detail)
    entering = planes_of(spec.data)
    if entering is None:
        where = "set data.shape" if hasattr(spec.data, "shape") else "choose other data"
        yield Problem(
            "/network/layers/0/kind",
            "inconsistent",
            f"a convolution needs images, and these channels have no height and width: {where}",
        )
        return
    for index, layer in enumerate(spec.network.layers[: len(layers)]):
        pointer = f"/network/layers/{index}"
        if layer.kind == "conv1d" and entering.height != 1:
            detail = f"its input is {entering} (height x width x channels): use conv2d"
            yield Problem(f"{pointer}/kind", "inconsistent", detail)
            return
        try:
            geometry = geometry_of(layer, entering)
        except EmptyOutput as error:
            yield Problem(pointer, "empty_output", str(error))
            return
        except ValueError as error:
            yield Problem(f"{pointer}/groups", "inconsistent", str(error))
            return
        if geometry.neurons > MAX_CONV_NEURONS:
            detail = (
                f"the layer has {geometry.neurons:,} neurons; at most {MAX_CONV_NEURONS:,} are "
                "allowed: use strides or fewer filters"
            )
            yield Problem(f"{pointer}/filters", "too_large", detail)
            return
        is_pooled_on_tiles = geometry.pool != (1, 1) and not isinstance(spec.device, CPUDevice)
        if is_pooled_on_tiles and geometry.neurons > MOST_POOLED:
            detail = (
                f"a pool counts in 16 bits on {spec.device.kind}: at most {MOST_POOLED:,} neurons "
                f"in front of it; got {geometry.neurons:,}: use strides or fewer filters"
            )
            yield Problem(f"{pointer}/filters", "too_large", detail)
            return
        entering = geometry.pooled
    yield from _problems_of_ids(spec, len(layers), entering.sites)


def _problems_of_ids(spec: ExperimentSpec, convolutions: int, sites: int) -> Iterator[Problem]:
    """Yields a last convolution with more sites than a program of LIF neurons can tell apart."""
    behind = spec.network.layers[convolutions:]
    if isinstance(spec.device, CPUDevice) or sites <= MOST_SENDERS:
        return
    if not behind or not has_equations(behind[0]):  # those are given their currents
        detail = (
            f"ids of LIF neurons have 16 bits on {spec.device.kind}: at most {MOST_SENDERS:,} "
            f"neurons behind the pool; got {sites:,}: use a pool, strides or fewer filters"
        )
        yield Problem(f"/network/layers/{convolutions - 1}/filters", "too_large", detail)
