"""The copies between the host and emulated IPUs."""

from __future__ import annotations

from typing import Any, Dict, List

from ipulse_worker.runner.devices.host_link import streams
from tests.worker.runner.emulated import ipu_spec
from tests.worker.runner.specs import spec_from

CONV = {"kind": "conv2d", "filters": 4, "kernel_size": 3}
DIGITS = {"kind": "digits", "samples": 64, "steps": 6}
IDS, COUNTS = 0, 1  # outputs of a convolution


def outputs_of_a_convolution(behind: Dict[str, Any]) -> List[int]:
    """Return the outputs that the host reads of a convolution in front of a layer."""
    network = {"layers": [CONV, behind]}
    spec = spec_from(ipu_spec({"kind": "emulator"}, data=DIGITS, network=network))
    return streams(spec, 0, attributes="ipulse-conv-lif/1", inputs=[])["streamed_outputs"]


def test_the_host_reads_the_spikes_of_a_convolution_only_to_drop_some() -> None:
    assert outputs_of_a_convolution({"neurons": 8}) == [COUNTS]
    assert outputs_of_a_convolution({"neurons": 8, "dropout": 0.2}) == [IDS, COUNTS]
