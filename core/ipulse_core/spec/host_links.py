"""The connection between a host and IPUs, as the emulator models it.

docs/evidence/cost_model.md says where the figures come from.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class HostLink(NamedTuple):
    """The model of a stream copy: a latency, and a rate that all IPUs share."""

    bytes_per_second: float
    latency_seconds: float
    clock_hz: float = 1.33e9  # of the IPUs, to count its time in cycles


_CLOCKS = {"ipu1": 1.6e9, "ipu2": 1.33e9, "ipu21": 1.85e9}
LINKS = {
    "pcie": HostLink(32e9, 10e-6),  # one direction of the data sheet's 64 GB/s; inferred
    "fabric": HostLink(12.5e9, 15e-6),  # 100 Gbit/s of the data sheet of an IPU-M2000; inferred
}


def host_link(device: Any) -> HostLink:
    """Return the connection of an emulator, with the figures that its spec sets; of an IPU, PCIe.

    Args:
        device: An emulator or an IPU device of a spec.
    """
    if device.kind != "emulator":
        return LINKS["pcie"]._replace(clock_hz=_CLOCKS[device.architecture])
    link = LINKS[device.host_link]
    rate, latency = device.host_bytes_per_second, device.host_latency_seconds
    return HostLink(
        link.bytes_per_second if rate is None else rate,
        link.latency_seconds if latency is None else latency,
    )
