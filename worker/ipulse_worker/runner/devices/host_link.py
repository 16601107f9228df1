"""The connection between a host and emulated IPUs, and what stream copies move over it.

docs/evidence/cost_model.md says where the numbers come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple

if TYPE_CHECKING:
    from ipulse.spec import EmulatorDevice


class HostLink(NamedTuple):
    """The model of a stream copy: a latency, and a rate that all IPUs share."""

    bytes_per_second: float
    latency_seconds: float


LINKS = {
    "pcie": HostLink(32e9, 10e-6),  # one direction of the data sheet's 64 GB/s; inferred
    "fabric": HostLink(12.5e9, 15e-6),  # 100 Gbit/s of the data sheet of an IPU-M2000; inferred
}


def host_link_options(device: EmulatorDevice) -> Dict[str, str]:
    """Return the options of the emulator's engine that describe the connection of a spec."""
    link = LINKS[device.host_link]
    rate, latency = device.host_bytes_per_second, device.host_latency_seconds
    return {
        "emulator.hostBytesPerSecond": repr(link.bytes_per_second if rate is None else rate),
        "emulator.hostLatencySeconds": repr(link.latency_seconds if latency is None else latency),
    }


def streamed_inputs(attributes: str, inputs: Any, **_: Any) -> List[int]:
    """Return the inputs of the LIF op that change with every batch; weights stay on the device.

    These are ids, counts and the seed of the policy "cyclic"; with loss and update on the device
    also labels, mask, rate and the number of the step. Another op has none.
    """
    if attributes.startswith("ipulse-train/"):
        # Behind the op's inputs and as many means and squares: labels, mask, rate, number.
        last = len(inputs)
        return [*_of_batch(inputs), *range(last - 4, last)]
    return _of_batch(inputs) if attributes.startswith("ipulse-lif/") else []


def _of_batch(inputs: Any) -> List[int]:
    return [0, 1, *([2] if inputs[2] == ("int32", (2,)) else [])]
